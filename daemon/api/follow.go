package api

// PathFolders is the root of the operations on folders that follow directories: + /plan, /{id}/mirror.
const PathFolders = "/loci/v1/folders"

// PlanMirror is the body of POST /loci/v1/folders/plan.
type PlanMirror struct {
	Path string `json:"path" required:"true"` // the directory, absolute
}

// MirrorPlan reports what a folder that follows a directory takes from it.
type MirrorPlan struct {
	Path    string         `json:"path"` // with links resolved
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Skipped map[string]int `json:"skipped"` // count for each reason; a directory counts as one
}

// The reasons in MirrorPlan.Skipped.
const (
	SkipIgnored    = "ignored"    // ignored by a .gitignore file
	SkipHidden     = "hidden"     // its name starts with a dot
	SkipBinary     = "binary"     // it cannot be read as text
	SkipEmpty      = "empty"      // it has no bytes
	SkipTooLarge   = "too_large"  // larger than a file may be
	SkipLink       = "link"       // a symbolic link
	SkipSpecial    = "special"    // a pipe, a socket, a device
	SkipUnreadable = "unreadable" // no permission
	SkipName       = "name"       // an unusable name
	SkipDeep       = "deep"       // nested too deeply
)

// SetFolderMirror is the body of PUT /loci/v1/folders/{id}/mirror.
type SetFolderMirror struct {
	Path string `json:"path" required:"true"` // the directory, absolute
}

// FolderMirror reports how far a folder is in following its directory.
type FolderMirror struct {
	FolderID string     `json:"folder_id"`
	On       bool       `json:"on"`
	Path     string     `json:"path"`
	LookedAt *Time      `json:"looked_at"`
	Error    string     `json:"error,omitempty"` // why it can't be followed now; no file is touched
	Looking  bool       `json:"looking"`         // more files may be found
	Polled   bool       `json:"polled"`          // the system doesn't report changes, so they are polled for
	Plan     MirrorPlan `json:"plan"`            // from the last scan, or the one in progress
	Waiting  int        `json:"waiting"`         // files still to be read or embedded
	Done     int        `json:"done"`
	Failed   int        `json:"failed"`
}
