package service

import (
	"context"

	"loci/core"
)

// MirrorAuthor is the author of block versions that were edited as a file of a mirror.
const MirrorAuthor = "mirror"

// Mirrors are the use cases of memory that is kept in sync with files. What is known about a file is stored in the
// transaction that changes its block, so that a crash can't come between the two.
type Mirrors struct {
	*parts
	blocks *Blocks
}

// Take updates a block from its file. A block that is no longer at ifVersion is a conflict.
func (s *Mirrors) Take(
	ctx context.Context, id core.BlockID, patch BlockPatch, ifVersion int, known func(core.Block) core.MirrorFile,
) (core.Block, error) {
	return s.blocks.update(
		ctx,
		patch,
		ifVersion,
		MirrorAuthor,
		blockByID(id),
		func(ctx context.Context, tx core.Store, b core.Block) error {
			return tx.Mirrors().PutFile(ctx, known(b))
		},
	)
}

// Make creates a block from a new file and attaches it to the agent. known may be nil: then no file belongs to it.
func (s *Mirrors) Make(ctx context.Context, agent core.AgentID, b core.Block, known func(core.Block) core.MirrorFile) (core.Block, error) {
	prepareBlock(&b, s.Clock())
	if err := b.Validate(); err != nil {
		return core.Block{}, err
	}
	_, err := s.change(ctx, agent, func(ctx context.Context, tx core.Store, _ *core.Agent) (bool, error) {
		have, err := tx.Blocks().OfAgent(ctx, agent)
		if err != nil {
			return false, err
		}
		if len(have) >= maxAgentBlocks {
			return false, core.E(core.Invalid, "an agent has at most %d blocks", maxAgentBlocks)
		}
		if err := tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser, ID: MirrorAuthor}); err != nil {
			return false, err
		}
		if err := tx.Blocks().Attach(ctx, agent, b.ID); err != nil || known == nil {
			return true, err
		}
		return true, tx.Mirrors().PutFile(ctx, known(b))
	})
	return b, err
}
