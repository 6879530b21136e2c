package server

import (
	"context"
	"path/filepath"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// Names lists the names of a folder's files, and whether there are more.
type Names func(ctx context.Context, folder string) (files []string, partial bool, err error)

// registerWorkspace registers what clients on this machine need to name files of the open folder.
func (s *Server) registerWorkspace(a huma.API) {
	handle(a, "GET", api.PathWorkspaceFiles, s.listWorkspaceFiles)
}

func (s *Server) listWorkspaceFiles(ctx context.Context, in *api.ListWorkspaceFiles) (*body[api.WorkspaceFiles], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(in.Folder) {
		return nil, core.E(core.Invalid, "a folder is named by its absolute path")
	}
	parts, _ := s.now()
	if parts.Names == nil {
		return nil, core.E(core.Unsupported, "this daemon lists no files")
	}
	files, partial, err := parts.Names(ctx, in.Folder)
	return answer(api.WorkspaceFiles{Files: append([]string{}, files...), Partial: partial}, err)
}
