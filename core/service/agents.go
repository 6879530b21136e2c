package service

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"loci/core"
	"loci/core/compact"
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

// NewAgent says what an agent is made from. The zero value is the contract's default agent.
type NewAgent struct {
	Name        string         // empty: a random one
	Type        core.AgentType // empty: letta_v1_agent
	Description string
	System      core.Opt[string] // unset: the type's own
	Model       core.Handle      // empty: the configured default, else the first that env reaches
	ModelAuto   bool
	Settings    core.ModelSettings
	Embedding   core.Handle
	Blocks      []core.Block   // made with the agent; Limit 0 is the default
	BlockIDs    []core.BlockID // attached
	Tools       []string       // by name
	ToolIDs     []core.ToolID
	FolderIDs   []core.FolderID // attached
	NoBaseTools bool
	BaseRules   core.Opt[bool] // unset: the type's own
	ToolRules   []core.ToolRule
	Tags        []string
	Metadata    map[string]any
	Timezone    string // empty: UTC
	Hidden      bool
	Autoclear   bool
	Recall      int            // tokens that automatic recall may add to a turn
	First       []core.Message // the conversation's first messages; nil: the type's own
	Extra       map[string]any
}

// Create makes an agent with its blocks and its default conversation.
func (a *Agents) Create(ctx context.Context, in NewAgent, env core.Env) (core.Agent, error) {
	draft, err := a.draft(ctx, in, env)
	if err != nil {
		return core.Agent{}, err
	}
	var made core.Agent
	most := a.fileLimits(ctx, &draft, env).Open
	err = a.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		made, err = a.createIn(ctx, tx, draft, in, most)
		return err
	})
	if err != nil {
		return core.Agent{}, err
	}
	a.changed(made.ID)
	return made, nil
}

// draft returns the agent row to store, with everything resolved that needs tools and models.
func (a *Agents) draft(ctx context.Context, in NewAgent, env core.Env) (core.Agent, error) {
	agent := core.Agent{
		Name: in.Name, Type: in.Type, Description: in.Description, Model: in.Model, ModelAuto: in.ModelAuto, Settings: in.Settings,
		Embedding: in.Embedding, ToolRules: in.ToolRules, Tags: unique(in.Tags), Metadata: in.Metadata, Timezone: in.Timezone,
		Hidden: in.Hidden || slices.Contains(in.Tags, tagSubagent), Autoclear: in.Autoclear, Recall: in.Recall, Extra: in.Extra, Rev: 1,
	}
	if agent.Name == "" {
		agent.Name = randomName()
	}
	if agent.Type == "" {
		agent.Type = core.AgentLettaV1
	}
	if agent.Timezone == "" {
		agent.Timezone = "UTC"
	}
	policy, ok := core.PolicyOf(agent.Type)
	if !ok {
		return agent, agent.Validate()
	}
	agent.System = memory.DefaultSystem(policy)
	if in.System.Set() {
		agent.System = in.System.Value
	}
	agent.ToolRules = distinct(agent.ToolRules)
	if err := cmp.Or(checkTags(agent.Tags), checkRules(agent.ToolRules)); err != nil {
		return agent, err
	}
	if len(in.Blocks)+len(in.BlockIDs) > maxAgentBlocks {
		return agent, core.E(core.Invalid, "an agent has at most %d blocks", maxAgentBlocks)
	}
	if err := compact.Check(compact.Of(agent.Extra)); err != nil {
		return agent, err
	}
	info, err := a.draftModel(ctx, &agent, env)
	if err != nil {
		return agent, err
	}
	if err := a.checkEmbedding(ctx, agent.Embedding, env); err != nil {
		return agent, err
	}
	settle(&agent, compact.Of(agent.Extra), info)
	if err := a.draftTools(ctx, &agent, in, policy); err != nil {
		return agent, err
	}
	return agent, agent.Validate()
}

func (a *Agents) draftModel(ctx context.Context, agent *core.Agent, env core.Env) (core.ModelInfo, error) {
	if agent.Model == "" {
		agent.Model = a.models.first(ctx, env)
		if agent.Model == "" {
			return core.ModelInfo{}, core.E(core.Invalid, "a model is needed: give `model` or `llm_config`").
				WithHint("no provider can be reached; set a key such as OPENAI_API_KEY, start Ollama, or use the model %s", core.OfflineHandle)
		}
	}
	info, err := a.models.resolve(ctx, agent.Model, env)
	if err != nil {
		return info, err
	}
	a.Engine.Prompts().NoteWindow(agent.Model, info.ContextWindow)
	return info, checkWindow(agent.Settings, info)
}

func checkWindow(s core.ModelSettings, info core.ModelInfo) error {
	if s.ContextWindow < 0 {
		return core.E(core.Invalid, "a context window must be positive")
	}
	if info.ContextWindow > 0 && s.ContextWindow > info.ContextWindow {
		return core.E(
			core.Invalid,
			"the context window of %d tokens is larger than the %d of %s",
			s.ContextWindow,
			info.ContextWindow,
			info.Handle,
		)
	}
	return nil
}

// draftTools fills in the agent's tools, base ones first, and the base rules if requested.
func (a *Agents) draftTools(ctx context.Context, agent *core.Agent, in NewAgent, policy core.Policy) error {
	var ids []core.ToolID
	names := in.Tools
	if !in.NoBaseTools {
		names = append(slices.Clone(policy.BaseTools), in.Tools...)
	}
	for _, name := range names {
		tool, ok, err := a.Tools.Find(ctx, name)
		if err != nil {
			return err
		}
		if !ok {
			return core.E(core.NotFound, "there is no tool named %q", name)
		}
		ids = append(ids, tool.Info.ID)
	}
	ids = append(ids, in.ToolIDs...)
	if len(in.FolderIDs) > 0 {
		fileTools, err := a.fileTools(ctx)
		if err != nil {
			return err
		}
		ids = append(ids, fileTools...)
	}
	tools, err := a.checkTools(ctx, unique(ids))
	if err != nil {
		return err
	}
	agent.Tools = idsOf(tools)
	if in.BaseRules.Or(policy.BaseRules && !lacksBaseRules(agent.Model)) {
		agent.ToolRules = withBaseRules(agent.ToolRules, tools)
	}
	return nil
}

// checkTools returns the tools of these ids, or not_found.
func (p *parts) checkTools(ctx context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	if len(ids) > maxAgentTools {
		return nil, core.E(core.Invalid, "an agent has at most %d tools", maxAgentTools)
	}
	tools, err := p.Tools.Tools(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(tools, func(t core.BoundTool) bool { return t.Info.ID == id }) {
			return nil, core.E(core.NotFound, "there is no tool %s", id)
		}
	}
	return tools, nil
}

func idsOf(tools []core.BoundTool) []core.ToolID {
	ids := make([]core.ToolID, 0, len(tools))
	for _, t := range tools {
		ids = append(ids, t.Info.ID)
	}
	return ids
}

// lacksBaseRules reports models that the contract gives no base rules, because they decide well without them.
func lacksBaseRules(handle core.Handle) bool {
	name := string(handle)
	if strings.Contains(name, "mini") && !strings.Contains(name, "gemini") {
		return false
	}
	for _, part := range []string{"claude-4-sonnet", "claude-3-5-sonnet", "gpt-5", "gemini-2.5-pro"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// withBaseRules adds a rule for each built-in tool that has none: it either ends the turn or never does.
func withBaseRules(rules []core.ToolRule, tools []core.BoundTool) []core.ToolRule {
	rules = slices.Clone(rules)
	for _, t := range tools {
		kind := core.RuleContinueLoop
		if t.Info.Terminal {
			kind = core.RuleExitLoop
		} else if t.Info.Kind != core.ToolCore && t.Info.Kind != core.ToolMemory {
			continue
		}
		ruled := func(r core.ToolRule) bool {
			return r.Tool == t.Info.Spec.Name && (r.Type == core.RuleContinueLoop || r.Type == core.RuleExitLoop)
		}
		if !slices.ContainsFunc(rules, ruled) {
			rules = append(rules, core.ToolRule{Type: kind, Tool: t.Info.Spec.Name})
		}
	}
	return rules
}

// createIn stores a draft with its blocks, its folders (the first files open, at most most) and its default
// conversation. It may run twice, so it doesn't modify its arguments.
func (a *Agents) createIn(ctx context.Context, tx core.Store, draft core.Agent, in NewAgent, most int) (core.Agent, error) {
	agent := draft
	agent.ID = core.NewAgentID()
	agent.CreatedAt = a.Clock()
	agent.UpdatedAt = agent.CreatedAt
	if err := tx.Agents().Create(ctx, &agent); err != nil {
		return agent, err
	}
	for _, b := range in.Blocks {
		prepareBlock(&b, agent.CreatedAt)
		if err := b.Validate(); err != nil {
			return agent, err
		}
		if err := tx.Blocks().Create(ctx, &b, core.BlockAuthor{Kind: core.AuthorUser}); err != nil {
			return agent, err
		}
		if err := tx.Blocks().Attach(ctx, agent.ID, b.ID); err != nil {
			return agent, err
		}
	}
	for _, id := range unique(in.BlockIDs) {
		if err := attachBlock(ctx, tx, agent.ID, id); err != nil {
			return agent, err
		}
	}
	for _, id := range unique(in.FolderIDs) {
		if _, err := attachFolder(ctx, tx, agent.ID, id, most, a.Clock); err != nil {
			return agent, err
		}
	}
	conv := &core.Conversation{
		ID:        core.DefaultConversation(agent.ID),
		Agent:     agent.ID,
		CreatedAt: agent.CreatedAt,
		UpdatedAt: agent.CreatedAt,
	}
	if err := a.Engine.Prompts().Begin(ctx, tx, conv, firstMessages(in.First, agent)); err != nil {
		return agent, err
	}
	return tx.Agents().Get(ctx, agent.ID)
}

// firstMessages gives the first messages of a conversation their identity; nil stays nil.
func firstMessages(first []core.Message, agent core.Agent) []core.Message {
	if first == nil {
		return nil
	}
	out := slices.Clone(first)
	for i := range out {
		m := &out[i]
		m.ID, m.Agent, m.Conversation, m.CreatedAt = core.NewMessageID(), agent.ID, core.DefaultConversation(agent.ID), agent.CreatedAt
		m.Tokens = core.EstimateTokens(m.PlainText())
	}
	return out
}

func attachBlock(ctx context.Context, tx core.Store, agent core.AgentID, block core.BlockID) error {
	if _, err := tx.Blocks().Get(ctx, block); err != nil {
		return err
	}
	return tx.Blocks().Attach(ctx, agent, block)
}

// Get returns an agent.
func (a *Agents) Get(ctx context.Context, id core.AgentID) (core.Agent, error) {
	return a.Store.Agents().Get(ctx, id)
}

// List returns agents, fifty by default.
func (a *Agents) List(ctx context.Context, f core.AgentFilter, pg core.Page) ([]core.Agent, error) {
	pg, err := page(pg, 50)
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
	pg, err := page(pg, 50)
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
	err = a.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if _, err := tx.Agents().Get(ctx, id); err != nil {
			return err
		}
		return tx.Agents().Delete(ctx, id)
	})
	if err != nil {
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
