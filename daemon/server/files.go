package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

// FilePath names a file.
type FilePath struct {
	FileID string `path:"file_id" pattern:"^file-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"`
}

func (p FilePath) file() core.FileID { return core.FileID(p.FileID) }

func (s *Server) registerFiles(a huma.API) {
	handle(a, "POST", "/v1/folders/{folder_id}/upload", func(ctx context.Context, in *uploadToFolder) (*uploadResponse, error) {
		return s.upload(ctx, in.folder(), in.UploadParams, in.request)
	})
	handle(a, "POST", "/v1/sources/{source_id}/upload", func(ctx context.Context, in *uploadToSource) (*uploadResponse, error) {
		return s.upload(ctx, in.folder(), in.UploadParams, in.request)
	})
	describeForm(a, "/v1/folders/{folder_id}/upload", "/v1/sources/{source_id}/upload")
	handle(a, "GET", "/v1/folders/{folder_id}/files", func(ctx context.Context, in *filesOfFolder) (*body[[]api.File], error) {
		return s.filesOf(ctx, in.folder(), in.ListFiles, in.FileFilter)
	})
	handle(a, "GET", "/v1/sources/{source_id}/files", func(ctx context.Context, in *filesOfSource) (*body[[]api.File], error) {
		return s.filesOf(ctx, in.folder(), in.ListFiles, in.FileFilter)
	})
	handle(a, "GET", "/v1/folders/{folder_id}/files/{file_id}", func(ctx context.Context, in *fileOfFolder) (*body[api.File], error) {
		return s.getFile(ctx, in.folder(), in.file(), in.IncludeContent)
	})
	handle(a, "GET", "/v1/sources/{source_id}/files/{file_id}", func(ctx context.Context, in *fileOfSource) (*body[api.File], error) {
		return s.getFile(ctx, in.folder(), in.file(), in.IncludeContent)
	})
	handle(a, "DELETE", "/v1/folders/{folder_id}/{file_id}", func(ctx context.Context, in *deleteFromFolder) (*struct{}, error) {
		return nil, s.services().Files.Delete(ctx, in.folder(), in.file())
	}, noContent)
	handle(a, "DELETE", "/v1/sources/{source_id}/{file_id}", func(ctx context.Context, in *deleteFromSource) (*struct{}, error) {
		return nil, s.services().Files.Delete(ctx, in.folder(), in.file())
	}, noContent)
	handle(a, "GET", "/v1/agents/{agent_id}/files", s.listAgentFiles)
	handle(a, "PATCH", "/v1/agents/{agent_id}/files/close-all", s.closeAllFiles)
	handle(a, "PATCH", "/v1/agents/{agent_id}/files/{file_id}/open", s.openFile)
	handle(a, "PATCH", "/v1/agents/{agent_id}/files/{file_id}/close", s.closeFile)
	handle(a, "POST", api.PathFiles+"/search", s.searchFiles)
}

// form is a request whose body the handler reads itself, so that a large file is held in memory once and never
// written to disk.
type form struct{ request *http.Request }

// Resolve is called by the framework before the handler.
func (f *form) Resolve(ctx huma.Context) []error {
	f.request, _ = humachi.Unwrap(ctx)
	return nil
}

type uploadToFolder struct {
	FolderPath
	api.UploadParams
	form
}

type uploadToSource struct {
	SourcePath
	api.UploadParams
	form
}

type filesOfFolder struct {
	FolderPath
	api.ListFiles
	api.FileFilter
}

type filesOfSource struct {
	SourcePath
	api.ListFiles
	api.FileFilter
}

type fileOfFolder struct {
	FolderPath
	FilePath
	api.GetFile
}

type fileOfSource struct {
	SourcePath
	FilePath
	api.GetFile
}

type deleteFromFolder struct {
	FolderPath
	FilePath
}

type deleteFromSource struct {
	SourcePath
	FilePath
}

// uploadResponse is the response to an upload.
type uploadResponse struct {
	Result string `header:"X-Upload-Result"`
	Same   string `header:"Loci-Same-Content"`
	Body   api.File
}

// describeForm documents bodies that a handler reads itself. If they were documented at registration, the framework
// would read them.
func describeForm(a huma.API, paths ...string) {
	for _, path := range paths {
		a.OpenAPI().Paths[path].Post.RequestBody = &huma.RequestBody{
			Required: true,
			Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
				Type:       huma.TypeObject,
				Required:   []string{"file"},
				Properties: map[string]*huma.Schema{"file": {Type: huma.TypeString, Format: "binary"}},
			}}},
		}
	}
}

// Limits on an upload: a file and the form around it.
const (
	uploadFrame   = 1 << 20
	uploadTimeout = 5 * time.Minute
	uploadsAtOnce = 4 // each is held in memory whole; the rest wait unread
)

// bodyLimit returns the maximum size of a request's body.
func bodyLimit(r *http.Request) int64 {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/upload") {
		return service.MaxUpload() + uploadFrame
	}
	if r.Method == http.MethodPost && takesImages(r.URL.Path) {
		return maxSend
	}
	return maxBody
}

func (s *Server) upload(ctx context.Context, folder core.FolderID, in api.UploadParams, r *http.Request) (*uploadResponse, error) {
	if _, err := s.services().Folders.Get(ctx, folder); err != nil {
		return nil, err
	}
	select {
	case s.uploads <- struct{}{}:
		defer func() { <-s.uploads }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if control := callOf(ctx).control; control != nil {
		_ = control.SetReadDeadline(time.Now().Add(uploadTimeout)) // a writer without deadlines needs none
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	file, err := readForm(r)
	if err != nil {
		return nil, err
	}
	file.Duplicates = service.Duplicates(in.DuplicateHandling)
	if in.Name != "" {
		file.Name = in.Name
	}
	up, err := s.services().Files.Upload(ctx, folder, file)
	if core.KindOf(err) == core.Unsupported {
		refused := asStatus(err)
		refused.status = http.StatusUnsupportedMediaType
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	out := &uploadResponse{Body: wireFile(up.File, nil), Same: string(up.Same.ID)}
	if up.Skipped {
		out.Result = api.UploadSkipped
	}
	return out, nil
}

// readForm reads the file in a form. Its name is kept as sent, including folders: it is validated, not corrected.
func readForm(r *http.Request) (service.Upload, error) {
	var out service.Upload
	parts, err := r.MultipartReader()
	if err != nil {
		return out, unprocessable("body.file", "the body is no form with a file: %s", err)
	}
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out, unprocessable("body.file", "a file is needed")
		}
		if err != nil {
			return out, brokenForm(err)
		}
		if part.FormName() != "file" {
			continue
		}
		out.Name = sentName(part)
		if t, _, err := mime.ParseMediaType(part.Header.Get("Content-Type")); err == nil && t != "application/octet-stream" {
			out.MIME = t
		}
		out.Data, err = io.ReadAll(io.LimitReader(part, service.MaxUpload()+1))
		if err != nil {
			return out, brokenForm(err)
		}
		return out, nil
	}
}

func brokenForm(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return core.E(core.TooLarge, "the file is larger than the %d MB allowed", service.MaxUpload()>>20).WithHint("split the file")
	}
	return unprocessable("body.file", "the form cannot be read: %s", err)
}

// sentName returns the file's name with its folders, which the standard library would cut off.
func sentName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil || params["filename"] == "" {
		return part.FileName()
	}
	return params["filename"]
}

func (s *Server) filesOf(ctx context.Context, folder core.FolderID, in api.ListFiles, only api.FileFilter) (*body[[]api.File], error) {
	filter := core.FileFilter{Folders: []core.FolderID{folder}}
	if only.Status != "" {
		filter.Status = []core.FileStatus{core.FileStatus(only.Status)}
	}
	if only.Name != "" {
		filter.Names = []string{only.Name}
	}
	files, err := s.services().Files.List(ctx, filter, pageOf(in.Page, true))
	if err != nil {
		return nil, err
	}
	out := make([]api.File, 0, len(files))
	for _, f := range files {
		one, err := s.fileWith(ctx, f, in.IncludeContent)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return answer(out, nil)
}

// fileWith converts a file, with its text if requested.
func (s *Server) fileWith(ctx context.Context, f core.File, content bool) (api.File, error) {
	if !content {
		return wireFile(f, nil), nil
	}
	text, err := s.services().Files.Text(ctx, f.ID)
	return wireFile(f, &text), err
}

func (s *Server) getFile(ctx context.Context, folder core.FolderID, id core.FileID, content bool) (*body[api.File], error) {
	f, err := s.services().Files.Get(ctx, folder, id)
	if err != nil {
		return nil, err
	}
	return answer(s.fileWith(ctx, f, content))
}

type listAgentFiles struct {
	AgentPath
	api.ListAgentFiles
}

func (s *Server) listAgentFiles(ctx context.Context, in *listAgentFiles) (*body[api.AgentFiles], error) {
	page := pageOf(in.Page, true)
	if in.Cursor != "" {
		page.After = in.Cursor
	}
	q := service.AgentFilesQuery{After: page.After, Limit: page.Limit, Desc: page.Desc}
	if in.IsOpen.Set {
		q.Open = core.Some(in.IsOpen.Value)
	}
	files, err := s.services().Files.OfAgent(ctx, in.id(), q, callOf(ctx).client.Env)
	if err != nil {
		return nil, err
	}
	out := api.AgentFiles{HasMore: files.More}
	for _, f := range files.Files {
		out.Files = append(out.Files, wireAgentFile(f))
	}
	if files.More {
		out.NextCursor = &out.Files[len(out.Files)-1].FileID
	}
	return answer(out, nil)
}

type agentFile struct {
	AgentPath
	FilePath
}

func (s *Server) openFile(ctx context.Context, in *agentFile) (*body[[]string], error) {
	closed, err := s.services().Files.Open(ctx, in.id(), in.file(), callOf(ctx).client.Env)
	return answer(closed, err)
}

func (s *Server) closeFile(ctx context.Context, in *agentFile) (*body[any], error) {
	return empty(s.services().Files.Close(ctx, in.id(), in.file()))
}

func (s *Server) closeAllFiles(ctx context.Context, in *AgentPath) (*body[[]string], error) {
	return answer(s.services().Files.CloseAll(ctx, in.id()))
}

type searchFilesInput struct{ Body api.SearchFiles }

func (s *Server) searchFiles(ctx context.Context, in *searchFilesInput) (*searchBody[api.FileResult], error) {
	q := service.FileQuery{Text: in.Body.Query, Agent: core.AgentID(api.Val(in.Body.AgentID)), Limit: api.Val(in.Body.Limit)}
	var err error
	if q.Folders, err = ids[core.FolderID]("body.folder_ids", "source", in.Body.FolderIDs); err != nil {
		return nil, err
	}
	if q.Files, err = ids[core.FileID]("body.file_ids", "file", in.Body.FileIDs); err != nil {
		return nil, err
	}
	if q.Agent != "" && len(q.Folders) > 0 {
		return nil, core.E(core.Invalid, "give agent_id or folder_ids, not both")
	}
	found, err := s.services().Files.Search(ctx, q)
	return results(found, err, func(h service.FileHit) []api.FileResult { return []api.FileResult{wireFileHit(h, found.Partial)} })
}
