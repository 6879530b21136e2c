package memory

import (
	"context"
	"strings"

	"loci/core"
	"loci/core/memory"
)

// What models are told of the tools.
const (
	RethinkDoc = "Rewrite a whole memory block, for changes throughout. For a small change use another tool."
	FinishDoc  = "Say that you are done editing memory."
	PatchDoc   = "Change memory by a patch. One block: lines that begin with a space stay, with - go, with + come; @@ parts hunks. " +
		"Several blocks: \"*** Add Block: LABEL\" (then \"Description: TEXT\" and + lines), \"*** Update Block: LABEL\" (then perhaps " +
		"\"*** Move to: LABEL\", and hunks), \"*** Delete Block: LABEL\"."
)

// RethinkArgs are the arguments of memory_rethink.
type RethinkArgs struct {
	Label     string `json:"label" jsonschema:"Label of the block."`
	NewMemory string `json:"new_memory" jsonschema:"The new value, whole. No line numbers."`
}

// Rethink is memory_rethink. It overwrites only what its author was shown.
func Rethink(_ context.Context, args RethinkArgs, env core.ToolEnv) (core.ToolResult, error) {
	if err := memory.CheckNumbers("new_memory", args.NewMemory); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		block, err := open(ctx, tx, env.Agent.ID, args.Label)
		if err != nil {
			return core.ToolResult{}, err
		}
		if movedOn(env, block) {
			why := "and your text would have overwritten that. Nothing was written: your text, beginning " + memory.Excerpt(
				args.NewMemory,
			) + ", is not kept."
			return stale("memory_rethink", block, why, env.LineNumbers), nil
		}
		return write(ctx, tx, env, block, args.NewMemory)
	}}, nil
}

// FinishArgs are the arguments of memory_finish_edits: none.
type FinishArgs struct{}

// Finish is memory_finish_edits.
func Finish(context.Context, FinishArgs, core.ToolEnv) (core.ToolResult, error) {
	return core.ToolResult{Text: "None"}, nil
}

// PatchArgs are the arguments of memory_apply_patch.
type PatchArgs struct {
	Label string `json:"label" jsonschema:"Label of the block; with *** headers they say which."`
	Patch string `json:"patch" jsonschema:"The patch. No line numbers before lines."`
}

// ApplyPatch is memory_apply_patch. Lines are found by what they say, so that an edit by others beside them is kept.
func ApplyPatch(_ context.Context, args PatchArgs, env core.ToolEnv) (core.ToolResult, error) {
	edits, several, err := memory.Edits(args.Patch)
	if err != nil {
		return core.ToolResult{}, err
	}
	if !several {
		return edit(env, args.Label, func(b core.Block) (string, error) { return memory.Patch(b.Value, args.Patch) }), nil
	}
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		done, shows := make([]string, 0, len(edits)), map[core.BlockID]int{}
		for _, e := range edits {
			said, err := applyEdit(ctx, tx, env, e, shows)
			if err != nil {
				return core.ToolResult{}, err
			}
			done = append(done, said)
		}
		return core.ToolResult{Text: "The patch was applied: " + strings.Join(done, "; ") + ".", Shows: shows}, nil
	}}, nil
}

// applyEdit makes one of a patch's edits and says what it did.
func applyEdit(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, e memory.BlockEdit, shows map[core.BlockID]int) (string, error) {
	switch e.Kind {
	case memory.EditAdd:
		id, err := create(ctx, tx, env, core.Block{Label: e.Label, Value: e.Value, Description: e.Description})
		shows[id] = 1
		return "added " + e.Label, err
	case memory.EditDelete:
		return "detached " + e.Label, detach(ctx, tx, env, e.Label)
	case memory.EditUpdate:
	}
	block, err := open(ctx, tx, env.Agent.ID, e.Label)
	if err != nil {
		return "", err
	}
	delete(shows, block.ID)
	said := "updated " + e.Label
	if e.Patch != "" {
		next, err := memory.Patch(block.Value, e.Patch)
		if err != nil {
			return "", core.E(core.Invalid, "%s: %w", e.Label, err)
		}
		if err := memory.CheckLimit(block.Value, next, block.Limit); err != nil {
			return "", core.E(core.Invalid, "%s: %w", e.Label, err)
		}
		block.Value = next
	}
	if e.MoveTo != "" {
		block.Label, said = e.MoveTo, "moved "+e.Label+" to "+e.MoveTo
	}
	return said, save(ctx, tx, env, &block)
}
