package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Bounds of what is read and of one look through a folder.
const (
	maxText    = 128 << 10 // what is longer can't be trusted
	maxItems   = 200
	maxDepth   = 16
	maxEntries = 200_000
	maxTime    = 2 * time.Second
	atOnce     = 1024 // entries that are read of a folder at a time
)

// instructionFiles are the names of texts that agents follow, in the order in which they are shown.
var instructionFiles = []string{"AGENTS.md", "CLAUDE.md"}

// serverFiles name programs that would be started for their tools.
var serverFiles = []string{".mcp.json", ".loci/mcp.json"}

// skipped are folders with the work of others, whose instructions nobody here wants.
var skipped = []string{".git", "node_modules", "vendor", ".venv", "venv", "target"}

// kindOf says what an item of a folder does, by its path in it: texts that agents follow stand anywhere, what acts at its root
// alone.
func kindOf(name string) (kind core.FolderItemKind, ok bool) {
	dir, base := path.Split(name)
	switch {
	case name == core.FolderHooks:
		return core.ItemHooks, true
	case slices.Contains(serverFiles, name):
		return core.ItemServers, true
	case strings.HasPrefix(name, core.FolderTools+"/"):
		return core.ItemTool, true
	case dir == core.FolderCommands+"/" && path.Ext(base) == ".md":
		return core.ItemCommand, true
	case slices.Contains(instructionFiles, base):
		return core.ItemInstructions, true
	}
	return "", false
}

// item is what a folder brings, as it is now.
type item struct {
	core.FolderItem
	text string
}

// read reads an item; ok: there is one. What is wrong with it has no hash, so that nobody can trust it.
func (t *Trust) read(root *os.Root, name string) (it item, ok bool) {
	it, ok = readText(root, name)
	if it.Hash == "" || t.check == nil {
		return it, ok
	}
	if err := t.check(&it.FolderItem, it.text); err != nil {
		it.Hash, it.Fault = "", err.Error()
	}
	return it, ok
}

func readText(root *os.Root, name string) (it item, ok bool) {
	it.Path = name
	it.Kind, _ = kindOf(name)
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return it, false
	}
	if err != nil {
		it.Fault = "it can't be opened in the folder"
		return it, true
	}
	defer func() { _ = file.Close() }() // only read from
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		return it, false
	}
	if !info.Mode().IsRegular() {
		it.Fault = "it is no file"
		return it, true
	}
	it.Bytes = info.Size()
	text, err := io.ReadAll(io.LimitReader(file, maxText+1))
	switch {
	case err != nil:
		it.Fault = "it can't be read"
	case len(text) > maxText:
		it.Fault = "it is larger than 128 KB"
	case !utf8.Valid(text) || slices.Contains(text, 0):
		it.Fault = "it is not text in UTF-8"
	default:
		sum := sha256.Sum256(text)
		it.Hash, it.text, it.Bytes = hex.EncodeToString(sum[:]), string(text), int64(len(text))
	}
	return it, true
}

// search is one look through a folder.
type search struct {
	trust   *Trust
	root    *os.Root
	until   time.Time
	entries int
	items   []item
	partly  bool // a bound was met
}

// find returns what a folder brings, nearer items first, and whether that is all.
func (t *Trust) find(ctx context.Context, root *os.Root) (items []item, whole bool) {
	s := &search{trust: t, root: root, until: time.Now().Add(maxTime)}
	for todo := []string{"."}; len(todo) > 0 && !s.over(ctx); todo = todo[1:] {
		todo = append(todo, s.enter(ctx, todo[0])...)
	}
	return s.items, !s.partly
}

// over reports whether a bound is met.
func (s *search) over(ctx context.Context) bool {
	s.partly = s.partly || s.entries >= maxEntries || len(s.items) >= maxItems || ctx.Err() != nil || time.Now().After(s.until)
	return s.partly
}

// enter notes what is in a folder, and returns the folders in it.
func (s *search) enter(ctx context.Context, name string) (below []string) {
	dir, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil // nobody can read it
	}
	defer func() { _ = dir.Close() }() // only read from
	var found []string
	for !s.over(ctx) {
		entries, err := dir.ReadDir(atOnce)
		s.entries += len(entries)
		for _, e := range entries {
			switch {
			case e.IsDir() && !slices.Contains(skipped, e.Name()):
				below = append(below, path.Join(name, e.Name()))
			case e.IsDir():
			default:
				if _, ok := kindOf(path.Join(name, e.Name())); ok {
					found = append(found, e.Name())
				}
			}
		}
		if err != nil || len(entries) == 0 {
			break
		}
	}
	slices.Sort(found)
	for _, file := range found {
		if it, ok := s.trust.read(s.root, path.Join(name, file)); ok {
			s.items = append(s.items, it)
		}
	}
	if strings.Count(name, "/") >= maxDepth && len(below) > 0 {
		s.partly = true
		return nil
	}
	slices.Sort(below)
	return below
}
