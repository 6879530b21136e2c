package trust

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"loci/core"
)

// Trust is what a person said of the items of folders. Safe for concurrent use.
type Trust struct {
	path  string // the file of decisions
	check Check
	mu    sync.Mutex
}

// Check says what is wrong with the text of an item, so that nobody could act on it; nil: nothing is.
type Check func(it *core.FolderItem, text string) error

// New returns what is said in a file, of items that check finds nothing wrong with; nil: of all.
func New(path string, check Check) *Trust { return &Trust{path: path, check: check} }

// Items returns what a folder brings, nearer items first, and whether that is all: looking through it is bounded.
func (t *Trust) Items(ctx context.Context, folder string) (items []core.FolderItem, whole bool, err error) {
	real, root, err := open(folder)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = root.Close() }()
	doc, err := t.said()
	if err != nil {
		return nil, false, err
	}
	found, whole := t.find(ctx, root)
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	for i := range found {
		found[i].State = doc.state(real, &found[i].FolderItem)
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
		if err := known(d.Path); err != nil {
			return err
		}
		now, ok := t.read(root, path.Clean(d.Path))
		switch {
		case !ok:
			return core.E(core.NotFound, "the folder has no %s", d.Path).WithHint("loci trust")
		case now.Fault != "":
			return core.E(core.Invalid, "%s can't be trusted: %s", d.Path, now.Fault).WithHint("mend the file; it is read anew each time")
		case now.Hash != d.Hash:
			return core.E(core.Conflict, "%s has changed since you saw it", d.Path).WithHint("read it again: loci trust")
		}
	}
	return t.change(func(doc *document) error {
		for _, d := range decisions {
			doc.decide(real, d)
		}
		return nil
	})
}

// known refuses paths that are none of an item.
func known(name string) error {
	if _, ok := kindOf(path.Clean(name)); !ok || !filepath.IsLocal(name) {
		return core.E(core.Invalid, "%q is nothing of a folder that would act", name)
	}
	return nil
}

// Item returns an item as it is now, with its text.
func (t *Trust) Item(folder, name string) (it core.FolderItem, text string, err error) {
	if err := known(name); err != nil {
		return it, "", err
	}
	real, root, err := open(folder)
	if err != nil {
		return it, "", err
	}
	defer func() { _ = root.Close() }()
	now, ok := t.read(root, path.Clean(name))
	if !ok {
		return it, "", core.E(core.NotFound, "the folder has no %s", name).WithHint("loci trust")
	}
	doc, err := t.said()
	if err != nil {
		return it, "", err
	}
	now.State = doc.state(real, &now.FolderItem)
	return now.FolderItem, now.text, nil
}

// Trusted returns the text of an item, if a person trusts it as it is.
func (t *Trust) Trusted(folder, name string) (text string, ok bool) {
	it, text, err := t.Item(folder, name)
	return text, err == nil && it.State == core.TrustGiven
}

// Below returns the trusted items that stand directly in a folder of the open one, by their names.
func (t *Trust) Below(folder, dir string) (items []core.Instructions) {
	_, root, err := open(folder)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // only read from
	entries, _ := file.ReadDir(maxItems)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if text, ok := t.Trusted(folder, name); ok {
			items = append(items, core.Instructions{Path: name, Text: text})
		}
	}
	slices.SortFunc(items, func(a, b core.Instructions) int { return strings.Compare(a.Path, b.Path) })
	return items
}

// Waits returns the paths of instructions in a folder of the open one of which nobody has said anything as they are.
func (t *Trust) Waits(folder, dir string) (paths []string) {
	for _, name := range instructionFiles {
		it, _, err := t.Item(folder, path.Join(dir, name))
		if err == nil && it.Fault == "" && (it.State == core.TrustNew || it.State == core.TrustChanged) {
			paths = append(paths, it.Path)
		}
	}
	return paths
}

// said reads the decisions.
func (t *Trust) said() (document, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return load(t.path)
}

// Remove forgets all that was said of a folder, which may be gone.
func (t *Trust) Remove(folder string) error {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		real = filepath.Clean(folder)
	}
	return t.change(func(doc *document) error {
		_, own := doc.Folders[real]
		delete(doc.Folders, real)
		for other, said := range doc.Folders { // of folders around it
			own = said.removeBelow(other, real) || own
		}
		if !own {
			return core.E(core.NotFound, "nothing was said of what %s brings", folder)
		}
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
		if it, ok := t.read(root, path.Join(dir, name)); ok && it.Hash != "" {
			found = append(found, it)
		}
	}
	if len(found) == 0 {
		return nil
	}
	doc, err := t.said()
	if err != nil {
		return nil
	}
	var out []core.Instructions
	for i := range found {
		it := &found[i]
		same := func(o core.Instructions) bool { return o.Text == it.text } // one is a link to the other
		if doc.state(real, &it.FolderItem) == core.TrustGiven && !slices.ContainsFunc(out, same) {
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
