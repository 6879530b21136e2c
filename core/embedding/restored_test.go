package embedding

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/storage"
	"loci/storage/backup"
)

// restored is a home in the place of which somebody else's backup was put.
func restored(t *testing.T, from *storage.Store) *storage.Store {
	t.Helper()
	file, dir := filepath.Join(t.TempDir(), "theirs.loci"), t.TempDir()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(backup.Write(t.Context(), from, file))
	r, err := backup.Prepare(t.Context(), t.TempDir(), file)
	ok(err)
	_, err = r.Put(t.Context(), dir, nil)
	ok(err)
	store, err := storage.Open(t.Context(), storage.Config{Dir: dir})
	ok(err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestARestoredHomeSendsNoTextUntilSomebodyAllowsIt(t *testing.T) {
	t.Parallel()
	const agreed, named core.Handle = "vendor/small", "vendor/large"
	h := newKeeping(t, &embedders{}, agreed)
	h.insert(texts(2)...)
	h.doneWith(agreed)
	h.embedding.Close()
	// A second archive names a model that was never asked, so that there is no consent to take back.
	other := core.Archive{ID: core.NewArchiveID(), Name: "named", Embedding: named, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	h.ok(h.store.Archives().Create(t.Context(), &other))
	mine, theirs := h.archive, other
	insert := func(texts ...string) {
		h.archive = mine
		h.insert(texts...)
		h.archive = theirs
		h.insert(texts...)
		h.archive = mine
	}
	insert("stored before the backup")

	m := &embedders{}
	h.store = restored(t, h.store)
	asked := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.asked[agreed] + m.asked[named]
	}
	waits := func(want ...string) {
		t.Helper()
		held, err := backup.Waiting(t.Context(), h.store.Config().Dir)
		h.ok(err)
		var got []string
		for _, w := range held {
			got = append(got, string(w.Kind)+" "+w.ID+" "+w.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what waits (-want +got):\n%s", diff)
		}
	}
	waits("model vendor/large vendor/large", "model vendor/small http://elsewhere")
	h.embedding = Start(t.Context(), Config{Store: h.store, Embedders: m})
	insert("my private diary")
	h.until("the troubles of both", func(core.VectorProgress) bool {
		_, troubles, err := h.embedding.Status(t.Context())
		return err == nil && len(troubles) == 2 && core.KindOf(troubles[0].Err) == core.Conflict
	})
	for _, model := range []core.Handle{agreed, named} {
		if _, err := h.embedding.Query(t.Context(), model, "a question"); core.KindOf(err) != core.Conflict {
			t.Errorf("a question for %s: %v", model, err)
		}
	}
	if n := asked(); n > 0 {
		t.Fatalf("%d texts were sent", n)
	}
	h.embedding.Close()
	_, err := backup.Settle(t.Context(), h.store, true, func(held backup.Held) bool { return held.ID == string(agreed) })
	h.ok(err)
	waits("model vendor/large vendor/large")
	h.embedding = Start(t.Context(), Config{Store: h.store, Embedders: m})
	t.Cleanup(func() { h.embedding.Close() })
	h.until("the texts of the allowed one", func(core.VectorProgress) bool { return h.count(agreed) == 4 })
	if h.count(named) > 0 {
		t.Error("the other one is asked too")
	}
	// Somebody who agrees to the daemon's own server need not allow the backup's.
	h.ok(h.embedding.Agree(t.Context(), core.EmbeddingInfo{Handle: named, Endpoint: "http://elsewhere"}))
	h.until("the texts of the other", func(core.VectorProgress) bool { return h.count(named) == 2 })
	waits()
}
