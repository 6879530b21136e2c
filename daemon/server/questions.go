package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/jobs"
	"loci/daemon/api"
)

// registerQuestions registers what lines ask while they run. Like all that gives agents more rights, it is for the socket only.
func (s *Server) registerQuestions(a huma.API) {
	handle(a, "GET", api.PathQuestions, s.listQuestions)
	handle(a, "POST", api.PathQuestions+"/{question_id}", s.answerQuestion)
}

func (s *Server) listQuestions(ctx context.Context, in *api.ListQuestions) (*body[api.QuestionList], error) {
	registry, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	out := api.QuestionList{Questions: []api.Question{}}
	for _, q := range registry.Questions(core.AgentID(in.AgentID)) {
		out.Questions = append(out.Questions, wireQuestion(&q))
	}
	return answer(out, nil)
}

func wireQuestion(q *jobs.Question) api.Question {
	out := api.Question{
		ID: q.ID, JobID: q.Job.ID, AgentID: string(q.Job.Agent), ConversationID: string(q.Job.Conversation), RunID: string(q.Job.Run),
		ToolCallID: q.Job.Call, Command: q.Job.Command, Folder: q.Job.Folder, Host: q.Host.Host, Port: int(q.Host.Port),
		Behind: q.Host.Behind, Why: q.Host.Why, Scopes: []string{api.ScopeOnce}, AskedAt: api.At(q.AskedAt), Until: api.At(q.Until),
	}
	if o := q.Open; o != nil {
		out.Opens, out.Path, out.Write, out.Port, out.Rules = string(o.Kind), o.Dir.Path, o.Dir.Writable, int(o.Port), o.Rules
	}
	for _, s := range q.Settings {
		out.Settings = append(out.Settings, api.QuestionSetting{
			File: s.File, Name: s.Name, Values: append([]string{}, s.Values...), Was: append([]string{}, s.Was...), May: s.May,
		})
	}
	if q.Lasting {
		out.Scopes = append(out.Scopes, api.ScopeSession, api.ScopeFolder)
	}
	return out
}

type answerQuestionInput struct {
	ID   string `path:"question_id"`
	Body api.AnswerQuestion
}

func (s *Server) answerQuestion(ctx context.Context, in *answerQuestionInput) (*body[any], error) {
	registry, err := s.jobs(ctx)
	if err != nil {
		return nil, err
	}
	return answer[any](nil, registry.Answer(in.ID, jobs.Scope(in.Body.Allow), callOf(ctx).client))
}
