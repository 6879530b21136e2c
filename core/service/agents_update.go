package service

import (
	"cmp"
	"context"
	"slices"

	"loci/core"
	"loci/core/compact"
	"loci/core/variables"
)

// AgentPatch changes only what is present in it. Sets are replaced; null clears a field if that makes sense and is
// refused if it doesn't.
type AgentPatch struct {
	Name        core.Opt[string]
	Description core.Opt[string]
	System      core.Opt[string]
	Model       core.Opt[core.Handle]
	Settings    core.Opt[core.ModelSettings] // all but the context window, which has a key of its own
	Wishes      core.ModelSettings           // merged into those
	Window      core.Opt[int]
	Parallel    core.Opt[bool]
	MaxTokens   core.Opt[int]
	Format      core.Opt[any]
	Embedding   core.Opt[core.Handle]
	ToolIDs     core.Opt[[]core.ToolID]
	BlockIDs    core.Opt[[]core.BlockID]
	FolderIDs   core.Opt[[]core.FolderID]
	MessageIDs  core.Opt[[]core.MessageID]
	ToolRules   core.Opt[[]core.ToolRule]
	Tags        core.Opt[[]string]
	Metadata    core.Opt[map[string]any]
	Timezone    core.Opt[string]
	Hidden      core.Opt[bool]
	Autoclear   core.Opt[bool]
	Variables   core.Opt[[]core.Variable] // null removes all
	Extra       map[string]any            // keys to set; a nil value removes a key; compaction settings are merged into the existing ones

	fresh []core.BoundTool // the tools that it does not have yet
	info  core.ModelInfo   // of the model that the agent will have; found by checkPatch where it matters
}

// Update changes an agent.
func (a *Agents) Update(ctx context.Context, id core.AgentID, patch AgentPatch, env core.Env) (core.Agent, error) {
	current, err := a.Get(ctx, id)
	if err != nil {
		return core.Agent{}, err
	}
	if err := a.checkPatch(ctx, current, &patch, env); err != nil {
		return core.Agent{}, err
	}
	most, tools, err := a.fileRoom(ctx, id, env)
	if err != nil {
		return core.Agent{}, err
	}
	return a.change(ctx, id, func(ctx context.Context, tx core.Store, agent *core.Agent) (bool, error) {
		prompt := patch.apply(agent)
		if patch.FolderIDs.Present {
			moved, err := a.replaceFolders(ctx, tx, agent, unique(patch.FolderIDs.Value), most, tools)
			if err != nil {
				return false, err
			}
			prompt = prompt || moved
		}
		if patch.MessageIDs.Present {
			if err := sameMessages(ctx, tx, id, patch.MessageIDs.Value); err != nil {
				return false, err
			}
		}
		if patch.Variables.Present {
			if err := variables.Replace(ctx, tx, id, patch.Variables.Value); err != nil {
				return false, err
			}
		}
		if !patch.BlockIDs.Present {
			return prompt, nil
		}
		moved, err := replaceBlocks(ctx, tx, id, unique(patch.BlockIDs.Value))
		return prompt || moved, err
	})
}

// checkPatch makes the requests that can't be made inside a transaction.
func (a *Agents) checkPatch(ctx context.Context, agent core.Agent, patch *AgentPatch, env core.Env) error {
	for _, nulled := range []bool{
		patch.Name.Present && patch.Name.Null, patch.Model.Present && patch.Model.Null, patch.System.Present && patch.System.Null,
	} {
		if nulled {
			return core.E(core.Invalid, "name, model and system of an agent cannot be null")
		}
	}
	if patch.ToolIDs.Present {
		tools, err := a.checkTools(ctx, unique(patch.ToolIDs.Value))
		if err != nil {
			return err
		}
		patch.ToolIDs.Value = idsOf(tools)
		patch.fresh = slices.DeleteFunc(tools, func(t core.BoundTool) bool { return slices.Contains(agent.Tools, t.Info.ID) })
	}
	if len(patch.BlockIDs.Value) > maxAgentBlocks {
		return core.E(core.Invalid, "an agent has at most %d blocks", maxAgentBlocks)
	}
	patch.ToolRules.Value = distinct(patch.ToolRules.Value)
	asked := core.ModelSettings{
		Temperature: cmp.Or(patch.Settings.Value.Temperature, patch.Wishes.Temperature), ContextWindow: patch.Window.Value,
		MaxOutputTokens: min(patch.Settings.Value.MaxOutputTokens, patch.Wishes.MaxOutputTokens, patch.MaxTokens.Value),
	}
	if err := cmp.Or(asked.Validate(), checkTags(patch.Tags.Value), checkRules(patch.ToolRules.Value)); err != nil {
		return err
	}
	if err := compact.Check(compact.Of(patch.Extra)); err != nil {
		return err
	}
	if err := a.checkEmbedding(ctx, patch.Embedding.Value, env); err != nil {
		return err
	}
	handle := patch.Model.Or(agent.Model)
	if _, settings := patch.Extra[compact.ExtraKey]; settings {
		patch.info = a.models.Info(ctx, handle, env)
	}
	if !patch.Model.Set() && !patch.Window.Set() {
		return nil
	}
	var err error
	if patch.info, err = a.models.resolve(ctx, handle, env); err != nil {
		return err
	}
	return checkWindow(core.ModelSettings{ContextWindow: patch.Window.Or(0)}, patch.info)
}

// settle keeps an agent's compaction settings, completed for its model. One that changes its model by itself has no light
// model of one vendor.
func settle(agent *core.Agent, set map[string]any, own core.ModelInfo) {
	if agent.ModelAuto && agent.Model.Provider() == core.OfflineHandle.Provider() {
		own = core.ModelInfo{}
	}
	var kept any
	if set = compact.Settle(set, own); len(set) > 0 {
		kept = set
	}
	agent.Extra = merged(agent.Extra, map[string]any{compact.ExtraKey: kept})
}

// applyExtra merges the patch's keys into the agent's, and its compaction settings key by key.
func (p *AgentPatch) applyExtra(agent *core.Agent) {
	stand := compact.Of(agent.Extra)
	given, settings := p.Extra[compact.ExtraKey]
	agent.Extra = merged(agent.Extra, p.Extra)
	if !settings && !p.Model.Set() {
		return
	}
	if settings && given == nil {
		stand = nil
	}
	settle(agent, compact.Lay(stand, compact.Of(p.Extra)), p.info)
}

// apply applies the patch to an agent and reports whether its prompt or its tools change.
func (p *AgentPatch) apply(agent *core.Agent) (prompt bool) {
	set(&agent.Name, p.Name)
	set(&agent.Description, p.Description)
	set(&agent.Embedding, p.Embedding)
	set(&agent.Metadata, p.Metadata)
	set(&agent.Hidden, p.Hidden)
	set(&agent.Autoclear, p.Autoclear)
	set(&agent.Timezone, p.Timezone)
	if agent.Timezone == "" {
		agent.Timezone = "UTC"
	}
	if p.Tags.Present {
		agent.Tags = unique(p.Tags.Value)
		agent.Hidden = agent.Hidden || slices.Contains(agent.Tags, tagSubagent)
	}
	if p.Model.Set() {
		agent.Model, agent.ModelAuto = p.Model.Value, false
	}
	p.applySettings(&agent.Settings)
	p.applyExtra(agent)
	if p.System.Set() && agent.System != p.System.Value {
		agent.System, prompt = p.System.Value, true
	}
	if p.ToolIDs.Present && !slices.Equal(agent.Tools, p.ToolIDs.Value) {
		agent.Tools, prompt = p.ToolIDs.Value, true
	}
	if p.ToolRules.Present {
		agent.ToolRules, prompt = p.ToolRules.Value, true
	}
	agent.ToolRules = withApprovals(agent.ToolRules, p.fresh)
	return prompt
}

func (p *AgentPatch) applySettings(s *core.ModelSettings) {
	before := *s
	set(s, p.Settings)
	*s = s.Over(before)
	s.ContextWindow = before.ContextWindow
	p.applyWishes(s)
	set(&s.ContextWindow, p.Window)
	set(&s.MaxOutputTokens, p.MaxTokens)
	set(&s.ResponseFormat, p.Format)
	if p.Parallel.Present {
		s.ParallelTools = nil
		if !p.Parallel.Null {
			s.ParallelTools = &p.Parallel.Value
		}
	}
}

func (p *AgentPatch) applyWishes(s *core.ModelSettings) {
	w := p.Wishes
	s.Temperature, s.ParallelTools = cmp.Or(w.Temperature, s.Temperature), cmp.Or(w.ParallelTools, s.ParallelTools)
	s.MaxOutputTokens, s.ReasoningEffort = cmp.Or(w.MaxOutputTokens, s.MaxOutputTokens), cmp.Or(w.ReasoningEffort, s.ReasoningEffort)
	if w.ResponseFormat != nil {
		s.ResponseFormat = w.ResponseFormat
	}
}

// set writes what is present; null is the zero value.
func set[T any](dst *T, v core.Opt[T]) {
	if v.Present {
		*dst = v.Value
	}
}

// replaceBlocks makes the agent's blocks exactly these and reports whether that moved anything.
func replaceBlocks(ctx context.Context, tx core.Store, agent core.AgentID, want []core.BlockID) (bool, error) {
	have, err := tx.Blocks().OfAgent(ctx, agent)
	if err != nil {
		return false, err
	}
	moved := false
	for _, b := range have {
		if slices.Contains(want, b.ID) {
			continue
		}
		if err := tx.Blocks().Detach(ctx, agent, b.ID); err != nil {
			return false, err
		}
		moved = true
	}
	for _, id := range want {
		if slices.ContainsFunc(have, func(b core.Block) bool { return b.ID == id }) {
			continue
		}
		if err := attachBlock(ctx, tx, agent, id); err != nil {
			return false, err
		}
		moved = true
	}
	return moved, nil
}

// sameMessages accepts the window as it is; any other cannot be set from outside yet.
func sameMessages(ctx context.Context, tx core.Store, agent core.AgentID, want []core.MessageID) error {
	have, err := tx.Messages().ContextIDs(ctx, core.DefaultConversation(agent))
	if err != nil {
		return err
	}
	if !slices.Equal(have, want) {
		return core.E(core.Unsupported, "setting message_ids to another window is not built yet").
			WithHint("reset the messages of the agent instead")
	}
	return nil
}

// AttachTool adds a tool; attaching it again changes nothing.
func (a *Agents) AttachTool(ctx context.Context, id core.AgentID, tool core.ToolID) (core.Agent, error) {
	if _, err := a.Get(ctx, id); err != nil {
		return core.Agent{}, err
	}
	tools, err := a.checkTools(ctx, []core.ToolID{tool})
	if err != nil {
		return core.Agent{}, err
	}
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		if slices.Contains(agent.Tools, tool) {
			return false, nil
		}
		if len(agent.Tools) >= maxAgentTools {
			return false, core.E(core.Invalid, "an agent has at most %d tools", maxAgentTools)
		}
		agent.Tools = append(slices.Clone(agent.Tools), tool)
		agent.ToolRules = withApprovals(agent.ToolRules, tools)
		return true, nil
	})
}

// DetachTool removes a tool; one that isn't attached is not_found.
func (a *Agents) DetachTool(ctx context.Context, id core.AgentID, tool core.ToolID) (core.Agent, error) {
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		at := slices.Index(agent.Tools, tool)
		if at < 0 {
			return false, core.E(core.NotFound, "tool %s is not attached to agent %s", tool, id)
		}
		agent.Tools = slices.Delete(slices.Clone(agent.Tools), at, at+1)
		return true, nil
	})
}

// RequireApproval adds or removes the rule that a tool of the agent needs a person's approval.
func (a *Agents) RequireApproval(ctx context.Context, id core.AgentID, tool string, required bool) (core.Agent, error) {
	current, err := a.Get(ctx, id)
	if err != nil {
		return core.Agent{}, err
	}
	tools, err := a.Tools.Tools(ctx, current.Tools)
	if err != nil {
		return core.Agent{}, err
	}
	if !slices.ContainsFunc(tools, func(t core.BoundTool) bool { return t.Info.Spec.Name == tool }) {
		return core.Agent{}, core.E(core.NotFound, "tool %q is not attached to agent %s", tool, id)
	}
	return a.change(ctx, id, func(_ context.Context, _ core.Store, agent *core.Agent) (bool, error) {
		rule := core.ToolRule{Type: core.RuleRequiresApproval, Tool: tool}
		kept := slices.DeleteFunc(
			slices.Clone(agent.ToolRules),
			func(r core.ToolRule) bool { return r.Type == rule.Type && r.Tool == tool },
		)
		if required {
			kept = append(kept, rule)
		}
		changed := len(kept) != len(agent.ToolRules)
		agent.ToolRules = kept
		return changed, nil
	})
}

// AttachBlock adds a block; a label the agent already has is a conflict, the same block again changes nothing.
func (a *Agents) AttachBlock(ctx context.Context, id core.AgentID, block core.BlockID) (core.Agent, error) {
	return a.change(ctx, id, func(ctx context.Context, tx core.Store, _ *core.Agent) (bool, error) {
		have, err := tx.Blocks().OfAgent(ctx, id)
		if err != nil || slices.ContainsFunc(have, func(b core.Block) bool { return b.ID == block }) {
			return false, err
		}
		return true, attachBlock(ctx, tx, id, block)
	})
}

// DetachBlock removes a block; one that isn't attached is not_found.
func (a *Agents) DetachBlock(ctx context.Context, id core.AgentID, block core.BlockID) (core.Agent, error) {
	return a.change(ctx, id, func(ctx context.Context, tx core.Store, _ *core.Agent) (bool, error) {
		have, err := tx.Blocks().OfAgent(ctx, id)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(have, func(b core.Block) bool { return b.ID == block }) {
			return false, core.E(core.NotFound, "block %s is not attached to agent %s", block, id)
		}
		return true, tx.Blocks().Detach(ctx, id, block)
	})
}
