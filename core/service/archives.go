package service

import (
	"context"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Limits on archives.
const (
	maxArchiveName = 250  // characters
	maxBatch       = 1000 // passages inserted at once
)

// Archives are the use cases of archives: passages that agents may share.
type Archives struct{ *parts }

// NewArchive is what an archive begins with.
type NewArchive struct {
	Name        string
	Description string
	Embedding   core.Handle // empty: the built-in one
}

// ArchivePatch changes what is set in it.
type ArchivePatch struct {
	Name        core.Opt[string]
	Description core.Opt[string]
}

// EmbeddingPlan says what changing an archive's embedding means: which texts go where.
type EmbeddingPlan struct {
	Archive  core.Archive // as it is or, once done, as it is now
	Info     core.EmbeddingInfo
	Passages int // to be embedded again
}

// List returns archives, fifty by default; of one agent where it is given.
func (s *Archives) List(ctx context.Context, name string, agent core.AgentID, pg core.Page) ([]core.Archive, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	return s.Store.Archives().List(ctx, name, agent, pg)
}

// Get returns an archive.
func (s *Archives) Get(ctx context.Context, id core.ArchiveID) (core.Archive, error) {
	return s.Store.Archives().Get(ctx, id)
}

// Create makes an archive that no agent has yet. An embedding that nobody can make is not_found.
func (s *Archives) Create(ctx context.Context, in NewArchive, env core.Env) (core.Archive, error) {
	if err := checkArchive(in.Name, in.Description); err != nil {
		return core.Archive{}, err
	}
	if err := s.checkEmbedding(ctx, in.Embedding, env); err != nil {
		return core.Archive{}, err
	}
	now := s.Clock()
	a := core.Archive{
		ID:          core.NewArchiveID(),
		Name:        in.Name,
		Description: in.Description,
		Embedding:   in.Embedding,
		CreatedAt:   now,
		UpdatedAt:   now,
	}
	return a, s.Store.Archives().Create(ctx, &a)
}

func checkArchive(name, description string) error {
	switch {
	case name == "":
		return core.E(core.Invalid, "an archive needs a name")
	case utf8.RuneCountInString(name) > maxArchiveName:
		return core.E(core.Invalid, "an archive's name has at most %d characters", maxArchiveName)
	case utf8.RuneCountInString(description) > core.MaxPassageChars:
		return core.E(core.Invalid, "an archive's description has at most %d characters", core.MaxPassageChars)
	}
	return nil
}

// Update changes name and description.
func (s *Archives) Update(ctx context.Context, id core.ArchiveID, p ArchivePatch) (core.Archive, error) {
	return s.edit(ctx, id, func(a *core.Archive) error {
		set(&a.Name, p.Name)
		set(&a.Description, p.Description)
		return checkArchive(a.Name, a.Description)
	})
}

func (s *Archives) edit(ctx context.Context, id core.ArchiveID, change func(*core.Archive) error) (core.Archive, error) {
	var a core.Archive
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if a, err = tx.Archives().Get(ctx, id); err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		a.UpdatedAt = s.Clock()
		return tx.Archives().Update(ctx, &a)
	})
	return a, err
}

// Delete deletes an archive with its passages and detaches it from every agent.
func (s *Archives) Delete(ctx context.Context, id core.ArchiveID) error {
	var agents []core.AgentID
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if agents, err = tx.Archives().AgentsOf(ctx, id); err != nil {
			return err
		}
		return tx.Archives().Delete(ctx, id)
	})
	if err == nil {
		s.changed(agents...)
	}
	return err
}

// AgentsOf returns the agents that have the archive, fifty by default.
func (s *Archives) AgentsOf(ctx context.Context, id core.ArchiveID, pg core.Page) ([]core.Agent, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	if _, err := s.Store.Archives().Get(ctx, id); err != nil {
		return nil, err
	}
	return s.Store.Agents().List(ctx, core.AgentFilter{Archive: id, Hidden: true}, pg)
}

// Attach gives the archive to an agent that has none; attaching it again does nothing.
func (s *Archives) Attach(ctx context.Context, agent core.AgentID, id core.ArchiveID) error {
	return s.announced(agent, s.Store.Archives().Attach(ctx, agent, id))
}

// Detach detaches the archive from an agent; the archive and its passages stay.
func (s *Archives) Detach(ctx context.Context, agent core.AgentID, id core.ArchiveID) error {
	return s.announced(agent, s.Store.Archives().Detach(ctx, agent, id))
}

func (s *Archives) announced(agent core.AgentID, err error) error {
	if err == nil {
		s.changed(agent)
	}
	return err
}

// Insert adds texts to an archive, all of them or none.
func (s *Archives) Insert(ctx context.Context, id core.ArchiveID, drafts ...NewPassage) ([]core.Passage, error) {
	switch {
	case len(drafts) == 0:
		return nil, core.E(core.Invalid, "there is no passage to insert")
	case len(drafts) > maxBatch:
		return nil, core.E(core.Invalid, "%d passages are more than the %d that go in at once", len(drafts), maxBatch).
			WithHint("send them in several requests")
	}
	passages := make([]core.Passage, len(drafts))
	pointers := make([]*core.Passage, len(drafts))
	for i, draft := range drafts {
		p, err := newPassage(draft, s.Clock())
		if err != nil {
			return nil, core.E(core.KindOf(err), "passage %d: %w", i+1, err)
		}
		p.Archive = id
		passages[i], pointers[i] = p, &passages[i]
	}
	var agents []core.AgentID
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if _, err := tx.Archives().Get(ctx, id); err != nil {
			return err
		}
		var err error
		if agents, err = tx.Archives().AgentsOf(ctx, id); err != nil {
			return err
		}
		return tx.Passages().Insert(ctx, pointers...)
	})
	if err != nil {
		return nil, err
	}
	s.changed(agents...)
	return passages, nil
}

// DeletePassage removes a passage of the archive.
func (s *Archives) DeletePassage(ctx context.Context, id core.ArchiveID, passage core.PassageID) error {
	var agents []core.AgentID
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if _, err := tx.Archives().Get(ctx, id); core.IgnoreDamage(err) != nil {
			return err
		}
		p, err := tx.Passages().Get(ctx, passage)
		if core.IgnoreDamage(err) != nil {
			return err
		}
		if p.Archive != id {
			return core.E(core.NotFound, "archive %s has no passage %s", id, passage)
		}
		if agents, err = tx.Archives().AgentsOf(ctx, id); err != nil {
			return err
		}
		return tx.Passages().Delete(ctx, passage)
	})
	if err == nil {
		s.changed(agents...)
	}
	return err
}

// Embed gives an archive another embedding; its passages are embedded again in the background and can be found by their
// words meanwhile. With dry nothing changes. The plan says where texts are sent; show it to a person first.
func (s *Archives) Embed(ctx context.Context, id core.ArchiveID, model core.Handle, dry bool, env core.Env) (EmbeddingPlan, error) {
	if s.Embedding == nil {
		return EmbeddingPlan{}, core.E(core.Unavailable, "this daemon has no other embedding")
	}
	if err := model.Validate(); err != nil {
		return EmbeddingPlan{}, err
	}
	info, err := s.Embedding.Reach(ctx, model, env)
	if err != nil {
		return EmbeddingPlan{}, err
	}
	a, err := s.Store.Archives().Get(ctx, id)
	if err != nil {
		return EmbeddingPlan{}, err
	}
	if !dry {
		if err := s.Embedding.Agree(ctx, info); err != nil {
			return EmbeddingPlan{}, err
		}
		a, err = s.edit(ctx, id, func(a *core.Archive) error {
			a.Embedding, a.Wanted = model, ""
			return nil
		})
	}
	return EmbeddingPlan{Archive: a, Info: info, Passages: a.Passages}, err
}

// newPassage makes a passage of a draft and checks it.
func newPassage(in NewPassage, now time.Time) (core.Passage, error) {
	if err := checkTags(in.Tags); err != nil {
		return core.Passage{}, err
	}
	p := core.Passage{
		ID:        core.NewPassageID(),
		Text:      in.Text,
		Tags:      unique(in.Tags),
		Metadata:  in.Metadata,
		CreatedAt: in.CreatedAt,
		UpdatedAt: now,
	}
	if p.CreatedAt.IsZero() {
		p.CreatedAt = now
	}
	return p, p.Validate()
}
