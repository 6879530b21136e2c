package service

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/storage"
	"loci/tools/parsers"
)

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
	l := newLibrary(t, storage.Config{})
	l.ingest.Close()
	folder := l.folder("notes")
	l.upload(folder.ID, "a.txt", "What was written down.")
	store := &failing{Store: l.store, FileStore: l.store.Files()}
	store.left.Store(1)
	again := NewIngest(IngestConfig{Parser: parsers.New()})
	again.Start(l.ctx, store)
	t.Cleanup(again.Close)
	for _, f := range l.settled(folder.ID) {
		if f.Status != core.FileCompleted {
			t.Errorf("%s is %s: %s", f.Name, f.Status, f.Error)
		}
	}
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
	l := newLibrary(t, storage.Config{})
	l.ingest.Close()
	folder := l.folder("logs")
	for i := range files {
		l.upload(folder.ID, strings.Repeat("x", i+1)+".txt", "log")
	}
	parser, may := &longParser{}, make(chan struct{})
	again := NewIngest(IngestConfig{Parser: parser})
	again.Start(l.ctx, &slow{l.store, may})
	free := sync.OnceFunc(func() { close(may) })
	t.Cleanup(func() { free(); again.Close() })
	const most = 2*ingestReaders + 2 // with the readers, in the hands of who stores, and on the way there
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute)
	for parser.parsed.Load() < ingestReaders {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%d texts were read", parser.parsed.Load())
		}
	}
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
	l := newLibrary(t, storage.Config{})
	l.ingest.Close()
	g, now := NewIngest(IngestConfig{}), time.Now()
	f := core.File{
		ID: core.NewFileID(), Folder: l.folder("notes").ID, Name: "a.txt", Hash: "now", Status: core.FileParsing, ModifiedAt: now, CreatedAt: now, UpdatedAt: now,
	}
	l.ok(l.store.Files().Create(l.ctx, &f, nil))
	store := func(hash string, fault error) (core.File, error) {
		t.Helper()
		o := outcome{file: f, err: fault, doc: core.Document{Kind: core.FileText, Text: "lake"}}
		o.file.Hash = hash
		o.chunks = []core.Passage{{ID: core.NewPassageID(), Text: "lake", CreatedAt: now}}
		err := g.storeOne(l.ctx, l.store, &o)
		got, failed := l.store.Files().Get(l.ctx, f.ID)
		l.ok(failed)
		return got, err
	}
	again := func(got core.File) {
		t.Helper()
		got.Status = core.FileParsing
		l.ok(l.store.Files().Update(l.ctx, &got))
	}
	if got, err := store("before", nil); core.KindOf(err) != core.Conflict || got.Chunks > 0 {
		t.Errorf("what it was before: %v, %+v", err, got)
	}
	got, err := store("now", nil)
	if err != nil || got.Chunks != 1 || got.Status != core.FileEmbedding {
		t.Errorf("what it is: %v, %+v", err, got)
	}
	again(got)
	if got, err = store("now", core.E(core.Invalid, "broken")); err != nil || got.Chunks > 0 || got.Status != core.FileFailed || got.Hash != "now" {
		t.Errorf("broken by now: %v, %+v", err, got)
	}
	again(got)
	if got, err = store("now", lostError{core.E(core.NotFound, "gone")}); err != nil || got.Status != core.FileFailed || got.Hash != "" {
		t.Errorf("not to be had, so it is read when it is there again: %v, %+v", err, got)
	}
}
