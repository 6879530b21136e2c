package core

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// ToolSpec describes a tool to a model. Parameters is a JSON Schema object.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// NoToolName is the name stored for a call whose own name no service would accept back. No tool has it.
const NoToolName = "invalid_tool_name"

// MoreToolsName is the tool that stands in place of many others. No other tool has its name.
const MoreToolsName = "more_tools"

// mostToolName limits the length of a tool's name, as services do.
const mostToolName = 64

// LegalToolName reports whether services accept a name in the history of a conversation.
func LegalToolName(name string) bool {
	if name == "" || len(name) > mostToolName {
		return false
	}
	for _, r := range name {
		if (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

// ToolKind is the contract's tool_type.
type ToolKind string

// The kinds of tools.
const (
	ToolCustom  ToolKind = "custom"            // written by people
	ToolCore    ToolKind = "letta_core"        // conversation_search, archival…, send_message
	ToolMemory  ToolKind = "letta_memory_core" // the tools that edit blocks
	ToolFiles   ToolKind = "letta_files_core"  // the tools that read attached folders
	ToolBuiltin ToolKind = "letta_builtin"     // the tools that work in a folder
	ToolMCP     ToolKind = "external_mcp"      // of a server that a person added
)

// Ours reports whether tools of a kind are built in: nobody wrote them, and no server brings them.
func (k ToolKind) Ours() bool {
	return k == ToolCore || k == ToolMemory || k == ToolFiles || k == ToolBuiltin
}

// Effect says what calling a tool touches.
type Effect string

// The effects. The engine saves a response together with its returns if every call only reads or edits stored data.
const (
	EffectFacts   Effect = "facts"   // reads or edits only stored data; edits go through Apply
	EffectOutside Effect = "outside" // acts on the world: saved before it runs
)

// Touch says what a call reaches beyond what is stored. Who gives permission decides by it.
type Touch string

// The touches.
const (
	TouchNothing Touch = ""        // reads and edits what is stored, and nothing else
	TouchReads   Touch = "reads"   // reads files of the workspace
	TouchWrites  Touch = "writes"  // changes files of the workspace
	TouchRuns    Touch = "runs"    // starts processes
	TouchNetwork Touch = "network" // fetches from a host that the call names
	TouchSearch  Touch = "search"  // asks the search service that the person set up
	TouchOwn     Touch = "own"     // sees and ends what earlier calls of the agent began
)

// Tool is something a model can call. A failure that the model should read is a Result with IsError; an error means that
// Loci failed.
type Tool interface {
	Spec() ToolSpec
	Call(ctx context.Context, call ToolCall, env ToolEnv) (ToolResult, error)
}

// ToolInfo describes a tool for the API and the engine.
type ToolInfo struct {
	ID              ToolID
	Kind            ToolKind
	Effect          Effect
	Touches         Touch
	Subject         string // the argument that rules of permission match: a path, a shell line, an address; empty: none
	Spec            ToolSpec
	Tags            []string
	ReturnCharLimit int         // 0: the default, 50,000 characters
	WholeReturn     bool        // exempt from the limit (the searches)
	Asks            bool        // a call is a question: what a person answers is its return
	Terminal        bool        // ends the turn of a tool-forced agent by default
	Brought         string      // the path in the open folder of what brings it along, which a person must trust; empty: no folder does
	Custom          *CustomTool // what a person wrote; nil: nobody did
	Remote          *RemoteTool // whose tool it is; nil: it is no server's
	Wider           *ToolSpec   // what the terminal's agents are offered in place of Spec, under the same name; nil: Spec
}

// Code names what a call of it runs; empty: what comes with the program.
func (i *ToolInfo) Code() string {
	if i.Remote != nil {
		return i.Remote.Code
	}
	return i.Custom.Code()
}

// SpecFor returns what an agent's model is told of a tool.
func (i *ToolInfo) SpecFor(a *Agent) ToolSpec {
	if a.Terminal && i.Wider != nil {
		return *i.Wider
	}
	return i.Spec
}

// ToolEnv is what a call may know and use. Edits go through ToolResult.Apply.
type ToolEnv struct {
	Agent        Agent
	Conversation ConversationID
	Run          RunID
	Step         StepID
	Read         ToolReads
	Search       Searcher
	Now          time.Time       // in the time zone of the person or the agent
	Shown        map[BlockID]int // the version of each block shown in the conversation's window
	LineNumbers  bool            // whether the prompt shows line numbers of blocks
	MaxReturn    int             // characters a return may have before it is cut
	Files        FileLimits      // how many files the agent may have open, and how much of them
	Author       Author          // who edits are recorded as
	Chain        []RunID         // the runs that led here, this one last
	Kept         []Passage       // what earlier calls of the same response will store
	Call         string          // the id of the call
	Variables    []string        // what the tool's programs find in their environment, as NAME=value
	Veil         *Veil           // takes the values of secrets out of what is shown before the call returns
	Client       Client          // who made the request
	Workspace    WorkspaceEnv
	Pictures     ImageReader // nil: no images can be read
	Sees         ImageInput  // whether the model takes images
}

// ToolResult is the outcome of a call. Apply, if set, makes the edit and returns the final result: the engine runs it in
// the transaction that saves the return, inside a savepoint of its own; IsError rolls back that savepoint and becomes
// the return, an error fails the step. It may run twice; only the last result counts.
type ToolResult struct {
	Text    string
	IsError bool
	Stdout  []string
	Stderr  []string
	Shows   map[BlockID]int // versions of blocks that Text shows, whole or by what changed since the version shown before
	Keeps   []Passage       // what Apply will store, for later calls of the response to know
	Dir     string          // of a shell line: the folder, absolute, in which the next one begins
	Source  string          // where a text in it comes from that is not the person's; empty: from nowhere else
	Images  []Picture       // shown behind the text
	Layers  []string        // of the sandbox, that confined what ran; empty: nothing ran
	Tells   []Notice        // what the person is told, whoever reads the return
	Apply   func(ctx context.Context, tx ToolEdits) (ToolResult, error)
}

// ToolError returns a failure for the model to read.
func ToolError(text string) ToolResult { return ToolResult{Text: text, IsError: true} }

// Veiled is a result without secret values, also where it is only final once its edit is made.
func (r ToolResult) Veiled(v *Veil) ToolResult {
	if v == nil {
		return r
	}
	r.Text = v.Text(r.Text)
	for i := range r.Tells {
		r.Tells[i].Text = v.Text(r.Tells[i].Text)
	}
	for _, lines := range [][]string{r.Stdout, r.Stderr} {
		for i := range lines {
			lines[i] = v.Text(lines[i])
		}
	}
	if apply := r.Apply; apply != nil {
		r.Apply = func(ctx context.Context, tx ToolEdits) (ToolResult, error) {
			done, err := apply(ctx, tx)
			return done.Veiled(v), err
		}
	}
	return r
}

// Toolbox finds tools. They come in the order of the given ids; unknown ids are left out.
type Toolbox interface {
	Tools(ctx context.Context, ids []ToolID) ([]BoundTool, error)
	// Find returns a tool by its name.
	Find(ctx context.Context, name string) (BoundTool, bool, error)
	// List returns every tool there is, by name.
	List(ctx context.Context) ([]BoundTool, error)
}

// BoundTool is a tool with its description.
type BoundTool struct {
	Info ToolInfo
	Tool Tool
}

// Attachable reports why an agent can't have the tools of these ids, of which some were found.
func Attachable(ids []ToolID, found []BoundTool) error {
	for _, id := range ids {
		i := slices.IndexFunc(found, func(t BoundTool) bool { return t.Info.ID == id })
		if i < 0 {
			return E(NotFound, "there is no tool %s", id)
		}
		if r := found[i].Info.Remote; r != nil && r.Invalid != "" {
			return E(Invalid, "no agent can have the tool %s: %s", found[i].Info.Spec.Name, r.Invalid)
		}
	}
	return nil
}

// ParallelSafe is implemented by tools with outside effects that know whether their calls may run in parallel.
type ParallelSafe interface{ ParallelSafe() bool }
