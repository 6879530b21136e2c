package service

import (
	"context"
	"errors"

	"loci/core"
	"loci/core/await"
	"loci/core/engine"
	"loci/core/memory"
	"loci/core/session"
)

// OpenNew asks for a new agent or conversation where Open takes a name.
const OpenNew = "new"

// Clients are the use cases of a client that comes: it gets a session, and the agent and conversation to talk to.
type Clients struct {
	*parts
	sessions      *session.Registry
	agents        *Agents
	conversations *Conversations
	asking        await.Questions
}

// Open asks to find or make the agent to talk to.
type Open struct {
	Agent        string      // an id, a name or OpenNew; empty: the folder's, the last used anywhere, the newest, a new one
	Conversation string      // an id or OpenNew; empty: the folder's, else the agent's default one
	Name         string      // of a new agent; empty: a random one
	Model        core.Handle // of a new agent; empty: chosen
	Run          core.Handle // the model that its first run names itself; empty: that of the agent
}

// OpenResult is what was found or made.
type OpenResult struct {
	Agent        core.Agent
	Conversation core.Conversation
	AgentNew     bool
	Unbuilt      []string       // provider variables of the client whose provider is not built yet
	Model        core.ModelInfo // that answers the next run, as far as it is known at once
	Sure         bool           // it can be asked: it exists, and there is a key
	Used, Window int            // for a chat, estimated tokens of the next request beside new input, of how many; 0: not known at once
	Unreached    error          // why no model can answer
}

// Register makes a session, and lets go on what waits for a key that it may have brought.
func (c *Clients) Register(in session.Hello) (core.Client, error) {
	client, err := c.sessions.Register(in)
	if err != nil {
		return core.Client{}, err
	}
	c.Engine.Joined(client.Env) // resumed runs may wait for a key
	if c.Embedding != nil {
		c.Embedding.SessionJoined()
	}
	return client, nil
}

// Open finds or makes the agent and conversation of a client, in one transaction, so that two first starts make one. It
// says which model answers, and waits for a provider no longer than RegisterWithin.
func (c *Clients) Open(ctx context.Context, client core.Client, in Open) (OpenResult, error) {
	patience, cancel := context.WithTimeout(ctx, c.RegisterWithin)
	defer cancel()
	opened, err := c.findOrMake(ctx, patience, client, in)
	if err != nil {
		return OpenResult{}, err
	}
	more := c.tellModel(ctx, patience, client, in, &opened)
	if client.Kind == core.ClientChat { // a command shows it nowhere, and counting compiles the whole prompt
		c.tellUse(ctx, more, &opened)
	}
	return opened, nil
}

func (c *Clients) findOrMake(ctx, patience context.Context, client core.Client, in Open) (OpenResult, error) {
	var want newAgent
	if in.Conversation == OpenNew {
		if err := c.runnable(ctx, patience, client, in); err != nil {
			return OpenResult{}, err
		}
	}
	if in.Agent != OpenNew {
		opened, err := c.open(ctx, client, in, want)
		if !errors.Is(err, errNeedsAgent) {
			return opened, err
		}
	}
	// An agent has to be made: its model is asked for outside of the transaction, then the search begins again.
	want, err := c.prepare(ctx, patience, client, in)
	if err != nil {
		return OpenResult{}, err
	}
	return c.open(ctx, client, in, want)
}

// newAgent is the agent that an empty home or a wish for a new one gets.
type newAgent struct {
	ready bool
	in    NewAgent
	draft core.Agent
}

var errNeedsAgent = core.E(core.Precondition, "an agent has to be made")

func (c *Clients) prepare(ctx, patience context.Context, client core.Client, in Open) (newAgent, error) {
	want := newAgent{ready: true, in: NewAgent{
		Name: in.Name, Type: core.AgentLettaV1, Model: in.Model, Blocks: memory.DefaultBlocks(),
		Tools: memory.TerminalTools(), NoBaseTools: true, Timezone: zoneOr(client.Zone), Recall: core.DefaultRecall, Terminal: true,
	}}
	if client.Workspace != "" {
		want.in.Tools = append(want.in.Tools, memory.WorkspaceTools()...)
		if c.Searches != nil && c.Searches(c.env(client.Env)) {
			want.in.Tools = append(want.in.Tools, memory.SearchTool)
		}
	}
	if err := c.runnable(ctx, patience, client, in); err != nil {
		return want, err
	}
	if want.in.Model == "" {
		want.in.ModelAuto = true // its first run says which it is and why
		first, err := await.Within(ctx, patience, &c.asking, func(ctx context.Context) (core.Handle, error) {
			found := c.models.first(ctx, client.Env)
			return found, c.answerable(ctx, client, in, found)
		})
		if err != nil && !errors.Is(err, await.ErrNotYet) {
			return want, err
		}
		want.in.Model = first
	}
	if want.in.Model == "" {
		want.in.Model = core.OfflineHandle
	}
	var err error
	want.draft, err = c.agents.draft(ctx, patience, want.in, client.Env)
	return want, err
}

// answerable refuses to make an agent for a command whose one run could find no model. A chat is where one is chosen.
func (c *Clients) answerable(ctx context.Context, client core.Client, in Open, found core.Handle) error {
	if found != "" || in.Run != "" || client.Kind == core.ClientChat {
		return nil
	}
	_, err := c.Engine.Choose(ctx, core.Agent{ModelAuto: true}, "", client.Env)
	return err
}

// runnable refuses to make anything for a command whose one run names a model that can't answer.
func (c *Clients) runnable(ctx, patience context.Context, client core.Client, in Open) error {
	if in.Run == "" || client.Kind == core.ClientChat {
		return nil
	}
	_, err := await.Within(ctx, patience, &c.asking, func(ctx context.Context) (engine.Choice, error) {
		return c.Engine.Choose(ctx, core.Agent{}, in.Run, client.Env)
	})
	if errors.Is(err, await.ErrNotYet) {
		return nil
	}
	return err
}

func zoneOr(zone string) string {
	if zone == "" || zone == "Local" {
		return "UTC"
	}
	return zone
}

func (c *Clients) open(ctx context.Context, client core.Client, in Open, want newAgent) (OpenResult, error) {
	var out OpenResult
	err := c.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		var last core.Workspace
		out = OpenResult{Unbuilt: c.Models.Unbuilt(c.env(client.Env))}
		if client.Workspace != "" {
			if last, _, err = tx.Workspaces().Find(ctx, client.Workspace); err != nil {
				return err
			}
		}
		if out.Agent, err = c.findAgent(ctx, tx, in.Agent, last); err != nil {
			if !errors.Is(err, errNeedsAgent) || !want.ready {
				return err
			}
			if out.Agent, err = c.agents.createIn(ctx, tx, want.draft, want.in, 0); err != nil {
				return err
			}
			out.AgentNew = true
		}
		out.Conversation, err = c.findConversation(ctx, tx, in.Conversation, out.Agent, last)
		return err
	})
	if err != nil {
		return OpenResult{}, err
	}
	if out.AgentNew || in.Conversation == OpenNew {
		c.changed(out.Agent.ID)
	}
	return out, nil
}

// findAgent finds the agent that is meant, or says that one has to be made.
func (c *Clients) findAgent(ctx context.Context, tx core.Store, name string, last core.Workspace) (core.Agent, error) {
	switch {
	case name == OpenNew:
		return core.Agent{}, errNeedsAgent
	case core.ValidID("agent", name):
		return tx.Agents().Get(ctx, core.AgentID(name))
	case name != "":
		return agentByName(ctx, tx, name)
	}
	anywhere, _, err := tx.Workspaces().Last(ctx)
	if err != nil {
		return core.Agent{}, err
	}
	for _, id := range []core.AgentID{last.Agent, anywhere.Agent} {
		if id == "" {
			continue
		}
		agent, err := tx.Agents().Get(ctx, id)
		if core.KindOf(err) != core.NotFound {
			return agent, err
		}
	}
	newest, err := tx.Agents().List(ctx, core.AgentFilter{}, core.Page{Limit: 1, Desc: true})
	if err != nil || len(newest) > 0 {
		if err != nil {
			return core.Agent{}, err
		}
		return newest[0], nil
	}
	return core.Agent{}, errNeedsAgent
}

// findConversation finds the thread that is meant: the folder's own where it belongs to the agent, else the default one.
func (c *Clients) findConversation(
	ctx context.Context, tx core.Store, name string, agent core.Agent, last core.Workspace,
) (core.Conversation, error) {
	switch name {
	case OpenNew:
		return c.conversations.createIn(ctx, tx, NewConversation{Agent: agent.ID})
	case "", "default":
		if name == "" && last.Agent == agent.ID && last.Conversation != "" {
			conv, err := tx.Conversations().Get(ctx, last.Conversation)
			if core.KindOf(err) != core.NotFound {
				return conv, err
			}
		}
		return tx.Conversations().Get(ctx, core.DefaultConversation(agent.ID))
	}
	conv, err := tx.Conversations().Get(ctx, core.ConversationID(name))
	if err == nil && conv.Agent != agent.ID {
		return conv, core.E(core.NotFound, "agent %s has no conversation %s", agent.Name, name)
	}
	return conv, err
}
