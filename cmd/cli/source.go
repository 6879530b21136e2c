package cli

import (
	"context"
	"fmt"
	"strings"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// undoSource is `loci memory undo --source`: it takes back what an agent's blocks and passages became after a source. A name that is
// no source as a whole may stand for more than was meant: what would be taken back is shown first.
func (a *app) undoSource(ctx context.Context, agent, source string, try, yes bool) error {
	c, g, err := a.agentOf(ctx, agent)
	if err != nil {
		return err
	}
	all, err := c.UndoSource(ctx, g.ID, api.UndoSource{Source: source, DryRun: true})
	if err != nil {
		return err
	}
	if try {
		return a.showUndone(all, g.Name, true)
	}
	stands := api.SourcesOf(all)
	if !yes && (len(stands) != 1 || !strings.EqualFold(stands[0], strings.TrimSpace(source))) {
		for i := range all {
			a.note(undoneOfSource(&all[i], g.Name, true))
		}
		what := transcript.Reveal(source + " stands for " + strings.Join(stands, ", "))
		again := "loci memory undo --source " + quoteArg(source) + " --yes, or with one source as the history shows it"
		if err := a.sure(false, what+": take all of it back?", "nothing was taken back", again); err != nil {
			return err
		}
	}
	if all, err = c.UndoSource(ctx, g.ID, api.UndoSource{Source: source}); err != nil {
		return err
	}
	return a.showUndone(all, g.Name, false)
}

// showUndone says what became of each block and passage, or would.
func (a *app) showUndone(all []api.SourceUndone, agent string, try bool) error {
	if a.json {
		return writeJSON(a.out, nonNil(all))
	}
	for i := range all {
		if d := all[i].Diff; d != "" {
			fmt.Fprint(a.out, a.shown(d))
		}
		a.note(undoneOfSource(&all[i], agent, try))
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
	if try {
		said += ", after " + transcript.Reveal(strings.Join(u.Sources, ", "))
	}
	if u.Kept != nil {
		said += ": " + transcript.Reveal(*u.Kept) + "; " + history + " shows it"
	}
	return said
}
