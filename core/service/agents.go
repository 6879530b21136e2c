package service

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"loci/core"
	"loci/core/memory"
	"loci/core/rules"
)

// tagSubagent marks agents that other agents made; they are hidden.
const tagSubagent = "role:subagent"

// The bounds of what one agent may hold.
const (
	maxAgentTools  = 256
	maxAgentBlocks = 256
	maxTags        = 100
	maxTagChars    = 200
)

// Agents are the use cases of agents.
type Agents struct{ *parts }

// Get returns an agent.
func (a *Agents) Get(ctx context.Context, id core.AgentID) (core.Agent, error) {
	return a.Store.Agents().Get(ctx, id)
}

// List returns agents, fifty by default.
func (a *Agents) List(ctx context.Context, f core.AgentFilter, pg core.Page) ([]core.Agent, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	switch pg.OrderBy {
	case "", "created_at", "updated_at", "last_run_completion":
	default:
		return nil, core.E(core.Invalid, "agents cannot be ordered by %q", pg.OrderBy)
	}
	return a.Store.Agents().List(ctx, f, pg)
}

// Count returns how many agents there are.
func (a *Agents) Count(ctx context.Context, f core.AgentFilter) (int, error) {
	return a.Store.Agents().Count(ctx, f)
}

// Tags returns the distinct tags of agents, by name.
func (a *Agents) Tags(ctx context.Context, contains string, pg core.Page) ([]string, error) {
	pg, err := pg.Sized(50)
	if err != nil {
		return nil, err
	}
	return a.Store.Agents().Tags(ctx, contains, pg)
}

// ByName finds the one agent that a person means by a name or an id. Several with the same name are a conflict.
func (a *Agents) ByName(ctx context.Context, name string) (core.Agent, error) {
	if core.ValidID("agent", name) {
		return a.Get(ctx, core.AgentID(name))
	}
	return agentByName(ctx, a.Store, name)
}

func agentByName(ctx context.Context, store core.Store, name string) (core.Agent, error) {
	found, err := store.Agents().List(ctx, core.AgentFilter{Name: name, Hidden: true}, core.Page{Limit: 5, Desc: true})
	if err != nil {
		return core.Agent{}, err
	}
	switch len(found) {
	case 0:
		return core.Agent{}, core.E(core.NotFound, "there is no agent named %q", name).WithHint("`loci agents` lists them")
	case 1:
		return found[0], nil
	}
	ids := make([]string, 0, len(found))
	for _, f := range found {
		ids = append(ids, string(f.ID))
	}
	return core.Agent{}, core.E(core.Conflict, "several agents are named %q", name).
		WithHint("name one by its id: %s", strings.Join(ids, ", "))
}

// Delete marks an agent deleted; its blocks stay. Active runs are cancelled first.
func (a *Agents) Delete(ctx context.Context, id core.AgentID) error {
	active := []core.RunStatus{core.RunCreated, core.RunRunning}
	runs, err := a.Store.Runs().List(ctx, core.RunFilter{Agents: []core.AgentID{id}, Statuses: active}, core.Page{Limit: 1000})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := a.Engine.Cancel(ctx, r.ID); err != nil && core.KindOf(err) != core.NotFound {
			return err
		}
	}
	if err := a.Store.Agents().Delete(ctx, id); err != nil {
		return err
	}
	a.changed(id)
	return nil
}

// MessageIDs returns the ids in the default conversation's window, in order.
func (a *Agents) MessageIDs(ctx context.Context, id core.AgentID) ([]core.MessageID, error) {
	return a.Store.Messages().ContextIDs(ctx, core.DefaultConversation(id))
}

// change runs fn on an agent in one transaction. If fn says that the prompt changed, the agent's revision rises and its
// default conversation is marked stale.
func (p *parts) change(
	ctx context.Context,
	id core.AgentID,
	fn func(ctx context.Context, tx core.Store, a *core.Agent) (prompt bool, err error),
) (core.Agent, error) {
	var agent core.Agent
	err := p.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if agent, err = tx.Agents().Get(ctx, id); err != nil {
			return err
		}
		prompt, err := fn(ctx, tx, &agent)
		if err != nil {
			return err
		}
		if prompt {
			agent.Rev++
			if err := tx.Conversations().MarkStale(ctx, id); err != nil {
				return err
			}
		}
		agent.UpdatedAt = p.Clock()
		if err := agent.Validate(); err != nil {
			return err
		}
		return tx.Agents().Update(ctx, &agent)
	})
	if err != nil {
		return core.Agent{}, err
	}
	p.changed(id)
	return agent, nil
}

func checkTags(tags []string) error {
	if len(tags) > maxTags {
		return core.E(core.Invalid, "at most %d tags are allowed", maxTags)
	}
	for _, t := range tags {
		if t == "" || len(t) > maxTagChars {
			return core.E(core.Invalid, "a tag has 1 to %d bytes", maxTagChars)
		}
	}
	return nil
}

// checkRules refuses tool rules that can't be obeyed.
func checkRules(all []core.ToolRule) error {
	for _, r := range all {
		if err := rules.Validate(r); err != nil {
			return err
		}
	}
	return nil
}

// distinct drops repeated rules, keeping the order.
func distinct(in []core.ToolRule) []core.ToolRule {
	out := make([]core.ToolRule, 0, len(in))
	for _, rule := range in {
		if !slices.ContainsFunc(out, func(r core.ToolRule) bool { return reflect.DeepEqual(r, rule) }) {
			out = append(out, rule)
		}
	}
	return out
}

// unique drops duplicates, keeping the order.
func unique[T comparable](in []T) []T {
	out := make([]T, 0, len(in))
	seen := make(map[T]bool, len(in))
	for _, v := range in {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// merged returns base with changes merged in; a nil value removes a key.
func merged(base, changes map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range changes {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}

// SetRecall says up to how many tokens of memories join each turn of an agent by themselves; 0: none.
func (a *Agents) SetRecall(ctx context.Context, id core.AgentID, tokens int) (core.Agent, error) {
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		agent.Recall = tokens
		return false, nil
	})
}

// Renew gives an agent the prompt and the tools of the terminal's new agents, see memory.Renew.
func (a *Agents) Renew(ctx context.Context, id core.AgentID, replace bool) (core.Agent, error) {
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		return true, memory.Renew(agent, replace)
	})
}
