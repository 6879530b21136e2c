// Package memory is the built-in tools that edit an agent's memory blocks.
//
// Promises: an edit is read, changed and written inside the transaction that saves its return, so each edit of a response
// sees the one before it; a read-only block, a value over its limit and line numbers that the model cannot have seen are
// refused with what to do instead.
//
// Layer 1, below tools: it imports core and core/memory.
package memory

import (
	"context"
	"fmt"
	"strings"

	"loci/core"
	"loci/core/memory"
)

// What models are told of the tools.
const (
	AppendDoc        = "Add a text as a new line at the end of a memory block."
	ReplaceDoc       = "Replace a text wherever it occurs in a memory block."
	InsertDoc        = "Insert text into a memory block as lines of its own. Use it to remember something new."
	ReplaceUniqueDoc = "Replace one exact text in a memory block. Use it to correct or remove what a block says."
)

// AppendArgs are the arguments of core_memory_append.
type AppendArgs struct {
	Label   string `json:"label" jsonschema:"Label of the block."`
	Content string `json:"content" jsonschema:"The text to add."`
}

// Append is core_memory_append.
func Append(_ context.Context, args AppendArgs, env core.ToolEnv) (core.ToolResult, error) {
	return edit(env, args.Label, func(b core.Block) (string, error) {
		if args.Content == "" {
			return "", core.E(core.Invalid, "content is empty: nothing to add")
		}
		return memory.Append(b.Value, args.Content), nil
	}), nil
}

// ReplaceArgs are the arguments of core_memory_replace.
type ReplaceArgs struct {
	Label      string `json:"label" jsonschema:"Label of the block."`
	OldContent string `json:"old_content" jsonschema:"The exact text to replace."`
	NewContent string `json:"new_content" jsonschema:"The text in its place; empty removes it."`
}

// Replace is core_memory_replace.
func Replace(_ context.Context, args ReplaceArgs, env core.ToolEnv) (core.ToolResult, error) {
	return edit(env, args.Label, func(b core.Block) (string, error) {
		return memory.Replace(b.Value, args.OldContent, args.NewContent)
	}), nil
}

// ReplaceUniqueArgs are the arguments of memory_replace.
type ReplaceUniqueArgs struct {
	Label     string `json:"label" jsonschema:"Label of the block."`
	OldString string `json:"old_string" jsonschema:"The exact text to replace; it must occur once. No line numbers."`
	NewString string `json:"new_string" jsonschema:"The text in its place; empty removes it."`
}

// ReplaceUnique is memory_replace.
func ReplaceUnique(_ context.Context, args ReplaceUniqueArgs, env core.ToolEnv) (core.ToolResult, error) {
	return edit(env, args.Label, func(b core.Block) (string, error) {
		return memory.ReplaceUnique(b.Value, args.OldString, args.NewString)
	}), nil
}

// InsertArgs are the arguments of memory_insert.
type InsertArgs struct {
	Label      string `json:"label" jsonschema:"Label of the block."`
	NewString  string `json:"new_string" jsonschema:"The text to insert. No line numbers."`
	InsertLine *int   `json:"insert_line,omitempty" jsonschema:"Insert after this line; 0 is the top, -1 (default) the end."`
}

// Insert is memory_insert.
func Insert(_ context.Context, args InsertArgs, env core.ToolEnv) (core.ToolResult, error) {
	line := -1
	if args.InsertLine != nil {
		line = *args.InsertLine
	}
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		block, err := open(ctx, tx, env.Agent.ID, args.Label)
		if err != nil {
			return core.ToolResult{}, err
		}
		if line >= 1 && movedOn(env, block) {
			return stale("memory_insert", block, miscounted, env.LineNumbers), nil
		}
		next, err := memory.Insert(block.Value, args.NewString, line)
		if err != nil {
			return core.ToolResult{}, err
		}
		return write(ctx, tx, env, block, next)
	}}, nil
}

// edit returns a result that changes a block's value when it is applied.
func edit(env core.ToolEnv, label string, change func(core.Block) (string, error)) core.ToolResult {
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		block, err := open(ctx, tx, env.Agent.ID, label)
		if err != nil {
			return core.ToolResult{}, err
		}
		next, err := change(block)
		if err != nil {
			return core.ToolResult{}, err
		}
		return write(ctx, tx, env, block, next)
	}}
}

// open reads the newest state of a block that the agent may edit.
func open(ctx context.Context, tx core.ToolEdits, agent core.AgentID, label string) (core.Block, error) {
	blocks, err := tx.Blocks.OfAgent(ctx, agent)
	if err != nil {
		return core.Block{}, err
	}
	var labels []string
	for _, b := range blocks {
		switch {
		case b.Label != label:
			labels = append(labels, b.Label)
		case b.ReadOnly:
			return core.Block{}, core.E(core.Invalid, "%q: This block is read-only and cannot be edited.", label)
		default:
			return b, nil
		}
	}
	if len(labels) == 0 {
		return core.Block{}, core.E(core.Invalid, "there is no memory block %q: you have no blocks", label)
	}
	return core.Block{}, core.E(core.Invalid, "there is no memory block %q. Your blocks are: %s", label, strings.Join(labels, ", "))
}

// write stores a value within its limit and returns it as the tool's return; of a long one, the terminal's agents read what
// changed, if they were shown the rest.
func write(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, block core.Block, next string) (core.ToolResult, error) {
	if err := memory.CheckLimit(block.Value, next, block.Limit); err != nil {
		return core.ToolResult{}, err
	}
	text := shown(next, env.LineNumbers)
	if env.Agent.Terminal && !env.LineNumbers && !movedOn(env, block) {
		text = memory.Changed(block.Label, block.Value, next)
	}
	block.Value = next
	if err := save(ctx, tx, env, &block); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: text, Shows: map[core.BlockID]int{block.ID: block.Version}}, nil
}

// movedOn reports whether a block has a newer version than the one its editor was last shown.
func movedOn(env core.ToolEnv, block core.Block) bool { return env.Shown[block.ID] != block.Version }

// miscounted is why line numbers of another version are refused.
const miscounted = "so insert_line may mean another line. Nothing was inserted."

// stale refuses what was written for another version of a block, and shows the newest so that the next try is right.
func stale(tool string, block core.Block, why string, numbered bool) core.ToolResult {
	result := core.ToolError(
		fmt.Sprintf("Error executing function %s: ValueError: the block %q has changed since you were shown it, %s The value is now:\n%s",
			tool, block.Label, why, shown(block.Value, numbered)),
	)
	result.Shows = map[core.BlockID]int{block.ID: block.Version}
	return result
}

func shown(value string, numbered bool) string {
	if numbered {
		return memory.NumberLines(value)
	}
	return value
}
