package past

import (
	"context"
	"fmt"

	"loci/core"
	"loci/core/moment"
)

// folders attaches the earlier folders, in order, and opens what was open. Files themselves stay as they are.
func (r *restorer) folders(ctx context.Context) error {
	now, err := r.tx.Folders().OfAgent(ctx, r.agent.ID)
	if err != nil {
		return err
	}
	for i := range now {
		if err := r.tx.Folders().Detach(ctx, r.agent.ID, now[i].ID); err != nil {
			return err
		}
	}
	missing, err := restoreFolders(ctx, r.tx, r.agent.ID, r.m.Folders, r.m.Files)
	if err != nil {
		return err
	}
	for _, at := range r.m.Files {
		f, err := r.tx.Files().Get(ctx, at.File)
		if core.KindOf(err) == core.NotFound {
			continue // already reported
		}
		if err != nil {
			return err
		}
		if at.Changed(&f) {
			missing = append(missing, fmt.Sprintf("the open file %q has changed since and stays as it is", f.Name))
		}
	}
	r.stale = r.stale || len(missing) > 0
	r.record.Missing = missing
	return nil
}

// restoreFolders gives an agent without folders those of a snapshot, and reports which of them, and how many of the
// files that were open, are gone.
func restoreFolders(
	ctx context.Context,
	tx core.Store,
	agent core.AgentID,
	folders []moment.FolderAt,
	files []moment.OpenAt,
) (missing []string, err error) {
	for _, at := range folders {
		err := tx.Folders().Attach(ctx, agent, at.ID)
		if core.KindOf(err) == core.NotFound {
			missing = append(missing, fmt.Sprintf("the folder %q is deleted", at.Name))
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	gone := 0
	for _, at := range files {
		o, err := at.OpenFile(ctx, tx)
		if err == nil {
			err = tx.Files().Open(ctx, agent, o)
		}
		if core.KindOf(err) == core.NotFound {
			gone++
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if gone > 0 {
		missing = append(missing, "deleted since: "+core.Count(gone, "open file"))
	}
	return missing, nil
}
