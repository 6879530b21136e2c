package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// memoryHistory is `loci memory history`: every version of a block, and who made it.
func (a *app) memoryHistory(agent *string) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "history LABEL", Short: "List the versions of a block, the newest first", Args: exactly("the block's label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, g, b, _, err := a.blockOf(ctx, *agent, args[0])
			if err != nil {
				return err
			}
			versions, err := c.BlockVersions(ctx, b.ID, api.Page{Limit: orDefault(limit, 50)})
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(versions))
			}
			var writers []string
			for _, v := range versions {
				writers = append(writers, text(v.AuthorID))
			}
			names, err := writersOf(ctx, c, g, writers)
			if err != nil {
				return err
			}
			t := table{head: []string{"VERSION", "WHEN", "BY", "CHARACTERS", "BRINGS BACK", "STEP"}}
			for _, v := range versions {
				by := writer(v.Author, v.AuthorID, names) + after(v.Source)
				if text(v.AuthorID) == api.AuthorMirror {
					by += ", in a file"
				}
				size := strconv.Itoa(len([]rune(v.Value)))
				t.add(strconv.Itoa(v.Version), moment(&v.CreatedAt), by, size, brought(v.Restores), text(v.StepID))
			}
			return a.list(t, "nobody has written to "+args[0]+" yet")
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (50)")
	return c
}

// writersOf are the names of the agents among who wrote versions of what is g's; others that share it are looked up.
func writersOf(ctx context.Context, c *client.Client, g api.AgentState, writers []string) (map[string]string, error) {
	if slices.ContainsFunc(writers, func(id string) bool { return isID(id, "agent") && id != g.ID }) {
		return agentNames(ctx, c)
	}
	return map[string]string{g.ID: g.Name}, nil
}

// writer is who wrote a version, by a person's names.
func writer(author string, id *string, names map[string]string) string {
	if author == "user" {
		return "you"
	}
	return cmp.Or(names[text(id)], author)
}

// after says what from outside was read before a version was written.
func after(source *string) string {
	if source == nil {
		return ""
	}
	return ", after " + transcript.Reveal(strings.ReplaceAll(*source, "\n", ", "))
}

// brought is the version that another one brought back; empty: none.
func brought(restores *int) string {
	if restores == nil {
		return ""
	}
	return strconv.Itoa(*restores)
}

// memoryDiff is `loci memory diff`.
func (a *app) memoryDiff(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "diff LABEL [FROM [TO]]", Short: "Show what the last edit of a block changed, or what differs between two versions",
		Args: cobra.MatchAll(atLeast("the block's label"), atMost(3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var p api.BlockDiffParams
			for i, side := range []*api.Param[int]{&p.From, &p.To} {
				if len(args) <= i+1 {
					break
				}
				n, err := versionNumber(args[i+1], "loci memory history LABEL")
				if err != nil {
					return err
				}
				*side = api.Given(n)
			}
			c, _, b, _, err := a.blockOf(ctx, *agent, args[0])
			if err != nil {
				return err
			}
			d, err := c.BlockDiff(ctx, b.ID, p)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, d)
			}
			_, err = fmt.Fprint(a.out, a.shown(d.Diff))
			return err
		},
	}
}

// memoryUndo is `loci memory undo`.
func (a *app) memoryUndo(agent *string) *cobra.Command {
	to, source, try, yes := "", "", false, false
	c := &cobra.Command{
		Use:   "undo {LABEL | --source SOURCE}",
		Short: "Take back the last edit of a block, or what was written after a source",
		Long: "Take back the last edit of a block, whoever made it. With --source, take back what blocks and passages of the agent\n" +
			"became after it had read from that source: an address or the beginning of one, a host, or what else the history shows\n" +
			"behind \"after\". What is no source as a whole is listed first, and asked about. What was changed since is named and stays.",
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("source") {
				return atMost(0)(cmd, args)
			}
			return exactly("the block's label")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("source") {
				return a.undoSource(cmd.Context(), *agent, source, try, yes)
			}
			var in api.UndoBlock
			if to != "" {
				n, err := versionNumber(to, "loci memory history LABEL")
				if err != nil {
					return err
				}
				if n == 0 {
					return invalid(
						"version 0 is the empty one before the first: there is nothing to go back to",
					).withHint("loci memory history %s lists the versions; loci memory set %s '' empties it", quoteArg(args[0]),
						quoteArg(args[0]))
				}
				in.Version = &n
			}
			return a.turnBack(
				cmd.Context(),
				*agent,
				args[0],
				func(ctx context.Context, c *client.Client, id, tag string) (api.BlockUndone, error) {
					return c.UndoBlock(ctx, id, in, tag)
				},
			)
		},
	}
	c.Flags().StringVar(&to, "to", "", "go back to this `VERSION`")
	c.Flags().StringVar(&source, "source", "", "take back what came after this `SOURCE`")
	c.Flags().BoolVar(&try, "dry-run", false, "with --source: say what would be taken back, and change nothing")
	c.Flags().BoolVar(&yes, "yes", false, "with --source: do not ask")
	c.MarkFlagsMutuallyExclusive("to", "source")
	c.MarkFlagsMutuallyExclusive("yes", "dry-run")
	return c
}

// memoryRedo is `loci memory redo`.
func (a *app) memoryRedo(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "redo LABEL", Short: "Redo the last undo", Args: exactly("the block's label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.turnBack(
				cmd.Context(),
				*agent,
				args[0],
				func(ctx context.Context, c *client.Client, id, tag string) (api.BlockUndone, error) {
					return c.RedoBlock(ctx, id, tag)
				},
			)
		},
	}
}

// turnBack undoes or redoes against the version it has read, and shows what changed.
func (a *app) turnBack(
	ctx context.Context,
	agent, label string,
	do func(ctx context.Context, c *client.Client, id, tag string) (api.BlockUndone, error),
) error {
	c, g, b, tag, err := a.blockOf(ctx, agent, label)
	if err != nil {
		return err
	}
	done, err := do(ctx, c, b.ID, tag)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, done)
	}
	d, err := c.BlockDiff(ctx, b.ID, api.BlockDiffParams{To: api.Given(done.Version)})
	if err != nil {
		return err
	}
	fmt.Fprint(a.out, a.shown(d.Diff))
	return a.report(done, "%s of %s is again as in version %d", label, g.Name, done.Restores)
}

// blockOf connects and finds a block of an agent.
func (a *app) blockOf(ctx context.Context, agent, label string) (*client.Client, api.AgentState, api.Block, string, error) {
	c, g, err := a.agentOf(ctx, agent)
	if err != nil {
		return nil, g, api.Block{}, "", err
	}
	b, tag, err := c.AgentBlock(ctx, g.ID, label)
	if err != nil {
		err = noBlock(err, g, label)
	}
	return c, g, b, tag, err
}

// versionNumber parses a version number; lister is the command that lists them.
func versionNumber(s, lister string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "v"))
	if err != nil || n < 0 {
		return 0, invalid("%q is not the number of a version", clip(s, 20)).withHint("%s lists them", lister)
	}
	return n, nil
}
