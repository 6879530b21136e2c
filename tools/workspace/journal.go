package workspace

import (
	"bufio"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// beat is how often a line that runs says so: it is known to the second until when one did that was cut off.
const beat = time.Second

// Bounds on what a journal holds, in bytes.
const (
	maxTreeFile = 256 << 20
	maxMarkFile = 64 << 10
)

// The names of a journal's files end in these.
const (
	treeFile = ".tree" // what was seen of a workspace
	markFile = ".line" // a line that runs there
)

// journal keeps what was seen of workspaces before the lines that run there, so that what they changed is known although the
// daemon was killed meanwhile, or the machine stopped: what it says is on disk before the line begins. A zero journal keeps nothing.
type journal struct{ dir string }

// seenTree is a tree in a file.
type seenTree struct {
	Path     string // the workspace
	Recorded int64
	Veils    []string
	Entries  []seenEntry
}

type seenEntry struct {
	Rel                     string
	State                   core.FileState
	Size, Modified, Changed int64
	Inode                   uint64
}

// lineMark is a line that runs, in a file.
type lineMark struct {
	Agent        core.AgentID        `json:"agent"`
	Conversation core.ConversationID `json:"conversation"`
	Run          core.RunID          `json:"run"`
	Step         core.StepID         `json:"step"`
	Call         string              `json:"call"`
	Began        time.Time           `json:"began"`
	Hidden       []string            `json:"hidden"`
}

// base is what the files about a workspace are called by.
func (j journal) base(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(j.dir, hex.EncodeToString(sum[:12]))
}

// keep writes what was seen of a workspace, unless that is what was written last. Its name is on disk once sync returns.
func (j journal) keep(m *ground) error {
	if j.dir == "" || m.kept != nil && m.kept.recorded == m.recorded && m.kept.tree.is(m.tree) {
		return nil
	}
	out := seenTree{Path: m.path, Recorded: m.recorded, Veils: m.tree.veils, Entries: make([]seenEntry, 0, len(m.tree.entries))}
	for rel, e := range m.tree.entries {
		out.Entries = append(out.Entries, seenEntry{rel, e.FileState, e.size, e.modified, e.changed, e.inode})
	}
	err := j.replace(j.base(m.path)+treeFile, func(w io.Writer) error { return gob.NewEncoder(w).Encode(out) })
	if err == nil {
		m.kept = &keptTree{m.tree, m.recorded}
	}
	return err
}

// keptTree is what stands in the file about a workspace.
type keptTree struct {
	tree     *tree
	recorded int64
}

// is reports whether two trees are the same.
func (t *tree) is(other *tree) bool {
	return t == other || maps.EqualFunc(t.entries, other.entries, func(a, b *entry) bool { return a == b || *a == *b }) &&
		slices.Equal(slices.Sorted(slices.Values(t.veils)), slices.Sorted(slices.Values(other.veils)))
}

// sync brings the names of files to disk.
func (j journal) sync() error {
	dir, err := os.Open(j.dir)
	if err != nil {
		return err
	}
	if err = dir.Sync(); runtime.GOOS == "windows" { // where folders are not synced
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// replace writes a file whole or not at all, and to disk.
func (j journal) replace(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(j.dir, "new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it has its true name by then, or is not wanted
	w := bufio.NewWriterSize(file, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// begin notes that a line runs, until end is called. The note's name is on disk once sync returns.
func (j journal) begin(s *snapshot) (end func(), err error) {
	if j.dir == "" {
		return func() {}, nil
	}
	mark := lineMark{
		Agent: s.env.Agent.ID, Conversation: s.env.Conversation, Run: s.env.Run, Step: s.env.Step, Call: s.env.Call,
		Began: time.Now(), Hidden: s.hidden,
	}
	sum := sha256.Sum256([]byte(s.env.Step + "\x00" + core.StepID(s.env.Call)))
	path := j.base(s.env.Workspace.Path) + "-" + hex.EncodeToString(sum[:12]) + markFile
	if err := j.replace(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(mark) }); err != nil {
		return nil, err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				_ = os.Chtimes(path, now, now) // without it, less is known to be the line's
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		_ = os.Remove(path) // its changes are recorded, so that nothing is found beyond them
	}, nil
}

// cutOff is a workspace in which lines ran when the daemon was killed.
type cutOff struct {
	seen  seenTree
	tree  *tree
	line  lineMark // the one that began last
	until time.Time
}

// cutOffs reads what a killed daemon left, and removes it when done is called.
func (j journal) cutOffs() (all []cutOff, done func(), err error) {
	entries, err := os.ReadDir(j.dir)
	if os.IsNotExist(err) || j.dir == "" {
		return nil, func() {}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	done = func() {
		for _, e := range entries {
			_ = os.Remove(filepath.Join(j.dir, e.Name())) // the next start tries again, and finds all of it recorded
		}
	}
	for _, e := range entries {
		if base, isTree := strings.CutSuffix(e.Name(), treeFile); isTree {
			if c, ok := j.read(base, entries); ok {
				all = append(all, c)
			}
		}
	}
	return all, done, nil
}

// read returns one workspace with the newest of its lines; false: none ran there, or it can't be read.
func (j journal) read(base string, entries []os.DirEntry) (c cutOff, ok bool) {
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base+"-") || !strings.HasSuffix(e.Name(), markFile) {
			continue
		}
		mark, at, err := readMark(filepath.Join(j.dir, e.Name()))
		if err != nil {
			continue
		}
		if at.After(c.until) {
			c.until = at
		}
		if !ok || mark.Began.After(c.line.Began) {
			c.line, ok = mark, true
		}
	}
	if !ok {
		return c, false
	}
	file, err := os.Open(filepath.Join(j.dir, base+treeFile))
	if err != nil {
		return c, false
	}
	defer func() { _ = file.Close() }()
	if gob.NewDecoder(io.LimitReader(bufio.NewReader(file), maxTreeFile)).Decode(&c.seen) != nil {
		return c, false
	}
	c.tree = &tree{entries: make(map[string]*entry, len(c.seen.Entries)), veils: c.seen.Veils}
	for _, e := range c.seen.Entries {
		c.tree.entries[e.Rel] = &entry{FileState: e.State, size: e.Size, modified: e.Modified, changed: e.Changed, inode: e.Inode}
	}
	return c, true
}

// readMark reads the note about a line, and until when it is known to have run.
func readMark(path string) (mark lineMark, at time.Time, err error) {
	file, err := os.Open(path)
	if err != nil {
		return mark, at, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return mark, at, err
	}
	return mark, info.ModTime(), json.NewDecoder(io.LimitReader(file, maxMarkFile)).Decode(&mark)
}
