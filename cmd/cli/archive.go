package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// archivalArchives lists the archives in the home.
func (a *app) archivalArchives() *cobra.Command {
	return &cobra.Command{
		Use: "archives", Short: "List archives: sets of passages that agents may share", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			found, err := listAll(func(p api.Page) ([]api.Archive, error) { return c.Archives(cmd.Context(), api.ListArchives{Page: p}) },
				func(r api.Archive) string { return r.ID })
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(found))
			}
			t := table{head: []string{"ID", "NAME", "EMBEDDING"}}
			for _, r := range found {
				t.add(r.ID, r.Name, embeddingOf(r))
			}
			return a.list(t, "there are no archives yet")
		},
	}
}

func embeddingOf(r api.Archive) string {
	if r.EmbeddingConfig == nil {
		return ""
	}
	return api.Val(r.EmbeddingConfig.Handle)
}

// embeddedWith names what an archive is embedded with and, if the built-in embedding had to stand in, what was
// asked for.
func embeddedWith(r api.Archive) string {
	said := fmt.Sprintf("%s is embedded with %s", r.Name, embeddingOf(r))
	if wanted, _ := r.Metadata[api.NotReachable].(string); wanted != "" {
		said += fmt.Sprintf("; %s is wanted for it and could not be reached", wanted)
	}
	return said
}

// archivalShare attaches an archive to an agent, or detaches it.
func (a *app) archivalShare(
	agent *string,
	use, short, done string,
	do func(c *client.Client, ctx context.Context, agentID, archiveID string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME|ID", Short: short, Args: exactly("the archive's name or id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			id, err := findArchive(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := do(c, cmd.Context(), g.ID, id); err != nil {
				return err
			}
			return a.report(map[string]any{"agent_id": g.ID, "archive_id": id}, done, g.Name, args[0])
		},
	}
}

// findArchive returns the id of an archive given by name or id.
func findArchive(ctx context.Context, c *client.Client, ref string) (string, error) {
	if isID(ref, "archive") {
		return ref, nil
	}
	if ref == "" {
		return "", noSuch("archive", ref, "loci archival archives")
	}
	found, err := c.Archives(ctx, api.ListArchives{Page: api.Page{Limit: idsListed}, Name: ref})
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", noSuch("archive", ref, "loci archival archives")
	case 1:
		return found[0].ID, nil
	}
	return "", (&fault{kind: api.KindConflict, msg: fmt.Sprintf("several archives are named %q", clip(ref, 60))}).
		withHint("name one by its id: %s", idsOf(found, func(r api.Archive) string { return r.ID }))
}

// archivalEmbedding shows or changes what an agent's archive is embedded with. Before a change it says which texts
// will be sent where.
func (a *app) archivalEmbedding(agent *string) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "embedding [HANDLE]", Short: "Show what the archival memory is embedded with, or change it", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, g, err := a.agentOf(ctx, *agent)
			if err != nil {
				return err
			}
			archive, err := archiveOf(ctx, c, g)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.report(archive, "%s", embeddedWith(archive))
			}
			if _, err := a.register(ctx, c, api.ClientScript, nil); err != nil { // so that our keys count
				return err
			}
			return a.reembed(ctx, c, archive, args[0], yes)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *app) reembed(ctx context.Context, c *client.Client, archive api.Archive, handle string, yes bool) error {
	plan, err := c.EmbedArchive(ctx, archive.ID, api.EmbedArchive{Embedding: handle, DryRun: true})
	if kind, _ := explain(err); kind == api.KindInvalid {
		return (&fault{kind: kind, msg: err.Error()}).withHint("there are %s", embeddingsOf(ctx, c))
	}
	if err != nil {
		return err
	}
	where := "no text leaves this program"
	if plan.Endpoint != "" {
		where = "the text of every passage and of every search in it is sent to " + plan.Endpoint
	}
	a.note(fmt.Sprintf("%s: passages to embed anew with %s: %d; %s", archive.Name, handle, plan.Passages, where))
	if plan.Endpoint != "" {
		if err := a.sure(yes, "change it?", "nothing was changed", "loci archival embedding "+quoteArg(handle)+" --yes"); err != nil {
			return err
		}
	}
	if plan, err = c.EmbedArchive(ctx, archive.ID, api.EmbedArchive{Embedding: handle}); err != nil {
		return err
	}
	return a.report(plan, "%s is embedded with %s from now on; loci daemon status says how far it is", archive.Name, handle)
}

// embeddingsOf names some of the embeddings that can be used.
func embeddingsOf(ctx context.Context, c *client.Client) string {
	const most = 10
	var named []string
	found, _ := c.EmbeddingModels(ctx) // a hint: what can't be listed is left out
	for _, m := range found {
		if h := api.Val(m.Handle); h != "" && len(named) < most {
			named = append(named, h)
		}
	}
	return strings.Join(named, ", ")
}

// archiveOf returns the agent's archive, creating it if there is none.
func archiveOf(ctx context.Context, c *client.Client, g api.AgentState) (api.Archive, error) {
	found, err := c.Archives(ctx, api.ListArchives{AgentID: g.ID})
	if err != nil || len(found) > 0 {
		return first(found), err
	}
	made, err := c.CreateArchive(ctx, api.CreateArchive{Name: g.Name + "'s Archive", Embedding: g.Embedding})
	if err != nil {
		return made, err
	}
	return made, c.AttachArchive(ctx, g.ID, made.ID)
}
