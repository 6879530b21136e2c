package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

// Folder paths. A source is a folder under its deprecated name and has the same operations.
type (
	FolderPath struct {
		FolderID string `path:"folder_id" pattern:"^source-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
	SourcePath struct {
		SourceID string `path:"source_id" pattern:"^source-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
	}
)

func (p FolderPath) folder() core.FolderID { return core.FolderID(p.FolderID) }
func (p SourcePath) folder() core.FolderID { return core.FolderID(p.SourceID) }

// inFolder is a path that names a folder.
type inFolder interface{ folder() core.FolderID }

func (s *Server) registerFolders(a huma.API) {
	handle(a, "POST", "/v1/folders", createFolder(s, wireFolder))
	handle(a, "GET", "/v1/folders", s.listFolders)
	handle(a, "GET", "/v1/folders/name/{folder_name}", func(ctx context.Context, in *folderName) (*body[string], error) {
		return s.folderByName(ctx, in.FolderName)
	})
	registerFolder[FolderPath](s, a, "/v1/folders", "{folder_id}", wireFolder)
	handle(a, "PATCH", "/v1/folders/{folder_id}", func(ctx context.Context, in *updateFolderInput) (*body[api.Folder], error) {
		return updateFolder(ctx, s, in.folder(), in.Body, wireFolder)
	})
	handle(a, "GET", "/v1/folders/{folder_id}/agents", func(ctx context.Context, in *folderList) (*body[[]string], error) {
		return s.agentsOfFolder(ctx, in.folder(), in.Page)
	})
	handle(a, "GET", "/v1/folders/{folder_id}/passages", func(ctx context.Context, in *folderList) (*body[[]api.Passage], error) {
		return s.passagesOfFolder(ctx, in.folder(), in.Page)
	})

	handle(a, "POST", "/v1/sources", createFolder(s, wireSource))
	handle(a, "GET", "/v1/sources", s.listSources)
	handle(a, "GET", "/v1/sources/name/{source_name}", func(ctx context.Context, in *sourceName) (*body[string], error) {
		return s.folderByName(ctx, in.SourceName)
	})
	registerFolder[SourcePath](s, a, "/v1/sources", "{source_id}", wireSource)
	handle(a, "PATCH", "/v1/sources/{source_id}", func(ctx context.Context, in *updateSourceInput) (*body[api.Source], error) {
		return updateFolder(ctx, s, in.folder(), in.Body, wireSource)
	})
	handle(a, "GET", "/v1/sources/{source_id}/agents", func(ctx context.Context, in *sourceList) (*body[[]string], error) {
		return s.agentsOfFolder(ctx, in.folder(), in.Page)
	})
	handle(a, "GET", "/v1/sources/{source_id}/passages", func(ctx context.Context, in *sourceList) (*body[[]api.Passage], error) {
		return s.passagesOfFolder(ctx, in.folder(), in.Page)
	})

	handle(a, "GET", "/v1/agents/{agent_id}/folders", s.listAgentFolders)
	handle(a, "GET", "/v1/agents/{agent_id}/sources", s.listAgentFolders)
	handle(a, "PATCH", "/v1/agents/{agent_id}/folders/attach/{folder_id}", func(ctx context.Context, in *agentFolder) (*body[any], error) {
		agent, err := s.services().Folders.Attach(ctx, in.id(), in.folder(), callOf(ctx).client.Env)
		return s.agentOrNull(ctx, agent, err)
	})
	handle(a, "PATCH", "/v1/agents/{agent_id}/folders/detach/{folder_id}", func(ctx context.Context, in *agentFolder) (*body[any], error) {
		agent, err := s.services().Folders.Detach(ctx, in.id(), in.folder())
		return s.agentOrNull(ctx, agent, err)
	})
	handle(
		a,
		"PATCH",
		"/v1/agents/{agent_id}/sources/attach/{source_id}",
		func(ctx context.Context, in *agentSource) (*body[api.AgentState], error) {
			agent, err := s.services().Folders.Attach(ctx, in.id(), in.folder(), callOf(ctx).client.Env)
			return s.agentAnswer(ctx, agent, err)
		},
	)
	handle(
		a,
		"PATCH",
		"/v1/agents/{agent_id}/sources/detach/{source_id}",
		func(ctx context.Context, in *agentSource) (*body[api.AgentState], error) {
			agent, err := s.services().Folders.Detach(ctx, in.id(), in.folder())
			return s.agentAnswer(ctx, agent, err)
		},
	)
	s.registerFiles(a)
}

// registerFolder registers the operations that folders and sources share.
func registerFolder[P inFolder, W any](s *Server, a huma.API, root, id string, wire func(core.Folder) W) {
	handle(a, "GET", root+"/count", s.countFolders)
	handle(a, "GET", root+"/metadata", s.folderStats)
	handle(a, "GET", root+"/"+id, func(ctx context.Context, in *P) (*body[W], error) {
		f, err := s.services().Folders.Get(ctx, (*in).folder())
		return answer(wire(f), err)
	})
	handle(a, "DELETE", root+"/"+id, func(ctx context.Context, in *P) (*body[any], error) {
		return empty(s.services().Folders.Delete(ctx, (*in).folder()))
	})
}

func createFolder[W any](s *Server, wire func(core.Folder) W) func(context.Context, *createFolderInput) (*body[W], error) {
	return func(ctx context.Context, in *createFolderInput) (*body[W], error) {
		f, err := s.services().Folders.Create(ctx, service.NewFolder{
			Name:         in.Body.Name,
			Description:  api.Val(in.Body.Description),
			Instructions: api.Val(in.Body.Instructions),
			Metadata:     in.Body.Metadata,
			Embedding:    embeddingOf(in.Body.Embedding, in.Body.EmbeddingConfig),
		}, callOf(ctx).client.Env)
		return answer(wire(f), err)
	}
}

func updateFolder[W any](
	ctx context.Context,
	s *Server,
	id core.FolderID,
	in api.UpdateFolder,
	wire func(core.Folder) W,
) (*body[W], error) {
	f, err := s.services().Folders.Update(ctx, id, coreFolderPatch(in), callOf(ctx).client.Env)
	return answer(wire(f), err)
}

type createFolderInput struct{ Body api.CreateFolder }

type updateFolderInput struct {
	FolderPath
	Body api.UpdateFolder
}

type updateSourceInput struct {
	SourcePath
	Body api.UpdateFolder
}

type folderList struct {
	FolderPath
	api.Page
}

type sourceList struct {
	SourcePath
	api.Page
}

type folderName struct {
	FolderName string `path:"folder_name"`
}

type sourceName struct {
	SourceName string `path:"source_name"`
}

type agentFolder struct {
	AgentPath
	FolderPath
}

type agentSource struct {
	AgentPath
	SourcePath
}

func (s *Server) listFolders(ctx context.Context, in *api.ListFolders) (*body[[]api.Folder], error) {
	folders, err := s.services().Folders.List(ctx, core.FolderFilter{Name: in.Name}, pageOf(in.Page, false))
	return list(folders, err, wireFolder)
}

// allFolders returns all folders, for operations without paging.
func (s *Server) allFolders(ctx context.Context) ([]core.Folder, error) {
	return core.ListAll(func(p core.Page) ([]core.Folder, error) {
		return s.services().Folders.List(ctx, core.FolderFilter{}, p)
	}, func(f core.Folder) string { return string(f.ID) })
}

func (s *Server) listSources(ctx context.Context, _ *struct{}) (*body[[]api.Source], error) {
	folders, err := s.allFolders(ctx)
	return list(folders, err, wireSource)
}

func (s *Server) countFolders(ctx context.Context, _ *struct{}) (*body[int], error) {
	return answer(s.services().Folders.Count(ctx))
}

// folderByName answers with the bare id, as the contract does.
func (s *Server) folderByName(ctx context.Context, name string) (*body[string], error) {
	f, err := s.services().Folders.ByName(ctx, name)
	return answer(string(f.ID), err)
}

// folderStats reports what each folder contains, listing its files on request.
func (s *Server) folderStats(ctx context.Context, in *api.FolderStatsParams) (*body[api.FolderStats], error) {
	folders, err := s.allFolders(ctx)
	if err != nil {
		return nil, err
	}
	out := api.FolderStats{TotalSources: len(folders)}
	for _, f := range folders {
		one := api.FolderNumber{SourceID: string(f.ID), SourceName: f.Name, FileCount: f.Files, TotalSize: f.Bytes}
		out.TotalFiles += f.Files
		out.TotalSize += f.Bytes
		if in.Detailed {
			in := core.FileFilter{Folders: []core.FolderID{f.ID}}
			files, err := core.ListAll(func(p core.Page) ([]core.File, error) { return s.services().Files.List(ctx, in, p) },
				func(file core.File) string { return string(file.ID) })
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				one.Files = append(one.Files, api.FileNumber{FileID: string(file.ID), FileName: file.Name, FileSize: &file.Size})
			}
		}
		out.Sources = append(out.Sources, one)
	}
	return answer(out, nil)
}

// agentsOfFolder lists one page of agent ids, newest agents first.
func (s *Server) agentsOfFolder(ctx context.Context, id core.FolderID, page api.Page) (*body[[]string], error) {
	agents, err := s.services().Folders.AgentsOf(ctx, id, pageOf(page, true))
	return list(agents, err, func(id core.AgentID) string { return string(id) })
}

func (s *Server) passagesOfFolder(ctx context.Context, id core.FolderID, page api.Page) (*body[[]api.Passage], error) {
	passages, err := s.services().Files.Passages(ctx, id, pageOf(page, true))
	if err != nil {
		return nil, err
	}
	names := map[core.FileID]string{}
	for _, p := range passages {
		if _, known := names[p.File]; known {
			continue
		}
		if f, err := s.services().Files.Get(ctx, id, p.File); err == nil {
			names[p.File] = f.Name
		}
	}
	return list(passages, nil, func(p core.Passage) api.Passage { return wireChunk(p, id, names[p.File]) })
}

func (s *Server) listAgentFolders(ctx context.Context, in *ListAgentThings) (*body[[]api.Source], error) {
	page := pageOf(in.Page, true)
	if page.Limit == 0 {
		page.Limit = 100
	}
	folders, err := s.services().Folders.List(ctx, core.FolderFilter{Agent: in.id()}, page)
	return list(folders, err, wireSource)
}

func (s *Server) agentAnswer(ctx context.Context, agent core.Agent, err error) (*body[api.AgentState], error) {
	if err != nil {
		return nil, err
	}
	return answer(s.agentState(ctx, agent, everything))
}
