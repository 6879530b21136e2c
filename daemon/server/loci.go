package server

import (
	"context"
	"iter"
	"path/filepath"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/engine"
	"loci/core/service"
	"loci/daemon/api"
)

// registerLoci lists our own operations, for what the contract has none. They never mix with /v1.
func (s *Server) registerLoci(a huma.API) {
	handle(a, "GET", api.PathStatus, s.status)
	handle(a, "POST", api.PathClients, s.registerClient)
	handle(a, "GET", api.PathChanges, s.changes)
	handle(a, "GET", api.PathRuns+"/{run_id}/events", s.runEvents)
	handle(a, "GET", api.PathLogs, s.logs)
	handle(a, "PATCH", api.PathLogs, s.setLogs)
	handle(a, "POST", api.PathLogs, s.setLogs)
	handle(a, "POST", api.PathBackup, s.backup)
	handle(a, "POST", api.PathShutdown, s.shutdown)
	handle(a, "GET", api.PathModel, s.model)
	handle(a, "GET", api.PathDoctor, s.doctor)
}

// status answers before the store is open.
func (s *Server) status(ctx context.Context, _ *struct{}) (*body[api.Status], error) {
	out := api.Status{Version: s.cfg.Version}
	if s.cfg.Host != nil {
		out = s.cfg.Host.Status(ctx)
	}
	if out.Ready { // nobody may have asked for anything else yet
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
	}
	parts, open := s.now()
	if !open || parts.Services == nil {
		return answer(out, nil)
	}
	out.Busy = !parts.Engine.Idle()
	out.Clients = parts.Services.Clients.Count()
	var err error
	if out.Runs, err = parts.Services.Runs.Active(ctx); err != nil {
		return nil, err
	}
	out.RealModel, err = parts.Services.Models.RealAnswered(ctx)
	return answer(out, err)
}

// local refuses what is for clients on the socket alone.
func local(ctx context.Context) error {
	if callOf(ctx).peer != PeerSocket {
		return core.E(core.Forbidden, "this is for clients on the socket")
	}
	return nil
}

type registerClientInput struct{ Body api.Client }

func (s *Server) registerClient(ctx context.Context, in *registerClientInput) (*body[api.Session], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	client, err := s.services().Clients.Register(coreClient(in.Body))
	if err != nil {
		return nil, err
	}
	if in.Body.Open == nil {
		return answer(api.Session{Client: string(client.ID)}, nil)
	}
	want := in.Body.Open
	opened, err := s.services().Clients.Open(ctx, client, service.Open{
		Agent: want.Agent, Conversation: want.Conversation, Name: want.Name, Model: core.Handle(want.Model), Run: core.Handle(want.RunModel),
	})
	if err != nil {
		return nil, err
	}
	return answer(s.session(ctx, client, opened), nil)
}

func coreClient(in api.Client) service.NewClient {
	kind := core.ClientScript
	if in.Kind == api.ClientChat {
		kind = core.ClientChat
	}
	return service.NewClient{
		Kind: kind, PID: in.PID, Folder: in.Folder, Mode: core.PermissionMode(in.Mode), Zone: in.Zone, Variables: in.Env,
	}
}

// session tells what was opened.
func (s *Server) session(ctx context.Context, client core.Client, o service.Opened) api.Session {
	out := api.Session{
		Client: string(client.ID), AgentID: string(o.Agent.ID), ConversationID: string(o.Conversation.ID), AgentName: o.Agent.Name,
		Model: string(o.Agent.Model), Offline: o.Agent.Model.Provider() == core.OfflineHandle.Provider(), AgentNew: o.AgentNew,
		RecallCount: o.Conversation.MessageCount, Notice: unbuiltNotice(o.Unbuilt),
	}
	switch {
	case o.Conversation.Model != "":
		out.Model = string(o.Conversation.Model)
	case o.Agent.ModelAuto:
		s.tellModel(ctx, client, o.Agent, &out)
	}
	if active := s.engine().Active(o.Conversation.ID); len(active) > 0 {
		out.PendingRun = string(active[0])
	}
	return out
}

// tellModel says which model an agent without one of its own will get: it moves to the first real one there is.
func (s *Server) tellModel(ctx context.Context, client core.Client, agent core.Agent, out *api.Session) {
	c, err := s.engine().Choose(ctx, agent, "", client.Env)
	if err != nil {
		out.Notice = asStatus(err).body.Text()
		return
	}
	out.Model, out.Offline = string(c.Handle), c.Info.Offline
}

func unbuiltNotice(variables []string) string {
	if len(variables) == 0 {
		return ""
	}
	return strings.Join(variables, ", ") + " is set, but its provider is not built yet"
}

// changes streams hints that something changed, without end.
func (s *Server) changes(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	var items iter.Seq2[sseItem, error] = func(yield func(sseItem, error) bool) {
		for c := range s.engine().Changes(ctx) {
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

func wireChange(c engine.Change) api.Change {
	out := api.Change{Kind: api.ChangeAgent, ID: string(c.Agent), AgentID: string(c.Agent), ConversationID: string(c.Conversation), RunID: string(c.Run)}
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

// runEvents follows any run from after a cursor on. One whose stream has expired is told from the facts.
func (s *Server) runEvents(ctx context.Context, in *runEventsInput) (*huma.StreamResponse, error) {
	run, err := s.services().Runs.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	events := s.engine().Follow(ctx, run.ID, 0)
	if run.Status.Final() && s.cfg.Clock().Sub(run.CompletedAt) > engine.Retention {
		facts, err := s.engine().Facts(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		events = given(facts)
	}
	return s.streamed(runStream{run: run.ID, frames: above(convert(events, viewOwn), in.After), numbered: true, pings: true}), nil
}

// given is a sequence of what is there already.
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

func (s *Server) doctor(ctx context.Context, _ *struct{}) (*body[[]api.Check], error) {
	d, ok := s.cfg.Host.(Doctor)
	if !ok {
		return nil, core.E(core.Unsupported, "this daemon cannot check itself")
	}
	return answer(d.Doctor(ctx, callOf(ctx).client.Env), nil)
}
