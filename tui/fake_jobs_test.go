package tui

import (
	"context"
	"slices"

	"loci/daemon/api"
	"loci/daemon/client"
)

// fakeJobs is the shell lines that run at the fake daemon.
type fakeJobs struct {
	jobs  []api.Job
	tails int // how often they were asked for with what they write
}

func (f *fake) Jobs(_ context.Context, agent string, tail int) ([]api.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if tail > 0 {
		f.tails++
	}
	return slices.DeleteFunc(slices.Clone(f.jobs), func(j api.Job) bool { return j.AgentID != agent }), nil
}

func (f *fake) Job(_ context.Context, id string) (api.Job, error) {
	return f.changeJob(id, func(*api.Job) {})
}

func (f *fake) StopJob(_ context.Context, id string) (api.Job, error) {
	return f.changeJob(id, func(j *api.Job) {
		j.EndedAt, j.Ended = &j.BeganAt, "It was cancelled, with all that it had started."
	})
}

func (f *fake) SendJobBack(_ context.Context, id string) (api.Job, error) {
	return f.changeJob(id, func(j *api.Job) { j.Background = true })
}

func (f *fake) changeJob(id string, change func(j *api.Job)) (api.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.jobs {
		if f.jobs[i].ID == id {
			change(&f.jobs[i])
			return f.jobs[i], nil
		}
	}
	return api.Job{}, &client.Error{Kind: api.KindNotFound, Message: "no job " + id}
}

// fakeQuestions is what lines ask at the fake daemon, and what was answered.
type fakeQuestions struct {
	questions []api.Question
	hosts     []string // what was answered
}

func (f *fake) Questions(_ context.Context, agent string) ([]api.Question, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.questions), func(q api.Question) bool { return q.AgentID != agent }), nil
}

func (f *fake) AnswerQuestion(_ context.Context, id, allow string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.questions)
	f.questions = slices.DeleteFunc(f.questions, func(q api.Question) bool { return q.ID == id })
	if len(f.questions) == n {
		return &client.Error{Kind: api.KindConflict, Message: "it was answered"}
	}
	f.hosts = append(f.hosts, id+" "+allow)
	return nil
}
