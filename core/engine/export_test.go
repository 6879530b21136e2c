package engine

import (
	"context"
	"time"

	"loci/core"
)

// NextRequest builds, by the way that every run takes, what a step of this run and number would send in the conversation
// as it is now, without input. moves says whether a run that begins now, with the provider's cache still warm, would
// compile the prompt anew.
func (e *Engine) NextRequest(ctx context.Context, step core.Step, env core.Env) (req core.ChatRequest, moves bool, err error) {
	run, err := e.cfg.Store.Runs().Get(ctx, step.Run)
	if err != nil {
		return req, false, err
	}
	run.Delivered = true
	for _, resume := range []bool{false, true} { // the step goes on in its run, and that never moves the pin
		j := e.newJob(run, env)
		j.resume = resume
		defer j.cancel(nil)
		t := e.newTurn(j, run, &core.Step{Number: step.Number})
		if err := t.load(ctx); err != nil {
			return req, false, err
		}
		if t.history, err = e.returnedBefore(ctx, &run, step.Number); err != nil {
			return req, false, err
		}
		t.win.conv.AskedAt = e.cfg.Clock()
		if err := t.chooseModel(ctx); err != nil {
			return req, false, err
		}
		if err := t.decidePin(ctx); err != nil {
			return req, false, err
		}
		if !resume {
			moves = t.win.moved
			continue
		}
		s := t.parts(t.rules())
		req = s.Request()
	}
	return req, moves, nil
}

// returnedBefore is what tools returned in a run before a step: those of its later steps are in the store after a rewind, too,
// which no run that goes on can have behind it.
func (e *Engine) returnedBefore(ctx context.Context, run *core.Run, number int) ([]core.ToolReturn, error) {
	returns, err := e.historyOf(ctx, run, false)
	if err != nil {
		return nil, err
	}
	steps, err := e.cfg.Store.Steps().List(ctx, core.StepFilter{Run: run.ID}, core.Page{Limit: historyRecords})
	if err != nil {
		return nil, err
	}
	numbers := map[core.StepID]int{}
	for _, s := range steps {
		numbers[s.ID] = s.Number
	}
	f := core.MessageFilter{Agent: run.Agent, Run: run.ID, Roles: []core.Role{core.RoleTool}, IncludeErr: true}
	msgs, err := e.cfg.Store.Messages().List(ctx, f, core.Page{Limit: historyRecords})
	for _, m := range msgs {
		if numbers[m.Step] < number {
			returns = append(returns, m.Returns...)
		}
	}
	return returns, err
}

// Watched is how many runs somebody waits for news of.
func (e *Engine) Watched() int {
	e.hub.mu.Lock()
	defer e.hub.mu.Unlock()
	return len(e.hub.runs)
}

// Patience is how long a summariser of this model may go without a token after a prompt of so many.
func (e *Engine) Patience(h core.Handle, tokens int) time.Duration {
	return e.pace.patience(h, tokens, e.cfg.SummaryQuiet)
}

// AtRest reports whether nobody wants anything of a conversation, and nothing is done for it.
func (e *Engine) AtRest(conv core.ConversationID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lanes[conv] == nil
}
