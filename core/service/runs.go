package service

import (
	"context"
	"slices"

	"loci/core"
	"loci/core/engine"
)

// maxRunSteps bounds what is read to count the tools of one run.
const maxRunSteps = 1000

// Runs are the use cases of runs and of their steps.
type Runs struct{ *parts }

// Get returns a run.
func (r *Runs) Get(ctx context.Context, id core.RunID) (core.Run, error) {
	return r.Store.Runs().Get(ctx, id)
}

// List returns runs, a hundred by default.
func (r *Runs) List(ctx context.Context, f core.RunFilter, pg core.Page) ([]core.Run, error) {
	pg, err := pg.Sized(100)
	if err != nil {
		return nil, err
	}
	return r.Store.Runs().List(ctx, f, pg)
}

// Active returns how many runs are under way or waiting.
func (r *Runs) Active(ctx context.Context) (int, error) {
	runs, err := r.Store.Runs().Unfinished(ctx)
	return len(runs), err
}

// Delete marks a run deleted; its messages stay. One under way is busy.
func (r *Runs) Delete(ctx context.Context, id core.RunID) (core.Run, error) {
	run, err := r.Get(ctx, id)
	if core.IgnoreDamage(err) != nil {
		return run, err
	}
	// One that is damaged is taken up by no start: only what works on it now knows whether it goes on.
	if !run.Status.Final() && (err == nil || slices.Contains(r.Engine.Active(run.Conversation), id)) {
		return run, &core.Error{Kind: core.Busy, Msg: "the run is under way", Hint: "cancel it first", Run: id}
	}
	return run, r.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error { return tx.Runs().Delete(ctx, id) })
}

// Messages returns what a run added, its input too: from the run itself while that is no message of the conversation yet.
func (r *Runs) Messages(
	ctx context.Context,
	id core.RunID,
	pg core.Page,
	shown func(core.Message) bool,
) ([]core.Message, error) {
	run, err := r.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if run.Delivered {
		return (&Messages{parts: r.parts}).Ordered(ctx, core.MessageFilter{Run: id}, pg, shown)
	}
	if pg.After != "" || pg.Before != "" {
		return nil, nil
	}
	input := slices.Clone(run.Input)
	if pg.Desc {
		slices.Reverse(input)
	}
	return input, nil
}

// Usage returns the tokens of a run and how many steps it took.
func (r *Runs) Usage(ctx context.Context, id core.RunID) (core.Usage, int, error) {
	if _, err := r.Get(ctx, id); err != nil {
		return core.Usage{}, 0, err
	}
	return r.Store.Runs().Usage(ctx, id)
}

// ToolsUsed returns the names of the tools that a run called, in the order of first use, and how many steps it took.
func (r *Runs) ToolsUsed(ctx context.Context, id core.RunID) ([]string, int, error) {
	steps, err := r.Store.Steps().List(ctx, core.StepFilter{Run: id}, core.Page{Limit: maxRunSteps})
	if err != nil {
		return nil, 0, err
	}
	var names []string
	for _, s := range steps {
		names = append(names, s.Tools...)
	}
	return unique(names), len(steps), nil
}

// Submit has a request accepted, see engine.Submit.
func (r *Runs) Submit(ctx context.Context, req engine.Request) (core.Run, error) {
	return r.Engine.Submit(ctx, req)
}

// Step returns a step.
func (r *Runs) Step(ctx context.Context, id core.StepID) (core.Step, error) {
	return r.Store.Steps().Get(ctx, id)
}

// Steps returns steps; limit is the list's own default.
func (r *Runs) Steps(ctx context.Context, f core.StepFilter, pg core.Page, limit int) ([]core.Step, error) {
	if f.Run != "" {
		if _, err := r.Get(ctx, f.Run); err != nil {
			return nil, err
		}
	}
	pg, err := pg.Sized(limit)
	if err != nil {
		return nil, err
	}
	return r.Store.Steps().List(ctx, f, pg)
}

// StepMessages returns the messages of a step.
func (r *Runs) StepMessages(
	ctx context.Context,
	id core.StepID,
	pg core.Page,
	shown func(core.Message) bool,
) ([]core.Message, error) {
	if _, err := r.Step(ctx, id); err != nil {
		return nil, err
	}
	return (&Messages{parts: r.parts}).Ordered(ctx, core.MessageFilter{Step: id}, pg, shown)
}

// Feedback records what a person thinks of a step: positive, negative or nothing. Tags that are given replace those there
// are.
func (r *Runs) Feedback(ctx context.Context, id core.StepID, feedback string, tags core.Opt[[]string]) (core.Step, error) {
	if !slices.Contains([]string{"", "positive", "negative"}, feedback) {
		return core.Step{}, core.E(core.Invalid, "feedback is positive, negative or null")
	}
	if err := checkTags(tags.Value); err != nil {
		return core.Step{}, err
	}
	var step core.Step
	err := r.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if step, err = tx.Steps().Get(ctx, id); err != nil {
			return err
		}
		step.Feedback = feedback
		if tags.Present {
			step.Tags = unique(tags.Value)
		}
		return tx.Steps().Update(ctx, &step)
	})
	return step, err
}

// Cancel stops runs and says how each stands then. Without ids it means every run of the conversation, or of the agent
// where that is empty; nothing to stop is a conflict.
func (r *Runs) Cancel(
	ctx context.Context,
	agent core.AgentID,
	conv core.ConversationID,
	ids []core.RunID,
) (map[core.RunID]core.RunStatus, error) {
	if len(ids) == 0 {
		f := core.RunFilter{Agents: []core.AgentID{agent}, Conversation: conv, Statuses: []core.RunStatus{core.RunCreated, core.RunRunning}}
		runs, err := r.Store.Runs().List(ctx, f, core.Page{Limit: 1000, Desc: true})
		if err != nil {
			return nil, err
		}
		for _, run := range runs { // the newest first, so that no waiting one begins meanwhile
			ids = append(ids, run.ID)
		}
	}
	if len(ids) == 0 {
		return nil, core.E(core.Conflict, "No active runs found")
	}
	out := make(map[core.RunID]core.RunStatus, len(ids))
	for _, id := range unique(ids) {
		run, err := r.Get(ctx, id)
		if err == nil && run.Agent != agent {
			err = core.E(core.NotFound, "agent %s has no run %s", agent, id)
		}
		if err != nil {
			return nil, err
		}
		if err := r.Engine.Cancel(ctx, id); err != nil {
			return nil, err
		}
		if run, err = r.Get(ctx, id); err != nil {
			return nil, err
		}
		out[id] = run.Status
	}
	return out, nil
}

// recentRuns is how far back a run is looked for by the otid of its input.
const recentRuns = 200

// InConversation finds a run of a conversation: by its id, else by the otid of its input, else the active one.
func (r *Runs) InConversation(ctx context.Context, conv core.ConversationID, id core.RunID, otid string) (core.Run, error) {
	if id != "" {
		run, err := r.Get(ctx, id)
		if err == nil && run.Conversation != conv {
			err = core.E(core.NotFound, "the conversation has no run %s", id)
		}
		return run, err
	}
	if otid == "" {
		for _, id := range r.Engine.Active(conv) {
			run, err := r.Get(ctx, id)
			if err != nil || !run.Status.Final() { // one that is over is about to leave
				return run, err
			}
		}
		return core.Run{}, core.E(core.Invalid, "No active runs found for this conversation")
	}
	runs, err := r.Store.Runs().List(ctx, core.RunFilter{Conversation: conv}, core.Page{Limit: recentRuns, Desc: true})
	if err != nil {
		return core.Run{}, err
	}
	for _, run := range runs {
		if slices.ContainsFunc(run.Input, func(m core.Message) bool { return m.OTID == otid }) {
			return run, nil
		}
	}
	return core.Run{}, core.E(core.NotFound, "no run of the conversation has an input with the otid %s", otid)
}
