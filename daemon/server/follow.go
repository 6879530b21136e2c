package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// Follower keeps folders in sync with directories.
type Follower interface {
	Plan(ctx context.Context, dir string) (core.DirectoryPlan, error)
	State(ctx context.Context, folder core.FolderID) (core.FollowState, error)
	On(ctx context.Context, folder core.FolderID, dir string) (core.FollowState, error)
	Off(ctx context.Context, folder core.FolderID) (core.FollowState, error)
}

// registerFollow registers the operations on directories that folders follow. Those that name a directory are for the
// socket only.
func (s *Server) registerFollow(a huma.API) {
	handle(a, "POST", api.PathFolders+"/plan", s.planMirror)
	handle(a, "GET", api.PathFolders+"/{folder_id}/mirror", s.folderMirror)
	handle(a, "PUT", api.PathFolders+"/{folder_id}/mirror", s.setFolderMirror)
	handle(a, "DELETE", api.PathFolders+"/{folder_id}/mirror", s.unsetFolderMirror)
}

func (s *Server) follower() (Follower, error) {
	if parts, _ := s.now(); parts.Follower != nil {
		return parts.Follower, nil
	}
	return nil, core.E(core.Unsupported, "this daemon follows no directories")
}

// localFollower is for clients on the socket only: others must not make the daemon look at a path.
func (s *Server) localFollower(ctx context.Context) (Follower, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	return s.follower()
}

type planMirrorInput struct{ Body api.PlanMirror }

func (s *Server) planMirror(ctx context.Context, in *planMirrorInput) (*body[api.MirrorPlan], error) {
	f, err := s.localFollower(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := f.Plan(ctx, in.Body.Path)
	return answer(wirePlan(plan), err)
}

func (s *Server) folderMirror(ctx context.Context, in *FolderPath) (*body[api.FolderMirror], error) {
	f, err := s.follower()
	if err != nil {
		return nil, err
	}
	state, err := f.State(ctx, in.folder())
	return answer(wireFollowed(in.FolderID, state), err)
}

type setFolderMirrorInput struct {
	FolderPath
	Body api.SetFolderMirror
}

func (s *Server) setFolderMirror(ctx context.Context, in *setFolderMirrorInput) (*body[api.FolderMirror], error) {
	f, err := s.localFollower(ctx)
	if err != nil {
		return nil, err
	}
	state, err := f.On(ctx, in.folder(), in.Body.Path)
	return answer(wireFollowed(in.FolderID, state), err)
}

func (s *Server) unsetFolderMirror(ctx context.Context, in *FolderPath) (*body[api.FolderMirror], error) {
	f, err := s.follower()
	if err != nil {
		return nil, err
	}
	state, err := f.Off(ctx, in.folder())
	return answer(wireFollowed(in.FolderID, state), err)
}

func wirePlan(p core.DirectoryPlan) api.MirrorPlan {
	out := api.MirrorPlan{Path: p.Path, Files: p.Files, Bytes: p.Bytes, Skipped: map[string]int{}}
	for reason, n := range p.Skipped {
		out.Skipped[string(reason)] = n
	}
	return out
}

func wireFollowed(folder string, s core.FollowState) api.FolderMirror {
	out := api.FolderMirror{
		FolderID: folder, Looking: s.Looking, Polled: s.Polled, Plan: wirePlan(s.Plan), Waiting: s.Waiting, Done: s.Done, Failed: s.Failed,
	}
	if s.Mirror != nil {
		out.On, out.Path, out.LookedAt, out.Error = true, s.Mirror.Path, api.AtPtr(s.Mirror.LookedAt), s.Mirror.Error
	}
	return out
}
