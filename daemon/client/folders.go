package client

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"loci/daemon/api"
)

func folderPath(id string) string { return "/v1/folders/" + url.PathEscape(id) }

// Folders lists folders.
func (c *Client) Folders(ctx context.Context, p api.ListFolders) ([]api.Folder, error) {
	return call[[]api.Folder](ctx, c, request{method: get, path: "/v1/folders", query: p})
}

// Folder returns one folder.
func (c *Client) Folder(ctx context.Context, id string) (api.Folder, error) {
	return call[api.Folder](ctx, c, request{method: get, path: folderPath(id)})
}

// CreateFolder creates a folder.
func (c *Client) CreateFolder(ctx context.Context, in api.CreateFolder) (api.Folder, error) {
	return call[api.Folder](ctx, c, request{method: post, path: "/v1/folders", body: in})
}

// DeleteFolder deletes a folder and its files.
func (c *Client) DeleteFolder(ctx context.Context, id string) error {
	return c.done(ctx, request{method: remove, path: folderPath(id)})
}

// FolderStats reports what the folders contain.
func (c *Client) FolderStats(ctx context.Context, p api.FolderStatsParams) (api.FolderStats, error) {
	return call[api.FolderStats](ctx, c, request{method: get, path: "/v1/folders/metadata", query: p})
}

// FolderAgents lists the ids of the agents that a folder is attached to.
func (c *Client) FolderAgents(ctx context.Context, id string, p api.Page) ([]string, error) {
	return call[[]string](ctx, c, request{method: get, path: folderPath(id) + "/agents", query: p})
}

// AttachFolder attaches a folder to an agent.
func (c *Client) AttachFolder(ctx context.Context, agentID, id string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/folders/attach/" + url.PathEscape(id)})
}

// DetachFolder detaches a folder from an agent.
func (c *Client) DetachFolder(ctx context.Context, agentID, id string) error {
	return c.done(ctx, request{method: patch, path: agentPath(agentID) + "/folders/detach/" + url.PathEscape(id)})
}

// ListFiles are the parameters of Files.
type ListFiles struct {
	api.ListFiles
	api.FileFilter
}

// Files lists the files in a folder.
func (c *Client) Files(ctx context.Context, folderID string, p ListFiles) ([]api.File, error) {
	return call[[]api.File](ctx, c, request{method: get, path: folderPath(folderID) + "/files", query: p})
}

// File returns one file in a folder.
func (c *Client) File(ctx context.Context, folderID, id string, p api.GetFile) (api.File, error) {
	return call[api.File](ctx, c, request{method: get, path: folderPath(folderID) + "/files/" + url.PathEscape(id), query: p})
}

// DeleteFile deletes a file from a folder.
func (c *Client) DeleteFile(ctx context.Context, folderID, id string) error {
	return c.done(ctx, request{method: remove, path: folderPath(folderID) + "/" + url.PathEscape(id)})
}

// Upload is the outcome of an upload.
type Upload struct {
	File    api.File
	Skipped bool   // the file was already there
	Same    string // the id of another file in the folder with the same content
}

// UploadFile uploads a file.
func (c *Client) UploadFile(ctx context.Context, folderID, name string, data []byte, p api.UploadParams) (Upload, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	h := textproto.MIMEHeader{}
	h.Set(
		"Content-Disposition",
		`form-data; name="file"; filename="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "%0A", "\r", "%0D").Replace(name)+`"`,
	)
	h.Set("Content-Type", "application/octet-stream")
	part, err := w.CreatePart(h)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return Upload{}, &Error{Kind: api.KindInternal, Message: "the form cannot be written: " + err.Error(), Err: err}
	}
	file, header, err := callHeader[api.File](ctx, c, request{
		method: post, path: folderPath(folderID) + "/upload", query: p, form: form.Bytes(),
		header: http.Header{"Content-Type": {w.FormDataContentType()}},
	})
	if err != nil {
		return Upload{}, err
	}
	return Upload{File: file, Skipped: header.Get(api.HeaderUpload) == api.UploadSkipped, Same: header.Get(api.HeaderSame)}, nil
}

// SearchFiles searches inside files.
func (c *Client) SearchFiles(ctx context.Context, in api.SearchFiles) (found []api.FileResult, partial api.Partial, err error) {
	return searched[api.FileResult](ctx, c, request{method: post, path: api.PathFiles + "/search", body: in})
}
