package workspace

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// Recovery is what finding the changes of cut-off lines needs.
type Recovery struct {
	Files    core.FileLog
	Contents core.ContentStore
	// Rules are what rules of permission close to lines in a folder.
	Rules func(folder string) (core.PathRules, error)
}

// Recovered says what was found in a workspace where lines ran when the daemon was killed.
type Recovered struct {
	Workspace string
	Changes   int      // recorded as those of the line
	Doubtful  []string // changed since, but perhaps by somebody else: left alone
	Fault     error    // nothing could be recorded
}

// Recover records what lines changed that a kill of the daemon cut off, before anything runs in their folders again. A change that
// may be somebody else's, because it came after the daemon's end or because what is ignored changed as well, is none of theirs.
func (w *Watcher) Recover(ctx context.Context, r Recovery) ([]Recovered, error) {
	all, done, err := w.journal.cutOffs()
	if err != nil {
		return nil, err
	}
	var out []Recovered
	for i := range all {
		found := Recovered{Workspace: all[i].seen.Path}
		found.Changes, found.Doubtful, found.Fault = all[i].record(ctx, r)
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		out = append(out, found)
	}
	done()
	return out, nil
}

// record stores what was changed in a workspace as changes of the line that began last.
func (c *cutOff) record(ctx context.Context, r Recovery) (recorded int, doubtful []string, err error) {
	root, err := os.OpenRoot(c.seen.Path)
	if err != nil {
		return 0, nil, errors.New(reason(err))
	}
	defer func() { _ = root.Close() }()
	rules, err := r.Rules(c.seen.Path)
	if err != nil {
		return 0, nil, err
	}
	env := core.ToolEnv{
		Agent: core.Agent{ID: c.line.Agent}, Conversation: c.line.Conversation, Run: c.line.Run, Step: c.line.Step, Call: c.line.Call,
		Now:       c.until,
		Workspace: core.WorkspaceEnv{Path: c.seen.Path, Paths: rules, Files: r.Files, Contents: r.Contents},
	}
	s := &snapshot{env: env, ground: &ground{path: c.seen.Path, tree: c.tree, recorded: c.seen.Recorded}}
	s.ground.lines = []*snapshot{s}
	s.folder = &folder{root: root, path: c.seen.Path, real: realPath(c.seen.Path), env: env}
	l := &looking{
		folder: s.folder, was: c.tree, ignores: &ignores{}, hidden: slices.Concat(c.line.Hidden, c.tree.veils), late: true,
	}
	now, err := l.look(ctx)
	if err != nil {
		return 0, nil, err
	}
	known, _, err := s.recorded(ctx)
	if err != nil {
		return 0, nil, err
	}
	sure, doubtful := c.sort(s.changes(c.tree, now, known), now, root)
	_, err = s.note(ctx, sure)
	return len(sure), doubtful, err
}

// sort tells changes that are the line's from those that may be somebody else's.
func (c *cutOff) sort(changes []core.FileChange, now *tree, root *os.Root) (sure []core.FileChange, doubtful []string) {
	reread := slices.ContainsFunc(changes, func(f core.FileChange) bool { return path.Base(f.Path) == ".gitignore" })
	last := c.until.Add(beat + beat/2).UnixNano()
	for _, f := range changes {
		at := last + 1
		switch e := now.entries[f.Path]; {
		case e != nil && f.Before.Kind == core.PathAbsent && reread && path.Base(f.Path) != ".gitignore":
			// it may have stood there all the time, ignored
		case e != nil && e.Kind == core.PathFolder:
			at = e.changed // what is made in a folder changes its times, too: a young one is not sure
		case e != nil:
			at = e.changed
		default:
			at = goneBy(root, f.Path)
		}
		if at > last {
			doubtful = append(doubtful, f.Path)
			continue
		}
		sure = append(sure, f)
	}
	return sure, doubtful
}

// goneBy is when something went from a path, at the latest: when the innermost folder above it that is left changed last.
func goneBy(root *os.Root, rel string) int64 {
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		info, err := root.Lstat(dir)
		if err == nil && info.IsDir() {
			return info.ModTime().UnixNano()
		}
		if dir == "." || strings.HasPrefix(dir, "/") {
			return time.Now().UnixNano()
		}
	}
}
