package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// archivalHistory is `loci archival history`: every version of a passage, or the latest changes of all.
func (a *app) archivalHistory(agent *string) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "history [PASSAGE]",
		Short: "List the versions of a passage, or what was changed last, the newest first",
		Args:  atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) == 1 && !isID(args[0], "passage") {
				return noSuch("passage", args[0], "loci archival history")
			}
			c, g, err := a.agentOf(ctx, *agent)
			if err != nil {
				return err
			}
			var versions []api.PassageVersion
			if len(args) == 1 {
				versions, err = c.PassageVersions(ctx, g.ID, args[0], api.Page{Limit: orDefault(limit, 50)})
			} else {
				versions, err = c.PassageChanges(ctx, g.ID, api.PassageChanges{Limit: orDefault(limit, 50)})
			}
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(versions))
			}
			return a.listPassageVersions(ctx, c, g, versions, len(args) == 0)
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (50)")
	return c
}

// listPassageVersions lists the versions of one passage, or those of several with their ids.
func (a *app) listPassageVersions(
	ctx context.Context, c *client.Client, g api.AgentState, versions []api.PassageVersion, several bool,
) error {
	var writers []string
	for _, v := range versions {
		writers = append(writers, text(v.AuthorID))
	}
	names, err := writersOf(ctx, c, g, writers)
	if err != nil {
		return err
	}
	t := table{head: []string{"VERSION", "WHEN", "BY", "BRINGS BACK", "TEXT"}}
	if several {
		t = table{head: append([]string{"PASSAGE"}, t.head...), single: true, spare: []string{"BRINGS BACK", "BY"}}
	}
	for _, v := range versions {
		by, said := writer(v.Author, v.AuthorID, names)+after(v.Source), v.Text
		if v.RewindID != nil {
			by += ", rewinding"
		}
		switch {
		case v.Deleted && said == "":
			said = "(deleted)"
		case v.Deleted:
			said = "(deleted) " + said
		}
		row := []string{strconv.Itoa(v.Version), moment(&v.CreatedAt), by, brought(v.Restores), said}
		if several {
			row = append([]string{v.PassageID}, row...)
		}
		t.add(row...)
	}
	return a.list(t, "no passage of "+g.Name+" was changed yet")
}

// archivalUndo is `loci archival undo`.
func (a *app) archivalUndo(agent *string) *cobra.Command {
	to := ""
	c := &cobra.Command{
		Use: "undo PASSAGE", Short: "Take back the last change of a passage, whoever made it", Args: exactly("the passage's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var in api.UndoPassage
			if to != "" {
				n, err := versionNumber(to, "loci archival history PASSAGE")
				if err != nil {
					return err
				}
				if n == 0 {
					return invalid("the first version is 1").withHint("loci archival history %s lists the versions", quoteArg(args[0]))
				}
				in.Version = &n
			}
			return a.turnPassage(cmd.Context(), *agent, args[0],
				func(ctx context.Context, c *client.Client, agentID string) (api.PassageUndone, error) {
					return c.UndoPassage(ctx, agentID, args[0], in, "")
				})
		},
	}
	c.Flags().StringVar(&to, "to", "", "go back to this `VERSION`")
	return c
}

// archivalRedo is `loci archival redo`.
func (a *app) archivalRedo(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "redo PASSAGE", Short: "Redo the last undo", Args: exactly("the passage's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.turnPassage(cmd.Context(), *agent, args[0],
				func(ctx context.Context, c *client.Client, agentID string) (api.PassageUndone, error) {
					return c.RedoPassage(ctx, agentID, args[0], "")
				})
		},
	}
}

// turnPassage undoes or redoes, and shows what changed.
func (a *app) turnPassage(
	ctx context.Context,
	agent, id string,
	do func(ctx context.Context, c *client.Client, agentID string) (api.PassageUndone, error),
) error {
	if !isID(id, "passage") {
		return noSuch("passage", id, "loci archival history")
	}
	c, g, err := a.agentOf(ctx, agent)
	if err != nil {
		return err
	}
	done, err := do(ctx, c, g.ID)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, done)
	}
	fmt.Fprint(a.out, a.shown(done.Diff))
	is := "is again as in version " + strconv.Itoa(done.Restores)
	switch {
	case done.Passage.Deleted:
		is = "is deleted again"
	case done.Was.Deleted:
		is = "is back, as in version " + strconv.Itoa(done.Restores)
	}
	return a.report(done, "%s of %s %s", id, g.Name, is)
}

// idsOfChangedPassages offers the passages that can be turned back.
func idsOfChangedPassages(ctx context.Context, a *app, c *client.Client, cmd *cobra.Command) ([]offer, error) {
	g, err := agentMeant(ctx, a, c, cmd)
	if err != nil {
		return nil, err
	}
	found, err := c.PassageChanges(ctx, g.ID, api.PassageChanges{Limit: mostOffered})
	var out []offer
	for _, v := range found {
		if !slices.ContainsFunc(out, func(o offer) bool { return o.name == v.PassageID }) {
			out = append(out, offer{v.PassageID, v.Text})
		}
	}
	return out, err
}
