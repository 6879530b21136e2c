package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// agentsCommand is `loci agents`.
func (a *app) agentsCommand() *cobra.Command {
	return parent(
		"agents",
		"List, make, show, rename, copy, rewind and delete agents",
		a.agentsList(),
		a.agentsCreate(),
		a.agentsShow(),
		a.agentsRename(),
		a.agentsDelete(),
		a.agentsCopy(),
		a.agentsFork(),
		a.agentsRewind(),
		a.agentsRecall(),
		a.agentsFallback(),
		a.agentsRenew(),
	)
}

func (a *app) agentsList() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List agents, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			agents, err := c.Agents(cmd.Context(), api.ListAgents{Page: api.Page{Limit: orDefault(limit, 100), Order: "desc"}})
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(agents))
			}
			t := table{head: []string{"NAME", "ID", "MODEL", "LAST RUN"}, single: true, spare: []string{"LAST RUN"}}
			for _, g := range agents {
				last := "-"
				if g.LastRunCompletion != nil {
					last = local(g.LastRunCompletion.Time)
				}
				t.add(g.Name, g.ID, text(g.Model), last)
			}
			return a.list(t, "there are no agents yet")
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (100)")
	return c
}

func (a *app) agentsCreate() *cobra.Command {
	var model, human, persona string
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Make an agent", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) == 1 && strings.TrimSpace(args[0]) == "" {
				return invalid("an agent needs a name, not nothing").withHint("without a name one is found: loci agents create")
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			open := api.Open{Agent: api.OpenNew, Model: model}
			if len(args) == 1 {
				open.Name = args[0]
			}
			s, err := a.register(ctx, c, api.ClientScript, &open)
			if err != nil {
				return err
			}
			for _, b := range []struct{ label, value string }{{"human", human}, {"persona", persona}} {
				if b.value == "" {
					continue
				}
				if _, _, err := c.UpdateAgentBlock(ctx, s.AgentID, b.label, api.UpdateBlock{Value: api.Some(b.value)}, ""); err != nil {
					return err
				}
			}
			g, err := c.Agent(ctx, s.AgentID, wholeAgent()...)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, g)
			}
			fmt.Fprintln(a.out, g.ID)
			ref := g.Name
			if _, err := a.findAgent(ctx, c, g.Name); err != nil { // others have this name, too
				ref = g.ID
			}
			a.note(fmt.Sprintf("made %s; talk to it with: loci --agent %s", g.Name, quoteArg(ref)))
			return nil
		},
	}
	c.Flags().StringVar(&model, "model", "", "the model it uses, as `provider/model`")
	c.Flags().StringVar(&human, "human", "", "what it knows about you from the start")
	c.Flags().StringVar(&persona, "persona", "", "who it is")
	return c
}

func (a *app) agentsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME|ID]", Short: "Show an agent, by default the one last used here", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, g)
			}
			labels := make([]string, len(g.Blocks))
			for i, b := range g.Blocks {
				labels[i] = text(b.Label)
			}
			tools := make([]string, len(g.Tools))
			for i, t := range g.Tools {
				tools[i] = text(t.Name)
			}
			window := g.LLMConfig.ContextWindow
			if _, err := a.register(cmd.Context(), c, api.ClientScript, nil); err == nil { // so that our keys find its model
				window = windowOf(cmd.Context(), c, g)
			}
			t := table{head: []string{"AGENT", g.Name}}
			t.add("id", g.ID)
			t.add("type", g.AgentType)
			t.add("model", text(g.Model))
			t.add("context", strconv.Itoa(window)+" tokens")
			if r, err := c.Recall(cmd.Context(), g.ID); err == nil { // an older daemon can't answer this
				t.add("recall", recallWord(r.Tokens))
			}
			t.add("memory", strings.Join(labels, ", "))
			t.add("tools", strings.Join(tools, ", "))
			if waiting, err := c.Approvals(cmd.Context(), g.ID); err == nil { // nor this
				for _, w := range waiting {
					t.add("waits", callNames(w)+", for a person's approval: loci approvals show "+w.RequestID)
				}
			}
			t.add("made", moment(g.CreatedAt))
			t.add("last run", moment(g.LastRunCompletion))
			return t.write(a.out)
		},
	}
}

// windowOf is the context window of the agent's requests. The agent's own state caps it at 128,000.
func windowOf(ctx context.Context, c *client.Client, g api.AgentState) int {
	if w, err := c.Context(ctx, g.ID, ""); err == nil {
		return w.ContextWindowSizeMax
	}
	return g.LLMConfig.ContextWindow
}

func (a *app) agentsRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME|ID NEW-NAME", Short: "Give an agent another name", Args: exactly("the agent", "its new name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			g, err = c.UpdateAgent(cmd.Context(), g.ID, api.UpdateAgent{Name: api.Some(args[1])})
			if err != nil {
				return err
			}
			return a.report(g, "renamed to %s", g.Name)
		},
	}
}

func (a *app) agentsDelete() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete NAME|ID", Short: "Delete an agent with its conversations", Args: exactly("the agent"),
		Long: "Delete an agent with its conversations.\n\n" +
			"Its memory blocks and its archive stay, because other agents may have or get them; `loci forget` removes what they say. " +
			"Files that mirror its memory stay as well.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			mirror, _ := c.Mirror(cmd.Context(), g.ID) // where its files are only has to be told
			if err := a.sureToDelete(g, mirror.Path, yes); err != nil {
				return err
			}
			if err := c.DeleteAgent(cmd.Context(), g.ID); err != nil {
				return err
			}
			done := map[string]any{"id": g.ID, "name": g.Name, "deleted": true}
			if mirror.Path != "" {
				done["mirror"] = mirror.Path
				a.note(mirror.Path + " still holds its memory as files; delete the folder if nobody needs it")
			}
			return a.report(done, "deleted %s (%s)", g.Name, g.ID)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// sureToDelete asks a person to confirm; a script says --yes.
func (a *app) sureToDelete(g api.AgentState, mirror string, yes bool) error {
	kept := "its memory blocks and its archive"
	if mirror != "" {
		kept = "its memory blocks, its archive and the files in " + oneLine(mirror)
	}
	question := "delete " + oneLine(g.Name) + " and its conversations, but not " + kept + "?"
	return a.sure(yes, question, "nothing was deleted", "loci agents delete "+quoteArg(g.Name)+" --yes")
}

// agentOf connects and finds the agent that ref names.
func (a *app) agentOf(ctx context.Context, ref string) (*client.Client, api.AgentState, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, api.AgentState{}, err
	}
	g, err := a.findAgent(ctx, c, ref)
	return c, g, err
}

// onlyOf returns the id of the agent that a list is narrowed to; empty: all of them.
func (a *app) onlyOf(ctx context.Context, c *client.Client, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	g, err := a.findAgent(ctx, c, ref)
	return g.ID, err
}

// onlyOfFlag adds the --agent that narrows a list.
func onlyOfFlag(c *cobra.Command, ref *string) {
	c.Flags().StringVar(ref, "agent", "", "only of this agent, by `NAME|ID`")
}

// findAgent finds an agent by id or name, or the one the chat would open here. It never creates one.
func (a *app) findAgent(ctx context.Context, c *client.Client, ref string) (api.AgentState, error) {
	if strings.HasPrefix(ref, "agent-") {
		g, err := c.Agent(ctx, ref, wholeAgent()...)
		if err == nil {
			return g, nil
		}
		if kind, _ := explain(err); kind != api.KindNotFound && kind != api.KindInvalid {
			return api.AgentState{}, err
		}
		return api.AgentState{}, noAgent(ref)
	}
	if ref == "" {
		return a.agentHere(ctx, c)
	}
	found, err := c.Agents(ctx, api.ListAgents{Page: api.Page{Limit: idsListed}, AgentFilter: api.AgentFilter{Name: ref}})
	if err != nil {
		return api.AgentState{}, err
	}
	switch len(found) {
	case 0:
		return api.AgentState{}, noAgent(ref)
	case 1:
		return c.Agent(ctx, found[0].ID, wholeAgent()...)
	}
	return api.AgentState{}, (&fault{kind: api.KindConflict, msg: fmt.Sprintf("several agents are named %q", clip(ref, 60))}).
		withHint("name one by its id: %s", idsOf(found, func(g api.AgentState) string { return g.ID }))
}

// agentHere is the agent the chat would open in this folder. An empty home has none, and looking doesn't create
// one.
func (a *app) agentHere(ctx context.Context, c *client.Client) (api.AgentState, error) {
	some, err := c.Agents(ctx, api.ListAgents{Page: api.Page{Limit: 1}})
	if err != nil {
		return api.AgentState{}, err
	}
	if len(some) == 0 {
		return api.AgentState{}, (&fault{kind: api.KindNotFound, msg: "there is no agent yet"}).withHint(
			`loci, or loci -p "hello", makes the first one`,
		)
	}
	s, err := a.register(ctx, c, api.ClientScript, &api.Open{})
	if err != nil {
		return api.AgentState{}, err
	}
	return c.Agent(ctx, s.AgentID, wholeAgent()...)
}

func noAgent(ref string) *fault {
	return (&fault{kind: api.KindNotFound, msg: fmt.Sprintf("there is no agent %q", clip(ref, 60))}).withHint("`loci agents` lists them")
}

// wholeAgent lists the relations of an agent that a person wants to see.
func wholeAgent() []string { return []string{api.IncludeBlocks, api.IncludeTools, api.IncludeTags} }

// agentFlag adds --agent to a command and its subcommands.
func agentFlag(c *cobra.Command, ref *string) {
	c.PersistentFlags().StringVar(ref, "agent", "", "the agent, by `NAME|ID`; by default the one last used here")
}
