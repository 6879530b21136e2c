package server

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

func (s *Server) registerRuns(a huma.API) {
	handle(a, "GET", "/v1/runs", s.listRuns)
	handle(a, "GET", "/v1/runs/active", s.listActiveRuns)
	handle(a, "GET", "/v1/runs/{run_id}", s.getRun)
	handle(a, "DELETE", "/v1/runs/{run_id}", s.deleteRun)
	handle(a, "GET", "/v1/runs/{run_id}/messages", s.runMessages)
	handle(a, "GET", "/v1/runs/{run_id}/usage", s.runUsage)
	handle(a, "GET", "/v1/runs/{run_id}/steps", s.runSteps)
	handle(a, "GET", "/v1/runs/{run_id}/metrics", s.runMetrics)
	handle(a, "POST", "/v1/runs/{run_id}/stream", s.resumeRun)
	handle(a, "GET", "/v1/steps", s.listSteps)
	handle(a, "GET", "/v1/steps/{step_id}", s.getStep)
	handle(a, "GET", "/v1/steps/{step_id}/messages", s.stepMessages)
	handle(a, "GET", "/v1/steps/{step_id}/metrics", s.stepMetrics)
	handle(a, "PATCH", "/v1/steps/{step_id}/feedback", s.stepFeedback)
}

func activeStatuses() []core.RunStatus { return []core.RunStatus{core.RunCreated, core.RunRunning} }

func (s *Server) listRuns(ctx context.Context, in *api.ListRuns) (*body[[]api.Run], error) {
	f := core.RunFilter{Conversation: core.ConversationID(in.ConversationID), StopReason: core.StopReason(in.StopReason)}
	for _, id := range append(in.AgentIDs, in.AgentID) {
		if id != "" {
			f.Agents = append(f.Agents, core.AgentID(id))
		}
	}
	for _, st := range in.Statuses {
		f.Statuses = append(f.Statuses, core.RunStatus(st))
	}
	if in.Active {
		f.Statuses = activeStatuses()
	}
	if in.Background.Set {
		f.Background = &in.Background.Value
	}
	runs, err := s.services().Runs.List(ctx, f, pageOf(in.Page, !in.Ascending))
	return list(runs, err, s.liveRun)
}

type activeRunsInput struct {
	AgentID    string          `query:"agent_id"`
	Background api.Param[bool] `query:"background"`
}

func (s *Server) listActiveRuns(ctx context.Context, in *activeRunsInput) (*body[[]api.Run], error) {
	return s.listRuns(ctx, &api.ListRuns{AgentID: in.AgentID, Background: in.Background, Active: true})
}

func (p RunPath) id() core.RunID { return core.RunID(p.RunID) }

func (s *Server) getRun(ctx context.Context, in *RunPath) (*body[api.Run], error) {
	run, err := s.services().Runs.Get(ctx, in.id())
	return answer(s.liveRun(run), err)
}

func (s *Server) deleteRun(ctx context.Context, in *RunPath) (*body[api.Run], error) {
	run, err := s.services().Runs.Delete(ctx, in.id())
	return answer(wireRun(run), err)
}

type runThings struct {
	RunPath
	api.Page
}

func (s *Server) runMessages(ctx context.Context, in *runThings) (*body[[]api.Message], error) {
	run, err := s.services().Runs.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	page, show := pageOf(in.Page, false), showsOf(run.Config)
	show.reversed = page.Desc
	msgs, err := s.services().Runs.Messages(ctx, in.id(), page, show.some)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, msgs, show)
}

func (s *Server) runUsage(ctx context.Context, in *RunPath) (*body[api.RunUsage], error) {
	usage, _, err := s.services().Runs.Usage(ctx, in.id())
	return answer(wireRunUsage(usage), err)
}

func (s *Server) runSteps(ctx context.Context, in *runThings) (*body[[]api.Step], error) {
	steps, err := s.services().Runs.Steps(ctx, core.StepFilter{Run: in.id()}, pageOf(in.Page, true), 100)
	return list(steps, err, wireStep)
}

func (s *Server) runMetrics(ctx context.Context, in *RunPath) (*body[api.RunMetrics], error) {
	run, err := s.services().Runs.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	names, steps, err := s.services().Runs.ToolsUsed(ctx, in.id())
	if err != nil {
		return nil, err
	}
	out := api.RunMetrics{ID: in.RunID, AgentID: api.PtrTo(string(run.Agent)), NumSteps: &steps, ToolsUsed: []string{}}
	for _, n := range names {
		out.ToolsUsed = append(out.ToolsUsed, string(core.BuiltinToolID(n)))
	}
	if !run.StartedAt.IsZero() {
		out.RunStartNS = api.PtrTo(run.StartedAt.UnixNano())
		if !run.CompletedAt.IsZero() {
			out.RunNS = api.PtrTo(int64(run.CompletedAt.Sub(run.StartedAt)))
		}
	}
	return answer(out, nil)
}

type resumeRunInput struct {
	RunPath
	Body *api.ResumeStream
}

func (s *Server) resumeRun(ctx context.Context, in *resumeRunInput) (*huma.StreamResponse, error) {
	run, err := s.services().Runs.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	var how api.ResumeStream
	if in.Body != nil {
		how = *in.Body
	}
	return s.resume(ctx, run, how)
}

// resume streams a background run again after a cursor.
func (s *Server) resume(ctx context.Context, run core.Run, how api.ResumeStream) (*huma.StreamResponse, error) {
	if !run.Background {
		return nil, core.E(core.Invalid, "run %s was not a background run: its stream cannot be resumed", run.ID)
	}
	if run.Status.Final() && s.cfg.Clock().Sub(run.CompletedAt) > engine.Retention {
		return nil, core.E(core.Gone, "the stream of run %s has expired", run.ID).
			WithHint("its messages are at /v1/runs/%s/messages", run.ID)
	}
	after := int64(api.Val(how.StartingAfter))
	if after < 0 {
		return nil, unprocessable("body.starting_after", "starting_after must not be negative")
	}
	pings := how.IncludePings == nil || *how.IncludePings
	return s.streamed(s.runFrames(ctx, run, after, pings)), nil
}

func (s *Server) listSteps(ctx context.Context, in *api.ListSteps) (*body[[]api.Step], error) {
	if len(in.TraceIDs) > 0 || in.ProjectID != "" { // no step has one
		return answer([]api.Step{}, nil)
	}
	f := core.StepFilter{Agent: core.AgentID(in.AgentID), Model: in.Model, Feedback: in.Feedback, Tags: in.Tags}
	var err error
	if f.From, f.Until, err = timeRange("query.start", in.StartDate, "query.end", in.EndDate, time.UTC); err != nil {
		return nil, err
	}
	if in.HasFeedback.Set {
		f.HasFeedback = &in.HasFeedback.Value
	}
	steps, err := s.services().Runs.Steps(ctx, f, pageOf(in.Page, true), 50)
	return list(steps, err, wireStep)
}

func (p StepPath) id() core.StepID { return core.StepID(p.StepID) }

func (s *Server) getStep(ctx context.Context, in *StepPath) (*body[api.Step], error) {
	step, err := s.services().Runs.Step(ctx, in.id())
	return answer(wireStep(step), err)
}

func (s *Server) stepMetrics(ctx context.Context, in *StepPath) (*body[api.StepMetrics], error) {
	step, err := s.services().Runs.Step(ctx, in.id())
	return answer(wireStepMetrics(step), err)
}

type stepThings struct {
	StepPath
	api.Page
}

func (s *Server) stepMessages(ctx context.Context, in *stepThings) (*body[[]api.Message], error) {
	page := pageOf(in.Page, false)
	show := shows{speak: core.DefaultSpeak, reversed: page.Desc}
	msgs, err := s.services().Runs.StepMessages(ctx, in.id(), page, show.some)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, msgs, show)
}

type feedbackInput struct {
	StepPath
	Body struct {
		Feedback *string  `json:"feedback,omitempty" enum:"positive,negative"`
		Tags     []string `json:"tags,omitempty"`
	}
}

func (s *Server) stepFeedback(ctx context.Context, in *feedbackInput) (*body[api.Step], error) {
	tags := core.Opt[[]string]{Present: in.Body.Tags != nil, Value: in.Body.Tags}
	step, err := s.services().Runs.Feedback(ctx, in.id(), api.Val(in.Body.Feedback), tags)
	return answer(wireStep(step), err)
}
