package shell

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/tools/workspace/masks"
)

// openBeside shows a line the folders that a person opened beside the project, held to the same rules. None of ours is in them.
func (p *place) openBeside(ctx context.Context, w core.WorkspaceEnv) error {
	count := 0
	for _, d := range w.Dirs {
		b := core.JobProject{Path: d.Path, Writable: d.Writable && w.Mode != core.ModePlan}
		if rules := w.Paths.Of(d.Path); rules != nil {
			found, err := masks.Find(ctx, d.Path, rules)
			if err != nil {
				return err
			}
			if found.AllHidden {
				continue
			}
			for _, rel := range found.Hidden {
				p.shut = append(p.shut, filepath.Join(d.Path, filepath.FromSlash(rel)))
			}
			// A program behind a socket does what it is told, outside; that a folder may be read allows none of it.
			b.Masked, b.ReadOnly, b.Fixed = slices.Concat(found.Hidden, found.Sockets), found.ReadOnly, found.Fixed
			b.Writable = b.Writable && !found.AllReadOnly
			p.closed.Partly = p.closed.Partly || found.Partly
		}
		if count += len(b.Masked) + len(b.ReadOnly) + len(b.Fixed); count > core.MostJobPaths/2 {
			return core.E(core.TooLarge, "rules of permission close too many files and folders of %s", d.Path).
				WithHint("take the folder away again, or open one in it: /add-dir")
		}
		p.beside = append(p.beside, b)
	}
	return nil
}

// watch notices what a line changes: in the project, and in what it may change beside it.
func (s *Shell) watch(
	ctx context.Context, p *place, env core.ToolEnv, project bool, source func() string,
) (after func(context.Context) string) {
	var all []func(context.Context) string
	if project {
		all = append(all, s.cfg.Watch(ctx, env, p.masked, source))
	}
	for _, b := range p.beside {
		if b.Writable {
			there := env
			there.Workspace.Path = b.Path
			all = append(all, s.cfg.Watch(ctx, there, nil, source))
		}
	}
	return func(ctx context.Context) string {
		var told []string
		for _, after := range all {
			if text := after(ctx); text != "" && !slices.Contains(told, text) {
				told = append(told, text)
			}
		}
		return strings.Join(told, " ")
	}
}
