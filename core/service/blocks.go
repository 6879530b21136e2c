package service

import (
	"context"
	"fmt"
	"time"

	"loci/core"
	"loci/core/memory"
)

// Blocks are the use cases of memory blocks.
type Blocks struct{ *parts }

// StaleBlockError is the detail of a conflict: the block was changed since the version that the writer had read.
type StaleBlockError struct{ Newest core.Block }

// Error says what to do; it makes the conflict readable where the detail is not.
func (s *StaleBlockError) Error() string {
	return fmt.Sprintf("block %q was changed meanwhile: it is at version %d now", s.Newest.Label, s.Newest.Version)
}

// stale is the conflict of a writer that has not read the newest version.
func stale(newest core.Block) error {
	e := &StaleBlockError{Newest: newest}
	return (&core.Error{Kind: core.Conflict, Msg: e.Error(), Detail: e}).WithHint(
		"read it again, join your change with it and write once more",
	)
}

// BlockPatch changes what is present in it and nothing else.
type BlockPatch struct {
	Label       core.Opt[string]
	Value       core.Opt[string]
	Description core.Opt[string]
	Limit       core.Opt[int]
	ReadOnly    core.Opt[bool]
	Hidden      core.Opt[bool]
	Metadata    core.Opt[map[string]any]
	Tags        core.Opt[[]string]
	Extra       map[string]any // keys to set; a nil value takes one away
}

// prepareBlock gives a new block its identity and the contract's defaults.
func prepareBlock(b *core.Block, now time.Time) {
	b.ID, b.Version, b.CreatedAt, b.UpdatedAt = core.NewBlockID(), 1, now, now
	if b.Limit == 0 {
		b.Limit = core.DefaultBlockLimit
	}
	if b.Description == "" {
		b.Description = memory.DefaultDescription(b.Label)
	}
}

// Create makes a block. Its limit binds tools, not the API.
func (s *Blocks) Create(ctx context.Context, b core.Block) (core.Block, error) {
	if err := checkTags(b.Tags); err != nil {
		return core.Block{}, err
	}
	prepareBlock(&b, s.Clock())
	if err := b.Validate(); err != nil {
		return core.Block{}, err
	}
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		return tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser})
	})
	return b, err
}

// Get returns a block.
func (s *Blocks) Get(ctx context.Context, id core.BlockID) (core.Block, error) {
	return s.Store.Blocks().Get(ctx, id)
}

// ByLabel returns an agent's block of that label.
func (s *Blocks) ByLabel(ctx context.Context, agent core.AgentID, label string) (core.Block, error) {
	if _, err := s.Store.Agents().Get(ctx, agent); err != nil {
		return core.Block{}, err
	}
	return s.Store.Blocks().ByLabel(ctx, agent, label)
}

// List returns blocks, fifty by default.
func (s *Blocks) List(ctx context.Context, f core.BlockFilter, pg core.Page) ([]core.Block, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	return s.Store.Blocks().List(ctx, f, pg)
}

// Count returns how many blocks there are.
func (s *Blocks) Count(ctx context.Context, f core.BlockFilter) (int, error) {
	return s.Store.Blocks().Count(ctx, f)
}

// OfAgent returns all blocks of an agent in the order of attachment.
func (s *Blocks) OfAgent(ctx context.Context, agent core.AgentID) ([]core.Block, error) {
	return s.Store.Blocks().OfAgent(ctx, agent)
}

// ListOfAgent returns a page of an agent's blocks, a hundred by default.
func (s *Blocks) ListOfAgent(ctx context.Context, agent core.AgentID, pg core.Page) ([]core.Block, error) {
	if _, err := s.Store.Agents().Get(ctx, agent); err != nil {
		return nil, err
	}
	pg, err := pg.Sized(100)
	if err != nil {
		return nil, err
	}
	return s.Store.Blocks().List(ctx, core.BlockFilter{Agent: agent}, pg)
}

// AgentsOf returns the agents that a block is attached to, fifty by default.
func (s *Blocks) AgentsOf(ctx context.Context, id core.BlockID, pg core.Page) ([]core.Agent, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Blocks().Get(ctx, id); err != nil {
		return nil, err
	}
	return s.Store.Agents().List(ctx, core.AgentFilter{Block: id, Hidden: true}, pg)
}

// Versions returns the kept versions of a block, newest first.
func (s *Blocks) Versions(ctx context.Context, id core.BlockID, pg core.Page) ([]core.BlockVersion, error) {
	if _, err := s.Store.Blocks().Get(ctx, id); err != nil {
		return nil, err
	}
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	return s.Store.Blocks().Versions(ctx, id, pg)
}

// Update changes a block by its id. ifVersion is the version that the writer has read, 0 where it did not say; a newer
// one is a conflict that carries the newest text.
func (s *Blocks) Update(ctx context.Context, id core.BlockID, patch BlockPatch, ifVersion int, by string) (core.Block, error) {
	return s.update(ctx, patch, ifVersion, by, blockByID(id), nil)
}

// blockByID finds the block that an update is about.
func blockByID(id core.BlockID) func(context.Context, core.Store) (core.Block, error) {
	return func(ctx context.Context, tx core.Store) (core.Block, error) { return tx.Blocks().Get(ctx, id) }
}

// UpdateByLabel changes an agent's block of that label, see Update.
func (s *Blocks) UpdateByLabel(
	ctx context.Context, agent core.AgentID, label string, patch BlockPatch, ifVersion int, by string,
) (core.Block, error) {
	return s.update(ctx, patch, ifVersion, by, func(ctx context.Context, tx core.Store) (core.Block, error) {
		if _, err := tx.Agents().Get(ctx, agent); err != nil {
			return core.Block{}, err
		}
		return tx.Blocks().ByLabel(ctx, agent, label)
	}, nil)
}

// update changes the block that find finds; also, if there is one, writes what belongs to the change in its transaction.
func (s *Blocks) update(
	ctx context.Context,
	patch BlockPatch,
	ifVersion int,
	by string,
	find func(context.Context, core.Store) (core.Block, error),
	also func(context.Context, core.Store, core.Block) error,
) (core.Block, error) {
	if err := checkTags(patch.Tags.Value); err != nil {
		return core.Block{}, err
	}
	var block core.Block
	var agents []core.AgentID
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if block, err = find(ctx, tx); err != nil {
			return err
		}
		if ifVersion != 0 && ifVersion != block.Version {
			return stale(block)
		}
		label := block.Label
		if err := patch.apply(&block); err != nil {
			return err
		}
		block.UpdatedAt = s.Clock()
		if agents, err = tx.Blocks().AgentsOf(ctx, block.ID); err != nil {
			return err
		}
		if block.Label != label {
			if err := labelFree(ctx, tx, block, agents); err != nil {
				return err
			}
		}
		if err := tx.Blocks().Update(ctx, &block, core.Author{Kind: core.AuthorUser, ID: by}); err != nil {
			return err
		}
		if also != nil {
			if err := also(ctx, tx, block); err != nil {
				return err
			}
		}
		return tx.Conversations().MarkStale(ctx, agents...)
	})
	if err != nil {
		return core.Block{}, err
	}
	s.changed(agents...)
	return block, nil
}

func (p *BlockPatch) apply(b *core.Block) error {
	if p.Value.Present && p.Value.Null || p.Label.Present && p.Label.Null {
		return core.E(core.Invalid, "label and value of a block cannot be null")
	}
	set(&b.Label, p.Label)
	set(&b.Value, p.Value)
	set(&b.Description, p.Description)
	set(&b.ReadOnly, p.ReadOnly)
	set(&b.Hidden, p.Hidden)
	set(&b.Metadata, p.Metadata)
	set(&b.Limit, p.Limit)
	if p.Limit.Present && p.Limit.Null {
		b.Limit = core.DefaultBlockLimit
	}
	if p.Tags.Present {
		b.Tags = unique(p.Tags.Value)
	}
	b.Extra = merged(b.Extra, p.Extra)
	return b.Validate()
}

// labelFree refuses a new label that one of the block's agents has already.
func labelFree(ctx context.Context, tx core.Store, block core.Block, agents []core.AgentID) error {
	for _, agent := range agents {
		other, err := tx.Blocks().ByLabel(ctx, agent, block.Label)
		switch {
		case core.KindOf(err) == core.NotFound:
		case err != nil:
			return err
		case other.ID != block.ID:
			return core.E(core.Conflict, "agent %s has a block labelled %q already", agent, block.Label)
		}
	}
	return nil
}

// Delete takes a block away from every agent and marks it deleted; its versions stay.
func (s *Blocks) Delete(ctx context.Context, id core.BlockID) error {
	var agents []core.AgentID
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) (err error) {
		if agents, err = tx.Blocks().AgentsOf(ctx, id); err != nil {
			return err
		}
		if err := tx.Blocks().Delete(ctx, id); err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, agents...)
	})
	if err != nil {
		return err
	}
	s.changed(agents...)
	return nil
}
