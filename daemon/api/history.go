package api

// Paths of our own operations on history.
const (
	PathBlocks        = "/loci/v1/blocks"        // + /{id}/versions, /diff, /undo, /redo
	PathRewinds       = "/loci/v1/rewinds"       // + /blocks, /files, /{id}/undo
	PathConversations = "/loci/v1/conversations" // + /{id}/fork, /recalled, /fit
	PathAgents        = "/loci/v1/agents"        // + /{id}/copy, /recall
	PathSteps         = "/loci/v1/steps"         // + /{id}/request
)

// BlockVersion is one state of a block, kept forever.
type BlockVersion struct {
	BlockID     string  `json:"block_id"`
	Version     int     `json:"version"`
	Label       string  `json:"label"`
	Value       string  `json:"value"`
	Description string  `json:"description"`
	Limit       int     `json:"limit"`
	Author      string  `json:"author"` // user, agent or system
	AuthorID    *string `json:"author_id"`
	StepID      *string `json:"step_id"`
	Restores    *int    `json:"restores"`  // the version whose content it restored
	RewindID    *string `json:"rewind_id"` // the rewind that restored it
	Source      *string `json:"source"`    // what came from outside in the same run before it was written, one a line
	CreatedAt   Time    `json:"created_at"`
}

// BlockDiffParams name two versions. The default for to is the newest version, for from the one before to; 0 is the
// empty block.
type BlockDiffParams struct {
	From Param[int] `query:"from"`
	To   Param[int] `query:"to"`
}

// BlockDiff is a unified diff of two versions.
type BlockDiff struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Diff string `json:"diff"`
}

// UndoBlock is the body of an undo. Without a version, the last edit that isn't undone yet is undone.
type UndoBlock struct {
	Version *int `json:"version,omitempty" minimum:"1"`
}

// BlockUndone reports what an undo or redo restored: a new version with the content of an earlier one.
type BlockUndone struct {
	Block    Block `json:"block"`
	Version  int   `json:"version"`
	Restores int   `json:"restores"`
}

// RewindRequest is the body of POST /loci/v1/rewinds: back to what a step was sent, or to before a run.
type RewindRequest struct {
	StepID string `json:"step_id,omitempty"`
	RunID  string `json:"run_id,omitempty"`
	Before bool   `json:"before,omitempty"` // also remove the input that the step answered
	Shared bool   `json:"shared,omitempty"` // also rewind blocks that other agents share

	What []RewindPart `json:"what,omitempty"` // which parts go back; empty: all
}

// RewindPart is a part of what a rewind takes back.
type RewindPart string

// The parts of a rewind. The thread comes with the agent's settings, its tools and what is attached.
const (
	RewindThread RewindPart = "thread"
	RewindMemory RewindPart = "memory"
	RewindFiles  RewindPart = "files"
)

// RewindTarget are the parameters of GET /loci/v1/rewinds/blocks and /files. The first returns the versions of memory blocks that
// a rewind would restore, of those shared with other agents only if asked to; the second what would become of files.
type RewindTarget struct {
	StepID string `query:"step_id"`
	RunID  string `query:"run_id"`
}

// RewindOfFiles says which files go back in a rewind, and which stay although calls changed them.
type RewindOfFiles struct {
	Back List[string]   `json:"back"`
	Kept List[FileKept] `json:"kept"`
	More int            `json:"more"` // that are not named
}

// FileKept is a file that is not put back, and why.
type FileKept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Rewind is the result of a rewind or of its undo.
type Rewind struct {
	ID               string       `json:"id"`
	AgentID          string       `json:"agent_id"`
	ConversationID   string       `json:"conversation_id"`
	StepID           *string      `json:"step_id"` // the target; null: it is an undo
	Undoes           *string      `json:"undoes"`
	Before           bool         `json:"before"`
	Shared           bool         `json:"shared"`
	BlockIDs         List[string] `json:"block_ids"` // blocks whose content it changed
	PassagesTaken    int          `json:"passages_taken"`
	PassagesReturned int          `json:"passages_returned"`
	Missing          List[string] `json:"missing"` // what couldn't be restored, in words
	CreatedAt        Time         `json:"created_at"`

	What         List[RewindPart] `json:"what"`
	Files        RewindOfFiles    `json:"files"`
	FilesPending bool             `json:"files_pending"` // it was interrupted before files went back; the next start does that
}

// ListRewinds are the parameters of GET /loci/v1/rewinds. An agent's id stands for its default conversation.
type ListRewinds struct {
	Page
	ConversationID string `query:"conversation_id" required:"true"`
}

// ForkConversation is the body of POST /loci/v1/conversations/{id}/fork; without a step the current window is shared.
type ForkConversation struct {
	StepID string `json:"step_id,omitempty"`
}

// CopyAgent is the body of POST /loci/v1/agents/{id}/copy. With a step, the agent is copied as it was then.
type CopyAgent struct {
	Name           string `json:"name,omitempty"`
	History        bool   `json:"history,omitempty"`         // also copy the window of a conversation
	ConversationID string `json:"conversation_id,omitempty"` // whose window; empty: the default one's
	StepID         string `json:"step_id,omitempty"`
}

// CopyResult names the new agent.
type CopyResult struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// SentRequest is exactly what a step sent, before it is translated to a provider's protocol.
type SentRequest struct {
	StepID     string        `json:"step_id"`
	Redacted   bool          `json:"redacted,omitempty"` // some of its text has been forgotten since: this is what is left
	Model      string        `json:"model"`              // the provider's own name
	System     string        `json:"system"`
	Messages   []SentMessage `json:"messages"`
	Tools      []SentTool    `json:"tools"`
	ToolChoice string        `json:"tool_choice,omitempty"` // required, named or none; empty: the model chooses
	ToolNamed  string        `json:"tool_named,omitempty"`
	Parallel   bool          `json:"parallel_tool_calls"`
	Settings   Object        `json:"settings"`
	Window     int           `json:"context_window"`
	Prefix     string        `json:"prefix"`
}

// SentMessage is one message of a request.
type SentMessage struct {
	Role      string       `json:"role"` // user, assistant, tool or reminder
	Text      string       `json:"text,omitempty"`
	Name      string       `json:"name,omitempty"`
	Reasoning string       `json:"reasoning,omitempty"`
	Calls     []SentCall   `json:"tool_calls,omitempty"`
	Returns   []SentReturn `json:"tool_returns,omitempty"`
	Native    any          `json:"native,omitempty"` // the provider's own form, replayed instead of the rest
	Images    []SentImage  `json:"images,omitempty"` // of a user, by their place
}

// SentImage is an image that was sent.
type SentImage struct {
	FileID string `json:"file_id"`
	About  string `json:"about"`
	At     int    `json:"at"` // the byte of the text that it stands before
}

// SentCall is a call as it was replayed.
type SentCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// SentReturn is a return as the model saw it.
type SentReturn struct {
	CallID  string      `json:"tool_call_id"`
	Name    string      `json:"name"`
	Text    string      `json:"text"`
	IsError bool        `json:"is_error,omitempty"`
	Images  []SentImage `json:"images,omitempty"`
}

// SentTool is a tool that was offered.
type SentTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  Object `json:"parameters"`
}
