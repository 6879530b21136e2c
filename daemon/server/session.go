package server

import (
	"context"
	"strings"

	"loci/core"
	"loci/core/permission"
	"loci/core/service"
	"loci/core/session"
	"loci/daemon/api"
)

type registerClientInput struct{ Body api.Client }

// registerClient creates a client session. It answers from what is already known; what a provider would have to be
// asked for and doesn't answer at once arrives with the run, as a notice in its stream.
func (s *Server) registerClient(ctx context.Context, in *registerClientInput) (*body[api.Session], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	hello, err := coreClient(in.Body)
	if err != nil {
		return nil, err
	}
	if err := s.checkDirs(hello.Folder, hello.Rules.Allow...); err != nil {
		return nil, err
	}
	clients := s.services().Clients
	client, err := clients.Register(hello)
	if err != nil {
		return nil, err
	}
	out := api.Session{Client: string(client.ID), Status: s.hostStatus(ctx)}
	if in.Body.Open == nil {
		return answer(out, nil)
	}
	want := in.Body.Open
	opened, err := clients.Open(ctx, client, service.Open{
		Agent:        want.Agent,
		Conversation: want.Conversation,
		Name:         want.Name,
		Model:        core.Handle(want.Model),
		Run:          core.Handle(want.RunModel),
	})
	if err != nil {
		return nil, err
	}
	s.fillSession(&out, opened)
	return answer(out, nil)
}

func coreClient(in api.Client) (session.Hello, error) {
	kind := core.ClientScript
	if in.Kind == api.ClientChat {
		kind = core.ClientChat
	}
	_, err := permission.ParseList(permission.List{Allow: in.Allow, Deny: in.Deny}, permission.FromSession)
	return session.Hello{
		Kind: kind, PID: in.PID, Folder: in.Folder, Mode: core.PermissionMode(in.Mode), Zone: in.Zone, Variables: in.Env,
		Rules: core.SessionRules{Allow: in.Allow, Deny: in.Deny}, Unattended: in.Unattended,
	}, err
}

// fillSession describes what was opened.
func (s *Server) fillSession(out *api.Session, o service.OpenResult) {
	out.AgentID, out.ConversationID, out.AgentName = string(o.Agent.ID), string(o.Conversation.ID), o.Agent.Name
	out.AgentNew, out.RecallCount = o.AgentNew, o.Conversation.MessageCount
	out.Model, out.ModelSure, out.Used, out.Window = string(o.Model.Handle), o.Sure, o.Used, o.Window
	out.Offline = o.Model.Handle.Provider() == core.OfflineHandle.Provider()
	out.Notice = unbuiltNotice(o.Unbuilt)
	if o.Unreached != nil {
		out.Model, out.Notice = "", asStatus(o.Unreached).body.Text()
	}
	if active := s.engine().Active(o.Conversation.ID); len(active) > 0 {
		out.PendingRun = string(active[0])
	}
}

func unbuiltNotice(variables []string) string {
	if len(variables) == 0 {
		return ""
	}
	return strings.Join(variables, ", ") + " is set, but its provider is not built yet"
}
