package mirror

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loci/core"
	"loci/core/service"
)

const (
	lookEvery = time.Second
	maxPause  = time.Minute // between retries of a mirror that can't continue
	passTakes = 2 * time.Minute
	metaUUID  = "uuid" // the home's, which the store keeps
)

// Config is what Mirrors needs. Store and Services are required.
type Config struct {
	Store    core.Store
	Services *service.Services
	Logger   *slog.Logger           // nil: discarded
	Every    time.Duration          // how often both sides are checked; 0: every second
	Git      func() (string, error) // nil: FindGit
	Point    func(action string)    // called before each action, for tests that stop there; nil: not called
}

// Mirrors keeps the mirrors of all agents. Start begins to follow changes; Close ends it and waits.
type Mirrors struct {
	cfg    Config
	wake   chan struct{}
	cancel context.CancelFunc
	owned  sync.WaitGroup

	mu      sync.Mutex // guards entries
	entries map[core.AgentID]*entry
}

// entry is a mirror that is on.
type entry struct {
	state atomic.Pointer[core.MirrorState] // of the last pass; never nil, and readable without waiting for the next one

	mu       sync.Mutex // held during a pass; guards the fields below
	mirror   core.MemoryMirror
	gone     bool   // turned off
	done     string // how both sides looked before the last pass
	seen     string // how the folder last looked: if two looks differ, something is still being written
	waiting  int
	failures int
	next     time.Time // don't retry before
}

// New returns Mirrors that can be queried; nothing is followed before Start.
func New(cfg Config) *Mirrors {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Every == 0 {
		cfg.Every = lookEvery
	}
	if cfg.Git == nil {
		cfg.Git = FindGit
	}
	if cfg.Point == nil {
		cfg.Point = func(string) {}
	}
	return &Mirrors{cfg: cfg, wake: make(chan struct{}, 1), cancel: func() {}, entries: map[core.AgentID]*entry{}}
}

// Start follows the changes of both sides until Close or until ctx ends.
func (m *Mirrors) Start(ctx context.Context) {
	ctx, m.cancel = context.WithCancel(ctx)
	m.owned.Go(func() { m.follow(ctx) })
}

// Close ends what Start began and waits for it.
func (m *Mirrors) Close() {
	m.cancel()
	m.owned.Wait()
}

func (m *Mirrors) follow(ctx context.Context) {
	list, err := m.cfg.Store.Mirrors().List(ctx)
	if err != nil && ctx.Err() == nil {
		m.cfg.Logger.ErrorContext(ctx, "the memory mirrors are not known", slog.Any("error", err))
	}
	for _, one := range list {
		m.add(one)
	}
	ticker := time.NewTicker(m.cfg.Every)
	defer ticker.Stop()
	for {
		all := m.all()
		for _, e := range all {
			m.tick(ctx, e)
		}
		tick := ticker.C
		if len(all) == 0 {
			tick = nil // no mirrors, nothing to check
		}
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		case <-tick:
		}
	}
}

func (m *Mirrors) add(one core.MemoryMirror) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[one.Agent]
	if e == nil {
		e = &entry{mirror: one}
		e.state.Store(&core.MirrorState{Mirror: one})
		m.entries[one.Agent] = e
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return e
}

func (m *Mirrors) all() []*entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.entries))
}

// find returns an agent's mirror if it is on, or nil.
func (m *Mirrors) find(ctx context.Context, agent core.AgentID) (*entry, error) {
	m.mu.Lock()
	e := m.entries[agent]
	m.mu.Unlock()
	if e != nil {
		return e, nil
	}
	one, ok, err := m.cfg.Store.Mirrors().Find(ctx, agent)
	if err != nil || !ok || !one.On {
		return nil, err
	}
	return m.add(one), nil
}

// findOf is find for an agent that must exist.
func (m *Mirrors) findOf(ctx context.Context, agent core.AgentID) (*entry, error) {
	if _, err := m.cfg.Store.Agents().Get(ctx, agent); err != nil {
		return nil, err
	}
	return m.find(ctx, agent)
}

// noMirror says that there is nothing to sync or to turn off.
func noMirror() error {
	return core.E(core.NotFound, "the agent's memory has no mirror").WithHint("loci memory mirror DIR")
}

// tick checks both sides of a mirror and syncs them if something changed and nobody is writing any more.
func (m *Mirrors) tick(ctx context.Context, e *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone || time.Now().Before(e.next) {
		return
	}
	seen, stamp, err := m.look(ctx, e.mirror)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		m.failed(ctx, e, err)
		return
	case seen+stamp == e.done && e.waiting == 0:
		return
	case seen != e.seen:
		e.seen = seen
		return
	}
	e.done = seen + stamp
	m.syncLocked(ctx, e)
}

// look returns a text for each side that differs after every change.
func (m *Mirrors) look(ctx context.Context, one core.MemoryMirror) (seen, stamp string, err error) {
	f, err := openFolder(one.Path)
	if err != nil {
		return "", "", err
	}
	defer f.close()
	if seen, err = f.look(); err != nil {
		return "", "", err
	}
	stamp, err = m.cfg.Store.Mirrors().Stamp(ctx, one.Agent)
	return seen, stamp, err
}

// syncLocked runs one pass.
func (m *Mirrors) syncLocked(ctx context.Context, e *entry) {
	state, waiting, err := m.pass(ctx, e.mirror)
	if core.KindOf(err) == core.NotFound {
		if _, found := m.cfg.Store.Agents().Get(ctx, e.mirror.Agent); core.KindOf(found) == core.NotFound {
			m.drop(e)
			return
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			m.failed(ctx, e, err)
		}
		return
	}
	if e.failures > 0 {
		m.cfg.Logger.InfoContext(ctx, "the memory mirror goes on", slog.String("agent", string(e.mirror.Agent)))
	}
	e.state.Store(&state)
	e.waiting, e.failures, e.next = waiting, 0, time.Time{}
}

// failed records why a mirror can't continue, and retries it at growing intervals.
func (m *Mirrors) failed(ctx context.Context, e *entry, err error) {
	state := *e.state.Load()
	if state.Err == nil || state.Err.Error() != err.Error() {
		m.cfg.Logger.WarnContext(
			ctx,
			"the memory mirror does not go on",
			slog.String("agent", string(e.mirror.Agent)),
			slog.Any("error", err),
			slog.String("hint", core.HintOf(err)),
		)
	}
	state.Err, e.done = err, ""
	e.state.Store(&state)
	e.failures++
	e.next = time.Now().Add(min(maxPause, m.cfg.Every<<min(e.failures, 6)))
}

// drop forgets a mirror that is no longer followed.
func (m *Mirrors) drop(e *entry) {
	e.gone = true
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, e.mirror.Agent)
}

func (m *Mirrors) pass(ctx context.Context, one core.MemoryMirror) (core.MirrorState, int, error) {
	ctx, cancel := context.WithTimeout(ctx, passTakes)
	defer cancel()
	state := core.MirrorState{Mirror: one}
	if _, err := m.cfg.Store.Agents().Get(ctx, one.Agent); err != nil {
		return state, 0, err
	}
	program, err := m.cfg.Git()
	if err != nil {
		return state, 0, err
	}
	owner, err := m.owner(ctx, one.Agent)
	if err != nil {
		return state, 0, err
	}
	f, err := openFolder(one.Path)
	if err != nil {
		return state, 0, err
	}
	defer f.close()
	f.point = m.cfg.Point
	p := &pass{
		store: m.cfg.Store, services: m.cfg.Services, logger: m.cfg.Logger, mirror: one, owner: owner,
		folder: f, git: &git{program: program, dir: one.Path},
	}
	state, err = p.run(ctx)
	return state, p.waiting, err
}

// owner returns the content of the marker in an agent's folder.
func (m *Mirrors) owner(ctx context.Context, agent core.AgentID) (string, error) {
	home, _, err := m.cfg.Store.Meta().Get(ctx, metaUUID)
	return home + " " + string(agent), err
}

// State reports the state of an agent's mirror.
func (m *Mirrors) State(ctx context.Context, agent core.AgentID) (core.MirrorState, error) {
	e, err := m.findOf(ctx, agent)
	if err != nil {
		return core.MirrorState{}, err
	}
	if e == nil {
		one, _, err := m.cfg.Store.Mirrors().Find(ctx, agent)
		return core.MirrorState{Mirror: one}, err
	}
	return *e.state.Load(), nil
}

// States reports the state of all mirrors that are on.
func (m *Mirrors) States() []core.MirrorState {
	var out []core.MirrorState
	for _, e := range m.all() {
		out = append(out, *e.state.Load())
	}
	slices.SortFunc(out, func(a, b core.MirrorState) int { return strings.Compare(a.Mirror.Path, b.Mirror.Path) })
	return out
}

// Sync syncs both sides now, even if something is still being written, and returns the mirror's state. A mirror that
// can't continue is an error.
func (m *Mirrors) Sync(ctx context.Context, agent core.AgentID) (core.MirrorState, error) {
	e, err := m.findOf(ctx, agent)
	if err != nil {
		return core.MirrorState{}, err
	}
	if e == nil {
		return core.MirrorState{}, noMirror()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	m.syncLocked(context.WithoutCancel(ctx), e)
	state := *e.state.Load()
	return state, state.Err
}

// On mirrors an agent's memory to a folder, which must be empty or hold a memory.
func (m *Mirrors) On(ctx context.Context, agent core.AgentID, dir string) (core.MirrorState, error) {
	if _, err := m.cfg.Store.Agents().Get(ctx, agent); err != nil {
		return core.MirrorState{}, err
	}
	program, err := m.cfg.Git()
	if err != nil {
		return core.MirrorState{}, err
	}
	if dir, err = usable(dir); err != nil {
		return core.MirrorState{}, err
	}
	old, known, err := m.cfg.Store.Mirrors().Find(ctx, agent)
	if err != nil {
		return core.MirrorState{}, err
	}
	if known && old.On && old.Path != dir {
		return core.MirrorState{}, core.E(core.Conflict, "the agent's memory is mirrored in %s already", old.Path).
			WithHint("loci memory mirror --off, then again")
	}
	living, err := m.cfg.Store.Mirrors().List(ctx)
	if err != nil {
		return core.MirrorState{}, err
	}
	for _, l := range living {
		if l.Path == dir && l.Agent != agent {
			return core.MirrorState{}, core.E(core.Conflict, "%s mirrors the memory of another agent", dir).
				WithHint("choose another folder, or turn the other mirror off")
		}
	}
	branch, err := m.prepare(ctx, agent, program, dir)
	if err != nil {
		return core.MirrorState{}, err
	}
	one := core.MemoryMirror{Agent: agent, Path: dir, Branch: branch, On: true, CreatedAt: time.Now()}
	err = m.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if known && old.Path != dir { // nothing is known about the files of another folder
			if err := tx.Mirrors().Clear(ctx, agent); err != nil {
				return err
			}
		}
		return tx.Mirrors().Put(ctx, one)
	})
	if err != nil {
		return core.MirrorState{}, err
	}
	e := m.add(one)
	e.mu.Lock()
	e.mirror = one
	e.mu.Unlock()
	return m.Sync(ctx, agent)
}

// prepare turns a folder into a mirror's and returns the checked-out branch.
func (m *Mirrors) prepare(ctx context.Context, agent core.AgentID, program, dir string) (string, error) {
	g := &git{program: program, dir: dir}
	if err := g.prepare(ctx); err != nil {
		return "", err
	}
	branch, _, err := g.head(ctx)
	if err != nil {
		return "", err
	}
	owner, err := m.owner(ctx, agent)
	if err != nil {
		return "", err
	}
	f, err := openFolder(dir)
	if err != nil {
		return "", err
	}
	defer f.close()
	return branch, f.mark(owner)
}

// usable creates the folder if it is missing and returns its canonical path. A folder that holds something else is
// rejected.
func usable(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", core.E(core.Invalid, "a folder is named by its absolute path, not %q", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", core.E(core.Invalid, "make the folder: %w", err).WithHint("choose a folder that you can write")
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", core.E(core.Invalid, "look at the folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", core.E(core.Invalid, "look at the folder: %w", err)
	}
	others := slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == gitDir })
	if len(others) == 0 {
		return dir, nil
	}
	f, err := openFolder(dir)
	if err != nil {
		return "", err
	}
	defer f.close()
	found := false
	if err := f.walk(readable, func(string, fs.DirEntry) error { found = true; return nil }); err != nil {
		return "", err
	}
	if !found {
		return "", core.E(core.Conflict, "%s holds something else than an agent's memory", dir).
			WithHint("choose an empty or a new folder; a memory has its blocks in %s/*%s", blocksDir, extension)
	}
	return dir, nil
}

// Off turns off an agent's mirror. Folder and blocks stay as they are.
func (m *Mirrors) Off(ctx context.Context, agent core.AgentID) (core.MirrorState, error) {
	one, ok, err := m.cfg.Store.Mirrors().Find(ctx, agent)
	if err != nil {
		return core.MirrorState{}, err
	}
	if !ok || !one.On {
		return core.MirrorState{}, noMirror()
	}
	e, err := m.find(ctx, agent)
	if err != nil {
		return core.MirrorState{}, err
	}
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	one.On = false
	if err := m.cfg.Store.Mirrors().Put(ctx, one); err != nil {
		return core.MirrorState{}, err
	}
	if e != nil {
		m.drop(e)
	}
	if err := m.unmark(ctx, agent, one.Path); err != nil {
		m.cfg.Logger.WarnContext(ctx, "the folder keeps the mark of its mirror", slog.Any("error", err), slog.String("folder", one.Path))
	}
	return core.MirrorState{Mirror: one}, nil
}

// unmark releases the folder, so that another agent or home can use it.
func (m *Mirrors) unmark(ctx context.Context, agent core.AgentID, dir string) error {
	owner, err := m.owner(ctx, agent)
	if err != nil {
		return err
	}
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer f.close()
	return errors.Join(f.owned(owner), f.root.Remove(ownerFile))
}
