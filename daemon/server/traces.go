package server

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/tracing"
	"loci/daemon/api"
)

// registerTraces registers what is told of requests to models.
func (s *Server) registerTraces(a huma.API) {
	handle(a, "GET", "/v1/runs/{run_id}/trace", s.runTrace)
	handle(a, "GET", "/v1/steps/{step_id}/trace", s.stepTrace)
	handle(a, "GET", "/v1/telemetry/{step_id}", s.stepTrace)
}

func (s *Server) tracing() (*tracing.Recorder, error) {
	parts, _ := s.now()
	if parts.Traces == nil {
		return nil, core.E(core.Unsupported, "this daemon keeps no traces")
	}
	return parts.Traces, nil
}

// runTrace lists what a run sent to models, in our own form, since the contract leaves it open.
func (s *Server) runTrace(ctx context.Context, in *RunPath) (*body[[]api.Trace], error) {
	r, err := s.tracing()
	if err != nil {
		return nil, err
	}
	if _, err := s.services().Runs.Get(ctx, in.id()); err != nil {
		return nil, err
	}
	all, err := r.List(ctx, core.TraceQuery{Run: in.id()})
	return list(all, err, wireTrace)
}

// stepTrace is the last request of a step, with which it ended; null where none is kept.
func (s *Server) stepTrace(ctx context.Context, in *StepPath) (*body[*api.ProviderTrace], error) {
	r, err := s.tracing()
	if err != nil {
		return nil, err
	}
	step, err := s.services().Runs.Step(ctx, in.id())
	if err != nil {
		return nil, err
	}
	all, err := r.List(ctx, core.TraceQuery{Step: step.ID})
	if err != nil || len(all) == 0 {
		return answer((*api.ProviderTrace)(nil), err)
	}
	out := wireProviderTrace(&all[len(all)-1], &step)
	return answer(&out, nil)
}

func callType(p core.Purpose) string {
	if p == core.ForCompaction {
		return api.CallSummary
	}
	return api.CallStep
}

func wireTrace(t core.Trace) api.Trace {
	return api.Trace{
		ID: string(t.ID), CallType: callType(t.For), AgentID: string(t.Agent), ConversationID: string(t.Conversation),
		RunID: string(t.Run), StepID: string(t.Step), Model: string(t.Model), Attempt: t.Attempt, StartedAt: api.At(t.At),
		FirstMS: t.First.Milliseconds(), DurationMS: t.Took.Milliseconds(), Method: t.Method, URL: t.URL, Status: t.Status, Error: t.Error,
		Request: wireTraced(t.Request), Response: wireTraced(t.Response),
	}
}

func wireTraced(p core.TracedPart) api.TracedPart {
	return api.TracedPart{Header: p.Header, Body: p.Body, Cut: p.Cut}
}

// wireProviderTrace converts a trace to the contract's form, in which both sides are objects.
func wireProviderTrace(t *core.Trace, step *core.Step) api.ProviderTrace {
	kind, source := callType(t.For), "loci"
	out := api.ProviderTrace{
		ID: string(t.ID), CreatedAt: api.At(t.At), StepID: api.PtrTo(string(step.ID)), AgentID: api.PtrTo(string(step.Agent)),
		RunID: api.PtrTo(string(step.Run)), CallType: &kind, Source: &source,
		RequestJSON: objectOf(t.Request.Body), ResponseJSON: objectOf(t.Response.Body),
	}
	if t.Error != "" {
		out.ResponseJSON["error"] = t.Error
	}
	return out
}

// objectOf returns a body that is a JSON object; one that is a stream of events or cut stands in a member of one.
func objectOf(text string) api.Object {
	var out api.Object
	if json.Unmarshal([]byte(text), &out) != nil || out == nil {
		out = api.Object{"body": text}
	}
	return out
}
