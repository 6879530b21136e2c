package service

import (
	"context"
	"fmt"
	"strings"

	"loci/core"
	"loci/core/memory"
	"loci/core/past"
)

// History are the use cases of the past: versions of blocks, rewinds, forks and copies, and what a step sent.
type History struct{ *parts }

// BlockDiff is the difference between two versions of a block.
type BlockDiff struct {
	From, To int
	Text     string // a unified difference; empty: nothing differs
}

// Versions returns the kept versions of a block, newest first; the cursor is a version's number.
func (h *History) Versions(ctx context.Context, id core.BlockID, pg core.Page) ([]core.BlockVersion, error) {
	return (&Blocks{parts: h.parts}).Versions(ctx, id, pg)
}

// Diff compares two versions of a block. Without to it uses the newest, without from the one before to; version 0 is
// empty.
func (h *History) Diff(ctx context.Context, id core.BlockID, from, to core.Opt[int]) (BlockDiff, error) {
	block, err := h.Store.Blocks().Get(ctx, id)
	if err != nil {
		return BlockDiff{}, err
	}
	d := BlockDiff{To: to.Or(block.Version)}
	d.From = from.Or(d.To - 1)
	var sides [2]core.BlockVersion
	for i, n := range []int{d.From, d.To} {
		sides[i] = core.BlockVersion{Block: id, Label: block.Label}
		if n == 0 {
			continue
		}
		if sides[i], err = h.Store.Blocks().Version(ctx, id, n); err != nil {
			return BlockDiff{}, err
		}
	}
	d.Text = differ(sides[0], sides[1])
	return d, nil
}

// differ writes a unified diff of two versions: first label, description and limit, then the value.
func differ(a, b core.BlockVersion) string {
	var out strings.Builder
	for _, field := range []struct{ name, from, to string }{
		{"label", a.Label, b.Label}, {"description", a.Description, b.Description}, {"limit", fmt.Sprint(a.Limit), fmt.Sprint(b.Limit)},
	} {
		if field.from != field.to && a.Version > 0 {
			fmt.Fprintf(&out, "-%s: %s\n+%s: %s\n", field.name, field.from, field.name, field.to)
		}
	}
	out.WriteString(memory.Diff(a.Value, b.Value))
	if out.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("--- %s (version %d)\n+++ %s (version %d)\n", a.Label, a.Version, b.Label, b.Version) + out.String()
}

// Undo restores what a block held before its last edit that isn't undone or, with to, the content of that version. That
// makes a new version, so nothing is lost. ifVersion is the version the caller has read, 0 if it didn't say. It also
// returns the number of the version that was restored.
func (h *History) Undo(ctx context.Context, id core.BlockID, to, ifVersion int, by string) (core.Block, int, error) {
	return h.bring(ctx, id, ifVersion, by, func(l core.VersionLine) (int, error) {
		if to > 0 {
			return to, nil
		}
		if len(l.Past) < 2 {
			return 0, core.E(core.Conflict, "there is nothing to undo: the block holds what it was made with")
		}
		return l.Past[len(l.Past)-2], nil
	})
}

// Redo redoes what was last undone.
func (h *History) Redo(ctx context.Context, id core.BlockID, ifVersion int, by string) (core.Block, int, error) {
	return h.bring(ctx, id, ifVersion, by, func(l core.VersionLine) (int, error) {
		if len(l.Future) == 0 {
			return 0, core.E(core.Conflict, "there is nothing to redo: the last change was not an undo")
		}
		return l.Future[len(l.Future)-1], nil
	})
}

// bring stores the content of an earlier version as a new one.
func (h *History) bring(
	ctx context.Context, id core.BlockID, ifVersion int, by string, pick func(core.VersionLine) (int, error),
) (core.Block, int, error) {
	var block core.Block
	var agents []core.AgentID
	target := 0
	err := h.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if block, err = tx.Blocks().Get(ctx, id); err != nil {
			return err
		}
		if ifVersion != 0 && ifVersion != block.Version {
			return stale(block)
		}
		links, err := tx.Blocks().Lineage(ctx, id)
		if err != nil {
			return err
		}
		if target, err = pick(core.LineOf(links)); err != nil {
			return err
		}
		then, err := tx.Blocks().Version(ctx, id, target)
		if err != nil {
			return err
		}
		if agents, err = tx.Blocks().AgentsOf(ctx, id); err != nil {
			return err
		}
		block.Value, block.Label, block.Description = then.Value, then.Label, then.Description
		block.Limit, block.UpdatedAt = then.Limit, h.Clock()
		if err := labelFree(ctx, tx, block, agents); err != nil {
			return err
		}
		if err := tx.Blocks().Update(ctx, &block, core.Author{Kind: core.AuthorUser, ID: by, Restores: target}); err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, agents...)
	})
	if err != nil {
		return core.Block{}, 0, err
	}
	h.changed(agents...)
	return block, target, nil
}

// RewindTo says where to rewind to: what a step was sent, or just before a run.
type RewindTo struct {
	Step   core.StepID
	Run    core.RunID
	What   []core.RewindPart // empty: everything
	Before bool              // also take back the input that the step answered; always so for a run
	Shared bool              // take back blocks shared with other agents
	By     string
}

// Rewind takes a conversation and its agent back, see past.Past.Rewind.
func (h *History) Rewind(ctx context.Context, to RewindTo) (core.Rewind, error) {
	step, err := h.place(ctx, to)
	if err != nil {
		return core.Rewind{}, err
	}
	o := past.RewindOptions{What: to.What, Before: to.Before || to.Run != "", Shared: to.Shared, By: to.By}
	return h.past.Rewind(ctx, step.Conversation, step.ID, o)
}

// BlocksAt returns the versions of memory blocks that a rewind restores, where they aren't shared.
func (h *History) BlocksAt(ctx context.Context, to RewindTo) ([]core.BlockVersion, error) {
	step, err := h.place(ctx, to)
	if err != nil {
		return nil, err
	}
	return h.past.BlocksAt(ctx, step.ID)
}

// FilesAt says what a rewind would do to files.
func (h *History) FilesAt(ctx context.Context, to RewindTo) (core.FilesPlan, error) {
	step, err := h.place(ctx, to)
	if err != nil {
		return core.FilesPlan{}, err
	}
	return h.past.FilesAt(ctx, step)
}

// place finds the step to rewind to: for a run, the first that got as far as a request.
func (h *History) place(ctx context.Context, to RewindTo) (core.Step, error) {
	if (to.Step == "") == (to.Run == "") {
		return core.Step{}, core.E(core.Invalid, "name a step or a run to go back to")
	}
	if to.Step != "" {
		return h.Store.Steps().Get(ctx, to.Step)
	}
	if _, err := h.Store.Runs().Get(ctx, to.Run); err != nil {
		return core.Step{}, err
	}
	steps, err := h.Store.Steps().List(ctx, core.StepFilter{Run: to.Run}, core.Page{Limit: maxRunSteps})
	if err != nil {
		return core.Step{}, err
	}
	for _, s := range steps {
		if s.AgentHash != "" {
			return s, nil
		}
	}
	return core.Step{}, core.E(core.Conflict, "run %s never came to a request: there is nothing to take back", to.Run)
}

// UndoRewind restores what was there before a rewind, see past.Past.UndoRewind.
func (h *History) UndoRewind(ctx context.Context, id core.RewindID, by string) (core.Rewind, error) {
	return h.past.UndoRewind(ctx, id, by)
}

// FinishRewinds puts files back where a rewind was interrupted.
func (h *History) FinishRewinds(ctx context.Context) error { return h.past.FinishRewinds(ctx) }

// Rewinds returns the rewinds of a conversation, fifty by default.
func (h *History) Rewinds(ctx context.Context, conv core.ConversationID, pg core.Page) ([]core.Rewind, error) {
	if _, err := h.Store.Conversations().Get(ctx, conv); err != nil {
		return nil, err
	}
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	return h.Store.Rewinds().List(ctx, conv, pg)
}

// Fork makes a conversation that shares the messages of another's window, see past.Past.Fork.
func (h *History) Fork(ctx context.Context, conv core.ConversationID, step core.StepID) (core.Conversation, error) {
	return h.past.Fork(ctx, conv, step)
}

// Copy makes an agent from another, see past.Past.CopyAgent.
func (h *History) Copy(ctx context.Context, id core.AgentID, o past.CopyOptions) (core.Agent, error) {
	return h.past.CopyAgent(ctx, id, o)
}

// Sent returns exactly what a step sent.
func (h *History) Sent(ctx context.Context, id core.StepID) (core.ChatRequest, error) {
	return h.past.Reproduce(ctx, id)
}

// Redacted reports whether a text in what a step sent was forgotten since.
func (h *History) Redacted(ctx context.Context, id core.StepID) (bool, error) {
	return h.past.Redacted(ctx, id)
}
