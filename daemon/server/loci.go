package server

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

// registerLoci registers our own operations, for everything the contract lacks. They never mix with /v1.
func (s *Server) registerLoci(a huma.API) {
	handle(a, "GET", api.PathStatus, s.status)
	handle(a, "POST", api.PathClients, s.registerClient)
	handle(a, "GET", api.PathChanges, s.changes)
	handle(a, "GET", api.PathRuns+"/{run_id}/events", s.runEvents)
	handle(a, "GET", api.PathRuns+"/{run_id}/calls", s.runCalls)
	handle(a, "GET", api.PathLogs, s.logs)
	handle(a, "PATCH", api.PathLogs, s.setLogs)
	handle(a, "POST", api.PathLogs, s.setLogs)
	handle(a, "POST", api.PathBackup, s.backup)
	handle(a, "POST", api.PathShutdown, s.shutdown)
	handle(a, "GET", api.PathModel, s.model)
	handle(a, "GET", api.PathModels, s.allModels)
	handle(a, "GET", api.PathSilent, s.silent)
	handle(a, "POST", api.PathPull, s.pullModel)
	handle(a, "GET", api.PathDoctor, s.doctor)
}

// status works before the store is open.
func (s *Server) status(ctx context.Context, _ *struct{}) (*body[api.Status], error) {
	out := s.hostStatus(ctx)
	if out.Ready { // nobody may have asked for anything else yet
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
	}
	parts, open := s.now()
	if !open || parts.Services == nil {
		return answer(out, nil)
	}
	out.Busy = !parts.Engine.Idle() || parts.Jobs != nil && parts.Jobs.Running() > 0
	out.Clients = parts.Services.Sessions.Here()
	var err error
	if out.Runs, err = parts.Services.Runs.Active(ctx); err != nil {
		return nil, err
	}
	out.RealModel, err = parts.Services.Models.RealAnswered(ctx)
	return answer(out, err)
}

func (s *Server) hostStatus(ctx context.Context) api.Status {
	if s.cfg.Host == nil {
		return api.Status{Version: s.cfg.Version}
	}
	return s.cfg.Host.Status(ctx)
}

// local rejects operations that are only for clients on the socket.
func local(ctx context.Context) error {
	if callOf(ctx).peer != PeerSocket {
		return core.E(core.Forbidden, "this is for clients on the socket")
	}
	return nil
}

// changes streams hints that something changed, without end.
func (s *Server) changes(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	changed := s.engine().Changes(ctx) // before the greeting, after which a client counts on being told
	var items iter.Seq2[sseItem, error] = func(yield func(sseItem, error) bool) {
		for c := range changed {
			if !yield(sseItem{value: wireChange(c)}, nil) {
				return
			}
		}
	}
	ping := func(int64) any {
		return api.Message{MessageType: api.MessagePing, ID: core.NewID[string]("ping"), Date: api.On(s.cfg.Clock())}
	}
	return s.sseResponse(sseStream{items: items, ping: ping, greet: true}), nil
}

func wireChange(c core.Change) api.Change {
	out := api.Change{
		Kind:           api.ChangeAgent,
		ID:             string(c.Agent),
		AgentID:        string(c.Agent),
		ConversationID: string(c.Conversation),
		RunID:          string(c.Run),
	}
	switch {
	case c.Run != "":
		out.Kind, out.ID = api.ChangeRun, string(c.Run)
	case c.Conversation != "":
		out.Kind, out.ID = api.ChangeConversation, string(c.Conversation)
	}
	return out
}

type runEventsInput struct {
	RunPath
	api.EventParams
}

// runEvents follows any run after a cursor. If the run's events have expired, the stream is rebuilt from the facts.
func (s *Server) runEvents(ctx context.Context, in *runEventsInput) (*huma.StreamResponse, error) {
	run, err := s.services().Runs.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	events := s.engine().FollowFrom(ctx, run.ID, in.After)
	if run.Status.Final() && s.cfg.Clock().Sub(run.CompletedAt) > engine.Retention {
		facts, err := s.engine().Facts(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		events = given(facts)
	}
	frames := above(convert(events, viewOwn), in.After)
	return s.streamed(runStream{run: run.ID, frames: frames, numbered: true, pings: true, own: true}), nil
}

// given is a sequence of events that are already there.
func given(events []core.Event) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func (s *Server) host() (Host, error) {
	if s.cfg.Host == nil {
		return nil, core.E(core.Unsupported, "this server has no daemon around it")
	}
	return s.cfg.Host, nil
}

func (s *Server) logs(context.Context, *struct{}) (*body[api.Logs], error) {
	h, err := s.host()
	if err != nil {
		return nil, err
	}
	return answer(h.Logs(), nil)
}

type setLogsInput struct{ Body api.Logs }

func (s *Server) setLogs(ctx context.Context, in *setLogsInput) (*body[api.Logs], error) {
	h, err := s.host()
	if err == nil {
		err = local(ctx)
	}
	if err == nil {
		err = h.SetLogLevel(in.Body.Level)
	}
	if err != nil {
		return nil, err
	}
	return answer(h.Logs(), nil)
}

type backupInput struct{ Body api.Backup }

func (s *Server) backup(ctx context.Context, in *backupInput) (*body[api.BackupResult], error) {
	h, err := s.host()
	if err == nil {
		err = local(ctx)
	}
	if err == nil && !filepath.IsAbs(in.Body.Path) {
		err = core.E(core.Invalid, "name the file of a backup by its absolute path")
	}
	if err != nil {
		return nil, err
	}
	return answer(h.Backup(ctx, in.Body.Path))
}

type shutdownInput struct{ Body *api.Shutdown }

func (s *Server) shutdown(ctx context.Context, in *shutdownInput) (*body[any], error) {
	h, err := s.host()
	if err == nil {
		err = local(ctx)
	}
	if err != nil {
		return nil, err
	}
	return empty(h.Shutdown(ctx, in.Body != nil && in.Body.IfIdle))
}

func (s *Server) model(ctx context.Context, in *api.ModelParams) (*body[api.ModelChoice], error) {
	c, err := s.services().Models.Choose(ctx, core.AgentID(in.AgentID), core.Handle(in.Model), callOf(ctx).client.Env)
	return answer(api.ModelChoice{
		Handle: string(c.Handle), Why: c.Why, Offline: c.Info.Offline, Notice: c.Notice, UnbuiltKeys: c.Unbuilt,
	}, err)
}

// allModels lists every model of every provider, with the reason if one can't chat.
// wireListed converts a model of a listing.
func wireListed(m core.ModelInfo) api.ListedModel {
	out := api.ListedModel{
		Handle: string(m.Handle), ContextWindow: m.ContextWindow, Hidden: m.Hidden, Images: string(m.Images), MaxOutput: m.MaxOutput,
		Tools: m.Tools, Reasoning: m.Reasoning, Efforts: m.Efforts, Offline: m.Offline,
	}
	if p := m.Price; p != nil {
		const million = 1_000_000
		in, answer, read := p.Input.Dollars()*million, p.Output.Dollars()*million, p.CacheRead.Dollars()*million
		out.InputPrice, out.OutputPrice, out.ReadPrice = &in, &answer, &read
	}
	return out
}

func (s *Server) allModels(ctx context.Context, _ *struct{}) (*body[[]api.ListedModel], error) {
	infos, err := s.services().Models.List(ctx, callOf(ctx).client.Env, true)
	return list(infos, err, wireListed)
}

// silent says which providers that are set up offer no model, and why.
func (s *Server) silent(ctx context.Context, _ *struct{}) (*body[[]string], error) {
	return list(s.services().Models.Silent(ctx, callOf(ctx).client.Env), nil, func(why string) string { return why })
}

func (s *Server) doctor(ctx context.Context, _ *struct{}) (*body[[]api.Check], error) {
	d, ok := s.cfg.Host.(Doctor)
	if !ok {
		return nil, core.E(core.Unsupported, "this daemon cannot check itself")
	}
	return answer(d.Doctor(ctx, callOf(ctx).client.Env), nil)
}
