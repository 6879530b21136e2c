package follow

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"loci/core"
	"loci/core/service"
)

// Limits on one transaction.
const (
	batchFiles = 100
	batchTakes = 300 * time.Millisecond // spent reading; whatever has been found by then is stored
)

// doubt is the minimum age of a file for its modification time to reveal a later change.
const doubt = 2 * time.Second

// errEnded means that a folder no longer follows its directory.
var errEnded = errors.New("the folder no longer follows its directory")

// directory is one followed directory. Everything that mu doesn't guard belongs to its goroutine.
type directory struct {
	f    *Follower
	id   core.FolderID
	root string
	log  *slog.Logger
	wake chan struct{}

	cancel context.CancelFunc

	known  map[string]storedFile  // by name; nil: not loaded yet
	others int                    // files in the folder that were added and don't come from the directory
	passed map[string]skippedFile // files that aren't taken, as they were when that was decided
	deaf   bool                   // the system can't report changes
	cost   time.Duration          // duration of the last scan, without the work it led to

	mu      sync.Mutex // guards the fields below
	watch   *watch     // nil: changes are polled for
	mirror  core.Mirror
	plan    core.DirectoryPlan
	looking bool
}

// storedFile is what the folder has of a file.
type storedFile struct {
	entry
	id     core.FileID
	hash   string
	unsure bool // it may have changed undetected
}

// skippedFile is a file that isn't taken.
type skippedFile struct {
	entry
	why core.SkipReason
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// nudge requests a look. It never blocks.
func (d *directory) nudge() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// follow looks again and again: soon after a change, and now and then without one.
func (d *directory) follow(ctx context.Context) {
	defer d.f.ended(d)
	defer d.deafen()
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer d.cancel()
	var rested, whole time.Time // earliest time of the next look, of the next full look
	woken := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			if !woken { // a file that is constantly being written doesn't postpone the look
				timer.Reset(max(quiet, time.Until(rested)))
			}
			woken = true
			continue
		case <-timer.C:
			woken = false
		}
		began := time.Now()
		again, err := d.look(ctx, !began.Before(whole))
		took := d.cost
		rested = time.Now().Add(restTimes * took)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errEnded):
			return
		case err != nil:
			d.trouble(ctx, err)
			whole = time.Time{}
			timer.Reset(retry)
			continue
		}
		if !began.Before(whole) {
			whole = began.Add(d.f.cfg.Every)
		}
		next := time.Until(whole)
		if d.deaf || d.f.cfg.Poll {
			next = min(next, max(pollEvery, pollTimes*took))
		}
		if again {
			next = min(next, max(doubt, restTimes*took))
		}
		timer.Reset(max(0, next))
	}
}

// deafen stops listening to the system.
func (d *directory) deafen() {
	d.mu.Lock()
	w := d.watch
	d.watch = nil
	d.mu.Unlock()
	if w != nil {
		w.close()
	}
}

// trouble records why the directory can't be followed now. No file is touched.
func (d *directory) trouble(ctx context.Context, err error) {
	d.deafen() // by the time it is back, it may be another directory
	d.known, d.passed = nil, nil
	d.mu.Lock()
	d.looking = false
	m := core.Mirror{Path: d.root, LookedAt: d.mirror.LookedAt, Error: said(err)}
	news := m.Error != d.mirror.Error
	d.mirror = m
	d.mu.Unlock()
	if !news {
		return
	}
	d.log.WarnContext(ctx, "a directory cannot be followed", slog.Any("error", err), slog.String("hint", core.HintOf(err)))
	d.keep(ctx, m)
}

// said returns an error as text for people.
func said(err error) string {
	if hint := core.HintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

func (d *directory) keep(ctx context.Context, m core.Mirror) {
	if err := d.f.cfg.Services.Folders.Looked(ctx, d.id, m); err != nil && ctx.Err() == nil && core.KindOf(err) != core.NotFound {
		d.log.WarnContext(ctx, "how a directory is followed cannot be kept", slog.Any("error", err))
	}
}

// look syncs the folder with the directory. It reports whether something should be looked at again soon, because it
// is still being written or was a moment ago.
func (d *directory) look(ctx context.Context, whole bool) (again bool, err error) {
	folder, err := d.f.cfg.Store.Folders().Get(ctx, d.id)
	switch {
	case err != nil && core.KindOf(err) == core.NotFound, err == nil && (folder.Mirror == nil || folder.Mirror.Path != d.root):
		return false, errEnded
	case err != nil:
		return false, err
	}
	began := time.Now()
	seen, dirty, missed, err := d.scan(ctx)
	d.cost = time.Since(began)
	if err != nil {
		return false, err
	}
	if whole || missed || d.known == nil || folder.Files != len(d.known)+d.others {
		if err := d.load(ctx); err != nil {
			return false, err
		}
	}
	if seen.entries == 0 && len(d.known) > 0 {
		return false, core.E(core.Unavailable, "the directory %s has nothing in it any more", d.root).
			WithHint("bring back what was there; if it is meant to be empty: loci folders delete FOLDER")
	}
	p := d.newPass(seen, dirty)
	if err := p.run(ctx); err != nil {
		return false, err
	}
	d.looked(ctx, p, folder.Mirror.Error)
	return p.again, nil
}

// looked records that the folder is in sync with the directory, storing that only if it changed.
func (d *directory) looked(ctx context.Context, p *pass, trouble string) {
	m := core.Mirror{Path: d.root, LookedAt: time.Now()}
	d.mu.Lock()
	first := d.mirror.LookedAt.IsZero()
	d.mirror, d.looking, d.plan = m, false, p.plan
	d.mu.Unlock()
	if p.changed > 0 || first || trouble != "" {
		d.log.DebugContext(ctx, "a directory was followed", slog.Int("changed", p.changed), slog.Int("files", len(d.known)))
		d.keep(ctx, m)
	}
}

// maxScans limits how often a directory is listed to catch subdirectories that were not being watched yet.
const maxScans = 3

// scan lists the directory and watches it.
func (d *directory) scan(ctx context.Context) (seen *listing, dirty map[string]bool, missed bool, err error) {
	d.listen(ctx)
	if d.watch != nil {
		dirty, missed = d.watch.take()
	}
	for range maxScans {
		if seen, err = scan(ctx, d.root, d.f.cfg.Except); err != nil || d.watch == nil {
			return seen, dirty, missed, err
		}
		added, err := d.watch.only(seen.dirs)
		if err != nil {
			d.log.WarnContext(ctx, "the system does not tell of changes in a directory, they are looked for", slog.Any("error", err))
			d.deaf = true
			d.deafen()
			return seen, dirty, missed, nil
		}
		if !added {
			return seen, dirty, missed, nil
		}
	}
	d.nudge() // directories are being created faster than they are listed
	return seen, dirty, missed, nil
}

// listen asks the system to report changes.
func (d *directory) listen(ctx context.Context) {
	if d.watch != nil || d.deaf || d.f.cfg.Poll {
		return
	}
	w, err := newWatch(d.root, d.nudge)
	if err != nil {
		d.log.WarnContext(ctx, "the system does not tell of changes in a directory, they are looked for", slog.Any("error", err))
		d.deaf = true
		return
	}
	d.mu.Lock()
	d.watch = w
	d.mu.Unlock()
}

// load reads what the folder has.
func (d *directory) load(ctx context.Context) error {
	known, others := map[string]storedFile{}, 0
	page := core.Page{Limit: 1000}
	for {
		some, err := d.f.cfg.Store.Files().List(ctx, core.FileFilter{Folders: []core.FolderID{d.id}}, page)
		if err != nil {
			return err
		}
		for _, f := range some {
			page.After = string(f.ID)
			if f.ModifiedAt.IsZero() {
				others++
				continue
			}
			// A file without a hash had disappeared when it was about to be read.
			unsure := f.Hash == "" || d.known[f.Name].unsure
			known[f.Name] = storedFile{entry: entry{f.Size, f.ModifiedAt}, id: f.ID, hash: f.Hash, unsure: unsure}
		}
		if len(some) < page.Limit {
			break
		}
	}
	if d.passed == nil || others != d.others {
		d.passed = map[string]skippedFile{}
	}
	d.known, d.others = known, others
	return nil
}

// pass is one look, after the scan.
type pass struct {
	*directory
	seen    *listing
	todo    []string              // to be read, in this order
	gone    map[string]storedFile // by name: no longer there
	byHash  map[string][]string   // names of files that are gone
	batch   []service.DiskFile    // read but not stored yet
	unsure  map[string]bool       // those of the batch
	plan    core.DirectoryPlan
	changed int
	again   bool
}

func (d *directory) newPass(seen *listing, dirty map[string]bool) *pass {
	p := &pass{directory: d, seen: seen, gone: map[string]storedFile{}, byHash: map[string][]string{}, unsure: map[string]bool{}}
	p.plan = core.DirectoryPlan{Path: d.root, Files: len(seen.files), Bytes: seen.bytes, Skipped: maps.Clone(seen.skipped)}
	for name, e := range seen.files {
		if old, ok := d.passed[name]; ok && old.same(e) && !dirty[name] {
			p.leave(name, old.why)
			continue
		}
		if s, ok := d.known[name]; !ok || !s.same(e) || s.unsure || dirty[name] {
			p.todo = append(p.todo, name)
		}
	}
	slices.Sort(p.todo)
	for name, s := range d.known {
		if _, there := seen.files[name]; !there && !seen.unknown(name) {
			p.gone[name] = s
			p.byHash[s.hash] = append(p.byHash[s.hash], name)
		}
	}
	for name := range d.passed {
		if _, there := seen.files[name]; !there {
			delete(d.passed, name)
		}
	}
	d.mu.Lock()
	d.plan, d.looking = p.plan, d.looking || len(p.todo)+len(p.gone) > 0
	d.plan.Skipped = maps.Clone(p.plan.Skipped)
	d.mu.Unlock()
	return p
}

// leave takes a file out of the plan.
func (p *pass) leave(name string, why core.SkipReason) {
	p.plan.Files--
	p.plan.Bytes -= p.seen.files[name].size
	p.plan.Skipped[why]++
}

// run reads what is new or has changed, stores it in batches, and deletes what is gone.
func (p *pass) run(ctx context.Context) error {
	top, err := os.OpenRoot(p.root)
	if err != nil {
		return gone(p.root, err)
	}
	defer func() { _ = top.Close() }() // it was only read from
	began := time.Now()
	for _, name := range p.todo {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.take(top, name); err != nil {
			return err
		}
		if len(p.batch) >= batchFiles || len(p.batch) > 0 && time.Since(began) > batchTakes {
			if err := p.store(ctx, nil); err != nil {
				return err
			}
			began = time.Now()
		}
	}
	return p.finish(ctx)
}

// take reads a file and adds it to the batch unless the folder already has it.
func (p *pass) take(top *os.Root, name string) error {
	old, had := p.known[name]
	c, err := read(top, name)
	switch {
	case isGone(err):
		p.again = true
		return nil
	case err != nil: // what is known about it stays
		p.leave(name, core.SkipUnreadable)
		return nil //nolint:nilerr // reported as skipped
	case c.binary:
		p.passed[name] = skippedFile{p.seen.files[name], core.SkipBinary}
		p.leave(name, core.SkipBinary)
		if had {
			p.gone[name] = old
		}
		return nil
	}
	delete(p.passed, name)
	unsure := c.writing || time.Since(c.modified) < doubt
	p.again = p.again || unsure
	if had && old.hash == c.hash && old.same(c.entry) {
		old.unsure = unsure
		p.known[name] = old
		return nil
	}
	f := service.DiskFile{Name: name, Kind: c.kind, Size: c.size, Hash: c.hash, ModifiedAt: c.modified}
	if !had {
		f.Was = p.moved(name, c.hash)
	}
	p.batch = append(p.batch, f)
	p.unsure[name] = unsure
	return nil
}

// moved finds the file that a new one was renamed from. A different extension may mean a different kind, so such a
// file is read from scratch.
func (p *pass) moved(name, hash string) core.FileID {
	for i, old := range p.byHash[hash] {
		if path.Ext(old) != path.Ext(name) {
			continue
		}
		p.byHash[hash] = slices.Delete(p.byHash[hash], i, i+1)
		id := p.gone[old].id
		delete(p.gone, old)
		delete(p.known, old)
		return id
	}
	return ""
}

// store writes the batch and deletes files, in one transaction.
func (p *pass) store(ctx context.Context, gone []core.FileID) error {
	if len(p.batch) == 0 && len(gone) == 0 {
		return nil
	}
	files, err := p.f.cfg.Services.Files.Follow(ctx, p.id, p.root, p.batch, gone)
	if err != nil {
		return err
	}
	for i, f := range files {
		name := p.batch[i].Name
		if f.ID == "" {
			p.passed[name] = skippedFile{p.seen.files[name], core.SkipName}
			p.leave(name, core.SkipName)
			continue
		}
		p.known[name] = storedFile{entry: entry{f.Size, f.ModifiedAt}, id: f.ID, hash: f.Hash, unsure: p.unsure[name]}
	}
	p.changed += len(p.batch) + len(gone)
	p.batch = p.batch[:0]
	clear(p.unsure)
	return nil
}

// finish stores the rest and deletes what is no longer there.
func (p *pass) finish(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(p.gone))
	for first := true; first || len(names) > 0; first = false {
		some := names[:min(len(names), batchFiles)]
		names = names[len(some):]
		ids := make([]core.FileID, len(some))
		for i, name := range some {
			ids[i] = p.gone[name].id
			delete(p.known, name)
		}
		if err := p.store(ctx, ids); err != nil {
			return err
		}
	}
	return nil
}
