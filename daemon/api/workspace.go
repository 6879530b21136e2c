package api

// PathWorkspaceFiles lists the names of a folder's files.
const PathWorkspaceFiles = "/loci/v1/workspace/files"

// ListWorkspaceFiles are the parameters of GET /loci/v1/workspace/files: a folder, by its absolute path.
type ListWorkspaceFiles struct {
	Folder string `query:"folder" required:"true"`
}

// WorkspaceFiles are the names of the files of a folder, by paths in it, without what .gitignore leaves out. Partial says that
// there are more.
type WorkspaceFiles struct {
	Files   []string `json:"files"`
	Partial bool     `json:"partial,omitempty"`
}
