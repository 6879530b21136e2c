package cli

import (
	"context"
	"fmt"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// undoSource is `loci memory undo --source`: it takes back what an agent's blocks and passages became after a source.
func (a *app) undoSource(ctx context.Context, agent, source string, try bool) error {
	c, g, err := a.agentOf(ctx, agent)
	if err != nil {
		return err
	}
	all, err := c.UndoSource(ctx, g.ID, api.UndoSource{Source: source, DryRun: try})
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, nonNil(all))
	}
	for i := range all {
		if d := all[i].Diff; d != "" {
			fmt.Fprint(a.out, a.shown(d))
		}
		a.note(undoneOfSource(&all[i], g.Name, try))
	}
	return nil
}

// undoneOfSource says what became of one block or passage.
func undoneOfSource(u *api.SourceUndone, agent string, try bool) string {
	name, history := text(u.Label)+" of "+agent, "loci memory history "+quoteArg(text(u.Label))
	if u.PassageID != nil {
		name, history = text(u.PassageID)+" of "+agent, "loci archival history "+text(u.PassageID)
	}
	is, taken := "is", "was"
	if try {
		is, taken = "would be", "would be"
	}
	said := name
	switch {
	case u.Taken == 0:
		said += " stays as it is"
	case u.Deleted:
		said += " " + taken + " taken out; loci archival undo " + text(u.PassageID) + " brings it back"
	default:
		said += fmt.Sprintf(" %s again as in version %d (%s taken back)", is, api.Val(u.Restores), counted(u.Taken, "version"))
	}
	if u.Kept != nil {
		said += ": " + transcript.Reveal(*u.Kept) + "; " + history + " shows it"
	}
	return said
}
