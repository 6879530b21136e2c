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

// The bounds of one transaction.
const (
	batchFiles = 100
	batchTakes = 300 * time.Millisecond // of reading; what is found by then is stored
)

// doubt is how old a file must be for its time to tell a later change.
const doubt = 2 * time.Second

// errEnded says that a folder follows its directory no more.
var errEnded = errors.New("the folder follows its directory no more")

// directory is one that is followed. All but what mu guards belongs to its goroutine.
type directory struct {
	f    *Follower
	id   core.FolderID
	root string
	log  *slog.Logger
	wake chan struct{}

	cancel context.CancelFunc

	known  map[string]stored // by name; nil: to be loaded
	others int               // files of the folder that were added and are none of the directory's
	passed map[string]passed // files that are not taken, as they were when that was seen
	deaf   bool              // the system cannot tell of changes
	cost   time.Duration     // of the last look, without what it then had to do

	mu      sync.Mutex // guards what is below
	watch   *watch     // nil: changes are looked for
	mirror  core.Mirror
	plan    core.DirectoryPlan
	looking bool
}

// stored is what the folder has of a file.
type stored struct {
	entry
	id     core.FileID
	hash   string
	unsure bool // it may have changed without a trace
}

// passed is a file that is not taken.
type passed struct {
	entry
	why core.SkipReason
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// nudge asks for a look. It never waits.
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
	var rested, whole time.Time // not before; the next whole look
	woken := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
			if !woken { // one that is being written all the time does not put the look off
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

// deafen ends what listens to the system.
func (d *directory) deafen() {
	d.mu.Lock()
	w := d.watch
	d.watch = nil
	d.mu.Unlock()
	if w != nil {
		w.close()
	}
}

// trouble remembers why the directory cannot be followed now. No file is touched.
func (d *directory) trouble(ctx context.Context, err error) {
	d.deafen() // what was watched may be another directory by the time it is back
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

// said is an error for people.
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

// look makes the folder what the directory is. It reports whether something is to be looked at again soon: it is being
// written, or has been a moment ago.
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

// looked says that the folder is what the directory was. It is stored if that is news.
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

// maxScans bounds how often a directory is listed for those in it that were not listened to before.
const maxScans = 3

// scan lists the directory and listens to it.
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
	d.nudge() // directories are being made faster than they are listed
	return seen, dirty, missed, nil
}

// listen asks the system to tell of changes.
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
	known, others := map[string]stored{}, 0
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
			// A file without a hash was gone when it was to be read.
			unsure := f.Hash == "" || d.known[f.Name].unsure
			known[f.Name] = stored{entry: entry{f.Size, f.ModifiedAt}, id: f.ID, hash: f.Hash, unsure: unsure}
		}
		if len(some) < page.Limit {
			break
		}
	}
	if d.passed == nil || others != d.others {
		d.passed = map[string]passed{}
	}
	d.known, d.others = known, others
	return nil
}

// pass is one look, from what was seen on.
type pass struct {
	*directory
	seen    *listing
	todo    []string            // to be read, in their order
	gone    map[string]stored   // by name: there no more
	byHash  map[string][]string // names of what is gone
	batch   []service.Followed  // read, not stored
	unsure  map[string]bool     // of the batch
	plan    core.DirectoryPlan
	changed int
	again   bool
}

func (d *directory) newPass(seen *listing, dirty map[string]bool) *pass {
	p := &pass{directory: d, seen: seen, gone: map[string]stored{}, byHash: map[string][]string{}, unsure: map[string]bool{}}
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

// take reads a file and puts it into the batch if it is not what the folder has.
func (p *pass) take(top *os.Root, name string) error {
	old, had := p.known[name]
	c, err := read(top, name)
	switch {
	case isGone(err):
		p.again = true
		return nil
	case err != nil: // what is known of it stays
		p.leave(name, core.SkipUnreadable)
		return nil //nolint:nilerr // told as skipped
	case c.binary:
		p.passed[name] = passed{p.seen.files[name], core.SkipBinary}
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
	f := service.Followed{Name: name, Kind: c.kind, Size: c.size, Hash: c.hash, ModifiedAt: c.modified}
	if !had {
		f.Was = p.moved(name, c.hash)
	}
	p.batch = append(p.batch, f)
	p.unsure[name] = unsure
	return nil
}

// moved finds the file that a new one was before it was renamed. Another ending may mean another kind: it is read anew.
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
			p.passed[name] = passed{p.seen.files[name], core.SkipName}
			p.leave(name, core.SkipName)
			continue
		}
		p.known[name] = stored{entry: entry{f.Size, f.ModifiedAt}, id: f.ID, hash: f.Hash, unsure: p.unsure[name]}
	}
	p.changed += len(p.batch) + len(gone)
	p.batch = p.batch[:0]
	clear(p.unsure)
	return nil
}

// finish stores what is left and deletes what is there no more.
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
