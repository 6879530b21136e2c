package cli

import (
	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// agentsRenew is `loci agents renew`.
func (a *app) agentsRenew() *cobra.Command {
	var in api.Renew
	c := &cobra.Command{
		Use: "renew [NAME|ID]", Short: "Give an agent the prompt and the tools that new agents have",
		Long: `Give an agent the prompt and the tools that new agents have.

An agent keeps the system prompt and the tools that it was made with. This gives an older one those of agents that the
terminal makes today: it knows what belongs where in its memory, and edits of long blocks return only the lines that changed.
Its memory, its conversations and further tools stay.`,
		Example: `  loci agents renew Ada
  loci agents renew Ada --replace`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			g, err = c.Renew(cmd.Context(), g.ID, in)
			if err != nil {
				return err
			}
			return a.report(g, "%s has the prompt and the tools of new agents", g.Name)
		},
	}
	c.Flags().BoolVar(&in.Replace, "replace", false, "replace a system prompt that was written for it, too")
	return c
}
