package follow

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/core/service"
)

// Intervals.
const (
	quiet     = 150 * time.Millisecond // after a change, for others that belong to it
	restTimes = 4                      // after a look, rest for this many times its duration …
	pollTimes = 20                     // … or this many where the system doesn't report changes
	pollEvery = time.Second
	lookEvery = time.Minute // whatever the system reports
	retry     = 2 * time.Second
)

// Config is what a Follower needs. Store and Services are required.
type Config struct {
	Store    core.Store
	Services *service.Services
	Logger   *slog.Logger  // nil: discarded
	Except   []string      // directories of our own, which are never followed
	Every    time.Duration // between full looks; 0: a minute
	Poll     bool          // don't ask the system to report changes
}

// Follower keeps folders in sync with the directories they follow. Start begins; Close ends it and waits.
type Follower struct {
	cfg   Config
	owned sync.WaitGroup

	mu     sync.Mutex      // guards the fields below
	ctx    context.Context // for the goroutines it owns, from Start to Close
	cancel context.CancelFunc
	dirs   map[core.FolderID]*directory
}

// New returns a Follower; it does nothing before Start.
func New(cfg Config) *Follower {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Every == 0 {
		cfg.Every = lookEvery
	}
	// On other systems, watching a directory opens every file in it.
	cfg.Poll = cfg.Poll || runtime.GOOS != "linux" && runtime.GOOS != "windows"
	f := &Follower{cfg: cfg, dirs: map[core.FolderID]*directory{}}
	f.cfg.Except = slices.Clone(cfg.Except)
	for i, dir := range f.cfg.Except {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			f.cfg.Except[i] = real
		}
	}
	return f
}

// Start follows the directories of all folders until Close or until ctx ends.
func (f *Follower) Start(ctx context.Context) error {
	f.mu.Lock()
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.mu.Unlock()
	page := core.Page{Limit: 1000}
	for {
		some, err := f.cfg.Store.Folders().List(ctx, core.FolderFilter{Mirrored: true}, page)
		if err != nil {
			return err
		}
		for _, one := range some {
			f.begin(one)
			page.After = string(one.ID)
		}
		if len(some) < page.Limit {
			return nil
		}
	}
}

// Close ends what Start began and waits for it.
func (f *Follower) Close() {
	f.mu.Lock()
	cancel := f.cancel
	f.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	f.owned.Wait()
}

// begin starts following a folder's directory, once.
func (f *Follower) begin(folder core.Folder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil || f.ctx.Err() != nil || folder.Mirror == nil {
		return
	}
	if old := f.dirs[folder.ID]; old != nil && old.root == folder.Mirror.Path {
		return
	}
	d := &directory{
		f: f, id: folder.ID, root: folder.Mirror.Path, wake: make(chan struct{}, 1), mirror: *folder.Mirror, looking: true,
		log: f.cfg.Logger.With(slog.String("folder", string(folder.ID))),
	}
	ctx, cancel := context.WithCancel(f.ctx)
	d.cancel = cancel
	f.dirs[folder.ID] = d
	f.owned.Go(func() { d.follow(ctx) })
}

// ended forgets a folder that no longer follows its directory.
func (f *Follower) ended(d *directory) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs[d.id] == d {
		delete(f.dirs, d.id)
	}
}

func (f *Follower) find(id core.FolderID) *directory {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dirs[id]
}

// check returns the directory that a path names, with links resolved.
func (f *Follower) check(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", core.E(core.Invalid, "a directory is named by its absolute path, not %q", dir)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", core.E(core.NotFound, "there is no directory %s", dir)
		}
		return "", core.E(core.Forbidden, "the directory %s cannot be read: %w", dir, err)
	}
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return "", core.E(core.Forbidden, "the directory %s cannot be read: %w", dir, err)
	case !info.IsDir():
		return "", core.E(core.Invalid, "%s is no directory", dir).WithHint("name the directory that it is in")
	}
	for _, own := range f.cfg.Except {
		if root == own || strings.HasPrefix(root, own+string(filepath.Separator)) {
			return "", core.E(core.Invalid, "%s belongs to Loci itself", dir).WithHint("choose another directory")
		}
	}
	return root, nil
}

// On makes a folder follow a directory. The first look starts at once and continues in the background.
func (f *Follower) On(ctx context.Context, id core.FolderID, dir string) (core.FollowState, error) {
	root, err := f.check(dir)
	if err != nil {
		return core.FollowState{}, err
	}
	folder, err := f.cfg.Services.Folders.Mirror(ctx, id, root)
	if err != nil {
		return core.FollowState{}, err
	}
	f.begin(folder)
	return f.State(ctx, id)
}

// Off makes a folder stop following its directory. Its files stay.
func (f *Follower) Off(ctx context.Context, id core.FolderID) (core.FollowState, error) {
	folder, err := f.cfg.Services.Folders.Get(ctx, id)
	if err != nil {
		return core.FollowState{}, err
	}
	if folder.Mirror == nil {
		return core.FollowState{}, core.E(core.NotFound, "the folder %q follows no directory", folder.Name)
	}
	if _, err := f.cfg.Services.Folders.Unmirror(ctx, id); err != nil {
		return core.FollowState{}, err
	}
	if d := f.find(id); d != nil {
		d.cancel()
		f.ended(d)
	}
	return f.State(ctx, id)
}

// State reports how far a folder is in following its directory.
func (f *Follower) State(ctx context.Context, id core.FolderID) (core.FollowState, error) {
	folder, err := f.cfg.Services.Folders.Get(ctx, id)
	if err != nil {
		return core.FollowState{}, err
	}
	out := core.FollowState{Mirror: folder.Mirror}
	if d := f.find(id); d != nil && folder.Mirror != nil {
		d.mu.Lock()
		mirror := d.mirror
		out.Mirror, out.Plan, out.Looking, out.Polled = &mirror, d.plan, d.looking, d.watch == nil
		out.Plan.Skipped = maps.Clone(d.plan.Skipped)
		d.mu.Unlock()
	}
	for _, c := range []struct {
		to     *int
		status []core.FileStatus
	}{
		{&out.Waiting, []core.FileStatus{core.FilePending, core.FileParsing, core.FileEmbedding}},
		{&out.Done, []core.FileStatus{core.FileCompleted}},
		{&out.Failed, []core.FileStatus{core.FileFailed}},
	} {
		if *c.to, err = f.cfg.Store.Files().Count(ctx, core.FileFilter{Folders: []core.FolderID{id}, Status: c.status}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Read returns the contents of a file in a followed directory if they are still those that were last seen. A conflict
// means that the file is being changed.
func Read(ctx context.Context, folder core.Folder, f core.File) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if folder.Mirror == nil {
		return nil, core.E(core.NotFound, "the folder stopped following its directory before %s was read", f.Name).WithHint("add the file")
	}
	top, err := os.OpenRoot(folder.Mirror.Path)
	if err != nil {
		return nil, core.E(core.NotFound, "the directory %s cannot be read: %w", folder.Mirror.Path, err).
			WithHint("bring it back; its files are read then")
	}
	defer func() { _ = top.Close() }() // it was only read from
	c, err := read(top, f.Name)
	switch {
	case isGone(err) && !isEmpty(top):
		return nil, core.E(core.Conflict, "%s has just gone", f.Name)
	case err != nil:
		return nil, core.E(core.NotFound, "%s cannot be read in its directory: %w", f.Name, err)
	case c.hash != f.Hash:
		return nil, core.E(core.Conflict, "%s is being changed", f.Name)
	}
	return c.data, nil
}

// isEmpty reports whether a directory is empty, as an unmounted mount point is.
func isEmpty(top *os.Root) bool {
	dir, err := top.Open(".")
	if err != nil {
		return true
	}
	defer func() { _ = dir.Close() }() // it was only read from
	_, err = dir.ReadDir(1)
	return err != nil
}
