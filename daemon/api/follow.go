package api

// PathFolders is where folders follow directories: + /plan, /{id}/mirror.
const PathFolders = "/loci/v1/folders"

// PlanMirror is the body of POST /loci/v1/folders/plan.
type PlanMirror struct {
	Path string `json:"path" required:"true"` // of the directory, absolute
}

// MirrorPlan says what a folder that follows a directory takes of it.
type MirrorPlan struct {
	Path    string         `json:"path"` // without links
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Skipped map[string]int `json:"skipped"` // how many for each reason; a directory counts as one
}

// The reasons in MirrorPlan.Skipped.
const (
	SkipIgnored    = "ignored"    // a .gitignore says so
	SkipHidden     = "hidden"     // its name begins with a dot
	SkipBinary     = "binary"     // it cannot be read as text
	SkipEmpty      = "empty"      // it has no bytes
	SkipTooLarge   = "too_large"  // it has more bytes than a file may have
	SkipLink       = "link"       // a symbolic link
	SkipSpecial    = "special"    // a pipe, a socket, a device
	SkipUnreadable = "unreadable" // no permission
	SkipName       = "name"       // a name that cannot be used
	SkipDeep       = "deep"       // in too many directories
)

// SetFolderMirror is the body of PUT /loci/v1/folders/{id}/mirror.
type SetFolderMirror struct {
	Path string `json:"path" required:"true"` // of the directory, absolute
}

// FolderMirror says how far a folder is with the directory that it follows.
type FolderMirror struct {
	FolderID string     `json:"folder_id"`
	On       bool       `json:"on"`
	Path     string     `json:"path"`
	LookedAt *Time      `json:"looked_at"`
	Error    string     `json:"error,omitempty"` // why it cannot be followed now; no file is touched
	Looking  bool       `json:"looking"`         // more files may be to come
	Polled   bool       `json:"polled"`          // the system does not tell of changes, they are looked for
	Plan     MirrorPlan `json:"plan"`            // of the last look, or the one under way
	Waiting  int        `json:"waiting"`         // files that are still to be read or embedded
	Done     int        `json:"done"`
	Failed   int        `json:"failed"`
}
