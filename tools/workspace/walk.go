package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/tools/workspace/gitignore"
)

// Bounds of one walk.
const (
	maxDepth   = 64
	maxEntries = 100_000 // of one folder
	maxWalked  = 1_000_000
	maxRows    = 500
	maxAbove   = 20 // folders above the workspace whose .gitignore counts
)

// level is a .gitignore with the path from its folder to the one that is walked.
type level struct {
	rules  *gitignore.Rules
	prefix []string
}

// walker goes through the files of a folder, in order of their names, without what .gitignore leaves out and without .git.
// Links are told and not followed. It enters no folder that rules of permission close.
type walker struct {
	f      *folder
	levels []level
	depth  int
	walked int
	full   bool // a bound was met, so that not everything was seen
	visit  visitor
}

// visitor gets a path in the workspace, and whether rules of permission keep it from being read; false ends the walk.
type visitor func(rel string, entry fs.DirEntry, closed bool) bool

var errEnough = errors.New("the walk has what it needs")

// walk goes through a folder of the workspace, down to a depth.
func (f *folder) walk(ctx context.Context, rel string, depth int, visit visitor) (full bool, err error) {
	w := &walker{f: f, levels: f.above(), depth: depth, visit: visit}
	rules := f.rules()
	if rel != "." {
		dir := "."
		for part := range strings.SplitSeq(rel, "/") {
			w.enter(dir)
			for i := range w.levels {
				w.levels[i].prefix = append(slices.Clip(w.levels[i].prefix), part)
			}
			dir = path.Join(dir, part)
			rules = inner(rules, part)
		}
	}
	err = w.folder(ctx, rel, rules, 0)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return w.full, err
}

// rules are the rules of permission about what is in the workspace.
func (f *folder) rules() core.FolderRules {
	if paths := f.env.Workspace.Paths; paths != nil {
		return paths.Of(f.real)
	}
	return nil
}

// enter adds the patterns of a folder.
func (w *walker) enter(rel string) {
	if rules := w.f.patterns(rel); rules != nil {
		w.levels = append(w.levels, level{rules: rules})
	}
}

// patterns are those of a folder; nil: it has none.
func (f *folder) patterns(rel string) *gitignore.Rules {
	text, _, err := f.load(path.Join(rel, ".gitignore"), gitignore.MaxBytes)
	if err != nil {
		return nil
	}
	return gitignore.Parse(string(text))
}

// above are the patterns that stand above the workspace, up to the folder of the repository, and its own exclusions.
func (f *folder) above() (levels []level) {
	dir := f.real
	var prefix []string
	for range maxAbove {
		git, err := os.Stat(filepath.Join(dir, ".git"))
		if err == nil {
			if git.IsDir() {
				levels = outer(levels, filepath.Join(dir, ".git", "info", "exclude"), prefix)
			}
			return levels
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		prefix = append([]string{filepath.Base(dir)}, prefix...)
		levels = outer(levels, filepath.Join(parent, ".gitignore"), prefix)
		dir = parent
	}
	return nil // no repository: what stands above has nothing to do with it
}

// outer puts the patterns of a file before those that are nearer.
func outer(levels []level, file string, prefix []string) []level {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > gitignore.MaxBytes {
		return levels
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return levels
	}
	return append([]level{{gitignore.Parse(string(text)), slices.Clone(prefix)}}, levels...)
}

func (w *walker) ignored(name string, dir bool) bool { return ignored(w.levels, name, dir) }

// ignored reports whether patterns leave an entry out.
func ignored(levels []level, name string, dir bool) bool {
	for _, l := range slices.Backward(levels) {
		if ignored, decided := l.rules.Match(append(slices.Clip(l.prefix), name), dir); decided {
			return ignored
		}
	}
	return false
}

// inner returns the rules about what is in a folder of one.
func inner(rules core.FolderRules, name string) core.FolderRules {
	if rules == nil {
		return nil
	}
	return rules.Folder(name)
}

func (w *walker) folder(ctx context.Context, rel string, rules core.FolderRules, depth int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	entries, err := w.f.entries(rel)
	if errors.Is(err, errLarge) {
		w.full = true
	} else if err != nil && depth == 0 {
		return err
	}
	before := len(w.levels)
	w.enter(rel)
	defer func() { w.levels = w.levels[:before] }()
	for _, e := range entries {
		if w.walked++; w.walked > maxWalked {
			w.full = true
			return errEnough
		}
		if e.Name() == ".git" || w.ignored(e.Name(), e.IsDir()) {
			continue
		}
		name := path.Join(rel, e.Name())
		closed := rules != nil && rules.Entry(e.Name()).Read == core.PathClosed
		if !w.visit(name, e, closed) {
			return errEnough
		}
		if !e.IsDir() || closed {
			continue
		}
		if depth == w.depth {
			w.full = true
			continue
		}
		if err := w.below(ctx, name, inner(rules, e.Name()), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) below(ctx context.Context, rel string, rules core.FolderRules, depth int) error {
	outside := w.levels
	w.levels = lower(outside, path.Base(rel))
	err := w.folder(ctx, rel, rules, depth+1)
	w.levels = outside
	return err
}

// lower are patterns as seen from a folder below.
func lower(levels []level, name string) []level {
	below := make([]level, len(levels), len(levels)+1)
	for i, l := range levels {
		below[i] = level{l.rules, append(slices.Clip(l.prefix), name)}
	}
	return below
}

// entries returns what is in a folder, by name; of one that is too large a part.
func (f *folder) entries(rel string) ([]fs.DirEntry, error) {
	dir, err := f.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	err = nil
	if len(entries) == maxEntries {
		err = errLarge
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}

// start resolves where a search begins, which is the workspace if nothing is named.
func (f *folder) start(name string) (rel string, isFile bool, err error) {
	if name == "" {
		name = f.path
	}
	if rel, err = f.resolve(name); err != nil {
		return "", false, err
	}
	info, err := f.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, core.E(core.Invalid, "there is no file or folder %q.%s", clip(name, 200), f.alike(rel))
	case err != nil:
		return "", false, core.E(core.Invalid, "%q cannot be opened: %s", clip(name, 200), reason(err))
	case info.IsDir():
		return rel, false, nil
	case !info.Mode().IsRegular():
		return "", false, core.E(core.Invalid, "%q is neither a file nor a folder", clip(name, 200))
	}
	return rel, true, nil
}

// rows joins as many rows as there is room for, from an offset on, and says how to get the others.
func (f *folder) rows(rows []string, skip *int, none, what string) (core.ToolResult, error) {
	if len(rows) == 0 {
		return core.ToolResult{Text: none}, nil
	}
	offset := 0
	if skip != nil {
		offset = *skip
	}
	if offset < 0 || offset >= len(rows) {
		return core.ToolResult{}, core.E(core.Invalid, "there are only %d %s, none behind offset %d", len(rows), what, offset)
	}
	room := maxShown
	if f.env.MaxReturn > 0 {
		room = min(room, f.env.MaxReturn-1000)
	}
	var b strings.Builder
	for i, row := range rows[offset:] {
		if i == maxRows || b.Len()+len(row) > room {
			fmt.Fprintf(&b, "(%d more %s: call again with offset %d.)", len(rows)-offset-i, what, offset+i)
			break
		}
		b.WriteString(row + "\n")
	}
	return core.ToolResult{Text: strings.TrimSuffix(b.String(), "\n")}, nil
}
