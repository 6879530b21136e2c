package intake

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/storage"
	"loci/tools/parsers"
)

// shelf is a store with a folder whose files nobody reads yet.
type shelf struct {
	*testing.T
	store  *storage.Store
	folder core.Folder
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{T: t, store: store}
	t.Cleanup(func() { s.ok(store.Close()) })
	now := time.Now()
	archive := core.Archive{ID: core.NewArchiveID(), Name: "shelf", CreatedAt: now, UpdatedAt: now}
	s.ok(store.Archives().Create(t.Context(), &archive))
	s.folder = core.Folder{ID: core.NewFolderID(), Archive: archive.ID, Name: "shelf", CreatedAt: now, UpdatedAt: now}
	s.ok(store.Folders().Create(t.Context(), &s.folder))
	return s
}

func (s *shelf) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// accept keeps a file to be read.
func (s *shelf) accept(name, data string) {
	s.Helper()
	now := time.Now()
	f := core.File{
		ID:        core.NewFileID(),
		Folder:    s.folder.ID,
		Name:      name,
		Hash:      name,
		Status:    core.FilePending,
		CreatedAt: now,
		UpdatedAt: now,
	}
	s.ok(s.store.Files().Create(s.Context(), &f, []byte(data)))
}

// failing is a store that cannot read the bytes of files for a while.
type failing struct {
	core.Store
	core.FileStore
	left atomic.Int32
}

func (s *failing) Files() core.FileStore { return s }

func (s *failing) Data(ctx context.Context, id core.FileID) ([]byte, error) {
	if s.left.Add(-1) >= 0 {
		return nil, core.E(core.Internal, "disk I/O error")
	}
	return s.FileStore.Data(ctx, id)
}

func TestAFileIsNotLostToATroubleOfTheStore(t *testing.T) {
	t.Parallel()
	l := newShelf(t)
	l.accept("a.txt", "What was written down.")
	store := &failing{Store: l.store, FileStore: l.store.Files()}
	store.left.Store(1)
	worker := Start(t.Context(), Config{Store: store, Parser: parsers.New()})
	t.Cleanup(worker.Close)
	coretest.Until(t, "the file has been read", func() bool {
		files, err := l.store.Files().List(t.Context(), core.FileFilter{Status: []core.FileStatus{core.FileEmbedding}}, core.Page{})
		l.ok(err)
		return len(files) == 1
	})
}

// slow is a store that stores nothing before it may.
type slow struct {
	core.Store
	may <-chan struct{}
}

func (s *slow) Tx(ctx context.Context, fn func(ctx context.Context, tx core.Store) error) error {
	return s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error { return fn(ctx, slowTx{tx, s.may}) })
}

type slowTx struct {
	core.Store
	may <-chan struct{}
}

func (s slowTx) Tx(ctx context.Context, fn func(ctx context.Context, tx core.Store) error) error {
	<-s.may
	return s.Store.Tx(ctx, fn)
}

// longParser makes a long text of everything.
type longParser struct{ parsed atomic.Int32 }

func (p *longParser) Parse(context.Context, core.ParseInput) (core.Document, error) {
	p.parsed.Add(1)
	return core.Document{Kind: core.FileText, Text: strings.Repeat("It goes on and on. ", 1<<17)}, nil
}

func TestLongFilesWaitForTheStoreBeforeMoreAreRead(t *testing.T) {
	t.Parallel()
	const files = 20
	l := newShelf(t)
	for i := range files {
		l.accept(strings.Repeat("x", i+1)+".txt", "log")
	}
	parser, may := &longParser{}, make(chan struct{})
	worker := Start(t.Context(), Config{Store: &slow{l.store, may}, Parser: parser})
	free := sync.OnceFunc(func() { close(may) })
	t.Cleanup(func() { free(); worker.Close() })
	const most = 2*readers + 2 // with the readers, in the hands of who stores, and on the way there
	coretest.Until(t, "every reader has read", func() bool { return parser.parsed.Load() >= readers })
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Second / 2); ; {
		select {
		case <-tick.C:
			if n := parser.parsed.Load(); n > most {
				t.Fatalf("%d long texts wait in memory", n)
			}
			continue
		case <-end:
		}
		break
	}
}

func TestWhatIsStoredOfAFileIsWhatItIsNow(t *testing.T) {
	t.Parallel()
	l := newShelf(t)
	w, now := newWorker(Config{Store: l.store}), time.Now()
	f := core.File{
		ID:         core.NewFileID(),
		Folder:     l.folder.ID,
		Name:       "a.txt",
		Hash:       "now",
		Status:     core.FileParsing,
		ModifiedAt: now,
		CreatedAt:  now,
		UpdatedAt:  now,
	}
	l.ok(l.store.Files().Create(t.Context(), &f, nil))
	store := func(hash string, fault error) (core.File, error) {
		t.Helper()
		o := outcome{file: f, err: fault, doc: core.Document{Kind: core.FileText, Text: "lake"}}
		o.file.Hash = hash
		o.chunks = []core.Passage{{ID: core.NewPassageID(), Text: "lake", CreatedAt: now}}
		err := w.storeOne(t.Context(), l.store, &o)
		got, failed := l.store.Files().Get(t.Context(), f.ID)
		l.ok(failed)
		return got, err
	}
	again := func(got core.File) {
		t.Helper()
		got.Status = core.FileParsing
		l.ok(l.store.Files().Update(t.Context(), &got))
	}
	if got, err := store("before", nil); core.KindOf(err) != core.Conflict || got.Chunks > 0 {
		t.Errorf("what it was before: %v, %+v", err, got)
	}
	got, err := store("now", nil)
	if err != nil || got.Chunks != 1 || got.Status != core.FileEmbedding {
		t.Errorf("what it is: %v, %+v", err, got)
	}
	again(got)
	if got, err = store(
		"now",
		core.E(core.Invalid, "broken"),
	); err != nil || got.Chunks > 0 || got.Status != core.FileFailed ||
		got.Hash != "now" {
		t.Errorf("broken by now: %v, %+v", err, got)
	}
	again(got)
	if got, err = store("now", lostError{core.E(core.NotFound, "gone")}); err != nil || got.Status != core.FileFailed || got.Hash != "" {
		t.Errorf("not to be had, so it is read when it is there again: %v, %+v", err, got)
	}
}
