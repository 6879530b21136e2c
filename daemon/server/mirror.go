package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// Mirrors keeps memory blocks in sync with folders of files.
type Mirrors interface {
	State(ctx context.Context, agent core.AgentID) (core.MirrorState, error)
	On(ctx context.Context, agent core.AgentID, dir string) (core.MirrorState, error)
	Off(ctx context.Context, agent core.AgentID) (core.MirrorState, error)
	Sync(ctx context.Context, agent core.AgentID) (core.MirrorState, error)
	Import(ctx context.Context, agent core.AgentID, dir string, replace bool) (core.MirrorImport, error)
}

// registerMirror registers the operations on the mirror of an agent's memory. Those that name a folder are for the
// socket only.
func (s *Server) registerMirror(a huma.API) {
	const path = api.PathAgents + "/{agent_id}"
	handle(a, "GET", path+"/mirror", s.mirror)
	handle(a, "PUT", path+"/mirror", s.setMirror)
	handle(a, "DELETE", path+"/mirror", s.unsetMirror)
	handle(a, "POST", path+"/mirror/sync", s.syncMirror)
	handle(a, "POST", path+"/memory/import", s.importMemory)
}

func (s *Server) mirrors() (Mirrors, error) {
	if parts, _ := s.now(); parts.Mirrors != nil {
		return parts.Mirrors, nil
	}
	return nil, core.E(core.Unsupported, "this daemon keeps no mirrors")
}

func (s *Server) mirror(ctx context.Context, in *AgentPath) (*body[api.MemoryMirror], error) {
	m, err := s.mirrors()
	if err != nil {
		return nil, err
	}
	state, err := m.State(ctx, in.id())
	return answer(wireMirror(in.AgentID, state), err)
}

type setMirrorInput struct {
	AgentPath
	Body api.SetMemoryMirror
}

func (s *Server) setMirror(ctx context.Context, in *setMirrorInput) (*body[api.MemoryMirror], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	m, err := s.mirrors()
	if err != nil {
		return nil, err
	}
	state, err := m.On(ctx, in.id(), in.Body.Path)
	return answer(wireMirror(in.AgentID, state), err)
}

func (s *Server) unsetMirror(ctx context.Context, in *AgentPath) (*body[api.MemoryMirror], error) {
	m, err := s.mirrors()
	if err != nil {
		return nil, err
	}
	state, err := m.Off(ctx, in.id())
	return answer(wireMirror(in.AgentID, state), err)
}

func (s *Server) syncMirror(ctx context.Context, in *AgentPath) (*body[api.MemoryMirror], error) {
	m, err := s.mirrors()
	if err != nil {
		return nil, err
	}
	state, err := m.Sync(ctx, in.id())
	return answer(wireMirror(in.AgentID, state), err)
}

type importMemoryInput struct {
	AgentPath
	Body api.ImportMemory
}

func (s *Server) importMemory(ctx context.Context, in *importMemoryInput) (*body[api.ImportResult], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	m, err := s.mirrors()
	if err != nil {
		return nil, err
	}
	done, err := m.Import(ctx, in.id(), in.Body.Path, in.Body.Replace)
	return answer(api.ImportResult{
		Made: done.Made, Filled: done.Filled, Replaced: done.Replaced, Same: done.Same, Kept: done.Kept, Notes: wireMirrorNotes(done.Notes),
	}, err)
}

func wireMirror(agent string, s core.MirrorState) api.MemoryMirror {
	out := api.MemoryMirror{
		AgentID: agent, On: s.Mirror.On, Path: s.Mirror.Path, Branch: s.Mirror.Branch, Blocks: s.Blocks, Commit: s.Commit,
		SyncedAt: api.AtPtr(s.SyncedAt), Notes: wireMirrorNotes(s.Notes),
	}
	if s.Err != nil {
		out.Error, out.Hint = s.Err.Error(), core.HintOf(s.Err)
	}
	return out
}

func wireMirrorNotes(notes []core.MirrorNote) api.List[api.MemoryNote] {
	var out api.List[api.MemoryNote]
	for _, n := range notes {
		out = append(out, api.MemoryNote{Kind: string(n.Kind), Path: n.Path, Label: n.Label, Text: n.Text})
	}
	return out
}
