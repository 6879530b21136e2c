package api

// The mirror of an agent's memory is under PathAgents: /{id}/mirror, /{id}/mirror/sync and /{id}/memory/import.

// MemoryMirror reports the state of an agent's memory mirror. Path is empty if there never was one.
type MemoryMirror struct {
	AgentID  string           `json:"agent_id"`
	On       bool             `json:"on"`
	Path     string           `json:"path"`
	Branch   string           `json:"branch"`
	Blocks   int              `json:"blocks"` // how many are in sync with their files
	Commit   string           `json:"commit"` // the folder's newest one
	SyncedAt *Time            `json:"synced_at"`
	Notes    List[MemoryNote] `json:"notes"`
	Error    string           `json:"error,omitempty"` // why it can't continue
	Hint     string           `json:"hint,omitempty"`
}

// AuthorMirror is the author_id of a version of a block that was edited as a file.
const AuthorMirror = "mirror"

// Kinds of notes on a mirror.
const (
	MemoryMirrorConflict   = "conflict"
	MemoryMirrorUnreadable = "unreadable"
	MemoryMirrorDetached   = "detached"
	MemoryMirrorSkipped    = "skipped"
)

// MemoryNote is one thing that a person should know about a mirror.
type MemoryNote struct {
	Kind  string `json:"kind"`
	Path  string `json:"path"` // relative to the folder; empty for a block without a file
	Label string `json:"label"`
	Text  string `json:"text"`
}

// SetMemoryMirror is the body of PUT /loci/v1/agents/{id}/mirror.
type SetMemoryMirror struct {
	Path string `json:"path" required:"true"` // the folder, absolute
}

// ImportMemory is the body of POST /loci/v1/agents/{id}/memory/import.
type ImportMemory struct {
	Path    string `json:"path" required:"true"` // the folder, absolute
	Replace bool   `json:"replace,omitempty"`    // blocks whose text differs get the folder's, as a new version
}

// ImportResult reports what happened to the files, by label.
type ImportResult struct {
	Made     List[string]     `json:"made"`
	Filled   List[string]     `json:"filled"`
	Replaced List[string]     `json:"replaced"`
	Same     List[string]     `json:"same"`
	Kept     List[string]     `json:"kept"`
	Notes    List[MemoryNote] `json:"notes"`
}
