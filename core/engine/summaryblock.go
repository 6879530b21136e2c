package engine

import (
	"context"
	"sync"
	"time"

	"loci/core"
	"loci/core/compact"
)

// writesBlock returns what writes a summary into the agent's summary block, over what stands there; record is the summary
// that the window began with until now. It is made for a transaction: the newest text counts, whoever wrote it.
func (w *window) writesBlock(step core.StepID, text, record string) func(context.Context, core.Store) error {
	by := core.Author{Kind: core.AuthorSystem, ID: compact.Author, Step: step}
	id, most := core.NewBlockID(), w.summaryChars()
	return func(ctx context.Context, tx core.Store) error {
		now := w.cfg.Clock()
		block, err := tx.Blocks().ByLabel(ctx, w.agent.ID, compact.BlockLabel)
		switch {
		case core.KindOf(err) == core.NotFound:
			block = core.Block{
				ID:          id,
				Label:       compact.BlockLabel,
				Description: compact.BlockDescription,
				Limit:       core.TerminalLimit,
				CreatedAt:   now,
				UpdatedAt:   now,
			}
			block.Value = compact.Over(text, min(most, block.Limit), record)
			if err := tx.Blocks().Create(ctx, &block, by); err != nil {
				return err
			}
			if err := tx.Blocks().Attach(ctx, w.agent.ID, block.ID); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			block.Value, block.UpdatedAt = compact.Over(text, min(most, block.Limit), record, block.Value), now
			if err := tx.Blocks().Update(ctx, &block, by); err != nil {
				return err
			}
		}
		agents, err := tx.Blocks().AgentsOf(ctx, block.ID)
		if err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, agents...)
	}
}

// pauses remembers in which conversations a summariser failed, so that not every turn of theirs waits for it.
type pauses struct {
	mu sync.Mutex // guards of
	of map[core.ConversationID]pause
}

type pause struct {
	run   core.RunID // in which it failed
	until time.Time
}

const (
	// pauseAfterHang is for how long no summary is asked for after one that was waited for in vain.
	pauseAfterHang = 10 * time.Minute
	maxPauses      = 1000
)

func newPauses() *pauses { return &pauses{of: map[core.ConversationID]pause{}} }

func (p *pauses) pause(conv core.ConversationID, run core.RunID, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of) >= maxPauses {
		clear(p.of)
	}
	p.of[conv] = pause{run, until}
}

func (p *pauses) paused(conv core.ConversationID, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.of[conv].until)
}

// tried returns the last run whose summary failed; empty: none did.
func (p *pauses) tried(conv core.ConversationID) core.RunID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[conv].run
}
