package follow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
	"loci/core/service"
)

// Limits on a directory.
const (
	maxFiles   = 100_000
	maxEntries = 1_000_000
	maxDepth   = 64
	maxAbove   = 64      // directories above it that are searched for the enclosing repository
	headBytes  = 8 << 10 // at the start of a file, usually enough to tell whether it is text
)

const ignoreFile = ".gitignore"

// entry is a file as listed by a directory.
type entry struct {
	size     int64
	modified time.Time // in microseconds, as it is stored
}

func entryOf(info fs.FileInfo) entry {
	// The zero time is reserved for added files.
	return entry{size: info.Size(), modified: time.UnixMicro(max(1, info.ModTime().UnixMicro()))}
}

func (e entry) same(other entry) bool {
	return e.size == other.size && e.modified.Equal(other.modified)
}

// listing is what a scan of a directory found, before any file is opened.
type listing struct {
	files   map[string]entry // by name relative to the directory, with slashes
	dirs    []string         // absolute, including the directory itself: those to watch
	closed  []string         // names of unreadable directories, with a trailing slash
	bytes   int64
	entries int
	skipped map[core.SkipReason]int
}

// unknown reports whether a name is in a place that couldn't be read.
func (l *listing) unknown(name string) bool {
	return slices.ContainsFunc(l.closed, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// scanner lists a directory.
type scanner struct {
	*listing
	root   string
	top    *os.Root
	except []string // absolute paths that are skipped
}

// scan lists the files of a directory that count. The only files it opens are .gitignore files.
func scan(ctx context.Context, root string, except []string) (*listing, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, gone(root, err)
	}
	defer func() { _ = top.Close() }() // it was only read from
	s := &scanner{listing: &listing{files: map[string]entry{}, skipped: map[core.SkipReason]int{}}, root: root, top: top, except: except}
	if err := s.dir(ctx, "", rulesAbove(root), 0); err != nil {
		return nil, err
	}
	return s.listing, nil
}

func gone(root string, err error) error {
	return core.E(core.Unavailable, "the directory %s cannot be read: %w", root, err).
		WithHint("bring it back, or end the mirror: loci folders unmirror FOLDER; its files are kept")
}

// rulesAbove returns the rules of the git repository that contains a directory, outermost first.
func rulesAbove(root string) []*rules {
	var stack []*rules
	above := ""
	dir := root
	for range maxAbove {
		if dir != root {
			stack = append(stack, readRules(filepath.Join(dir, ignoreFile), above))
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			stack = append(stack, readRules(filepath.Join(dir, ".git", "info", "exclude"), above))
			slices.Reverse(stack)
			return stack
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		above = filepath.Base(dir) + "/" + above
		dir = parent
	}
	return nil
}

func readRules(path, above string) *rules {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRulesBytes {
		return &rules{}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return &rules{}
	}
	return &rules{above: above, list: parseRules(data)}
}

// dir lists one directory and its subdirectories. rel is empty or ends with a slash.
func (s *scanner) dir(ctx context.Context, rel string, stack []*rules, depth int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	full := filepath.Join(s.root, filepath.FromSlash(rel))
	list, err := os.ReadDir(full)
	switch {
	case err == nil:
	case rel == "":
		return gone(s.root, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		s.closed = append(s.closed, rel)
		s.skipped[core.SkipUnreadable]++
		return nil
	}
	s.dirs = append(s.dirs, full)
	if s.entries += len(list); s.entries > maxEntries {
		return core.E(core.TooLarge, "the directory %s holds more than %d entries", s.root, maxEntries).
			WithHint("choose a smaller one, or name in a .gitignore what is not needed")
	}
	if slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ignoreFile && e.Type().IsRegular() }) {
		if data, err := s.small(rel + ignoreFile); err == nil {
			stack = append(slices.Clip(stack), &rules{under: rel, list: parseRules(data)})
		}
	}
	for _, e := range list {
		if err := s.one(ctx, rel+e.Name(), e, stack, depth); err != nil {
			return err
		}
	}
	return nil
}

// small reads a rules file.
func (s *scanner) small(name string) ([]byte, error) {
	f, err := open(s.top, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	return io.ReadAll(io.LimitReader(f, maxRulesBytes))
}

// one adds an entry, or records why not.
func (s *scanner) one(ctx context.Context, name string, e fs.DirEntry, stack []*rules, depth int) error {
	reason := s.passed(name, e, stack, depth)
	if reason == "" && e.IsDir() {
		return s.dir(ctx, name+"/", stack, depth+1)
	}
	var info fs.FileInfo
	if reason == "" {
		var err error
		if info, err = e.Info(); err != nil {
			return nil //nolint:nilerr // it disappeared after the directory was listed
		}
		switch {
		case !info.Mode().IsRegular():
			reason = core.SkipSpecial
		case info.Size() == 0:
			reason = core.SkipEmpty
		case info.Size() > service.MaxUpload():
			reason = core.SkipTooLarge
		}
	}
	if reason != "" {
		s.skipped[reason]++
		return nil
	}
	if len(s.files) == maxFiles {
		return core.E(core.TooLarge, "the directory %s holds more than %d files", s.root, maxFiles).
			WithHint("choose a smaller one, or name in a .gitignore what is not needed")
	}
	s.files[name] = entryOf(info)
	s.bytes += info.Size()
	return nil
}

// passed says why an entry is skipped, judging by its name and type alone.
func (s *scanner) passed(name string, e fs.DirEntry, stack []*rules, depth int) core.SkipReason {
	switch {
	case strings.HasPrefix(e.Name(), "."):
		return core.SkipHidden
	case ingest.CheckName(name) != nil:
		return core.SkipName
	case slices.Contains(s.except, filepath.Join(s.root, filepath.FromSlash(name))), ignored(stack, name, e.IsDir()):
		return core.SkipIgnored
	case e.Type()&fs.ModeSymlink != 0:
		return core.SkipLink
	case !e.IsDir() && !e.Type().IsRegular():
		return core.SkipSpecial
	case e.IsDir() && depth >= maxDepth:
		return core.SkipDeep
	}
	return ""
}

// open opens a regular file inside a directory. It doesn't block if the file has been replaced by a pipe since it was
// listed.
func open(top *os.Root, name string) (*os.File, error) {
	info, err := top.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, core.E(core.Unsupported, "%s is no regular file", name)
	}
	return top.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// contents is a file that was read.
type contents struct {
	entry
	data    []byte
	kind    core.FileKind
	hash    string
	binary  bool
	writing bool // it changed while being read
}

// read reads a file in full unless its first bytes show that it isn't text.
func read(top *os.Root, name string) (contents, error) {
	var c contents
	f, err := open(top, name)
	if err != nil {
		return c, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	before, err := f.Stat()
	if err != nil {
		return c, err
	}
	if !before.Mode().IsRegular() {
		return c, core.E(core.Unsupported, "%s is no regular file", name)
	}
	c.entry = entryOf(before)
	data := make([]byte, 0, min(before.Size(), service.MaxUpload())+512)
	head := bytes.NewBuffer(data)
	if _, err := io.CopyN(head, f, headBytes); err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	if c.binary = !promising(name, head.Bytes()); c.binary {
		return c, nil
	}
	if _, err := io.Copy(head, io.LimitReader(f, service.MaxUpload()+1-int64(head.Len()))); err != nil {
		return c, err
	}
	c.data = head.Bytes()
	after, err := f.Stat()
	if err != nil {
		return c, err
	}
	c.writing = !entryOf(after).same(c.entry) || after.Size() != int64(len(c.data))
	c.size = int64(len(c.data))
	kind, err := ingest.Detect(name, c.data)
	c.kind, c.binary = kind, core.KindOf(err) == core.Unsupported && err != nil || len(c.data) == 0 || c.size > service.MaxUpload()
	sum := sha256.Sum256(c.data)
	c.hash = hex.EncodeToString(sum[:])
	return c, nil
}

// promising reports whether a file that starts with, or consists of, these bytes may be readable.
func promising(name string, head []byte) bool {
	if len(head) == 0 {
		return false
	}
	if len(head) >= headBytes { // don't mistake a truncated character for binary data
		for i := 0; i < utf8.UTFMax && len(head) > 1; i++ {
			if r, n := utf8.DecodeLastRune(head); r != utf8.RuneError || n != 1 {
				break
			}
			head = head[:len(head)-1]
		}
		if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
			head = head[:len(head)&^1]
		}
	}
	_, err := ingest.Detect(path.Base(name), head)
	return err == nil || core.KindOf(err) != core.Unsupported
}

// Plan reports what a folder would take from a directory: it lists the directory and reads the start of each file.
func (f *Follower) Plan(ctx context.Context, dir string) (core.DirectoryPlan, error) {
	root, err := f.check(dir)
	if err != nil {
		return core.DirectoryPlan{}, err
	}
	seen, err := scan(ctx, root, f.cfg.Except)
	if err != nil {
		return core.DirectoryPlan{}, err
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return core.DirectoryPlan{}, gone(root, err)
	}
	defer func() { _ = top.Close() }() // it was only read from
	plan := core.DirectoryPlan{Path: root, Skipped: seen.skipped}
	for name, e := range seen.files {
		if ctx.Err() != nil {
			return plan, context.Cause(ctx)
		}
		if reason := glance(top, name); reason != "" {
			plan.Skipped[reason]++
			continue
		}
		plan.Files++
		plan.Bytes += e.size
	}
	return plan, nil
}

// glance checks the start of a file.
func glance(top *os.Root, name string) core.SkipReason {
	f, err := open(top, name)
	if err != nil {
		return core.SkipUnreadable
	}
	defer func() { _ = f.Close() }() // it was only read from
	head, err := io.ReadAll(io.LimitReader(f, headBytes))
	switch {
	case err != nil:
		return core.SkipUnreadable
	case !promising(name, head):
		return core.SkipBinary
	}
	return ""
}
