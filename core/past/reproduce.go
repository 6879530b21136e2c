package past

import (
	"cmp"
	"context"
	"slices"

	"loci/core"
	"loci/core/moment"
	"loci/core/request"
)

// Reproduce returns exactly what a step sent: the request rebuilt from its snapshots and from the context at the time.
func (p *Past) Reproduce(ctx context.Context, id core.StepID) (core.ChatRequest, error) {
	s := p.store
	step, err := s.Steps().Get(ctx, id)
	if err != nil {
		return core.ChatRequest{}, err
	}
	agent, err := moment.At(ctx, s, &step)
	if err != nil {
		return core.ChatRequest{}, err
	}
	_, system, err := s.Snapshots().Get(ctx, step.SystemHash)
	if err != nil {
		return core.ChatRequest{}, err
	}
	_, schema, err := s.Snapshots().Get(ctx, step.ToolsHash)
	if err != nil {
		return core.ChatRequest{}, err
	}
	tools, err := request.ReadTools(schema)
	if err != nil {
		return core.ChatRequest{}, err
	}
	rows, err := s.Messages().ContextAt(ctx, step.Conversation, step.SentRev)
	if err != nil {
		return core.ChatRequest{}, err
	}
	rows = slices.DeleteFunc(rows, func(r core.InContext) bool { return r.Row.Position == 0 })
	if step.WithInput {
		run, err := s.Runs().Get(ctx, step.Run)
		if err != nil {
			return core.ChatRequest{}, err
		}
		for _, m := range run.Input {
			rows = append(rows, core.InContext{Message: m})
		}
	}
	policy, _ := core.PolicyOf(agent.Type)
	info := agent.Facts.Info()
	_, model, _ := step.Model.Split()
	settings := agent.Settings
	if run, err := s.Runs().Get(ctx, step.Run); err == nil { // the effort and the form of that run alone
		settings.ReasoningEffort = cmp.Or(run.Config.Effort, settings.ReasoningEffort)
		if run.Config.ResponseFormat != nil {
			settings.ResponseFormat = run.Config.ResponseFormat
		}
	}
	again := request.Parts{
		Model:        model,
		Info:         info,
		System:       system,
		Tools:        tools,
		Offer:        step.Offer,
		Choice:       step.Choice,
		Parallel:     step.Parallel,
		Settings:     settings,
		Window:       step.Window,
		Prefix:       step.Prefix,
		Conversation: step.Conversation,
		Rows:         rows,
		Policy:       request.Effective(policy, info),
	}
	req := again.Request()
	return req, request.Fill(ctx, s.Images(), &req)
}

// Redacted reports whether a text in what a step sent was forgotten since: Reproduce returns what is left.
func (p *Past) Redacted(ctx context.Context, id core.StepID) (bool, error) {
	s := p.store
	step, err := s.Steps().Get(ctx, id)
	if err != nil {
		return false, err
	}
	at, err := s.Snapshots().RedactedAt(ctx, step.SystemHash, step.ToolsHash, step.AgentHash)
	if err != nil || at.After(step.CreatedAt) {
		return err == nil, err
	}
	rows, err := s.Messages().ContextAt(ctx, step.Conversation, step.SentRev)
	if err != nil {
		return false, err
	}
	if step.WithInput {
		run, err := s.Runs().Get(ctx, step.Run)
		if err != nil {
			return false, err
		}
		for _, m := range run.Input {
			rows = append(rows, core.InContext{Row: core.ContextRow{Position: 1}, Message: m})
		}
	}
	return slices.ContainsFunc(rows, func(r core.InContext) bool { // message 0 isn't sent
		return r.Message.RedactedAt.After(step.CreatedAt) && r.Row.Position > 0
	}), nil
}

// BlocksAt returns the versions of memory blocks that a rewind to a step restores, leaving out forgotten ones.
func (p *Past) BlocksAt(ctx context.Context, id core.StepID) ([]core.BlockVersion, error) {
	step, err := p.store.Steps().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := moment.At(ctx, p.store, &step)
	if err != nil {
		return nil, err
	}
	return versionsAt(ctx, p.store, state.Blocks)
}
