package api

// The mirror of an agent's memory stands under PathAgents: /{id}/mirror, /{id}/mirror/sync and /{id}/memory/import.

// MemoryMirror says how the mirror of an agent's memory is. Path is empty where there never was one.
type MemoryMirror struct {
	AgentID  string           `json:"agent_id"`
	On       bool             `json:"on"`
	Path     string           `json:"path"`
	Branch   string           `json:"branch"`
	Blocks   int              `json:"blocks"` // that are alike with their files
	Commit   string           `json:"commit"` // the newest one of the folder
	SyncedAt *Time            `json:"synced_at"`
	Notes    List[MemoryNote] `json:"notes"`
	Error    string           `json:"error,omitempty"` // why it does not go on
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

// MemoryNote is one thing that a person should know of a mirror.
type MemoryNote struct {
	Kind  string `json:"kind"`
	Path  string `json:"path"` // inside the folder; empty for a block without file
	Label string `json:"label"`
	Text  string `json:"text"`
}

// SetMemoryMirror is the body of PUT /loci/v1/agents/{id}/mirror.
type SetMemoryMirror struct {
	Path string `json:"path" required:"true"` // of the folder, absolute
}

// ImportMemory is the body of POST /loci/v1/agents/{id}/memory/import.
type ImportMemory struct {
	Path    string `json:"path" required:"true"` // of the folder, absolute
	Replace bool   `json:"replace,omitempty"`    // blocks that have another text get the folder's, as a new version
}

// MemoryImported says what became of the files, by label.
type MemoryImported struct {
	Made     List[string]     `json:"made"`
	Filled   List[string]     `json:"filled"`
	Replaced List[string]     `json:"replaced"`
	Same     List[string]     `json:"same"`
	Kept     List[string]     `json:"kept"`
	Notes    List[MemoryNote] `json:"notes"`
}
