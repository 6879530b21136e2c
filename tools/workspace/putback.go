package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"loci/core"
)

// PutBack makes files what they were before changes, which come with the newest first. A file that somebody else changed since
// stays as it is, with all that came before; so does one whose content is not kept any more.
func PutBack(ctx context.Context, contents core.ContentStore, changes []core.FileChange) (core.FilesBack, error) {
	var out core.FilesBack
	roots := map[string]*folder{}
	defer func() {
		for _, f := range roots {
			_ = f.root.Close()
		}
	}()
	stopped := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if stopped[c.Absolute()] {
			continue
		}
		f := roots[c.Workspace]
		if f == nil {
			root, err := os.OpenRoot(c.Workspace)
			if err != nil {
				out.Kept = append(out.Kept, core.FileKept{Path: c.Absolute(), Why: "its folder cannot be opened: " + reason(err)})
				stopped[c.Absolute()] = true
				continue
			}
			f = &folder{root: root, path: c.Workspace, real: c.Workspace}
			roots[c.Workspace] = f
		}
		done, why, err := f.putBack(ctx, contents, c)
		if err != nil {
			return out, err
		}
		if why != "" {
			out.Kept = append(out.Kept, core.FileKept{Path: c.Absolute(), Why: why})
			stopped[c.Absolute()] = true
		}
		if done && !slices.Contains(out.Back, c.Absolute()) {
			out.Back = append(out.Back, c.Absolute())
		}
	}
	return out, nil
}

// putBack takes one change back, or says why not. A change that never happened needs nothing.
func (f *folder) putBack(ctx context.Context, contents core.ContentStore, c *core.FileChange) (done bool, why string, err error) {
	if rel, err := f.resolve(c.Path); err != nil || rel != c.Path {
		return false, "it is behind a link now", nil //nolint:nilerr // told
	}
	now := ""
	content, info, err := f.load(c.Path, core.MaxKeptContent)
	switch {
	case err == nil:
		now = core.ContentHash(content)
	case !errors.Is(err, fs.ErrNotExist):
		return false, "somebody changed it since: " + reason(err), nil
	}
	switch {
	case now == c.Before:
		return false, "", nil
	case now != c.After:
		return false, "somebody changed it since", nil
	case c.Before == "":
		if err := f.root.Remove(c.Path); err != nil {
			return false, "it cannot be removed: " + reason(err), nil
		}
		f.removeFolders(c)
		return true, "", nil
	}
	before, err := contents.Content(ctx, c.Before)
	if core.KindOf(err) == core.NotFound {
		return false, "what it held is not kept any more", nil
	}
	if err != nil {
		return false, "", err
	}
	if err := replaceFile(f.root, c.Path, info, before); err != nil {
		return false, "it cannot be written: " + reason(err), nil
	}
	return true, "", nil
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
