package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"loci/core"
	"loci/tools/workspace/gitignore"
)

// Bounds on one look at a workspace.
const (
	maxWatched    = 100_000   // files and folders
	maxWatchDepth = 200       // of folders within each other
	maxLookers    = 4         // goroutines of one look
	maxFolderKept = 256 << 20 // bytes of one workspace whose contents are kept
	maxLookRead   = 128 << 20 // bytes that one look reads
	maxReadTime   = 3 * time.Second
	grain         = 50 * time.Millisecond // two changes within may bear the same time
)

// tree is what a look saw. It does not change once it is seen.
type tree struct {
	entries map[string]*entry // by path
	veils   []string          // files and folders that could not be looked at
}

// entry is what stands at a path.
type entry struct {
	core.FileState
	size, modified, changed int64
	inode                   uint64
	young                   bool // it changed so shortly before that a second change may not show
}

// keeps is how many bytes of it are kept.
func (e *entry) keeps() int64 {
	if e.Kind != core.PathFile || isStat(e.Hash) {
		return 0
	}
	return e.size
}

// same reports whether nothing has happened to what stood there, as far as can be seen.
func (e *entry) same(now *entry) bool {
	if e.Kind != now.Kind || e.Mode != now.Mode {
		return false
	}
	return e.Kind == core.PathFolder ||
		e.size == now.size && e.modified == now.modified && e.changed == now.changed && e.inode == now.inode
}

// seen is what a look sees without reading.
func seen(info fs.FileInfo, at time.Time) entry {
	e := entry{size: info.Size(), modified: info.ModTime().UnixNano()}
	e.changed, e.inode = stampOf(info)
	e.Kind = kindOf(info.Mode())
	if e.Kind == core.PathFile || e.Kind == core.PathFolder {
		e.Mode = info.Mode() & permissions
	}
	e.young = young(&e, at)
	return e
}

func young(e *entry, at time.Time) bool {
	return max(e.modified, e.changed) > at.Add(-grain).UnixNano()
}

// named is an entry of a folder.
type named struct {
	name string
	entry
}

// veiled reports whether a path, or a folder above it, could not be looked at.
func (t *tree) veiled(rel string) bool {
	return slices.ContainsFunc(t.veils, func(veil string) bool {
		return rel == veil || strings.HasPrefix(rel, veil) && rel[len(veil)] == '/'
	})
}

// state is what stands at a path, as far as it is known.
func (t *tree) state(rel string) core.FileState {
	if e := t.entries[rel]; e != nil {
		return e.FileState
	}
	return core.FileState{}
}

// ignores are the patterns of a workspace, as they were when its folders were first looked at.
type ignores struct {
	above []level
	fixed bool // folders that were not looked at yet have none

	mu sync.Mutex // guards of
	in map[string]*gitignore.Rules
}

// of are the patterns of a folder.
func (i *ignores) of(f *folder, rel string, entries []named) *gitignore.Rules {
	if i.fixed {
		return i.in[rel]
	}
	if !slices.ContainsFunc(entries, func(e named) bool { return e.name == ".gitignore" }) {
		return nil
	}
	rules := f.patterns(rel)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.in[rel] = rules
	return rules
}

// looking is one look at a workspace.
type looking struct {
	*folder
	was     *tree
	ignores *ignores
	hidden  []string // of ours: never looked at
	late    bool     // a line has run: what was not read before it is lost
	began   time.Time

	mu    sync.Mutex // guards what follows
	found [][]sight  // by folders
	count int        // of all that was found
	veils []string

	now  *tree
	kept int64 // bytes of all contents that are kept
}

// sight is what was found at a path. It is an entry of the last look where nothing has happened since.
type sight struct {
	rel string
	*entry
	unread bool // it is a file or a link that is not known to be as it was
}

// look goes through the workspace and reads what is not as it was seen to be.
func (l *looking) look(ctx context.Context) (*tree, error) {
	l.began = time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errSlow)
	defer cancel()
	if !l.ignores.fixed {
		l.ignores.above, l.ignores.in = l.above(), map[string]*gitignore.Rules{}
	}
	err := l.all(ctx)
	switch {
	case errors.Is(err, errSlow):
		return nil, fmt.Errorf("to look through the folder takes longer than %s", maxTime)
	case errors.Is(err, errLarge):
		return nil, fmt.Errorf("the folder holds more than %d files, or folders too deep", maxWatched)
	case err != nil:
		return nil, err
	}
	l.git()
	unread := l.gather()
	return l.now, l.read(ctx, unread)
}

// gather makes a tree of what was found, and returns what is to be read.
func (l *looking) gather() (unread []string) {
	l.now = &tree{veils: l.veils}
	if l.same() {
		l.now.entries = l.was.entries
	} else {
		l.now.entries = make(map[string]*entry, l.count)
	}
	for _, found := range l.found {
		for _, s := range found {
			if l.kept += s.keeps(); s.unread {
				unread = append(unread, s.rel)
			}
			if l.now.entries[s.rel] != s.entry {
				l.now.entries[s.rel] = s.entry
			}
		}
	}
	for rel, e := range l.was.entries {
		if len(l.veils) > 0 && l.now.veiled(rel) {
			l.now.entries[rel] = e
		}
	}
	return unread
}

// same reports whether all that was found stood there before, and nothing is missing.
func (l *looking) same() bool {
	return len(l.veils) == 0 && l.count == len(l.was.entries) && !slices.ContainsFunc(l.found, func(found []sight) bool {
		return slices.ContainsFunc(found, func(s sight) bool { return l.was.entries[s.rel] != s.entry })
	})
}

// all goes through all folders, several at a time.
func (l *looking) all(ctx context.Context) error {
	q := &queue{spots: []spot{{rel: ".", rules: l.rules(), levels: l.ignores.above}}, open: 1}
	q.more.L = &q.mu
	group, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), maxLookers) {
		group.Go(func() error {
			for at, ok := q.take(); ok; at, ok = q.take() {
				below, err := l.within(ctx, at)
				if q.done(below, err); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// queue are the folders that are to be looked at.
type queue struct {
	mu    sync.Mutex // guards what follows
	more  sync.Cond  // told of folders, and of the end
	spots []spot
	open  int // folders that are not done
	ended bool
}

// take waits for a folder; false: nothing is left to be done.
func (q *queue) take() (at spot, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.spots) == 0 && q.open > 0 && !q.ended {
		q.more.Wait()
	}
	if q.open == 0 || q.ended {
		return at, false
	}
	last := len(q.spots) - 1
	at, q.spots = q.spots[last], q.spots[:last]
	return at, true
}

// done puts what is in a folder in its place; a fault ends it all.
func (q *queue) done(below []spot, fault error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spots = append(q.spots, below...)
	q.open += len(below) - 1
	q.ended = q.ended || fault != nil
	q.more.Broadcast()
}

// spot is a folder to be looked at.
type spot struct {
	rel    string
	rules  core.FolderRules
	levels []level // of patterns above it
	depth  int
}

// within looks at what is in a folder, and returns the folders there.
func (l *looking) within(ctx context.Context, at spot) (below []spot, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	entries, err := l.survey(at.rel, l.began)
	switch {
	case errors.Is(err, errLarge), err != nil && at.depth == 0:
		return nil, err
	case err != nil:
		l.veil(at.rel)
		return nil, nil //nolint:nilerr // what can't be read stays as it was seen
	}
	levels := at.levels
	if rules := l.ignores.of(l.folder, at.rel, entries); rules != nil {
		levels = append(slices.Clip(levels), level{rules: rules})
	}
	found := make([]sight, 0, len(entries))
	for i := range entries {
		name, e := entries[i].name, &entries[i].entry
		if name == ".git" || ignored(levels, name, e.Kind == core.PathFolder) {
			continue
		}
		rel := name
		if at.depth > 0 {
			rel = at.rel + "/" + name
		}
		if at.rules != nil && at.rules.Entry(name).Read == core.PathClosed || slices.Contains(l.hidden, rel) {
			l.veil(rel)
			continue
		}
		found = append(found, l.see(rel, e))
		if e.Kind == core.PathFolder {
			below = append(below, spot{rel, inner(at.rules, name), lower(levels, name), at.depth + 1})
		}
	}
	if len(below) > 0 && at.depth == maxWatchDepth {
		return nil, errLarge
	}
	return below, l.note(found)
}

func (l *looking) veil(rel string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.veils = append(l.veils, rel)
}

// see is what stands at a path, beside what stood there.
func (l *looking) see(rel string, e *entry) sight {
	if was := l.was.entries[rel]; was != nil && was.same(e) {
		known := was.Kind == core.PathFolder || !isStat(was.Hash)
		if known && !was.young || !known && (l.late || was.size > core.MaxKeptContent) {
			return sight{rel: rel, entry: was}
		}
	}
	fresh := *e
	unread := e.Kind == core.PathFile || e.Kind == core.PathLink
	if unread {
		fresh.Hash = statOf(e.size, e.modified)
	}
	return sight{rel, &fresh, unread}
}

// note takes down what stands in a folder.
func (l *looking) note(found []sight) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count += len(found); l.count > maxWatched {
		return errLarge
	}
	l.found = append(l.found, found)
	return nil
}

// git looks at what the repository has checked out and staged, and where its branches and tags stand.
func (l *looking) git() {
	var found []sight
	for dirs := []string{".git"}; len(dirs) > 0; dirs = dirs[1:] {
		entries, err := l.survey(dirs[0], l.began)
		if err != nil {
			continue // no repository, or one that is elsewhere
		}
		for i := range entries {
			rel := dirs[0] + "/" + entries[i].name
			if _, state := ofGit(rel); !state {
				continue
			}
			found = append(found, l.see(rel, &entries[i].entry))
			if entries[i].Kind == core.PathFolder {
				dirs = append(dirs, rel)
			}
		}
	}
	_ = l.note(found) // where there are too many, what they are is not known
}

// read keeps the contents of what is not as it was, the smallest first, as far as there is room and time. What is left out is
// only told apart.
func (l *looking) read(ctx context.Context, unread []string) error {
	slices.SortFunc(unread, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.now.entries[a].size, l.now.entries[b].size), strings.Compare(a, b))
	})
	room := min(maxLookRead, maxFolderKept-l.kept)
	for _, rel := range unread {
		if l.now.entries[rel].size > min(room, core.MaxKeptContent) || time.Since(l.began) > maxReadTime {
			return nil
		}
		s, err := l.stand(rel)
		if err != nil || s.info == nil {
			continue // it went meanwhile, or became something else: the next look will tell
		}
		e := seen(s.info, l.began)
		e.FileState = s.FileState
		l.now.entries[rel] = &e
		if s.content == nil {
			continue
		}
		if err := l.env.Workspace.Contents.Keep(ctx, s.content, false); err != nil {
			return err
		}
		room -= int64(len(s.content))
	}
	return nil
}
