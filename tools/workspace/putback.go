package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"loci/core"
)

// Restorer implements core.FileRestorer.
type Restorer struct{ Contents core.ContentStore }

var _ core.FileRestorer = Restorer{}

// Why files stay as they are.
const (
	whyChanged  = "somebody changed it since"
	whyLink     = "it is behind a link now"
	whyNotKept  = "what it held is not kept any more"
	whyUnkept   = "it is too large to be kept, and undoing the rewind could not bring it again"
	whyTooLarge = "it was too large, or not to be read, so that what it held is not kept"
	whyGit      = "it belongs to git itself"
	whyGitBusy  = "git is at work there"
)

// folders are the workspaces that a restoring needs, opened once each.
type folders map[string]*folder

func (o folders) of(path string) (*folder, error) {
	if f := o[path]; f != nil {
		return f, nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errors.New("it is a link now, to another folder than the one that was changed")
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	o[path] = &folder{root: root, path: path, real: path}
	return o[path], nil
}

func (o folders) close() {
	for _, f := range o {
		_ = f.root.Close()
	}
}

// track is the way of one file back through its changes.
type track struct {
	change core.FileChange // from what it is to what it was
	why    string          // it goes no further back
	behind string          // a link above it, absolute, so that nothing stands there: that link has to go back to a folder
}

// reopened reports whether what stands at a path is to be a folder again.
func reopened(tracks map[string]*track, name string) bool {
	t := tracks[name]
	return t != nil && t.why == "" && t.change.Before.Kind == core.PathLink && t.change.After.Kind == core.PathFolder
}

// Plan implements core.FileRestorer. A file that somebody else changed since stays as it is, with all that came before; so does
// one whose content is not kept any more.
func (r Restorer) Plan(ctx context.Context, changes iter.Seq2[core.FileChange, error]) (core.FilesPlan, error) {
	open := folders{}
	defer open.close()
	tracks := map[string]*track{}
	for c, err := range changes {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return core.FilesPlan{}, err
		}
		t := tracks[c.Absolute()]
		if t == nil {
			if t, err = r.begin(ctx, open, &c); err != nil {
				return core.FilesPlan{}, err
			}
			tracks[c.Absolute()] = t
		}
		switch at := &t.change.After; {
		case t.why != "":
		case at.Is(c.Before): // it was never made, or is undone
		case at.Is(c.After):
			*at = c.Before
			t.change.Folders = max(t.change.Folders, c.Folders)
		default:
			t.why = whyChanged
		}
	}
	var plan core.FilesPlan
	for _, name := range slices.Sorted(maps.Keys(tracks)) {
		t := tracks[name]
		if t.behind != "" && !reopened(tracks, t.behind) {
			plan.Kept = append(plan.Kept, core.FileKept{Path: name, Why: whyLink})
			continue
		}
		if back := t.change; back.After != back.Before {
			why, err := r.missing(ctx, back.After)
			if err != nil {
				return plan, err
			}
			if why == "" && isStat(back.Before.Hash) {
				why = whyUnkept
			}
			if why == "" {
				plan.Changes = append(plan.Changes, back)
			}
			t.why = cmp.Or(why, t.why)
		}
		if t.why != "" {
			plan.Kept = append(plan.Kept, core.FileKept{Path: name, Why: t.why})
		}
	}
	return plan, nil
}

// begin looks at the file of a change.
func (r Restorer) begin(ctx context.Context, open folders, c *core.FileChange) (*track, error) {
	t := &track{change: core.FileChange{Agent: c.Agent, Conversation: c.Conversation, Workspace: c.Workspace, Path: c.Path}}
	f, err := open.of(c.Workspace)
	if err != nil {
		t.why = "its folder cannot be opened: " + reason(err)
		return t, nil
	}
	now, why := f.look(c.Path)
	if why == whyLink {
		if link := f.linkAbove(c.Path); link != "" {
			t.behind, why = f.absolute(link), ""
		}
	}
	t.why = why
	t.change.Before, t.change.After = now.FileState, now.FileState
	if isStat(c.After.Hash) && now.is(c.After) { // then it was not read
		t.change.After.Hash = c.After.Hash
	}
	if c.Path == gitIndex && now.content != nil && !now.is(c.After) {
		after, err := r.Contents.Content(ctx, c.After.Hash)
		if err != nil && core.KindOf(err) != core.NotFound {
			return nil, err
		}
		if sameIndex(now.content, after) {
			t.change.After = c.After
		}
	}
	if why == "" && t.behind == "" && now.Kind == core.PathAbsent {
		if t.change.Folders, err = f.missingFolders(c.Path); err != nil {
			t.change.Folders = 0 // a file stands in the way and may go before
		}
	}
	return t, nil
}

// look is stand, with words for why the path must not be touched.
func (f *folder) look(rel string) (now standing, why string) {
	if git, state := ofGit(rel); git && !state {
		return now, whyGit
	} else if _, err := f.root.Lstat(".git/index.lock"); git && err == nil {
		return now, whyGitBusy
	}
	if !f.direct(rel) {
		return now, whyLink
	}
	now, err := f.stand(rel)
	if err != nil {
		return now, whyChanged + ": " + reason(err)
	}
	return now, ""
}

// linkAbove is the outermost link among the folders above a path; empty: there is none.
func (f *folder) linkAbove(rel string) string {
	for i := range rel {
		if rel[i] != '/' {
			continue
		}
		if info, err := f.root.Lstat(rel[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return rel[:i]
		}
	}
	return ""
}

// missing says why a state cannot be made again.
func (r Restorer) missing(ctx context.Context, s core.FileState) (why string, err error) {
	switch {
	case s.Kind == core.PathOther:
		return "it was neither a file nor a link", nil
	case s.Kind != core.PathFile && s.Kind != core.PathLink:
		return "", nil
	case isStat(s.Hash):
		return whyTooLarge, nil
	}
	_, err = r.Contents.Content(ctx, s.Hash)
	if core.KindOf(err) == core.NotFound {
		return whyNotKept, nil
	}
	return "", err
}

// Apply implements core.FileRestorer. What goes makes room first, the deepest before its folder; then what comes, folders first;
// their permissions come last, since they may forbid all that.
func (r Restorer) Apply(ctx context.Context, plan []core.FileChange) (out core.FilesBack, err error) {
	a := &applier{r: r, open: folders{}, done: map[string]string{}}
	defer a.open.close()
	plan = slices.Clone(plan)
	slices.SortFunc(plan, func(x, y core.FileChange) int { return cmp.Compare(x.Absolute(), y.Absolute()) })
	for _, c := range slices.Backward(plan) {
		if replaces(&c) {
			a.step(ctx, &c, a.remove)
		}
	}
	for _, c := range plan {
		a.step(ctx, &c, a.place)
	}
	for _, c := range slices.Backward(plan) {
		if c.After.Kind == core.PathFolder {
			a.step(ctx, &c, a.permit)
		}
	}
	for i := range plan {
		name := plan[i].Absolute()
		if why := a.done[name]; why != "" {
			out.Kept = append(out.Kept, core.FileKept{Path: name, Why: why})
		} else {
			out.Back = append(out.Back, name)
		}
	}
	return out, a.err
}

// applier makes planned changes.
type applier struct {
	r    Restorer
	open folders
	done map[string]string // why a path stays as it is
	err  error             // of the store
}

// step does a part of a change, unless an earlier part was refused.
func (a *applier) step(ctx context.Context, c *core.FileChange, do func(context.Context, *folder, *core.FileChange, standing) string) {
	name := c.Absolute()
	if a.done[name] != "" || a.err != nil {
		return
	}
	f, err := a.open.of(c.Workspace)
	if err != nil {
		a.done[name] = "its folder cannot be opened: " + reason(err)
		return
	}
	now, why := f.look(c.Path)
	if why == "" {
		why = do(ctx, f, c, now)
	}
	a.done[name] = why
}

// replaces reports whether what stands at the path has to go before the other can come.
func replaces(c *core.FileChange) bool {
	return c.Before.Kind != core.PathAbsent && (c.Before.Kind != c.After.Kind || c.After.Kind == core.PathLink)
}

func (a *applier) remove(ctx context.Context, f *folder, c *core.FileChange, now standing) string {
	switch {
	case now.is(c.After) || now.Kind == core.PathAbsent:
		return ""
	case !now.is(c.Before):
		return whyChanged
	case now.content != nil:
		if a.err = a.r.Contents.Keep(ctx, now.content, true); a.err != nil {
			return "what it holds cannot be kept"
		}
	}
	if err := f.root.Remove(c.Path); err != nil {
		return "it cannot be removed: " + reason(err)
	}
	if c.After.Kind == core.PathAbsent {
		f.removeFolders(c)
	}
	return ""
}

func (a *applier) place(ctx context.Context, f *folder, c *core.FileChange, now standing) string {
	switch {
	case now.is(c.After):
		return ""
	case now.Kind == core.PathAbsent && (replaces(c) || c.Before.Kind == core.PathAbsent):
	case !now.is(c.Before):
		return whyChanged
	}
	if err := f.root.MkdirAll(path.Dir(c.Path), 0o777); err != nil {
		return "its folder cannot be made: " + reason(err)
	}
	var err error
	switch c.After.Kind {
	case core.PathFolder:
		if now.Kind == core.PathAbsent {
			err = f.root.Mkdir(c.Path, 0o777)
		}
	case core.PathLink:
		var target []byte
		if target, err = a.r.Contents.Content(ctx, c.After.Hash); err == nil {
			err = f.root.Symlink(string(target), filepath.FromSlash(c.Path))
		}
	case core.PathFile:
		return a.file(ctx, f, c, now)
	case core.PathAbsent, core.PathOther:
	}
	if err != nil {
		return "it cannot be made: " + reason(err)
	}
	return ""
}

func (a *applier) file(ctx context.Context, f *folder, c *core.FileChange, now standing) string {
	if now.content != nil {
		if a.err = a.r.Contents.Keep(ctx, now.content, true); a.err != nil {
			return "what it holds cannot be kept"
		}
	}
	content, err := a.r.Contents.Content(ctx, c.After.Hash)
	if core.KindOf(err) == core.NotFound {
		return whyNotKept
	}
	if err != nil {
		a.err = err
		return "what it held cannot be read"
	}
	if err := replaceFile(f.root, c.Path, now.info, content, c.After.Mode); err != nil {
		return "it cannot be written: " + reason(err)
	}
	return ""
}

func (a *applier) permit(_ context.Context, f *folder, c *core.FileChange, now standing) string {
	if now.Kind != core.PathFolder || now.Mode == c.After.Mode {
		return ""
	}
	if err := f.root.Chmod(c.Path, c.After.Mode); err != nil {
		return "its permissions cannot be set: " + reason(err)
	}
	return ""
}

// removeFolders removes the folders that were made for a file, as far as they are empty.
func (f *folder) removeFolders(c *core.FileChange) {
	dir := path.Dir(c.Path)
	for range c.Folders {
		if f.root.Remove(dir) != nil {
			return
		}
		dir = path.Dir(dir)
	}
}
