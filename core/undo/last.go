package undo

import (
	"context"
	"slices"
	"time"

	"loci/core"
)

// Last is what an agent changed last, as far as it can be turned back.
type Last struct {
	Edit  core.PassageVersion  // its change
	From  core.PassageVersion  // what it changed
	Now   int                  // the newest version of the passage
	Since *core.PassageVersion // what somebody else changed after it, so that it stays; nil: nothing
	At    time.Time            // an edit counts from when it was made, one that can be redone from when it was undone
}

// lookedAt bounds how many changes are looked through for one that can be turned back, a batch at a time.
const (
	lookedAt = 1000
	batch    = 50
)

// LastOf returns the last change of a passage of an agent's archive that the agent itself made and that is in effect or,
// with redo, the last one that was undone. What a rewind turned back is left to undoing the rewind.
func (p *Passages) LastOf(ctx context.Context, agent core.AgentID, redo bool) (last Last, found bool, err error) {
	archive, ok, err := archiveOf(ctx, p.cfg.Store, agent)
	if err != nil || !ok {
		return last, false, err
	}
	f := core.PassageChanges{Archive: archive, Limit: batch}
	l := looker{s: p.cfg.Store.Passages(), agent: agent}
	look := l.redoable
	if !redo {
		f.By, look = agent, l.undoable
	}
	for range lookedAt / batch {
		changes, err := l.s.Changes(ctx, f)
		if err != nil || len(changes) == 0 {
			return last, false, err
		}
		for i := range changes {
			if last, found, err = look(ctx, &changes[i]); err != nil || found {
				return last, found, err
			}
		}
		f.Before = changes[len(changes)-1].Seq
	}
	return last, false, nil
}

// looker looks through changes, the newest first.
type looker struct {
	s     core.PassageStore
	agent core.AgentID
}

// undoable tells whether an agent's change is in effect. The newest that is comes first, so that what changed the passage
// after it is somebody else's.
func (l *looker) undoable(ctx context.Context, c *core.PassageVersion) (last Last, found bool, err error) {
	links, err := l.s.Lineage(ctx, c.Passage)
	if err != nil {
		return last, false, gone(err)
	}
	past := core.LineOf(links).Past
	at := slices.Index(past, c.Version)
	if at < 1 {
		return last, false, nil
	}
	last = Last{Edit: *c, Now: links[len(links)-1].Version, At: c.At}
	for _, n := range past[at+1:] {
		since, err := l.s.Version(ctx, c.Passage, n)
		if err != nil || since.Author.Rewind != "" {
			return last, false, gone(err)
		}
		last.Since = &since
	}
	last.From, err = l.s.Version(ctx, c.Passage, past[at-1])
	return last, err == nil, gone(err)
}

// redoable tells whether a change is the one by which a person undid what can be redone next of a passage, if that is the
// agent's.
func (l *looker) redoable(ctx context.Context, c *core.PassageVersion) (last Last, found bool, err error) {
	if c.Author.Restores == 0 || c.Author.Rewind != "" {
		return last, false, nil
	}
	links, err := l.s.Lineage(ctx, c.Passage)
	if err != nil {
		return last, false, gone(err)
	}
	line := core.LineOf(links)
	n := len(line.Future)
	if n == 0 || line.Undid[n-1] != c.Version {
		return last, false, nil
	}
	last = Last{Now: links[len(links)-1].Version, At: c.At}
	if last.From, err = l.s.Version(ctx, c.Passage, last.Now); err != nil {
		return last, false, gone(err)
	}
	last.Edit, err = l.s.Version(ctx, c.Passage, line.Future[n-1])
	own := last.Edit.Author.Kind == core.AuthorAgent && last.Edit.Author.ID == string(l.agent)
	return last, err == nil && own, gone(err)
}

// gone hides that a passage was deleted for good, or a version forgotten, while it was looked at, and that either is damaged:
// it can't be turned back.
func gone(err error) error {
	if core.Absent(err) {
		return nil
	}
	return err
}
