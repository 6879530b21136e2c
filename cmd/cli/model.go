package cli

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// modelsCommand is `loci models`.
func (a *app) modelsCommand() *cobra.Command {
	all := false
	list := &cobra.Command{
		Use: "list", Short: "List the chat models that can be reached", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			if _, err := a.register(ctx, c, api.ClientScript, nil); err != nil { // so that our keys count
				return err
			}
			a.noteChoice(ctx, c)
			if all {
				return a.allModels(ctx, c)
			}
			return a.chatModels(ctx, c)
		},
	}
	list.Flags().BoolVar(&all, "all", false, "also those that cannot be chosen, and why")
	return parent("models", "List the models that can be reached, or download one", list, a.pullCommand())
}

// chatModels lists the models that can be chosen, with what they take and cost.
func (a *app) chatModels(ctx context.Context, c *client.Client) error {
	models, err := c.AllModels(ctx)
	if err != nil {
		return err
	}
	models = slices.DeleteFunc(models, func(m api.ListedModel) bool { return m.Hidden != "" })
	if a.json {
		return writeJSON(a.out, nonNil(models))
	}
	t := table{
		head: []string{"HANDLE", "CONTEXT", "IN", "OUT", "TAKES"}, single: true, spare: []string{"TAKES", "OUT", "IN"},
	}
	for _, m := range models {
		in, out := priceText(m.InputPrice), priceText(m.OutputPrice)
		if m.Offline {
			in, out = "-", "-"
		}
		t.add(m.Handle, strconv.Itoa(m.ContextWindow), in, out, takesText(m))
	}
	return a.list(t, "no model can be reached")
}

// priceText is what a million tokens cost.
func priceText(dollars *float64) string {
	if dollars == nil {
		return "?"
	}
	return "$" + strconv.FormatFloat(math.Round(*dollars*100)/100, 'f', -1, 64)
}

// takesText says what a model takes: tools, images, and how much to reason.
func takesText(m api.ListedModel) string {
	var can []string
	for _, one := range []struct {
		yes  bool
		word string
	}{{m.Tools, "tools"}, {m.Images == "yes", "images"}, {m.Reasoning || len(m.Efforts) > 0, "reasons"}} {
		if one.yes {
			can = append(can, one.word)
		}
	}
	return strings.Join(can, " ")
}

// noteChoice adds to a list of models which keys can't be used yet, and why no model, or none of a provider, can be reached.
func (a *app) noteChoice(ctx context.Context, c *client.Client) {
	choice, err := c.Model(ctx, "", "")
	switch {
	case err != nil:
	case choice.Offline && choice.Notice != "":
		a.note(choice.Notice)
		return
	case len(choice.UnbuiltKeys) > 0:
		a.note(unbuiltNote(choice.UnbuiltKeys))
	}
	silent, _ := c.SilentProviders(ctx) // the list itself says what went wrong
	for _, why := range silent {
		a.note(why + ".")
	}
}

// allModels lists every model of every reachable provider.
func (a *app) allModels(ctx context.Context, c *client.Client) error {
	models, err := c.AllModels(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, nonNil(models))
	}
	t := table{head: []string{"HANDLE", "CONTEXT", "IMAGES", "CANNOT CHAT"}}
	for _, m := range models {
		t.add(m.Handle, strconv.Itoa(m.ContextWindow), cmp.Or(m.Images, "?"), m.Hidden)
	}
	return t.write(a.out)
}
