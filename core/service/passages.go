package service

import (
	"context"
	"time"

	"loci/core"
)

// Passages are the use cases of archival memory.
type Passages struct{ *parts }

// NewPassage is a text to keep.
type NewPassage struct {
	Text      string
	Tags      []string
	Metadata  map[string]any
	CreatedAt time.Time // zero: now
}

// PassagePatch changes what is set in it.
type PassagePatch struct {
	Text     core.Opt[string]
	Tags     core.Opt[[]string]
	Metadata core.Opt[map[string]any]
	By       string // the client session of who mends it; may be empty
}

// PassageQuery asks for passages by words. Of Agent and Archive at most one is set; neither asks everywhere.
type PassageQuery struct {
	Text        string
	Agent       core.AgentID
	Archive     core.ArchiveID
	Tags        []string
	AllTags     bool
	From, Until time.Time
	Limit       int
}

// Insert keeps a text in an agent's archive, which its first passage makes.
func (s *Passages) Insert(ctx context.Context, agent core.AgentID, in NewPassage) (core.Passage, error) {
	now := s.Clock()
	p, err := newPassage(in, now)
	if err != nil {
		return core.Passage{}, err
	}
	err = s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		archive, err := archiveFor(ctx, tx, agent, now)
		if err != nil {
			return err
		}
		p.Archive = archive
		return tx.Passages().Insert(ctx, &p)
	})
	if err != nil {
		return core.Passage{}, err
	}
	s.changed(agent)
	return p, nil
}

// archiveFor returns the agent's archive and makes it where there is none.
func archiveFor(ctx context.Context, tx core.Store, id core.AgentID, now time.Time) (core.ArchiveID, error) {
	agent, err := tx.Agents().Get(ctx, id)
	if err != nil {
		return "", err
	}
	archive, ok, err := tx.Archives().OfAgent(ctx, id)
	if err != nil || ok {
		return archive.ID, err
	}
	archive = core.Archive{
		ID:        core.NewArchiveID(),
		Name:      agent.Name + "'s Archive",
		Embedding: agent.Embedding,
		CreatedAt: now,
		UpdatedAt: now,
	}
	if err := tx.Archives().Create(ctx, &archive); err != nil {
		return "", err
	}
	return archive.ID, tx.Archives().Attach(ctx, id, archive.ID)
}

// List returns an agent's passages, a hundred by default; contains is a plain part of the text.
func (s *Passages) List(ctx context.Context, agent core.AgentID, contains string, pg core.Page) ([]core.Passage, error) {
	archive, ok, err := s.archive(ctx, agent)
	if err != nil || !ok {
		return nil, err
	}
	pg, err = pg.Sized(100)
	if err != nil {
		return nil, err
	}
	return s.Store.Passages().List(ctx, core.PassageFilter{Archives: []core.ArchiveID{archive}, Contains: contains}, pg)
}

// Search finds passages by words and meaning, best first; without a text those that its filters leave, the newest first.
func (s *Passages) Search(ctx context.Context, q PassageQuery) (none core.Results[core.PassageHit], err error) {
	query, err := searchQuery(q.Text, q.Limit)
	if err != nil {
		return none, err
	}
	if query.Today, err = s.today(ctx, q.Agent); err != nil {
		return none, err
	}
	f := core.PassageFilter{Tags: q.Tags, AllTags: q.AllTags, From: q.From, Until: q.Until}
	switch {
	case q.Agent != "":
		archive, ok, err := s.archive(ctx, q.Agent)
		if err != nil || !ok {
			return none, err
		}
		f.Archives = []core.ArchiveID{archive}
	case q.Archive != "":
		if _, err := s.Store.Archives().Get(ctx, q.Archive); err != nil {
			return none, err
		}
		f.Archives = []core.ArchiveID{q.Archive}
	}
	return s.Config.Search.Passages(ctx, query, f)
}

// Update mends a passage, of the agent's archive where one is named. Search finds it by its new text from then on, and no
// more by the old.
func (s *Passages) Update(ctx context.Context, agent core.AgentID, id core.PassageID, patch PassagePatch) (core.Passage, error) {
	if err := checkTags(patch.Tags.Value); err != nil {
		return core.Passage{}, err
	}
	var p core.Passage
	var agents []core.AgentID
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if p, err = tx.Passages().Get(ctx, id); err != nil {
			return err
		}
		if agent != "" {
			if err := ofAgent(ctx, tx, agent, &p); err != nil {
				return err
			}
		}
		set(&p.Text, patch.Text)
		set(&p.Tags, patch.Tags)
		set(&p.Metadata, patch.Metadata)
		p.Tags, p.UpdatedAt = unique(p.Tags), s.Clock()
		if err := p.Validate(); err != nil {
			return err
		}
		if agents, err = tx.Archives().AgentsOf(ctx, p.Archive); err != nil {
			return err
		}
		return tx.Passages().Update(ctx, &p, core.Author{Kind: core.AuthorUser, ID: patch.By})
	})
	if err != nil {
		return core.Passage{}, err
	}
	s.changed(agents...)
	return p, nil
}

// Delete removes a passage of an agent's archive.
func (s *Passages) Delete(ctx context.Context, agent core.AgentID, id core.PassageID) error {
	err := s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		p, err := tx.Passages().Get(ctx, id)
		if err = core.IgnoreDamage(err); err == nil {
			err = ofAgent(ctx, tx, agent, &p)
		}
		if err != nil {
			return err
		}
		return tx.Passages().Delete(ctx, id)
	})
	if err != nil {
		return err
	}
	s.changed(agent)
	return nil
}

// ofAgent refuses a passage that is not in the agent's archive.
func ofAgent(ctx context.Context, tx core.Store, agent core.AgentID, p *core.Passage) error {
	if _, err := tx.Agents().Get(ctx, agent); err != nil {
		return err
	}
	archive, ok, err := tx.Archives().OfAgent(ctx, agent)
	if err == nil && (!ok || archive.ID != p.Archive) {
		err = core.E(core.NotFound, "agent %s has no passage %s", agent, p.ID)
	}
	return err
}

func (s *Passages) archive(ctx context.Context, agent core.AgentID) (core.ArchiveID, bool, error) {
	if _, err := s.Store.Agents().Get(ctx, agent); err != nil {
		return "", false, err
	}
	a, ok, err := s.Store.Archives().OfAgent(ctx, agent)
	return a.ID, ok, err
}
