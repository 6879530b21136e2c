package follow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loci/core"
	"loci/core/embedding"
	"loci/core/engine"
	"loci/core/intake"
	"loci/core/service"
	"loci/providers"
	"loci/providers/offline"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
	"loci/tools/parsers"
)

// house is a home with one folder that follows a directory.
type house struct {
	testing.TB
	ctx      context.Context
	dir      string
	poll     bool
	store    *storage.Store
	services *service.Services
	follower *Follower
	folder   core.FolderID
	close    func()
}

// newHouse makes a home; nothing is followed yet.
func newHouse(tb testing.TB, poll bool) *house {
	tb.Helper()
	h := &house{TB: tb, ctx: context.Background(), dir: tb.TempDir(), poll: poll}
	store, err := storage.Open(h.ctx, storage.Config{Dir: tb.TempDir()})
	h.ok(err)
	h.store = store
	tb.Cleanup(func() { h.ok(store.Close()) })
	h.start()
	tb.Cleanup(func() { h.close() })
	return h
}

// start begins what a daemon does.
func (h *house) start() {
	h.Helper()
	reached := providers.New(providers.Config{Offline: offline.New()})
	reading := intake.Start(h.ctx, intake.Config{Store: h.store, Parser: parsers.New(), Mirrored: Read})
	vectors := embedding.Start(h.ctx, embedding.Config{Store: h.store, Embedders: reached, After: reading.Nudge})
	box := tools.New()
	eng := engine.New(
		engine.Config{Store: h.store, Search: storagetest.Search(h.store), Log: h.store.Events(), Models: reached, Tools: box},
	)
	h.services = service.New(
		service.Config{
			Store:    h.store,
			Search:   storagetest.Search(h.store),
			Engine:   eng,
			Models:   reached,
			Tools:    box,
			Accepted: reading.Nudge,
		},
	)
	h.follower = New(Config{Store: h.store, Services: h.services, Poll: h.poll})
	h.ok(h.follower.Start(h.ctx))
	h.close = func() {
		h.follower.Close()
		reading.Close()
		vectors.Close()
		h.services.Close()
		h.ok(errors.Join(eng.Shutdown(h.ctx)))
	}
}

func (h *house) restart() {
	h.Helper()
	h.close()
	h.start()
}

func (h *house) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// follow lets a new folder follow the directory.
func (h *house) follow() {
	h.Helper()
	f, err := h.services.Folders.Create(h.ctx, service.NewFolder{Name: "followed"}, nil)
	h.ok(err)
	h.folder = f.ID
	_, err = h.follower.On(h.ctx, f.ID, h.dir)
	h.ok(err)
}

// followed lets a new folder follow the directory with these files in it, and waits until it is read.
func (h *house) followed(files map[string]string) {
	h.Helper()
	for name, text := range files {
		h.write(name, text)
	}
	h.follow()
	h.alike(files)
}

func (h *house) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

func (h *house) write(name, text string) {
	h.Helper()
	h.ok(os.MkdirAll(filepath.Dir(h.path(name)), 0o700))
	h.ok(os.WriteFile(h.path(name), []byte(text), 0o600))
}

func (h *house) remove(name string) { h.Helper(); h.ok(os.RemoveAll(h.path(name))) }

func (h *house) rename(old, name string) {
	h.Helper()
	h.ok(os.MkdirAll(filepath.Dir(h.path(name)), 0o700))
	h.ok(os.Rename(h.path(old), h.path(name)))
}

// files returns what the folder has, by name.
func (h *house) files() map[string]core.File {
	h.Helper()
	list, err := h.store.Files().List(h.ctx, core.FileFilter{Folders: []core.FolderID{h.folder}}, core.Page{Limit: 100_000})
	h.ok(err)
	out := map[string]core.File{}
	for _, f := range list {
		if _, twice := out[f.Name]; twice {
			h.Fatalf("%s is there twice", f.Name)
		}
		out[f.Name] = f
	}
	return out
}

// texts returns what can be read of each file that is done.
func (h *house) texts() map[string]string {
	h.Helper()
	out := map[string]string{}
	for name, f := range h.files() {
		switch f.Status {
		case core.FileCompleted:
			doc, err := h.store.Files().Document(h.ctx, f.ID)
			if core.KindOf(err) == core.NotFound {
				continue // deleted since
			}
			h.ok(err)
			out[name] = doc.Text
		case core.FileFailed:
			out[name] = "error: " + f.Error
		case core.FilePending, core.FileParsing, core.FileEmbedding:
			out[name] = "…"
		}
	}
	return out
}

// until waits for something and returns how long that took.
func (h *house) until(what string, holds func() bool) time.Duration {
	h.Helper()
	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			s, err := h.follower.State(h.ctx, h.folder)
			h.Fatalf("never: %s; files %v, state %+v %+v, %v", what, h.texts(), s, s.Mirror, err)
		}
	}
	return time.Since(began)
}

// alike waits until the folder is read and exactly these files are in it, and their chunks.
func (h *house) alike(want map[string]string) {
	h.Helper()
	h.until("alike", func() bool {
		got := h.texts()
		if len(got) != len(want) {
			return false
		}
		for name, text := range want {
			if got[name] != text {
				return false
			}
		}
		return true
	})
	h.chunksOnce()
}

// chunksOnce checks that every chunk belongs to a file, once.
func (h *house) chunksOnce() {
	h.Helper()
	folder, err := h.store.Folders().Get(h.ctx, h.folder)
	h.ok(err)
	passages, err := h.store.Passages().
		List(h.ctx, core.PassageFilter{Archives: []core.ArchiveID{folder.Archive}}, core.Page{Limit: 100_000})
	h.ok(err)
	files, per := h.files(), map[core.FileID]map[int]bool{}
	for _, p := range passages {
		if per[p.File] == nil {
			per[p.File] = map[int]bool{}
		}
		if per[p.File][p.Place] {
			h.Errorf("chunk %d of %s is there twice", p.Place, p.File)
		}
		per[p.File][p.Place] = true
	}
	for name, f := range files {
		if len(per[f.ID]) != f.Chunks {
			h.Errorf("%s has %d chunks, %d are there", name, f.Chunks, len(per[f.ID]))
		}
		delete(per, f.ID)
	}
	if len(per) > 0 {
		h.Errorf("chunks of files that are gone: %v", per)
	}
}

func (h *house) state() core.FollowState {
	h.Helper()
	s, err := h.follower.State(h.ctx, h.folder)
	h.ok(err)
	return s
}
