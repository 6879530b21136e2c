package memory

import (
	"context"
	"fmt"

	"loci/core"
	"loci/core/memory"
)

// CreateDoc is what models are told of memory_create.
const CreateDoc = "Make a memory block that will always be before you, for a matter that comes up in most talks. Few are enough."

// CreateArgs are the arguments of memory_create.
type CreateArgs struct {
	Label       string `json:"label" jsonschema:"A short word, such as project."`
	Description string `json:"description" jsonschema:"What belongs in the block."`
	Value       string `json:"value" jsonschema:"What it holds at first. No line numbers."`
}

// Create is memory_create.
func Create(_ context.Context, args CreateArgs, env core.ToolEnv) (core.ToolResult, error) {
	if err := memory.CheckNumbers("value", args.Value); err != nil {
		return core.ToolResult{}, err
	}
	return makes(env, core.Block{Label: args.Label, Value: args.Value, Description: args.Description, Limit: core.TerminalLimit}), nil
}

// makes returns a result that makes a block when it is applied.
func makes(env core.ToolEnv, block core.Block) core.ToolResult {
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		id, err := create(ctx, tx, env, block)
		if err != nil {
			return core.ToolResult{}, err
		}
		return core.ToolResult{Text: fmt.Sprintf("The block %q was made.", block.Label), Shows: map[core.BlockID]int{id: 1}}, nil
	}}
}
