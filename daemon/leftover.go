package daemon

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"loci/core"
	"loci/core/permission"
	"loci/tools/workspace"
)

// sweepWrites removes temporary files that a killed daemon left in folders, beside files that its runs and its rewinds were
// changing.
func (d *Daemon) sweepWrites(ctx context.Context, store core.Store) error {
	runs, err := store.Runs().Unfinished(ctx)
	for i := range runs {
		if runs[i].Client.Workspace == "" || runs[i].Restored {
			continue
		}
		of := core.FileChanges{Conversation: runs[i].Conversation}
		err = errors.Join(err, d.sweepBeside(ctx, store, of, func(c *core.FileChange) bool { return c.Run == runs[i].ID }))
	}
	rewinds, failed := store.Rewinds().Unfinished(ctx)
	err = errors.Join(err, failed)
	for i := range rewinds {
		err = errors.Join(err, d.sweepBeside(ctx, store, core.FileChanges{Rewind: rewinds[i].ID}, nil))
	}
	return err
}

// sweepBeside goes through changes, the newest first, as long as there are some that are meant; nil: all are.
func (d *Daemon) sweepBeside(ctx context.Context, store core.Store, f core.FileChanges, of func(*core.FileChange) bool) error {
	swept := map[string]bool{}
	for {
		changes, err := store.Workspaces().Changes(ctx, f)
		if err != nil {
			return err
		}
		met := false
		for i := range changes {
			c := &changes[i]
			if of != nil && !of(c) {
				continue
			}
			met = true
			dir := filepath.Dir(c.Absolute())
			if swept[dir] {
				continue
			}
			swept[dir] = true
			if err := workspace.Sweep(c); err != nil {
				d.logger.WarnContext(ctx, "a temporary file is left in a folder", slog.String("folder", dir), slog.Any("error", err))
			}
		}
		if len(changes) < core.MaxFileChanges || !met {
			return nil
		}
		f.Older = changes[len(changes)-1].Seq
	}
}

// watcher notices what shell lines change, and knows after a kill of the daemon what it saw before.
func (d *Daemon) watcher() *workspace.Watcher {
	return workspace.NewWatcher(filepath.Join(d.cfg.Paths.State, "lines"))
}

// recoverLines records what lines changed in folders that a kill of the daemon cut off, before anything runs there again.
func (d *Daemon) recoverLines(ctx context.Context, p *parts, held core.ContentStore) {
	found, err := d.watcher().Recover(ctx, workspace.Recovery{
		Files: p.store.Workspaces(), Contents: held, Rules: func(folder string) (core.PathRules, error) { return closedTo(p, folder) },
	})
	if err != nil {
		d.logger.ErrorContext(ctx, "what lines changed when the daemon was killed is not known", slog.Any("error", err))
	}
	for _, f := range found {
		at := []any{slog.String("folder", f.Workspace), slog.Int("changes", f.Changes), slog.Int("doubtful", len(f.Doubtful))}
		if f.Fault != nil {
			d.logger.WarnContext(ctx, "what a line changed that was cut off can't be put back", append(at, slog.Any("error", f.Fault))...)
			continue
		}
		d.logger.InfoContext(ctx, "what a line changed that was cut off is recorded", at...)
	}
}

// closedTo is what rules of permission close to a line in a folder that names no file.
func closedTo(p *parts, folder string) (core.PathRules, error) {
	set, err := p.permissions.Rules(folder)
	return set.Paths(permission.Call{Does: permission.DoesShell}, permission.Place{
		Mode: core.ModeAsk, Root: folder, Dir: folder, Home: p.permissions.Home(), Real: permission.Real,
	}), err
}
