// Package undo takes changes of passages back and makes them again, for people.
//
// Promises: each undo and redo is a version of its own, so that nothing is lost; what a caller has not read is never
// overwritten, if it says which version it has read.
//
// Layer 2: it imports core and core/memory.
package undo

import (
	"context"

	"loci/core"
	"loci/core/memory"
)

// Config joins what Passages uses.
type Config struct {
	Store    core.Store
	Announce func(core.Change) // tells open chats of a change
}

// Passages undoes and redoes changes of passages. Safe for concurrent use.
type Passages struct{ cfg Config }

// New returns the use cases on a store.
func New(cfg Config) *Passages { return &Passages{cfg: cfg} }

// Order says what to turn back.
type Order struct {
	Passage   core.PassageID
	Agent     core.AgentID // refuses a passage that is not in this agent's archive; empty: any
	To        int          // of an undo: the version to restore; 0: the one before the last change
	IfVersion int          // the version that the caller has read; 0: it didn't say
	By        string       // the caller's client session; may be empty
}

// Outcome is what a passage was and became.
type Outcome struct {
	Was, Is  core.PassageVersion
	Restores int    // the version whose content it has again
	Diff     string // of the two texts
}

// maxPage bounds what one list returns.
const maxPage = 1000

// Versions returns the versions of a passage, newest first; the cursor is a version's number.
func (p *Passages) Versions(
	ctx context.Context, agent core.AgentID, id core.PassageID, pg core.Page,
) ([]core.PassageVersion, error) {
	if pg.Limit < 0 || pg.Limit > maxPage {
		return nil, core.E(core.Invalid, "a limit must be between 1 and %d", maxPage)
	}
	if _, _, err := open(ctx, p.cfg.Store, agent, id); err != nil {
		return nil, err
	}
	return p.cfg.Store.Passages().Versions(ctx, id, pg)
}

// Changes returns the changes of an agent's archive, newest first, older ones than before. A deletion has the text that was
// deleted.
func (p *Passages) Changes(ctx context.Context, agent core.AgentID, before int64, limit int) ([]core.PassageVersion, error) {
	if limit < 0 || limit > maxPage {
		return nil, core.E(core.Invalid, "a limit must be between 1 and %d", maxPage)
	}
	archive, ok, err := archiveOf(ctx, p.cfg.Store, agent)
	if err != nil || !ok {
		return nil, err
	}
	changes, err := p.cfg.Store.Passages().Changes(ctx, core.PassageChanges{Archive: archive, Before: before, Limit: limit})
	for i := range changes {
		c := &changes[i]
		if !c.Gone {
			continue
		}
		was, err := p.cfg.Store.Passages().Version(ctx, c.Passage, c.Version-1)
		if gone(err) != nil {
			return nil, err
		}
		c.Text = was.Text
	}
	return changes, err
}

// Undo restores what a passage was before its last change that isn't undone, whoever made it, or an earlier version. A
// passage that was deleted comes back under its id.
func (p *Passages) Undo(ctx context.Context, o Order) (Outcome, error) {
	return p.turn(ctx, o, func(_ context.Context, _ core.PassageStore, l core.VersionLine) (int, error) {
		switch {
		case o.To > 0:
			return o.To, nil
		case len(l.Past) < 2 && l.Forgotten:
			return 0, core.E(core.Conflict, "there is nothing to undo: what the passage said before is forgotten")
		case len(l.Past) < 2:
			return 0, core.E(core.Conflict, "there is nothing to undo: the passage says what it was kept with")
		}
		return l.Past[len(l.Past)-2], nil
	})
}

// Redo redoes what was last undone. What a rewind turned back is left to undoing the rewind.
func (p *Passages) Redo(ctx context.Context, o Order) (Outcome, error) {
	return p.turn(ctx, o, func(ctx context.Context, s core.PassageStore, l core.VersionLine) (int, error) {
		n := len(l.Future)
		if n == 0 {
			return 0, core.E(core.Conflict, "there is nothing to redo: the last change was not an undo")
		}
		switch undid, err := s.Version(ctx, o.Passage, l.Undid[n-1]); {
		case gone(err) != nil:
			return 0, err
		case undid.Author.Rewind != "":
			return 0, core.E(core.Conflict, "there is nothing to redo: a rewind took the last change back").
				WithHint("undo the rewind to have the change again")
		}
		return l.Future[n-1], nil
	})
}

// picker says which version to restore.
type picker func(context.Context, core.PassageStore, core.VersionLine) (int, error)

// turn stores the content of a version as a new one.
func (p *Passages) turn(ctx context.Context, o Order, pick picker) (Outcome, error) {
	var done Outcome
	var agents []core.AgentID
	err := p.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		now, links, err := open(ctx, tx, o.Agent, o.Passage)
		if err != nil {
			return err
		}
		if err := unread(o, &now); err != nil {
			return err
		}
		if done.Restores, err = pick(ctx, tx.Passages(), core.LineOf(links)); err != nil {
			return err
		}
		by := core.Author{Kind: core.AuthorUser, ID: o.By}
		if err := tx.Passages().Restore(ctx, o.Passage, done.Restores, by); err != nil {
			return err
		}
		if agents, err = tx.Archives().AgentsOf(ctx, now.Archive); err != nil {
			return err
		}
		done.Was = now
		done.Is, _, err = open(ctx, tx, o.Agent, o.Passage)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	p.announce(agents)
	done.Diff = memory.Diff(done.Was.Text, done.Is.Text)
	return done, nil
}

// open returns the newest version of a passage, gone or not, and how each version came about.
func open(
	ctx context.Context, s core.Store, agent core.AgentID, id core.PassageID,
) (now core.PassageVersion, links []core.VersionLink, err error) {
	if links, err = s.Passages().Lineage(ctx, id); err != nil {
		return now, nil, err
	}
	if now, err = s.Passages().Version(ctx, id, links[len(links)-1].Version); err != nil || agent == "" {
		return now, links, err
	}
	archive, ok, err := archiveOf(ctx, s, agent)
	if err == nil && (!ok || archive != now.Archive) {
		err = core.E(core.NotFound, "agent %s has no passage %s", agent, id)
	}
	return now, links, err
}

func archiveOf(ctx context.Context, s core.Store, agent core.AgentID) (core.ArchiveID, bool, error) {
	if _, err := s.Agents().Get(ctx, agent); err != nil {
		return "", false, err
	}
	a, ok, err := s.Archives().OfAgent(ctx, agent)
	return a.ID, ok, err
}
