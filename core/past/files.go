package past

import (
	"context"
	"errors"
	"iter"

	"loci/core"
)

// Bounds on what one rewind does to files.
const (
	maxChanges = 50_000
	maxNamed   = 1000 // in its record
)

// FilesAt says what a rewind to a step would do to files.
func (p *Past) FilesAt(ctx context.Context, step core.Step) (core.FilesPlan, error) {
	return p.planFiles(ctx, &core.Rewind{Conversation: step.Conversation, What: core.RewindParts()}, core.RewindPoint{Step: step.ID})
}

// planFiles looks at the files that calls of the conversation, and rewinds of it, changed since a step. Undoing a rewind looks
// only at those that it moved itself: what was done to files since then stays.
func (p *Past) planFiles(ctx context.Context, record *core.Rewind, at core.RewindPoint) (core.FilesPlan, error) {
	if p.files == nil || !record.Took(core.RewindFiles) {
		return core.FilesPlan{}, nil
	}
	which := core.FileChanges{Conversation: record.Conversation, Since: at}
	if at.Rewind != "" {
		which = core.FileChanges{Rewind: at.Rewind}
	}
	plan, err := p.files.Plan(ctx, p.changes(ctx, which))
	for i := range plan.Changes {
		plan.Changes[i].Rewind, plan.Changes[i].At = record.ID, record.CreatedAt
	}
	record.Unfinished = len(plan.Changes) > 0
	record.Files = core.FilesBack{Kept: plan.Kept}.Named(maxNamed)
	return plan, err
}

// changes reads changes page by page, the newest first.
func (p *Past) changes(ctx context.Context, f core.FileChanges) iter.Seq2[core.FileChange, error] {
	return func(yield func(core.FileChange, error) bool) {
		for n := 0; ; {
			page, err := p.store.Workspaces().Changes(ctx, f)
			if n += len(page); err == nil && n > maxChanges {
				err = core.E(core.TooLarge, "more than %d changes of files were made since then", maxChanges).
					WithHint("go back in smaller steps, or take back only thread and memory")
			}
			if err != nil {
				yield(core.FileChange{}, err)
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < core.MaxFileChanges {
				return
			}
			f.Older = page[len(page)-1].Seq
		}
	}
}

// noteFiles stores what is to become of files. Where the thread goes back too, the agent knows of them again what it knew.
func noteFiles(ctx context.Context, tx core.Store, r *core.Rewind, plan core.FilesPlan) error {
	if len(plan.Changes) == 0 {
		return nil
	}
	if err := tx.Workspaces().NoteChanges(ctx, plan.Changes); err != nil || !r.Took(core.RewindThread) {
		return err
	}
	for i := range plan.Changes {
		c := &plan.Changes[i]
		_, known, err := tx.Workspaces().Read(ctx, r.Conversation, c.Absolute())
		if err == nil && known && c.After.Kind == core.PathFile {
			err = tx.Workspaces().NoteRead(ctx, core.FileRead{
				Conversation: r.Conversation, Path: c.Absolute(), Hash: c.After.Hash, At: r.CreatedAt,
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyFiles does what is stored, and stores what became of it.
func (p *Past) applyFiles(ctx context.Context, r *core.Rewind, plan []core.FileChange) error {
	if len(plan) == 0 {
		return nil
	}
	back, err := p.files.Apply(ctx, plan)
	if err == nil {
		back.Kept, back.More = append(r.Files.Kept, back.Kept...), r.Files.More
		r.Files, r.Unfinished = back.Named(maxNamed), false
		err = p.store.Rewinds().Finish(ctx, r.ID, r.Files)
	}
	if err != nil {
		return core.E(core.KindOf(err), "it went back, but not all files did: %w", err).
			WithHint("the next start of the daemon tries again")
	}
	return nil
}

// FinishRewinds puts files back where a rewind was interrupted before it did. One that can't be finished keeps no other from it.
func (p *Past) FinishRewinds(ctx context.Context) error {
	if p.files == nil {
		return nil
	}
	rewinds, err := p.store.Rewinds().Unfinished(ctx)
	for i := range rewinds {
		err = errors.Join(err, p.finish(ctx, &rewinds[i]))
	}
	return err
}

func (p *Past) finish(ctx context.Context, r *core.Rewind) error {
	var plan []core.FileChange
	for c, err := range p.changes(ctx, core.FileChanges{Rewind: r.ID}) {
		if err != nil {
			return err
		}
		plan = append(plan, c)
	}
	return p.applyFiles(ctx, r, plan)
}
