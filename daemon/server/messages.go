package server

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

func (s *Server) registerMessages(a huma.API) {
	response := documented[api.Response](a, "The answer, or its stream.")
	handle(a, "GET", "/v1/agents/{agent_id}/messages", s.listAgentMessages)
	handle(a, "POST", "/v1/agents/{agent_id}/messages", s.sendMessage, response, holdsImages)
	handle(a, "POST", "/v1/agents/{agent_id}/messages/stream", s.streamMessage, response, holdsImages)
	handle(a, "POST", "/v1/agents/{agent_id}/messages/async", s.sendAsync, holdsImages)
	handle(a, "POST", "/v1/agents/{agent_id}/messages/cancel", s.cancelMessages)
	handle(a, "PATCH", "/v1/agents/{agent_id}/reset-messages", s.resetMessages)
	handle(a, "GET", "/v1/messages", s.listAllMessages)
	handle(a, "POST", "/v1/messages/search", s.searchMessages)
	handle(a, "POST", "/v1/agents/messages/search", s.searchAgentMessages)
	handle(a, "GET", "/v1/messages/{message_id}", s.getMessage)
}

type listAgentMessagesInput struct {
	AgentPath
	api.ListMessages
}

func (s *Server) listAgentMessages(ctx context.Context, in *listAgentMessagesInput) (*body[[]api.Message], error) {
	show, err := listShows(in.ListMessages)
	if err != nil {
		return nil, err
	}
	name := in.ConversationID
	if name == "" {
		name = in.AgentID
	}
	conv, err := s.services().Conversations.Resolve(ctx, name, in.id())
	if err != nil {
		return nil, err
	}
	f := core.MessageFilter{Agent: in.id(), Conversation: conv.ID, Roles: show.roles(), IncludeErr: in.IncludeErr.Or(false)}
	show.compaction = in.ConversationID != "" // a client that knows conversations knows summaries
	msgs, err := s.services().Messages.Window(ctx, f, pageOf(in.Page, true), show.some)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, msgs, show)
}

func listShows(in api.ListMessages) (shows, error) {
	use := in.UseAssistantMessage.Or(true)
	types, err := messageTypes("query.include_return_message_types", in.IncludeReturnMessageTypes)
	return shows{speak: speakOf(&use, in.AssistantMessageToolName, in.AssistantMessageToolKwarg), types: types}, err
}

// listAllMessages lists the messages of all agents.
func (s *Server) listAllMessages(ctx context.Context, in *api.ListMessages) (*body[[]api.Message], error) {
	show, err := listShows(*in)
	if err != nil {
		return nil, err
	}
	f := core.MessageFilter{
		Conversation: core.ConversationID(in.ConversationID), Roles: show.roles(), IncludeErr: in.IncludeErr.Or(false),
	}
	msgs, err := s.services().Messages.Window(ctx, f, pageOf(in.Page, true), show.some)
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, msgs, show)
}

func (s *Server) getMessage(ctx context.Context, in *MessagePath) (*body[[]api.Message], error) {
	m, err := s.services().Messages.Get(ctx, core.MessageID(in.MessageID))
	if err != nil {
		return nil, err
	}
	return s.listed(ctx, []core.Message{m}, shows{speak: core.DefaultSpeak})
}

type searchMessagesInput struct{ Body api.SearchMessages }

func (s *Server) searchMessages(ctx context.Context, in *searchMessagesInput) (*searchBody[api.MessageResult], error) {
	found, err := s.matchMessages(ctx, in.Body, nil)
	return results(found, err, wireHit)
}

// searchedByDefault is the default limit of the contract's searches.
const searchedByDefault = 50

func (s *Server) matchMessages(
	ctx context.Context,
	in api.SearchMessages,
	roles []core.Role,
) (found core.Results[core.MessageHit], err error) {
	f := core.MessageFilter{
		Agent:        core.AgentID(api.Val(in.AgentID)),
		Conversation: core.ConversationID(api.Val(in.ConversationID)),
		Roles:        roles,
	}
	if f.From, f.Until, err = s.searchedRange(ctx, f.Agent, in.StartDate, in.EndDate); err != nil {
		return found, err
	}
	return s.services().Messages.Search(ctx, in.Query, f, cmp.Or(api.Val(in.Limit), searchedByDefault))
}

type searchAgentMessagesInput struct{ Body api.SearchAgentMessages }

// searchAgentMessages answers with complete messages as they are stored. The score is our own: text and meaning are
// one sum, so there are no separate ranks.
func (s *Server) searchAgentMessages(ctx context.Context, in *searchAgentMessagesInput) (*searchBody[api.AgentMessageResult], error) {
	b := in.Body
	roles := make([]core.Role, len(b.Roles))
	for i, r := range b.Roles {
		roles[i] = core.Role(r)
	}
	found, err := s.matchMessages(ctx, api.SearchMessages{
		Query: api.Val(
			b.Query,
		),
		AgentID:        b.AgentID,
		ConversationID: b.ConversationID,
		Limit:          b.Limit,
		StartDate:      b.StartDate,
		EndDate:        b.EndDate,
	}, roles)
	return results(found, err, func(h core.MessageHit) []api.AgentMessageResult {
		return []api.AgentMessageResult{
			{
				EmbeddedText: strings.TrimSpace(
					h.Message.Said(),
				),
				Message:  wireStored(core.InContext{Message: h.Message}),
				RRFScore: h.Score,
				Metadata: wireWhy(h.Words, h.Why, found.Partial),
			},
		}
	})
}

type sendInput struct {
	AgentPath
	Body api.StreamingRequest
}

// sendMessage answers with what the run added, or streams if a current client asks for that. A plain send queues
// behind an active run.
func (s *Server) sendMessage(ctx context.Context, in *sendInput) (*huma.StreamResponse, error) {
	streaming := api.Val(in.Body.Streaming)
	if streaming && !callOf(ctx).current {
		return nil, unprocessable("body.streaming", "use …/messages/stream with this client")
	}
	if !streaming {
		if err := checkStreaming(in.Body); err != nil {
			return nil, err
		}
	}
	return s.send(ctx, sendRequest{agent: in.id(), body: in.Body, streaming: streaming, queue: !streaming})
}

// streamMessage refuses while a run is active, as the contract does; one of our own sessions waits.
func (s *Server) streamMessage(ctx context.Context, in *sendInput) (*huma.StreamResponse, error) {
	return s.send(ctx, sendRequest{agent: in.id(), body: in.Body, streaming: true})
}

// sendRequest is one request to an agent.
type sendRequest struct {
	agent        core.AgentID
	conversation core.ConversationID // empty: the default one
	body         api.StreamingRequest
	allows       []string       // rules that the session has from an accepted answer on
	answer       *engine.Answer // to what waits for an approval, where the body does not hold it
	streaming    bool
	queue        bool // wait behind an active run instead of failing with a conflict
}

func (s *Server) send(ctx context.Context, in sendRequest) (*huma.StreamResponse, error) {
	kind := runCollected
	if in.streaming {
		kind = "send_message_streaming"
	}
	run, err := s.submit(ctx, in, kind)
	if err != nil {
		return nil, err
	}
	if !in.streaming {
		out, err := s.collect(ctx, run)
		if err != nil {
			return nil, err
		}
		return jsonResponse(out), nil
	}
	pings := in.body.IncludePings == nil || *in.body.IncludePings
	return s.streamed(s.runFrames(ctx, run, 0, pings)), nil
}

// submit gets a request accepted as a run.
func (s *Server) submit(ctx context.Context, in sendRequest, kind string) (core.Run, error) {
	input, answer, err := coreInput(in.body.Request, in.answer, s.takesImages(ctx))
	if err != nil {
		return core.Run{}, s.existsFirst(ctx, in.agent, err)
	}
	config, err := coreConfig(in.body.Request, kind)
	if err != nil {
		return core.Run{}, s.existsFirst(ctx, in.agent, err)
	}
	config.StreamTokens = api.Val(in.body.StreamTokens)
	client := callOf(ctx).client
	if client.Rules, err = client.Rules.Allowing(in.allows...); err != nil {
		return core.Run{}, err
	}
	background := api.Val(in.body.Background)
	run, err := s.services().Runs.Submit(ctx, engine.Request{
		Agent: in.agent, Conversation: in.conversation, Input: input, Answer: answer, Client: client, Config: config,
		Background: background, Once: background || client.ID != "", Queue: in.queue || client.ID != "",
	})
	if err != nil || len(in.allows) == 0 {
		return run, err
	}
	return run, s.allowed(client.ID, in.allows)
}

// allowed gives a session the rules that came with its answer, which was accepted.
func (s *Server) allowed(id core.ClientID, rules []string) error {
	_, err := s.services().Sessions.Change(id, func(c *core.Client) (err error) {
		c.Rules, err = c.Rules.Allowing(rules...)
		return err
	})
	return err
}

// existsFirst keeps the order of checks: an error about an agent's state is reported only if the agent exists.
func (s *Server) existsFirst(ctx context.Context, agent core.AgentID, err error) error {
	if asStatus(err).status == http.StatusUnprocessableEntity {
		return err
	}
	if _, missing := s.services().Agents.Get(ctx, agent); missing != nil {
		return missing
	}
	return err
}

// runFrames is the stream of a run after a cursor, as its request asked for it. A client session gets its own view,
// including notices, so it doesn't have to make further requests.
func (s *Server) runFrames(ctx context.Context, run core.Run, after int64, pings bool) runStream {
	as, own := viewOf(run.Config), callOf(ctx).client.ID != ""
	if own {
		as = viewOwn
	}
	frames := s.filled(ctx, convert(s.engine().FollowFrom(ctx, run.ID, after), as))
	if !run.Config.StreamTokens {
		frames = collapse(frames)
	}
	return runStream{
		run: run.ID, frames: above(frames, after), shows: showsOf(run.Config), numbered: run.Background, pings: pings, own: own,
	}
}

// streamed answers with a stream.
func (s *Server) streamed(rs runStream) *huma.StreamResponse {
	return s.sseResponse(rs.sse(s.cfg.Clock))
}

func (s *Server) sseResponse(st sseStream) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humachi.Unwrap(hc)
		s.writeSSE(r.Context(), w, st)
	}}
}

// collect waits until a run ends and answers with all of it at once.
func (s *Server) collect(ctx context.Context, run core.Run) (api.Response, error) {
	out := api.Response{
		StopReason: api.StopFor(api.StopError),
		Usage:      api.Usage{MessageType: api.MessageUsage, RunIDs: []string{string(run.ID)}},
	}
	show := showsOf(run.Config)
	var failure *core.RunError
	tokens := tokenTurns{wish: run.Config.Tokens}
	watched := func(yield func(core.Event, error) bool) {
		for ev, err := range s.engine().Follow(ctx, run.ID, 0) {
			if f, ok := ev.Body.(core.Failure); ok {
				failure = &f.Error
			}
			tokens.see(ev)
			if _, ok := ev.Body.(core.UsageReport); ok { // kept here because a cancelled run's stream leaves it out
				out.Usage = *wireUsage(ev).Usage
			}
			if !yield(ev, err) {
				return
			}
		}
	}
	for f, err := range s.filled(ctx, collapse(convert(watched, viewOf(run.Config)))) {
		if err != nil {
			return out, err
		}
		switch f.bound {
		case boundPiece, boundWhole, boundAside:
			if show.takes(f.msg.MessageType) {
				out.Messages = append(out.Messages, f.msg)
			}
		case boundEnd:
			if f.msg.MessageType == api.MessageStopReason {
				out.StopReason = api.StopFor(f.msg.StopReason)
			}
		case boundSaved, boundDiscard:
		}
	}
	if failure != nil {
		return out, runFailure(run.ID, *failure)
	}
	tokens.put(&out)
	return out, nil
}

// jsonResponse answers with JSON in an operation that may also stream.
func jsonResponse(v any) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/json")
		hc.SetStatus(http.StatusOK)
		enc := json.NewEncoder(hc.BodyWriter())
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v) // if this fails, the client is gone
	}}
}

type sendAsyncInput struct {
	AgentPath
	Body api.AsyncRequest
}

// sendAsync answers with the run, which continues on its own.
func (s *Server) sendAsync(ctx context.Context, in *sendAsyncInput) (*body[api.Run], error) {
	if strings.TrimSpace(api.Val(in.Body.CallbackURL)) != "" {
		return nil, core.E(core.Unsupported, "callbacks are not built yet")
	}
	background := true
	request := api.StreamingRequest{Request: in.Body.Request, Background: &background}
	run, err := s.submit(ctx, sendRequest{agent: in.id(), body: request, queue: true}, "send_message_async")
	return answer(wireRun(run), err)
}

type cancelInput struct {
	AgentPath
	Body *api.CancelRuns
}

func (s *Server) cancelMessages(ctx context.Context, in *cancelInput) (*body[map[string]string], error) {
	if _, err := s.services().Agents.Get(ctx, in.id()); err != nil {
		return nil, err
	}
	var named []string
	if in.Body != nil {
		named = in.Body.RunIDs
	}
	runs, err := ids[core.RunID]("body.run_ids", "run", named)
	if err != nil {
		return nil, err
	}
	return s.cancelled(s.cancel(ctx, in.id(), "", runs))
}

// cancel stops runs, and denies what waits for an approval: the contract counts an agent that waits as one at work.
func (s *Server) cancel(
	ctx context.Context, agent core.AgentID, conv core.ConversationID, runs []core.RunID,
) (map[core.RunID]core.RunStatus, error) {
	out, err := s.services().Runs.Cancel(ctx, agent, conv, runs)
	none := core.KindOf(err) == core.Conflict
	if err != nil && !none {
		return nil, err
	}
	denied, failed := s.approvals().Cancel(ctx, agent, conv, runs)
	if failed != nil {
		return nil, failed
	}
	if none && len(denied) == 0 {
		return nil, err
	}
	if out == nil {
		out = denied
	}
	maps.Copy(out, denied)
	return out, nil
}

// cancelled reports for each run whether it was cancelled. A run that had already ended keeps its status.
func (s *Server) cancelled(runs map[core.RunID]core.RunStatus, err error) (*body[map[string]string], error) {
	out := make(map[string]string, len(runs))
	for id, status := range runs {
		out[string(id)] = string(status)
	}
	return answer(out, err)
}

type resetInput struct {
	AgentPath
	Body *api.ResetMessages
}

func (s *Server) resetMessages(ctx context.Context, in *resetInput) (*body[any], error) {
	boot := in.Body != nil && in.Body.AddDefaultInitialMessages
	agent, err := s.services().Messages.Reset(ctx, in.id(), boot)
	return s.agentOrNull(ctx, agent, err)
}
