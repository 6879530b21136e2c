package undo

import (
	"context"

	"loci/core"
)

// Withdraw takes a passage out of its archive by a version of its own, which Undo turns back.
func (p *Passages) Withdraw(ctx context.Context, o Order) (Outcome, error) {
	var done Outcome
	var agents []core.AgentID
	err := p.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if done.Was, _, err = open(ctx, tx, o.Agent, o.Passage); err != nil {
			return err
		}
		if err := unread(o, &done.Was); err != nil {
			return err
		}
		if err := tx.Passages().Retire(ctx, o.Passage, core.Author{Kind: core.AuthorUser, ID: o.By}); err != nil {
			return err
		}
		if agents, err = tx.Archives().AgentsOf(ctx, done.Was.Archive); err != nil {
			return err
		}
		done.Is, _, err = open(ctx, tx, o.Agent, o.Passage)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	p.announce(agents)
	return done, nil
}

// unread is why an order is refused whose giver has read another version than the newest; nil: none.
func unread(o Order, now *core.PassageVersion) error {
	if o.IfVersion == 0 || o.IfVersion == now.Version {
		return nil
	}
	return core.E(core.Conflict, "passage %s was changed meanwhile: it is at version %d now", o.Passage, now.Version).
		WithHint("read its versions again")
}

func (p *Passages) announce(agents []core.AgentID) {
	for _, a := range agents {
		p.cfg.Announce(core.Change{Agent: a})
	}
}
