package cli

import (
	"context"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// toolsCommand is `loci tools`: what agents can call.
func (a *app) toolsCommand() *cobra.Command {
	return parent(
		"tools",
		"List tools, write your own and give them to agents",
		a.toolsList(),
		a.toolsShow(),
		a.toolsAdd(),
		a.toolsEdit(),
		a.toolsShare("attach", "Give an agent a tool", "%s now has the tool %s", (*client.Client).AttachTool),
		a.toolsShare("detach", "Take a tool away from an agent", "%s no longer has the tool %s", (*client.Client).DetachTool),
		a.toolsTest(),
		a.toolsRemove(),
	)
}

func (a *app) toolsList() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "list", Short: "List all tools, or those of an agent", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := a.toolsOf(cmd.Context(), agent)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(tools))
			}
			t := table{head: []string{"NAME", "KIND", "DESCRIPTION"}}
			for _, tool := range tools {
				t.add(text(tool.Name), tool.ToolType, clip(oneLine(text(tool.Description)), 80))
			}
			return a.list(t, "it has no tools")
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only the tools of this agent, by `NAME|ID`")
	return c
}

// toolsOf lists the tools of an agent, or all there are.
func (a *app) toolsOf(ctx context.Context, agent string) ([]api.Tool, error) {
	if agent != "" {
		_, g, err := a.agentOf(ctx, agent)
		return g.Tools, err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	return listAll(func(p api.Page) ([]api.Tool, error) { return c.Tools(ctx, api.ListTools{Page: p}) },
		func(t api.Tool) string { return t.ID })
}

// toolsShare attaches a tool to an agent, or detaches it.
func (a *app) toolsShare(
	use, short, done string,
	do func(c *client.Client, ctx context.Context, agentID, id string) error,
) *cobra.Command {
	var agent string
	var allow []string
	c := &cobra.Command{
		Use: use + " TOOL", Short: short, Args: exactly("the tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, g, err := a.agentOf(ctx, agent)
			if err != nil {
				return err
			}
			_, t, err := a.toolNamed(ctx, args[0])
			if err != nil {
				return err
			}
			if err := checkGrants(ctx, c, allow); err != nil {
				return err
			}
			if err := do(c, ctx, g.ID, t.ID); err != nil {
				return err
			}
			if err := grant(ctx, c, allow); err != nil {
				return err
			}
			return a.report(map[string]any{"agent_id": g.ID, "tool_id": t.ID}, done, g.Name, args[0])
		},
	}
	agentFlag(c, &agent)
	if use == "attach" {
		grantFlag(c, &allow)
	}
	return c
}

// grantFlag is for rules that are given with a tool, for runs in which nobody can be asked.
func grantFlag(c *cobra.Command, allow *[]string) {
	c.Flags().StringArrayVar(allow, "allow", nil, "keep a `RULE` of permission with it, for all agents, as in 'fetch(api.example.org)'")
}

// checkGrants refuses rules that can't be kept, before anything is.
func checkGrants(ctx context.Context, c *client.Client, allow []string) error {
	if len(allow) == 0 {
		return nil
	}
	_, err := c.CheckPermission(ctx, api.CheckPermission{Does: "fetch", Subject: "localhost", Allow: allow})
	return err
}

// grant keeps rules that allow something.
func grant(ctx context.Context, c *client.Client, allow []string) error {
	for _, rule := range allow {
		if err := c.AddPermission(ctx, api.PermissionRule{Effect: api.EffectAllow, Rule: rule}); err != nil {
			return err
		}
	}
	return nil
}

// namesOfTools completes the name of a tool.
func namesOfTools(ctx context.Context, a *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Tools(ctx, api.ListTools{Page: offerPage()})
	return offersOf(found, func(t api.Tool) string { return text(t.Name) }, func(t api.Tool) string { return text(t.Description) }), err
}
