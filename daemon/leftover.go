package daemon

import (
	"context"
	"log/slog"

	"loci/core"
	"loci/tools/workspace"
)

// sweepWrites removes temporary files that a killed daemon left in folders, beside files that its runs were changing.
func (d *Daemon) sweepWrites(ctx context.Context, store core.Store) error {
	runs, err := store.Runs().Unfinished(ctx)
	for i := 0; i < len(runs) && err == nil; i++ {
		if runs[i].Client.Workspace == "" || runs[i].Restored {
			continue
		}
		var changes []core.FileChange
		changes, err = store.Workspaces().Changes(ctx, core.FileChanges{Conversation: runs[i].Conversation})
		for j := range changes {
			if changes[j].Run != runs[i].ID {
				continue
			}
			if err := workspace.Sweep(&changes[j]); err != nil {
				d.logger.WarnContext(ctx, "a temporary file is left in a folder", slog.String("run", string(runs[i].ID)),
					slog.Any("error", err))
			}
		}
	}
	return err
}
