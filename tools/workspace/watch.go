package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
)

// Bounds on what is noticed of shell lines.
const (
	maxLineChanges = 20_000 // of one line
	maxTrees       = 4      // workspaces that are remembered
	maxHopeless    = 10 * time.Minute
)

// Watcher notices what shell lines change in workspaces: it looks before a line and after it, and only reads files again that
// changed since it looked last. Where several lines run at once, a change counts for the one that ends next, or for the newest
// when another begins; what tools and rewinds recorded themselves counts for none. It is safe for concurrent use.
type Watcher struct {
	journal journal

	mu   sync.Mutex // guards seen
	seen []*ground  // the one that was used last comes last
}

// NewWatcher returns a Watcher that has seen nothing yet. In dir it keeps what it saw before lines that run, for Recover to know
// what those changed that a kill of the daemon cut off; without one, it can't.
func NewWatcher(dir string) *Watcher { return &Watcher{journal: journal{dir}} }

// ground is what was last seen of a workspace.
type ground struct {
	path string
	turn chan struct{} // held by who looks

	// What follows is its who holds the turn.
	tree     *tree
	ignores  *ignores
	recorded int64       // the newest change that was in the store when it was seen
	lines    []*snapshot // that run
	kept     *keptTree   // what the journal says of it; nil: nothing that is known
	hopeless error       // why it can't be looked through
	until    time.Time   // when that is tried again
}

func (w *Watcher) ground(path string) *ground {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.seen, func(m *ground) bool { return m.path == path })
	m := &ground{path: path, turn: make(chan struct{}, 1), tree: &tree{}}
	if i >= 0 {
		m = w.seen[i]
		w.seen = slices.Delete(w.seen, i, i+1)
	}
	w.seen = append(w.seen, m)
	w.seen = slices.Delete(w.seen, 0, max(0, len(w.seen)-maxTrees))
	return m
}

// Watch looks at the workspace of a call before a line runs in it. What is hidden from the line, by path, is not looked at; source
// is asked for the hosts that the line has reached, which what it made is stored with. The function that it returns looks again
// and stores what changed as changes of the call; it says what can't be put back.
func (w *Watcher) Watch(
	ctx context.Context, env core.ToolEnv, hidden []string, source func() string,
) (after func(context.Context) string) {
	s := &snapshot{env: env, source: source, ground: w.ground(env.Workspace.Path), journal: w.journal}
	for _, rel := range hidden {
		s.hidden = append(s.hidden, filepath.ToSlash(rel))
	}
	err := s.before(ctx)
	return func(ctx context.Context) string {
		if err != nil {
			return "What the line changed can't be put back: " + err.Error() + "."
		}
		told, err := s.after(context.WithoutCancel(ctx))
		if err != nil {
			return "What the line changed can't be put back, for it could not be noted: " + err.Error() + "."
		}
		return told
	}
}

// snapshot is a workspace around a line.
type snapshot struct {
	env    core.ToolEnv
	ground *ground
	folder *folder
	hidden []string
	source func() string // nil: nobody knows

	journal journal
	end     func() // notes that the line runs no more
}

func (s *snapshot) before(ctx context.Context) error {
	m := s.ground
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if time.Now().Before(m.until) {
		return m.hopeless
	}
	root, err := os.OpenRoot(s.env.Workspace.Path)
	if err != nil {
		return errors.New(reason(err))
	}
	s.folder = &folder{root: root, path: s.env.Workspace.Path, env: s.env}
	s.folder.real = realPath(s.folder.path)
	if len(m.lines) == 0 {
		m.ignores = &ignores{}
	}
	_, err = s.look(ctx, false)
	if err != nil {
		_ = root.Close()
		if len(m.lines) == 0 {
			m.hopeless, m.until = err, time.Now().Add(maxHopeless)
		}
		return err
	}
	if err := s.persist(ctx); err != nil {
		_ = root.Close()
		return fmt.Errorf("what stands there could not be noted: %w", err)
	}
	m.ignores.fixed = true
	m.lines = append(m.lines, s)
	return nil
}

// persist brings to disk what files held, which they are and who runs, all at once: a disk takes as long for one.
func (s *snapshot) persist(ctx context.Context) error {
	s.end = func() {}
	if s.journal.dir == "" {
		return nil
	}
	var kept, seen error
	var work sync.WaitGroup
	work.Go(func() { kept = s.env.Workspace.Contents.Sync(ctx) })
	work.Go(func() { seen = s.journal.keep(s.ground) })
	end, err := s.journal.begin(s)
	work.Wait()
	if err == nil {
		s.end = end
	}
	if err = errors.Join(kept, seen, err); err == nil {
		err = s.journal.sync()
	}
	if err != nil {
		s.end()
	}
	return err
}

// realPath is a path without links, where it can be found out.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// after looks again, and stores what changed.
func (s *snapshot) after(ctx context.Context) (told string, err error) {
	m := s.ground
	m.turn <- struct{}{} // looking is bounded in time
	defer func() { <-m.turn }()
	defer func() {
		m.lines = slices.DeleteFunc(m.lines, func(line *snapshot) bool { return line == s })
		s.end()
		_ = s.folder.root.Close()
	}()
	if told, err = s.look(ctx, true); err == nil && len(m.lines) > 1 {
		if err = s.journal.keep(m); err == nil && s.journal.dir != "" { // for those that still run
			err = s.journal.sync()
		}
	}
	return told, err
}

// look sees how the workspace is now, and stores what changed since it was last seen where a line runs that may have done it.
func (s *snapshot) look(ctx context.Context, late bool) (told string, err error) {
	m := s.ground
	l := &looking{folder: s.folder, was: m.tree, ignores: m.ignores, hidden: s.hidden, late: late}
	now, err := l.look(ctx)
	if err != nil {
		return "", err
	}
	by := s
	if !late && len(m.lines) > 0 {
		by = m.lines[len(m.lines)-1]
	}
	recorded, newest, err := s.recorded(ctx)
	if err == nil && (late || len(m.lines) > 0) {
		told, err = by.note(ctx, by.changes(m.tree, now, recorded))
	}
	if err != nil {
		return "", err
	}
	m.tree, m.recorded = now, max(m.recorded, newest)
	return told, nil
}

// recorded are the states of files, by path, that tools and rewinds recorded since the workspace was last seen, and the newest
// change that is recorded at all.
func (s *snapshot) recorded(ctx context.Context) (states map[string]core.FileState, newest int64, err error) {
	if len(s.ground.lines) == 0 { // nothing is to be told apart
		one, err := s.env.Workspace.Files.Changes(ctx, core.FileChanges{Limit: 1})
		if len(one) > 0 {
			newest = one[0].Seq
		}
		return nil, newest, err
	}
	states = map[string]core.FileState{}
	for f := (core.FileChanges{}); ; {
		page, err := s.env.Workspace.Files.Changes(ctx, f)
		if err != nil {
			return nil, 0, err
		}
		for i := range page {
			c := &page[i]
			newest = max(newest, c.Seq)
			if c.Seq <= s.ground.recorded {
				return states, newest, nil
			}
			if _, later := states[c.Path]; !later && c.Workspace == s.folder.path {
				states[c.Path] = c.After
			}
		}
		if len(page) < core.MaxFileChanges {
			return states, newest, nil
		}
		f.Older = page[len(page)-1].Seq
	}
}

// changes are what differs between two looks and is not recorded, by path.
func (s *snapshot) changes(was, now *tree, recorded map[string]core.FileState) (out []core.FileChange) {
	note := func(rel string) {
		before, after := was.state(rel), now.state(rel)
		if state, ok := recorded[rel]; ok {
			if before = state; before.Mode == core.ModeUnknown {
				before.Mode = after.Mode
			}
		}
		if before == after || len(was.veils) > 0 && was.veiled(rel) || len(now.veils) > 0 && now.veiled(rel) {
			return
		}
		out = append(out, core.FileChange{
			Agent: s.env.Agent.ID, Conversation: s.env.Conversation, Run: s.env.Run, Step: s.env.Step, Call: s.env.Call,
			Workspace: s.folder.path, Path: rel, Before: before, After: after, At: s.env.Now,
			Source: s.madeFrom(before),
		})
	}
	for rel, e := range now.entries {
		if was.entries[rel] != e {
			note(rel)
		}
	}
	for rel := range was.entries {
		if now.entries[rel] == nil {
			note(rel)
		}
	}
	slices.SortFunc(out, func(a, b core.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// madeFrom are the hosts that a file may have come from which was not there before.
func (s *snapshot) madeFrom(before core.FileState) string {
	if before.Kind != core.PathAbsent || s.source == nil {
		return ""
	}
	return s.source()
}

// note stores changes, and says what can't be put back.
func (s *snapshot) note(ctx context.Context, changes []core.FileChange) (string, error) {
	if len(changes) > maxLineChanges {
		return "", fmt.Errorf("it changed more than %d files", maxLineChanges)
	}
	if len(changes) == 0 {
		return "", nil
	}
	return unkept(changes), s.env.Workspace.Files.NoteChanges(ctx, changes)
}

// unkept names what was there before and can't be put back.
func unkept(changes []core.FileChange) string {
	const most = 10
	var names []string
	more := 0
	for i := range changes {
		if !isStat(changes[i].Before.Hash) {
			continue
		}
		if len(names) == most {
			more++
			continue
		}
		names = append(names, clip(changes[i].Path, 200))
	}
	switch {
	case len(names) == 0:
		return ""
	case more > 0:
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return "What these held before can't be put back, for it was too much to be kept: " + strings.Join(names, ", ") + "."
}
