package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// agentsRecall is `loci agents recall`.
func (a *app) agentsRecall() *cobra.Command {
	return &cobra.Command{
		Use: "recall [NAME|ID] [on|off|TOKENS]", Short: "Show or set how much of its memory joins each turn by itself",
		Long: `Show or set how much of an agent's memory joins each turn by itself.

With recall on, what an agent's archive and its earlier conversations hold on a message joins it, up to so many tokens,
and only what stands out. So a model that calls no tools remembers, too. Agents that the terminal makes have it on, with
` + strconv.Itoa(api.DefaultRecall) + ` tokens; those made through the API have it off.`,
		Example: `  loci agents recall Ada
  loci agents recall Ada 1500
  loci agents recall Ada off`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			tokens := 0
			if len(args) > 1 {
				var err error
				if tokens, err = recallTokens(args[1]); err != nil {
					return err
				}
			}
			c, g, err := a.agentOf(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			var r api.Recall
			if len(args) > 1 {
				r, err = c.SetRecall(cmd.Context(), g.ID, tokens)
			} else {
				r, err = c.Recall(cmd.Context(), g.ID)
			}
			if err != nil {
				return err
			}
			return a.report(
				map[string]any{"agent_id": g.ID, "name": g.Name, "tokens": r.Tokens},
				"recall of %s: %s",
				g.Name,
				recallWord(r.Tokens),
			)
		},
	}
}

func recallTokens(s string) (int, error) {
	switch s {
	case "on":
		return api.DefaultRecall, nil
	case "off":
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, invalid("recall is on, off or a number of tokens, not %q", clip(s, 60))
	}
	return n, nil
}

func recallWord(tokens int) string {
	if tokens == 0 {
		return "off"
	}
	return fmt.Sprintf("up to %d tokens a turn", tokens)
}
