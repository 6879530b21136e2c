package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/tui/meter"
)

// contextWidth is the width of the overview. It ignores the terminal, so that a pipe gets the same output.
const contextWidth = 80

// contextCommand is `loci context`.
func (a *app) contextCommand() *cobra.Command {
	var agent, conversation string
	c := &cobra.Command{
		Use: "context [NAME|ID]", Short: "Show what fills the model's context window", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if agent != "" && len(args) > 0 {
				return invalid("name the agent once: %s, or --agent", quoteArg(clip(args[0], 60)))
			}
			c, g, err := a.agentOf(cmd.Context(), cmp.Or(agent, first(args)))
			if err != nil {
				return err
			}
			if _, err := a.register(cmd.Context(), c, api.ClientScript, nil); err != nil { // so that our keys find its model
				return err
			}
			w, err := c.Context(cmd.Context(), g.ID, conversation)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, w)
			}
			fmt.Fprintf(a.out, "%s · %s\n%s\n\n", oneLine(g.Name), oneLine(text(g.Model)), meter.Line(w))
			for _, row := range meter.Rows(w, contextWidth) {
				if _, err := fmt.Fprintln(a.out, row); err != nil {
					return err
				}
			}
			return nil
		},
	}
	agentFlag(c, &agent)
	c.Flags().StringVar(&conversation, "conversation", "", "of this conversation, by `ID`, in place of the agent's default one")
	return c
}
