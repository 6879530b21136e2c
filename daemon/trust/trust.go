package trust

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"loci/core"
)

// Trust is what a person said of the items of folders. Safe for concurrent use.
type Trust struct {
	path string // the file of decisions
	mu   sync.Mutex
}

// New returns what is said in a file.
func New(path string) *Trust { return &Trust{path: path} }

// Items returns what a folder brings, nearer items first, and whether that is all: looking through it is bounded.
func (t *Trust) Items(ctx context.Context, folder string) (items []core.FolderItem, whole bool, err error) {
	real, root, err := open(folder)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = root.Close() }()
	t.mu.Lock()
	doc, err := load(t.path)
	t.mu.Unlock()
	if err != nil {
		return nil, false, err
	}
	found, whole := find(ctx, root)
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	said := doc.Folders[real]
	for i := range found {
		found[i].State = said.state(&found[i].FolderItem)
		items = append(items, found[i].FolderItem)
	}
	return items, whole, nil
}

// Decide keeps what a person says of items. All of them must still be what the person saw, or nothing is kept.
func (t *Trust) Decide(folder string, decisions []core.TrustDecision) error {
	real, root, err := open(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, d := range decisions {
		if !filepath.IsLocal(d.Path) || !slices.Contains(instructionFiles, path.Base(d.Path)) {
			return core.E(core.Invalid, "%q is nothing of a folder that would act", d.Path)
		}
		now, ok := read(root, path.Clean(d.Path))
		switch {
		case !ok:
			return core.E(core.NotFound, "the folder has no %s", d.Path).WithHint("loci trust")
		case now.Fault != "":
			return core.E(core.Invalid, "%s can't be trusted: %s", d.Path, now.Fault)
		case now.Hash != d.Hash:
			return core.E(core.Conflict, "%s has changed since you saw it", d.Path).WithHint("read it again: loci trust")
		}
	}
	return t.change(func(doc *document) error {
		said := doc.Folders[real]
		for _, d := range decisions {
			said.decide(path.Clean(d.Path), d.Hash, d.Trusted)
		}
		doc.Folders[real] = said
		return nil
	})
}

// Remove forgets all that was said of a folder, which may be gone.
func (t *Trust) Remove(folder string) error {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		real = filepath.Clean(folder)
	}
	return t.change(func(doc *document) error {
		if _, ok := doc.Folders[real]; !ok {
			return core.E(core.NotFound, "nothing was said of what %s brings", folder)
		}
		delete(doc.Folders, real)
		return nil
	})
}

// Instructions returns the trusted texts that stand in a folder of the open one ("." for that itself). What can't be read,
// or be known to be trusted, is left out.
func (t *Trust) Instructions(folder, dir string) []core.Instructions {
	real, root, err := open(folder)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	var found []item
	for _, name := range instructionFiles {
		if it, ok := read(root, path.Join(dir, name)); ok && it.Hash != "" {
			found = append(found, it)
		}
	}
	if len(found) == 0 {
		return nil
	}
	t.mu.Lock()
	doc, err := load(t.path)
	t.mu.Unlock()
	if err != nil {
		return nil
	}
	said := doc.Folders[real]
	var out []core.Instructions
	for i := range found {
		it := &found[i]
		same := func(o core.Instructions) bool { return o.Text == it.text } // one is a link to the other
		if said.state(&it.FolderItem) == core.TrustGiven && !slices.ContainsFunc(out, same) {
			out = append(out, core.Instructions{Path: it.Path, Text: it.text})
		}
	}
	return out
}

// open opens a folder by its absolute path, and returns where it really is.
func open(folder string) (real string, root *os.Root, err error) {
	if !filepath.IsAbs(folder) {
		return "", nil, core.E(core.Invalid, "a folder is named by its absolute path")
	}
	if real, err = filepath.EvalSymlinks(folder); err == nil {
		root, err = os.OpenRoot(real)
	}
	if err != nil {
		return "", nil, core.E(core.NotFound, "the folder %s can't be opened: %w", folder, err)
	}
	return real, root, nil
}
