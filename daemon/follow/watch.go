package follow

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watch collects what the system reports about a directory: which files may have changed.
type watch struct {
	root  string
	from  *fsnotify.Watcher
	wake  func()
	owned sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	dirty map[string]bool
	whole bool // something was missed
}

// newWatch starts to listen; nothing is reported before add. wake is called after each change and must not block.
func newWatch(root string, wake func()) (*watch, error) {
	from, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watch{root: root, from: from, wake: wake, dirty: map[string]bool{}}
	w.owned.Go(w.listen)
	return w, nil
}

// close stops listening and waits.
func (w *watch) close() {
	_ = w.from.Close() // there is nothing to lose
	w.owned.Wait()
}

func (w *watch) listen() {
	for {
		select {
		case e, ok := <-w.from.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				w.note(e.Name)
			}
		case _, ok := <-w.from.Errors:
			if !ok {
				return
			}
			w.mu.Lock()
			w.whole = true
			w.mu.Unlock()
			w.wake()
		}
	}
}

// maxDirty limits how many changed files are remembered individually.
const maxDirty = 10_000

func (w *watch) note(path string) {
	base := filepath.Base(path)
	if strings.HasPrefix(base, ".") && base != ignoreFile {
		return
	}
	name, err := filepath.Rel(w.root, path)
	if err != nil {
		return
	}
	w.mu.Lock()
	if len(w.dirty) < maxDirty {
		w.dirty[filepath.ToSlash(name)] = true
	} else {
		w.whole = true
	}
	w.mu.Unlock()
	w.wake()
}

// take returns what may have changed since the last call.
func (w *watch) take() (dirty map[string]bool, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dirty, whole = w.dirty, w.whole
	w.dirty, w.whole = map[string]bool{}, false
	return dirty, whole
}

// only sets the directories to watch and reports whether any is new: whatever happened in a new one between listing
// and watching it was missed.
func (w *watch) only(dirs []string) (added bool, err error) {
	have := map[string]bool{}
	for _, dir := range w.from.WatchList() {
		have[dir] = true
	}
	for _, dir := range dirs {
		if have[dir] {
			delete(have, dir)
			continue
		}
		switch err := w.from.Add(dir); {
		case err == nil:
			added = true
		case !isGone(err):
			return added, err
		}
	}
	for dir := range have {
		_ = w.from.Remove(dir) // it may have ended by itself
	}
	return added, nil
}
