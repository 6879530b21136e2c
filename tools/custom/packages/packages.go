// Package packages installs the packages that tools ask for: once for each set of them, into a folder that is named by what it holds
// and that calls see read-only.
//
// Promises: an installer runs in the sandbox and reaches the index of packages alone; what it makes counts only once it is whole,
// looked through and given its name, so that nothing half made is ever used; two that want the same wait for one installation; what it
// may take of time, memory, disk and network is bounded; no link of an environment is followed. What no tool names any more is removed.
//
// Layer 1, below tools: it imports core and tools/custom/run.
package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/tools/custom/run"
)

// Bounds of an installation.
const (
	InstallTime  = 10 * time.Minute
	mostAtOnce   = 2
	mostMemory   = 1 << 30
	mostBytes    = 1 << 30
	mostFiles    = 100_000
	mostKept     = 100
	mostTimes    = 10 // of the bytes of one, that all may take
	mostTraffic  = 1 << 30
	mostFile     = 512 << 20
	mostLines    = 12 // of an installer, in an error
	mostLineSize = 300
)

// Config is what a Store needs.
type Config struct {
	Sandbox core.Sandbox
	Dir     string // of environments, which nobody else writes to
	Python  func() (run.Interpreter, error)
	Node    func() (run.Interpreter, error)
	PyPI    string // the index of packages for Python that a person configured; empty: the public one
	Npm     string // likewise
	Clock   func() time.Time
	Bytes   int64 // that an environment may take, with what its installation needs beside it; 0: 1 GB
	Kept    int   // how many environments there may be; 0: 100, which take no more than ten times Bytes
}

// Store keeps environments. Close it: it has goroutines while something is installed. Safe for concurrent use.
type Store struct {
	cfg    Config
	ctx    context.Context // of all installations
	cancel context.CancelFunc
	owned  sync.WaitGroup
	slots  chan struct{}

	mu       sync.Mutex // guards what follows
	closed   bool
	running  map[string]*installation // by key
	versions map[string]string        // of interpreters, by what their files are
}

// installation is one that runs.
type installation struct {
	done   chan struct{} // closed when err is there
	err    error
	mu     sync.Mutex // guards what follows
	last   string     // what the installer said last
	listen []*func(string)
}

// New returns a store. What an installation left that was killed is removed.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, slots: make(chan struct{}, mostAtOnce), running: map[string]*installation{}, versions: map[string]string{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if cfg.Clock == nil {
		s.cfg.Clock = time.Now
	}
	if cfg.Bytes == 0 {
		s.cfg.Bytes = mostBytes
	}
	if cfg.Kept == 0 {
		s.cfg.Kept = mostKept
	}
	entries, _ := os.ReadDir(cfg.Dir) // nothing may be there yet
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) {
			_ = remove(filepath.Join(cfg.Dir, e.Name())) // it is only in nobody's way
		}
	}
	return s
}

// unfinished begins the names of folders that are being made, or removed.
const unfinished = "tmp-"

// The parts of an environment's folder. What an installer writes is in the first one; the second is ours.
const (
	partFiles = "env"
	partAbout = "about.json"
)

// Close ends all installations and waits for them.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.owned.Wait()
}

// about is what is known of an environment without looking through it.
type about struct {
	Language     core.ToolLanguage `json:"language"`
	Version      string            `json:"version"` // of the interpreter
	Requirements []string          `json:"requirements"`
	Bytes        int64             `json:"bytes"`
	Files        int               `json:"files"`
	MadeAt       time.Time         `json:"made_at"`
}

// want is a set of packages for an interpreter.
type want struct {
	about
	with run.Interpreter
}

// key names what is wanted by what it is.
func (w *want) key() string {
	text, _ := json.Marshal([]any{w.Language, w.Version, w.Requirements}) // texts alone, which can be written
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Environment returns the folder that holds the packages of a tool, which are installed first if need be; empty: it asks for none.
// tell is called with what an installation does, until Environment returns; it must not block; nil: nobody is told.
func (s *Store) Environment(ctx context.Context, t *core.CustomTool, tell func(string)) (string, error) {
	requirements, err := wanted(t)
	if err != nil || len(requirements) == 0 {
		return "", err
	}
	w, err := s.resolve(ctx, t.Language, requirements)
	if err != nil {
		return "", err
	}
	if tell == nil {
		tell = func(string) {}
	}
	folder, running, err := s.begin(w, &tell)
	if err != nil || running == nil {
		return folder, err
	}
	defer running.leave(&tell)
	select {
	case <-running.done:
		return folder, running.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// begin returns the folder of an environment, and the installation that makes it; nil: it is there.
func (s *Store) begin(w *want, tell *func(string)) (folder string, running *installation, err error) {
	key := w.key()
	folder = filepath.Join(s.cfg.Dir, key, partFiles)
	s.mu.Lock()
	defer s.mu.Unlock()
	if running = s.running[key]; running != nil {
		running.hear(tell)
		return folder, running, nil
	}
	if s.useLocked(key) {
		return folder, nil, nil
	}
	if s.closed {
		return "", nil, core.E(core.Unavailable, "the daemon is shutting down: no package is installed any more")
	}
	running = &installation{done: make(chan struct{})}
	running.hear(tell)
	s.running[key] = running
	s.owned.Go(func() {
		err := s.install(s.ctx, w, running.say)
		s.mu.Lock()
		delete(s.running, key)
		s.mu.Unlock()
		running.err = err
		close(running.done)
	})
	return folder, running, nil
}

// useLocked reports whether an environment is there, which counts as used now. The caller holds mu.
func (s *Store) useLocked(key string) bool {
	folder := filepath.Join(s.cfg.Dir, key)
	info, err := os.Lstat(filepath.Join(folder, partFiles))
	if err != nil || !info.IsDir() {
		return false
	}
	now := s.cfg.Clock()
	_ = os.Chtimes(folder, now, now) // else it goes earlier, and is made again
	return true
}

// hear adds somebody who is told what the installer says, until they leave.
func (i *installation) hear(tell *func(string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.listen = append(i.listen, tell)
	if i.last != "" {
		(*tell)(i.last)
	}
}

func (i *installation) leave(tell *func(string)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.listen = slices.DeleteFunc(i.listen, func(other *func(string)) bool { return other == tell })
}

func (i *installation) say(line string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = line
	for _, tell := range i.listen {
		(*tell)(line)
	}
}

// remove removes a folder that an installer wrote to, which may have taken rights from its own folders. No link is followed.
func remove(folder string) error {
	if err := os.RemoveAll(folder); err == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // G302: a folder that is about to go
		}
		return nil
	})
	err := os.RemoveAll(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
