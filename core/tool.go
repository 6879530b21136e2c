package core

import (
	"context"
	"encoding/json"
	"time"
)

// ToolSpec is what a model is told of a tool. Parameters is a JSON Schema object.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// ToolKind is the contract's tool_type.
type ToolKind string

// The kinds of built-in tools.
const (
	ToolCore   ToolKind = "letta_core"        // conversation_search, archival…, send_message
	ToolMemory ToolKind = "letta_memory_core" // the tools that edit blocks
	ToolFiles  ToolKind = "letta_files_core"  // the tools that look into attached folders
)

// Effect says what calling a tool touches.
type Effect string

// The effects. The engine saves a response together with its returns when every call only reads or edits our facts.
const (
	EffectFacts   Effect = "facts"   // reads or edits only what our store holds; edits through Apply
	EffectOutside Effect = "outside" // acts on the world: saved before it runs
)

// Tool is something a model can call. A failure that the model should read is a Result with IsError; an error means that we broke.
type Tool interface {
	Spec() ToolSpec
	Call(ctx context.Context, call ToolCall, env ToolEnv) (ToolResult, error)
}

// ToolInfo describes a tool for the API and the engine.
type ToolInfo struct {
	ID              ToolID
	Kind            ToolKind
	Effect          Effect
	Spec            ToolSpec
	Tags            []string
	ReturnCharLimit int  // 0: the default, 50,000 characters
	WholeReturn     bool // exempt from the limit (the searches)
	Terminal        bool // ends the turn of a tool-forced agent by default
}

// ToolEnv is what a call may know and use. Store reads; edits go through ToolResult.Apply.
type ToolEnv struct {
	Agent        Agent
	Conversation ConversationID
	Run          RunID
	Step         StepID
	Store        Store
	Now          time.Time       // with the zone of the person or the agent
	Shown        map[BlockID]int // the version of each block that the conversation's window shows
	LineNumbers  bool            // whether the prompt shows line numbers of blocks
	MaxReturn    int             // characters a return may have before it is cut
	Files        FileLimits      // how much of its files the agent may have open
	Author       BlockAuthor     // who edits are recorded as
	Chain        []RunID         // the runs that led here, this one last
}

// ToolResult is what a call gave. Apply, if set, makes the edit and returns the final result: the engine runs it inside
// the transaction that saves the return, in a savepoint of its own; IsError rolls that savepoint back and is the return,
// an error fails the step. It may run twice; only its last result counts.
type ToolResult struct {
	Text    string
	IsError bool
	Stdout  []string
	Stderr  []string
	Shows   map[BlockID]int // versions of blocks whose whole new value stands in Text
	Apply   func(ctx context.Context, tx Store) (ToolResult, error)
}

// ToolError returns a failure for the model to read.
func ToolError(text string) ToolResult { return ToolResult{Text: text, IsError: true} }

// Toolbox finds tools. Order is the order of the ids asked for; unknown ids are left out.
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

// ParallelSafe is an optional part of a Tool with outside effects: whether its calls may run side by side.
type ParallelSafe interface{ ParallelSafe() bool }
