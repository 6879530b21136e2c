package service

import (
	"context"
	"sync/atomic"
	"testing"

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
