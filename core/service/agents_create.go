package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"loci/core"
	"loci/core/compact"
	"loci/core/memory"
	"loci/core/variables"
)

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
	Recall      int             // tokens that automatic recall may add to a turn
	Terminal    bool            // made by the terminal
	Variables   []core.Variable // what its tools find in their environment
	First       []core.Message  // the conversation's first messages; nil: the type's own
	Extra       map[string]any
}

// Create makes an agent with its blocks and its default conversation.
func (a *Agents) Create(ctx context.Context, in NewAgent, env core.Env) (core.Agent, error) {
	draft, err := a.draft(ctx, ctx, in, env)
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

// draft returns the agent row to store, with everything resolved that needs tools and models. It waits for a provider until
// patience ends, and then goes without.
func (a *Agents) draft(ctx, patience context.Context, in NewAgent, env core.Env) (core.Agent, error) {
	agent := core.Agent{
		Name: in.Name, Type: cmp.Or(in.Type, core.AgentLettaV1), Description: in.Description, Model: in.Model,
		ModelAuto: in.ModelAuto, Settings: in.Settings,
		Embedding: in.Embedding, ToolRules: in.ToolRules, Tags: unique(in.Tags), Metadata: in.Metadata, Timezone: in.Timezone,
		Hidden: in.Hidden || slices.Contains(in.Tags, tagSubagent), Autoclear: in.Autoclear, Recall: in.Recall, Extra: in.Extra, Rev: 1,
		Terminal: in.Terminal,
	}
	if agent.Name == "" {
		agent.Name = core.RandomName()
	}
	if agent.Timezone == "" {
		agent.Timezone = "UTC"
	}
	policy, ok := core.PolicyOf(agent.Type)
	if !ok {
		return agent, agent.Validate()
	}
	agent.System = memory.SystemOf(policy, agent.Terminal)
	if in.System.Set() {
		agent.System = in.System.Value
	}
	agent.ToolRules = distinct(agent.ToolRules)
	if err := cmp.Or(agent.Settings.Validate(), checkTags(agent.Tags), checkRules(agent.ToolRules)); err != nil {
		return agent, err
	}
	if len(in.Blocks)+len(in.BlockIDs) > maxAgentBlocks {
		return agent, core.E(core.Invalid, "an agent has at most %d blocks", maxAgentBlocks)
	}
	if err := compact.Check(compact.Of(agent.Extra)); err != nil {
		return agent, err
	}
	info, err := a.draftModel(patience, &agent, env)
	if err != nil {
		return agent, err
	}
	if err := a.checkEmbedding(patience, agent.Embedding, env); err != nil {
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
				WithHint("no provider can be reached; set a key such as OPENAI_API_KEY, start Ollama, or use the model %s",
					core.OfflineHandle)
		}
	}
	info, err := a.models.resolve(ctx, agent.Model, env)
	if err != nil {
		return info, err
	}
	return info, checkWindow(agent.Settings, info)
}

func checkWindow(s core.ModelSettings, info core.ModelInfo) error {
	if most := info.ContextWindow; most > 0 && s.ContextWindow > most {
		return core.E(core.Invalid, "the context window of %d tokens is larger than the %d of %s", s.ContextWindow, most, info.Handle)
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
	agent.ToolRules = withApprovals(agent.ToolRules, tools)
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
	return tools, core.Attachable(ids, tools)
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

// withApprovals adds the rule that a person approves the calls of tools that were written to ask.
func withApprovals(rules []core.ToolRule, tools []core.BoundTool) []core.ToolRule {
	for _, t := range tools {
		name := t.Info.Spec.Name
		ruled := func(r core.ToolRule) bool { return r.Type == core.RuleRequiresApproval && r.Tool == name }
		if t.Info.Custom != nil && t.Info.Custom.Asks && !slices.ContainsFunc(rules, ruled) {
			rules = append(slices.Clip(rules), core.ToolRule{Type: core.RuleRequiresApproval, Tool: name})
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
		if err := tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser}); err != nil {
			return agent, err
		}
		if err := tx.Blocks().Attach(ctx, agent.ID, b.ID); err != nil {
			return agent, err
		}
	}
	if err := variables.Replace(ctx, tx, agent.ID, in.Variables); err != nil {
		return agent, err
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
