package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/jobs"
	"loci/daemon/api"
)

// registerJobs registers the shell lines that run. They are for the socket only, as what they do is done to this machine.
func (s *Server) registerJobs(a huma.API) {
	handle(a, "GET", api.PathJobs, s.listJobs)
	handle(a, "GET", api.PathJobs+"/{job_id}", s.job)
	handle(a, "POST", api.PathJobs+"/{job_id}/background", s.sendJobBack)
	handle(a, "POST", api.PathJobs+"/{job_id}/stop", s.stopJob)
}

// jobInput names a job.
type jobInput struct {
	ID string `path:"job_id"`
}

func (s *Server) jobs(ctx context.Context) (*jobs.Registry, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	if parts, _ := s.now(); parts.Jobs != nil {
		return parts.Jobs, nil
	}
	return nil, core.E(core.Unsupported, "this daemon runs no jobs")
}

func (s *Server) listJobs(ctx context.Context, in *api.ListJobs) (*body[api.JobList], error) {
	registry, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	out := api.JobList{Jobs: []api.Job{}}
	for _, j := range registry.List(core.AgentID(in.AgentID)) {
		shown := wireJob(&j)
		if in.Tail > 0 {
			shown.Output = j.Tail(in.Tail)
		}
		out.Jobs = append(out.Jobs, shown)
	}
	return answer(out, nil)
}

func (s *Server) job(ctx context.Context, in *jobInput) (*body[api.Job], error) {
	registry, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	return wholeJob(registry.Get(in.ID))
}

func (s *Server) stopJob(ctx context.Context, in *jobInput) (*body[api.Job], error) {
	registry, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	return wholeJob(registry.Stop(ctx, in.ID))
}

func (s *Server) sendJobBack(ctx context.Context, in *jobInput) (*body[api.Job], error) {
	registry, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	return wholeJob(registry.Behind(in.ID))
}

// wholeJob is a job with what it wrote.
func wholeJob(j jobs.Job, err error) (*body[api.Job], error) {
	if err != nil {
		return nil, err
	}
	out := wireJob(&j)
	out.Output = j.Text()
	return answer(out, nil)
}

func wireJob(j *jobs.Job) api.Job {
	out := api.Job{
		ID: j.ID, AgentID: string(j.Agent), ConversationID: string(j.Conversation), RunID: string(j.Run), ToolCallID: j.Call,
		Command: j.Command, Folder: j.Folder, Background: j.Background, BeganAt: api.At(j.BeganAt),
		Ended: j.Head, Failed: j.Failed,
	}
	if j.Ended() {
		out.EndedAt = api.PtrTo(api.At(j.EndedAt))
	}
	return out
}
