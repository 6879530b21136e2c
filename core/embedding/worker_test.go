package embedding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

func TestEveryTextGetsItsVectorOnce(t *testing.T) {
	t.Parallel()
	m := &embedders{}
	h := newKeeping(t, m, "")
	ps := h.insert(append(texts(100), "the same", "the same", "the same")...)
	if n := h.doneWith(core.WordsHandle); n != 103 {
		t.Errorf("%d vectors", n)
	}
	m.mu.Lock()
	if m.asked[core.WordsHandle] > 101 {
		t.Errorf("equal texts were embedded apart: %d asked", m.asked[core.WordsHandle])
	}
	m.mu.Unlock()
	h.ok(h.store.Passages().Delete(t.Context(), ps[0].ID))
	ps[1].Text = "changed"
	h.ok(h.store.Passages().Update(t.Context(), ps[1], core.Author{}))
	h.until("the update", func(p core.VectorProgress) bool { return p.Waiting == 0 && h.count(core.WordsHandle) == 102 })
}

func TestAnEmbedderThatFailsLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(core.Handle, []string, [][]float32) ([][]float32, error){
		"an error": func(core.Handle, []string, [][]float32) ([][]float32, error) {
			return nil, core.E(core.Unavailable, "down")
		},
		"a plain error": func(core.Handle, []string, [][]float32) ([][]float32, error) { return nil, errors.New("broken") },
		"a refusal": func(core.Handle, []string, [][]float32) ([][]float32, error) {
			return nil, core.E(core.Invalid, "no model")
		},
		"NaN": func(_ core.Handle, _ []string, out [][]float32) ([][]float32, error) {
			out[0][3] = nan
			return out, nil
		},
		"zeros": func(_ core.Handle, _ []string, out [][]float32) ([][]float32, error) {
			clear(out[len(out)-1])
			return out, nil
		},
		"nothing": func(_ core.Handle, _ []string, out [][]float32) ([][]float32, error) {
			return make([][]float32, len(out)), nil
		},
		"too few": func(_ core.Handle, _ []string, out [][]float32) ([][]float32, error) { return out[1:], nil },
		"dimensions": func(_ core.Handle, _ []string, out [][]float32) ([][]float32, error) {
			out[0] = out[0][:3]
			return out, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &embedders{}
			h := newKeeping(t, m, "vendor/small")
			h.insert("the first one sets the dimension")
			h.done()
			m.set(spoil)
			h.insert(texts(20)...)
			h.until("trouble", func(core.VectorProgress) bool {
				h.embedding.mu.Lock()
				defer h.embedding.mu.Unlock()
				return len(h.embedding.models)+len(h.embedding.texts) > 0
			})
			found, err := h.search.Passages(t.Context(), core.SearchQuery{Text: "note 7", Limit: 3}, core.PassageFilter{
				Archives: []core.ArchiveID{h.archive.ID},
			})
			if err != nil || len(found.Hits) == 0 || !strings.Contains(found.Hits[0].Passage.Text, "note 7 ") {
				t.Errorf("not found by words: %v %v", found.Hits, err)
			}
			m.set(nil)
			if n := h.doneWith("vendor/small"); n != 21 {
				t.Errorf("%d vectors of 21 texts", n)
			}
		})
	}
}

func TestATextThatAModelDoesNotTakeKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	m := &embedders{}
	m.set(func(_ core.Handle, texts []string, out [][]float32) ([][]float32, error) {
		for _, text := range texts {
			if strings.Contains(text, "poison") {
				return nil, core.E(core.Invalid, "refused")
			}
			if len(text) > 700 {
				return nil, core.E(core.TooLong, "too long")
			}
		}
		return out, nil
	})
	h := newKeeping(t, m, "vendor/small")
	h.insert(append(texts(40), "poison", strings.Repeat("long ", 400))...)
	h.until("the others", func(p core.VectorProgress) bool { return p.Waiting == 1 && h.count("vendor/small") == 41 })
	h.insert("one more")
	h.until("one more", func(p core.VectorProgress) bool { return h.count("vendor/small") == 42 })
}

func TestTheBuiltInEmbeddingDoesNotWaitBehindAServerThatMayStall(t *testing.T) {
	t.Parallel()
	m := &embedders{}
	asked := make(chan core.Handle, 100)
	m.set(func(model core.Handle, _ []string, out [][]float32) ([][]float32, error) {
		asked <- model
		return out, nil
	})
	h := newKeeping(t, m, "vendor/small")
	own := core.Archive{ID: core.NewArchiveID(), Name: "own", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	h.ok(h.store.Archives().Create(t.Context(), &own))
	h.ok(h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		for _, archive := range []core.ArchiveID{h.archive.ID, own.ID} {
			p := core.Passage{ID: core.NewPassageID(), Archive: archive, Text: "a note", CreatedAt: time.Now(), UpdatedAt: time.Now()}
			if err := tx.Passages().Insert(ctx, &p); err != nil {
				return err
			}
		}
		return nil
	}))
	h.done()
	if first, second := <-asked, <-asked; first != core.WordsHandle || second != "vendor/small" {
		t.Errorf("%s is asked, then %s", first, second)
	}
}

func TestAnArchiveMovesToAnotherModelInTheBackground(t *testing.T) {
	t.Parallel()
	m := &embedders{}
	h := newKeeping(t, m, "")
	h.insert(texts(1200)...)
	h.done()
	h.archive.Embedding = "vendor/small"
	h.ok(h.store.Archives().Update(t.Context(), &h.archive))
	h.until("the move", func(p core.VectorProgress) bool {
		return p.Waiting == 0 && p.Moving == 0 && h.count("vendor/small") == 1200
	})
	if n := h.count(core.WordsHandle); n != 0 {
		t.Errorf("%d old vectors are left", n)
	}
	found, err := h.search.Passages(t.Context(), core.SearchQuery{
		Text: "zebra", Limit: 5, Vectors: map[core.Handle][]float32{"vendor/small": direction("vendor/small", texts(1200)[77])},
	}, core.PassageFilter{Archives: []core.ArchiveID{h.archive.ID}})
	if err != nil || len(found.Hits) == 0 || found.Hits[0].Passage.Text != texts(1200)[77] || found.Hits[0].Why.Vector < 2 {
		t.Errorf("by meaning alone: %+v %v", found.Hits, err)
	}
}

func TestAnArchiveWhoseModelCannotBeReachedTakesTheBuiltInOneAndSaysSo(t *testing.T) {
	t.Parallel()
	m := &embedders{find: func(h core.Handle) error {
		if h == "vendor/keyed" {
			return core.E(core.Unauthenticated, "no key")
		}
		return nil
	}}
	h := newKeeping(t, m, "vendor/keyed")
	h.insert(texts(5)...)
	if n := h.doneWith(core.WordsHandle); n != 5 {
		t.Errorf("%d vectors", n)
	}
	a, err := h.store.Archives().Get(t.Context(), h.archive.ID)
	if err != nil || a.Embedding != "" || a.Wanted != "vendor/keyed" {
		t.Errorf("%+v %v", a, err)
	}
	m.mu.Lock()
	m.find = nil
	m.mu.Unlock()
	a.Embedding = "vendor/keyed"
	h.ok(h.store.Archives().Update(t.Context(), &a))
	h.until("the wanted one", func(p core.VectorProgress) bool { return h.count("vendor/keyed") == 5 })
	m.mu.Lock()
	m.find = func(core.Handle) error { return core.E(core.Unauthenticated, "the key is gone") }
	m.mu.Unlock()
	h.insert("later")
	h.until("trouble", func(core.VectorProgress) bool {
		_, trouble, err := h.embedding.Status(t.Context())
		return err == nil && len(trouble) == 1
	})
	if a, err := h.store.Archives().Get(t.Context(), h.archive.ID); err != nil || a.Embedding != "vendor/keyed" {
		t.Errorf("a key that is away for a while moved the archive: %+v %v", a, err)
	}
	found, err := h.search.Passages(t.Context(), core.SearchQuery{Text: "later"}, core.PassageFilter{
		Archives: []core.ArchiveID{h.archive.ID},
	})
	if err != nil || len(found.Hits) == 0 || !found.Hits[0].Why.NoModel {
		t.Errorf("by words alone: %+v %v", found.Hits, err)
	}
}

func TestSearchesAndWritesGoOnTogether(t *testing.T) {
	t.Parallel()
	h := newKeeping(t, &embedders{}, "")
	var wg sync.WaitGroup
	var mu sync.Mutex
	stored := 0
	for w := range 3 {
		wg.Go(func() {
			for i := range 30 {
				p := &core.Passage{
					ID: core.NewPassageID(), Archive: h.archive.ID, Text: fmt.Sprintf("writer %d, note %d", w, i), CreatedAt: time.Now(),
					UpdatedAt: time.Now(),
				}
				err := h.store.Passages().Insert(t.Context(), p)
				if err == nil && i%3 == 0 {
					err = h.store.Passages().Delete(t.Context(), p.ID)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if i%3 != 0 {
					stored++
				}
				mu.Unlock()
			}
		})
		wg.Go(func() {
			for i := range 15 {
				found, err := h.search.Passages(t.Context(), core.SearchQuery{Text: fmt.Sprintf("writer %d, note %d", w, i)},
					core.PassageFilter{Archives: []core.ArchiveID{h.archive.ID}})
				if err != nil {
					t.Error(err)
				}
				for _, hit := range found.Hits {
					if hit.Passage.Archive != h.archive.ID {
						t.Errorf("found elsewhere: %+v", hit)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := h.doneWith(core.WordsHandle); n != stored {
		t.Errorf("%d vectors of %d texts", n, stored)
	}
}

// keyed finds a model only where the variables have its key.
type keyed struct{ *embedders }

func (k keyed) Embedder(ctx context.Context, h core.Handle, env core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	if _, ok := env("OPENAI_API_KEY"); !ok && h != "" && h != core.WordsHandle {
		return nil, core.EmbeddingInfo{Handle: h, Endpoint: serverOf(h, env)}, core.E(core.Unauthenticated, "there is no key").
			WithHint("set OPENAI_API_KEY")
	}
	e, info, err := k.embedders.Embedder(ctx, h, env)
	info.Endpoint = serverOf(h, env)
	return e, info, err
}

func serverOf(h core.Handle, env core.Env) string {
	if h == "" || h == core.WordsHandle {
		return ""
	}
	if at, ok := env("OPENAI_BASE_URL"); ok {
		return at.Reveal()
	}
	return "http://elsewhere"
}

func variablesOf(vars map[string]core.Secret) core.Env {
	return func(name string) (core.Secret, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestTextsAreSentOnlyWhereConsentSays(t *testing.T) {
	t.Parallel()
	const model core.Handle = "openai/small"
	keyOnly := variablesOf(map[string]core.Secret{"OPENAI_API_KEY": "sk"})
	other := variablesOf(map[string]core.Secret{"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": "http://other"})
	h := newKeeping(t, &embedders{}, "")
	for name, c := range map[string]struct {
		own, asking core.Env
		sessions    []core.Env
		want        string
		kind        core.Kind
	}{
		"a key that a session lends for the daemon's server": {
			asking: keyOnly, sessions: []core.Env{other, keyOnly}, want: "http://elsewhere",
		},
		"another server than the daemon's": {
			asking: other, sessions: []core.Env{other, keyOnly}, want: "http://elsewhere", kind: core.Conflict,
		},
		"another server, and no key for the daemon's": {
			asking: other, sessions: []core.Env{other}, want: "http://elsewhere", kind: core.Conflict,
		},
		"the server that the daemon has been given": {own: other, asking: other, sessions: []core.Env{keyOnly}, want: "http://other"},
		"no key, from somebody without variables":   {sessions: []core.Env{other}, want: "http://elsewhere", kind: core.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newWorker(Config{Store: h.store, Embedders: keyed{&embedders{}}, Env: c.own})
			e.Lend(func() []core.Env { return c.sessions })
			said, err := e.Reach(t.Context(), model, c.asking)
			if said.Endpoint != c.want || core.KindOf(err) != c.kind {
				t.Errorf("said: %s, %v", said.Endpoint, err)
			}
			if _, used, err := e.embedder(t.Context(), model); used.Endpoint != said.Endpoint {
				t.Errorf("used: %s, %v", used.Endpoint, err)
			}
		})
	}
}

func TestTheKeyOfALivingSessionIsUsedForWhatWaits(t *testing.T) {
	t.Parallel()
	const model core.Handle = "openai/small"
	key := func(name string) (core.Secret, bool) { return "sk", name == "OPENAI_API_KEY" }
	none := func(string) (core.Secret, bool) { return "", false }
	m := &embedders{}
	h := newKeeping(t, m, model)
	h.embedding.Close()
	h.embedding = Start(t.Context(), Config{Store: h.store, Embedders: keyed{m}})
	t.Cleanup(h.embedding.Close)
	var mu sync.Mutex
	sessions := []core.Env{none, key}
	h.embedding.Lend(func() []core.Env {
		mu.Lock()
		defer mu.Unlock()
		return sessions
	})
	h.insert(texts(3)...)
	if n := h.doneWith(model); n != 3 {
		t.Fatalf("%d vectors with the key of a session", n)
	}
	mu.Lock()
	sessions = []core.Env{none}
	mu.Unlock()
	h.insert("one more")
	var troubles []Trouble
	h.until("the trouble", func(p core.VectorProgress) bool {
		_, troubles, _ = h.embedding.Status(t.Context())
		return p.Waiting == 1 && len(troubles) == 1
	})
	if core.KindOf(troubles[0].Err) != core.Unauthenticated {
		t.Errorf("the trouble is %v", troubles[0].Err)
	}
	h.embedding.mu.Lock()
	h.embedding.models[model].until = time.Now().Add(time.Hour) // after many attempts
	h.embedding.mu.Unlock()
	mu.Lock()
	sessions = []core.Env{key}
	mu.Unlock()
	h.embedding.SessionJoined()
	if n := h.doneWith(model); n != 4 {
		t.Errorf("%d vectors after a session with the key came", n)
	}
}

// served are models whose server the variables name.
type served struct{ *embedders }

func (s served) Embedder(ctx context.Context, h core.Handle, env core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	e, info, err := s.embedders.Embedder(ctx, h, env)
	info.Endpoint = serverOf(h, env)
	return e, info, err
}

func TestADaemonWithOtherVariablesSendsNothingBeforeItIsAgreedTo(t *testing.T) {
	t.Parallel()
	const model core.Handle = "openai/small"
	m := &embedders{}
	h := newKeeping(t, m, model)
	h.insert(texts(3)...)
	if n := h.doneWith(model); n != 3 {
		t.Fatalf("%d vectors at first", n)
	}
	h.embedding.Close()
	other := variablesOf(map[string]core.Secret{"OPENAI_BASE_URL": "http://other"})
	h.embedding = Start(t.Context(), Config{Store: h.store, Embedders: served{m}, Env: other})
	t.Cleanup(h.embedding.Close)
	asked := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.asked[model]
	}
	before := asked()
	h.insert("for the first server")
	h.until("the trouble", func(core.VectorProgress) bool {
		_, troubles, err := h.embedding.Status(t.Context())
		return err == nil && len(troubles) == 1 && core.KindOf(troubles[0].Err) == core.Conflict
	})
	if _, err := h.embedding.Query(t.Context(), model, "a question"); core.KindOf(err) != core.Conflict {
		t.Errorf("a question is sent to the other server: %v", err)
	}
	if n := asked() - before; n != 0 {
		t.Errorf("%d texts were sent to the other server", n)
	}
	info, err := h.embedding.Reach(t.Context(), model, nil)
	if err != nil || info.Endpoint != "http://other" {
		t.Fatalf("what is agreed to is %q, %v", info.Endpoint, err)
	}
	h.ok(h.embedding.Agree(t.Context(), info))
	h.until("the new server", func(core.VectorProgress) bool { return h.count(model) == 4 })
}
