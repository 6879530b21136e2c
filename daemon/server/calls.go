package server

import (
	"context"

	"loci/core"
	"loci/daemon/api"
)

// mostCalls bounds how many records of calls are listed of one run.
const mostCalls = 1000

// runCalls lists the calls of a run with what let them pass, which the contract's messages have no place for.
func (s *Server) runCalls(ctx context.Context, in *RunPath) (*body[api.RunCalls], error) {
	if _, err := s.services().Runs.Get(ctx, in.id()); err != nil {
		return nil, err
	}
	called := func(m core.Message) bool { return len(m.Returns) > 0 || m.Asks() }
	msgs, err := s.services().Runs.Messages(ctx, in.id(), core.Page{Limit: mostCalls}, called)
	if err != nil {
		return nil, err
	}
	out := api.RunCalls{Calls: []api.RunCall{}}
	for i := range msgs {
		out.Calls = append(out.Calls, wireCalls(&msgs[i])...)
	}
	return answer(out, nil)
}

// wireCalls are the calls that a record tells of.
func wireCalls(m *core.Message) (out []api.RunCall) {
	names := map[string]string{}
	for _, c := range m.Calls() {
		names[c.ID] = c.Name
	}
	if m.Asks() {
		for _, w := range m.Approval.Waits {
			out = append(out, api.RunCall{
				StepID: string(m.Step), ToolCallID: w.CallID, Name: names[w.CallID], Outcome: api.CallWaits, Hooked: w.Hooked, Why: w.Why,
			})
		}
	}
	for _, r := range m.Returns {
		outcome := api.StatusSuccess
		if r.IsError {
			outcome = api.StatusError
		}
		out = append(out, api.RunCall{
			StepID: string(m.Step), ToolCallID: r.CallID, Name: r.Name, Outcome: outcome, Passed: r.Passed, Hooked: r.Hooked,
			Layers: r.Layers,
		})
	}
	return out
}
