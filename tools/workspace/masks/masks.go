// Package masks finds what a shell line may not read or change in a folder, so that mounts can hold it to that. Words of a line
// can't: a pattern, a script or an archive reaches files that no word names.
//
// Promises: it only reads names, and of few files how they are stored; it follows no link out of the folder; it is bounded in
// time, depth and count, nearer files first, and says where it met a bound.
//
// Layer 1, below tools: it imports core.
package masks

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"loci/core"
)

// Bounds of one search.
const (
	maxDepth   = 64
	maxEntries = 1_000_000
	maxTime    = 5 * time.Second
	atOnce     = 1024 // entries that are read of a folder at a time
)

// Masks are paths relative to the folder, with slashes and without links.
type Masks struct {
	Hidden   []string // what may not be read
	ReadOnly []string // what may not be changed
	Fixed    []string // folders that must stay where they are, since a rule means something in them by its place
	Sockets  []string // through which other programs are reached, where they are not hidden anyway

	AllHidden   bool // nothing in the folder may be read
	AllReadOnly bool // nothing in it may be changed
	Partly      bool // a bound was met, so that not everything was looked at
}

// Find looks through a folder, by its real path.
func Find(ctx context.Context, root string, rules core.FolderRules) (Masks, error) {
	w := &walk{root: root, until: time.Now().Add(maxTime), files: map[file]core.PathAccess{}}
	self := rules.Self()
	w.found.AllHidden, w.found.AllReadOnly = self.Read == core.PathClosed, self.Write == core.PathClosed
	if w.found.AllHidden {
		return w.found, nil
	}
	w.enter(ctx, folder{rel: ".", rules: rules, access: core.PathAccess{Write: self.Write}})
	w.otherNames(ctx)
	if ctx.Err() != nil {
		return Masks{}, context.Cause(ctx)
	}
	for _, list := range []*[]string{&w.found.Hidden, &w.found.ReadOnly, &w.found.Fixed} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return w.found, nil
}

// walk is one search.
type walk struct {
	root    string
	until   time.Time
	entries int
	found   Masks
	files   map[file]core.PathAccess // closed files that have several names
}

// folder is one that is to be looked at.
type folder struct {
	rel    string
	depth  int
	rules  core.FolderRules
	access core.PathAccess // what holds for all in it already
	git    bool            // it belongs to git
}

// inGit are folders of git's own that hold the history and names of branches, and no file of anybody's.
var inGit = []string{"objects", "refs", "logs", "lfs", "worktrees"}

// enter looks at a folder and all below it, level by level.
func (w *walk) enter(ctx context.Context, first folder) {
	for todo := []folder{first}; len(todo) > 0; todo = todo[1:] {
		f := todo[0]
		if f.depth > maxDepth {
			w.found.Partly = true
			continue
		}
		w.read(ctx, f.rel, func(e fs.DirEntry) {
			if f.git && e.IsDir() && slices.Contains(inGit, e.Name()) {
				return
			}
			access := w.judge(&f, e)
			if e.Type()&fs.ModeSocket != 0 && access.Read != core.PathClosed {
				w.found.Sockets = append(w.found.Sockets, path.Join(f.rel, e.Name()))
			}
			if e.IsDir() {
				below := folder{rel: path.Join(f.rel, e.Name()), depth: f.depth + 1, access: access, git: f.git || e.Name() == ".git"}
				below.rules = f.rules.Folder(e.Name())
				todo = append(todo, below)
			}
		})
	}
}

// judge notes what the rules say of an entry, and returns what holds for all in it.
func (w *walk) judge(f *folder, e fs.DirEntry) (access core.PathAccess) {
	a := f.rules.Entry(e.Name())
	access.Read, access.Write = closed(f.access.Read, a.Read), closed(f.access.Write, a.Write)
	if access == (core.PathAccess{}) {
		return access
	}
	rel := path.Join(f.rel, e.Name())
	if e.Type()&fs.ModeSymlink != 0 {
		w.follow(rel, access)
		return access
	}
	if w.note(rel, access, f.access) && a.Placed {
		for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
			w.found.Fixed = append(w.found.Fixed, dir)
		}
	}
	if e.Type().IsRegular() {
		if id, several := identify(e); several {
			w.files[id] = merge(w.files[id], access)
		}
	}
	return access
}

// closed is how closed an entry is that stands in a folder.
func closed(around, own core.PathReach) core.PathReach {
	if around == core.PathClosed || own == core.PathClosed {
		return core.PathClosed
	}
	return core.PathOpen // what is partly closed is closed entry by entry
}

func merge(a, b core.PathAccess) core.PathAccess {
	return core.PathAccess{Read: max(a.Read, b.Read), Write: max(a.Write, b.Write)}
}

// note adds a path, unless what it is in is closed already.
func (w *walk) note(rel string, access, around core.PathAccess) (added bool) {
	switch {
	case around.Read == core.PathClosed:
		return false
	case access.Read == core.PathClosed:
		w.found.Hidden = append(w.found.Hidden, rel)
		return true
	case access.Write == core.PathClosed && around.Write != core.PathClosed:
		w.found.ReadOnly = append(w.found.ReadOnly, rel)
		return true
	}
	return false
}

// follow closes what a link leads to, since a link itself can't be.
func (w *walk) follow(rel string, access core.PathAccess) {
	real, err := filepath.EvalSymlinks(filepath.Join(w.root, filepath.FromSlash(rel)))
	if err != nil {
		return // it leads nowhere
	}
	to, err := filepath.Rel(w.root, real)
	if err == nil && to != "." && filepath.IsLocal(to) {
		w.note(filepath.ToSlash(to), access, core.PathAccess{})
	}
}

// otherNames closes what is the same file as one that is closed, under another name.
func (w *walk) otherNames(ctx context.Context) {
	if len(w.files) == 0 {
		return
	}
	w.entries = 0
	for todo := []string{"."}; len(todo) > 0; todo = todo[1:] {
		w.read(ctx, todo[0], func(e fs.DirEntry) {
			rel := path.Join(todo[0], e.Name())
			if e.IsDir() && strings.Count(rel, "/") < maxDepth {
				todo = append(todo, rel)
			}
			if !e.Type().IsRegular() {
				return
			}
			if id, several := identify(e); several && w.files[id] != (core.PathAccess{}) && !w.covered(rel) {
				w.note(rel, w.files[id], core.PathAccess{})
			}
		})
	}
}

// covered reports whether a path is hidden already, by its own name or with a folder.
func (w *walk) covered(rel string) bool {
	return slices.ContainsFunc(w.found.Hidden, func(h string) bool { return rel == h || strings.HasPrefix(rel, h+"/") })
}

// read calls see with every entry of a folder, as far as the bounds allow. What can't be opened here, a line can't open either.
func (w *walk) read(ctx context.Context, rel string, see func(e fs.DirEntry)) {
	dir, err := os.OpenFile(filepath.Join(w.root, filepath.FromSlash(rel)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }() // only read from
	for {
		if w.entries >= maxEntries || time.Now().After(w.until) || ctx.Err() != nil {
			w.found.Partly = true
			return
		}
		entries, err := dir.ReadDir(atOnce)
		for _, e := range entries {
			w.entries++
			see(e)
		}
		if errors.Is(err, io.EOF) || len(entries) == 0 {
			return
		}
	}
}
