package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// agentsFallback is `loci agents fallback`.
func (a *app) agentsFallback() *cobra.Command {
	return &cobra.Command{
		Use: "fallback [NAME|ID] [HANDLE|off]", Short: "Show or set which model answers where the agent's own cannot",
		Long: `Show or set which model answers where the agent's own refuses or cannot be reached: it is asked at once, without waiting for
the other, says so, and answers until the end of that run. The next run asks the agent's own model again. A model that is named for
one run, with --model, has no fallback.`,
		Example: `  loci agents fallback Ada anthropic/claude-sonnet-5
  loci agents fallback Ada off`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			model := ""
			if len(args) > 1 && args[1] != "off" {
				if model = args[1]; !strings.Contains(model, "/") {
					return invalid("%q is not a handle", clip(model, 60)).withHint("write it as provider/model, as in: loci models")
				}
			}
			c, g, err := a.agentOf(ctx, first(args))
			if err != nil {
				return err
			}
			var f api.Fallback
			if len(args) > 1 {
				if _, err := a.register(ctx, c, api.ClientScript, nil); err != nil { // so that our keys count
					return err
				}
				f, err = c.SetFallback(ctx, g.ID, model)
			} else {
				f, err = c.Fallback(ctx, g.ID)
			}
			if err != nil {
				return err
			}
			shown := f.Model
			if shown == "" {
				shown = "none"
			}
			return a.report(map[string]any{"agent_id": g.ID, "name": g.Name, "model": f.Model}, "fallback of %s: %s", g.Name, shown)
		},
	}
}
