package engine

import (
	"context"
	"slices"

	"loci/core"
)

// Reproduce returns exactly what a step sent: the request made again from its snapshots and from the context as it was.
func (e *Engine) Reproduce(ctx context.Context, id core.StepID) (core.ChatRequest, error) {
	s := e.cfg.Store
	step, err := s.Steps().Get(ctx, id)
	if err != nil {
		return core.ChatRequest{}, err
	}
	agent, err := snapshotAt(ctx, s, &step)
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
	tools, err := readTools(schema)
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
	info := agent.Facts.info()
	_, model, _ := step.Model.Split()
	again := sending{
		model: model, info: info, system: system, tools: tools, offer: step.Offer, choice: step.Choice, parallel: step.Parallel,
		settings: agent.Settings, window: step.Window, prefix: step.Prefix, conv: step.Conversation, rows: rows, policy: effective(policy, info),
	}
	return again.request(), nil
}
