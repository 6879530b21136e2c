package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// modelsCommand is `loci models`.
func (a *app) modelsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "models", Short: "List the chat models that can be reached", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			if _, err := a.register(ctx, c, api.ClientScript, nil); err != nil { // so that our keys count
				return err
			}
			models, err := c.Models(ctx, api.ListModels{})
			if err != nil {
				return err
			}
			if choice, err := c.Model(ctx, "", ""); err == nil && len(choice.UnbuiltKeys) > 0 {
				fmt.Fprintf(a.errOut, "loci: %s\n", unbuiltNote(choice.UnbuiltKeys))
			}
			if a.json {
				return writeJSON(a.out, nonNil(models))
			}
			t := table{head: []string{"HANDLE", "CONTEXT"}}
			for _, m := range models {
				t.add(text(m.Handle), strconv.Itoa(max(m.MaxContextWindow, m.ContextWindow)))
			}
			return t.write(a.out)
		},
	}
}
