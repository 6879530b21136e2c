package sandbox

import (
	"bytes"
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"loci/core"
)

// Bounds of what is remembered of a git folder.
const (
	mostKeptFiles = 500
	mostKeptBytes = 4 << 20
)

// acted is what git would run or follow in one of its folders, as it was before a job that nothing keeps from changing it.
type acted struct {
	path  string
	was   fs.FileInfo
	root  *os.Root // the folder itself, wherever it is moved
	files map[string]actedFile
}

type actedFile struct {
	mode fs.FileMode
	text []byte // of a file, or where a link leads
}

type actedFolders []*acted

// keepActed remembers what git acts on in the folders that a job may change.
func (p *plan) keepActed() (all actedFolders, err error) {
	for _, in := range append([]*project{p.project}, p.beside...) {
		if in == nil || !in.writable {
			continue
		}
		for _, dir := range in.git {
			a, err := remember(dir)
			if err != nil {
				all.close()
				return nil, err
			}
			all = append(all, a)
		}
	}
	return all, nil
}

func (all actedFolders) close() {
	for _, a := range all {
		_ = a.root.Close() // nothing is written through it any more
	}
}

func remember(dir string) (*acted, error) {
	a := &acted{path: dir, files: map[string]actedFile{}}
	var err error
	if a.was, err = os.Lstat(dir); err == nil {
		a.root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, core.E(core.Invalid, "the repository %s can't be looked at: %w", dir, err)
	}
	size := 0
	err = a.each(func(name string, f actedFile) error {
		if size += len(f.text); len(a.files) >= mostKeptFiles || size > mostKeptBytes {
			return core.E(core.TooLarge, "the hooks and settings of %s are too many to be watched over", dir)
		}
		a.files[name] = f
		return nil
	})
	if err != nil {
		_ = a.root.Close() // nothing was written
		return nil, err
	}
	return a, nil
}

// each calls a function with everything that git acts on in the folder, outer names first.
func (a *acted) each(do func(name string, f actedFile) error) error {
	for _, top := range guarded {
		if err := a.walk(top, do); err != nil {
			return err
		}
	}
	return nil
}

// walk calls a function with what stands under a name, and with all that is in it. What isn't there, or can't be read, git doesn't
// read either.
func (a *acted) walk(name string, do func(name string, f actedFile) error) error {
	f, err := a.read(name)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if err := do(name, f); err != nil || !f.mode.IsDir() {
		return err
	}
	dir, err := a.open(name)
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	entries, _ := dir.ReadDir(-1) // of those that were read
	_ = dir.Close()               // nothing was written
	slices.SortFunc(entries, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	for _, e := range entries {
		if err := a.walk(name+"/"+e.Name(), do); err != nil {
			return err
		}
	}
	return nil
}

// open opens what stands under a name to be read. It waits for nobody: another job may have put a pipe there.
func (a *acted) open(name string) (*os.File, error) {
	return a.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (a *acted) read(name string) (f actedFile, err error) {
	info, err := a.root.Lstat(name)
	if err != nil {
		return f, err
	}
	f.mode = info.Mode()
	switch {
	case f.mode&fs.ModeSymlink != 0:
		to, err := a.root.Readlink(name)
		f.text = []byte(to)
		return f, err
	case f.mode.IsRegular():
		f.text, err = a.head(name)
	}
	return f, err
}

// head reads a file, and of one that is too large to be remembered so much that it shows.
func (a *acted) head(name string) ([]byte, error) {
	file, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist // something else is there by now
	}
	return io.ReadAll(io.LimitReader(file, mostKeptBytes+1))
}

// restore puts back what the job changed of all that, and names it. The job has ended.
func (all actedFolders) restore() (changed []string) {
	for _, a := range all {
		if now, err := os.Lstat(a.path); err != nil || !os.SameFile(a.was, now) {
			changed = append(changed, a.path) // another one is in its place, or none
			if err == nil {                   // git does not follow the other name
				if err := moveAside(a.path); err != nil {
					changed = append(changed, a.path+" is not what it was, and could not be moved aside: "+err.Error())
				}
			}
		}
		changed = append(changed, a.back()...)
	}
	return changed
}

// moveAside gives what stands under a path another name, also where the job has taken the first one.
func moveAside(path string) error {
	err := os.Rename(path, path+".replaced")
	if err != nil {
		err = os.Rename(path, path+".replaced-"+strings.ToLower(rand.Text()[:8]))
	}
	return err
}

func (a *acted) back() (changed []string) {
	now := map[string]bool{} // names alone: how much the job has written there, nobody bounds
	var wrong []string
	_ = a.each(func(name string, f actedFile) error { // it returns what we return
		now[name] = true
		if was, ok := a.files[name]; !ok || !was.same(f) {
			wrong = append(wrong, name)
		}
		return nil
	})
	for _, name := range wrong {
		changed = append(changed, filepath.Join(a.path, name))
		_ = a.root.RemoveAll(name) // what was there comes back below
	}
	var names []string
	for name := range a.files {
		names = append(names, name)
	}
	slices.Sort(names) // folders before what is in them
	for _, name := range names {
		if _, err := a.root.Lstat(name); err == nil {
			continue
		}
		if !now[name] {
			changed = append(changed, filepath.Join(a.path, name))
		}
		if err := a.put(name, a.files[name]); err != nil {
			changed = append(changed, filepath.Join(a.path, name)+" could not be put back: "+err.Error())
		}
	}
	slices.Sort(changed)
	return slices.Compact(changed)
}

func (a *acted) put(name string, f actedFile) error {
	switch {
	case f.mode.IsDir():
		return a.root.Mkdir(name, f.mode.Perm())
	case f.mode&fs.ModeSymlink != 0:
		return a.root.Symlink(string(f.text), name)
	case f.mode.IsRegular():
		if err := a.root.WriteFile(name, f.text, f.mode.Perm()); err != nil {
			return err
		}
		return a.root.Chmod(name, f.mode.Perm())
	}
	return nil
}

func (f actedFile) same(other actedFile) bool {
	return f.mode == other.mode && bytes.Equal(f.text, other.text)
}
