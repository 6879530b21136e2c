package memory

import (
	"context"
	"fmt"
	"strings"

	"loci/core"
	"loci/core/memory"
)

// OmniDoc is what models are told of the tool memory.
const OmniDoc = "Keep your memory blocks: create one (path, description, file_text), str_replace (path, old_string, new_string), insert " +
	"(path, insert_line, insert_text), " +
	"delete (path), rename (old_path, new_path; or path and description for a new description). A path is /memories/ and a label."

// OmniArgs are the arguments of memory; which are needed depends on the command.
type OmniArgs struct {
	Command     string  `json:"command" enum:"create,str_replace,insert,delete,rename" jsonschema:"What to do."`
	Path        *string `json:"path,omitempty" jsonschema:"Path of the block."`
	FileText    *string `json:"file_text,omitempty" jsonschema:"Value of a new block."`
	Description *string `json:"description,omitempty" jsonschema:"What the block is for."`
	OldString   *string `json:"old_string,omitempty" jsonschema:"The exact text to replace; it must occur once."`
	NewString   *string `json:"new_string,omitempty" jsonschema:"The text in its place."`
	InsertLine  *int    `json:"insert_line,omitempty" jsonschema:"Insert after this line; 0 is the top, -1 (default) the end."`
	InsertText  *string `json:"insert_text,omitempty" jsonschema:"The text to insert."`
	OldPath     *string `json:"old_path,omitempty" jsonschema:"Path of the block to rename."`
	NewPath     *string `json:"new_path,omitempty" jsonschema:"Its new path."`
}

// Omni is the tool memory.
func Omni(ctx context.Context, args OmniArgs, env core.ToolEnv) (core.ToolResult, error) {
	switch args.Command {
	case "create":
		return omniCreate(args, env)
	case "str_replace":
		if err := needs(args.Command, argument{"path", args.Path}, argument{"old_string", args.OldString}); err != nil {
			return core.ToolResult{}, err
		}
		return ReplaceUnique(
			ctx,
			ReplaceUniqueArgs{Label: labelOf(*args.Path), OldString: *args.OldString, NewString: value(args.NewString)},
			env,
		)
	case "insert":
		if err := needs(args.Command, argument{"path", args.Path}, argument{"insert_text", args.InsertText}); err != nil {
			return core.ToolResult{}, err
		}
		return Insert(ctx, InsertArgs{Label: labelOf(*args.Path), NewString: *args.InsertText, InsertLine: args.InsertLine}, env)
	case "delete":
		if err := needs(args.Command, argument{"path", args.Path}); err != nil {
			return core.ToolResult{}, err
		}
		label := labelOf(*args.Path)
		return confirmed(func(ctx context.Context, tx core.ToolEdits) (string, error) {
			return fmt.Sprintf("The block %q is no longer part of your memory.", label), detach(ctx, tx, env, label)
		}), nil
	default:
		return omniRename(args, env)
	}
}

func omniCreate(args OmniArgs, env core.ToolEnv) (core.ToolResult, error) {
	if err := needs(args.Command, argument{"path", args.Path}, argument{"description", args.Description}); err != nil {
		return core.ToolResult{}, err
	}
	if err := memory.CheckNumbers("file_text", value(args.FileText)); err != nil {
		return core.ToolResult{}, err
	}
	block := core.Block{Label: labelOf(*args.Path), Value: value(args.FileText), Description: *args.Description}
	return makes(env, block), nil
}

// omniRename gives a block a new label, or with a description alone that.
func omniRename(args OmniArgs, env core.ToolEnv) (core.ToolResult, error) {
	if args.OldPath == nil && args.NewPath == nil && args.Description != nil {
		if err := needs("rename", argument{"path", args.Path}); err != nil {
			return core.ToolResult{}, err
		}
		label := labelOf(*args.Path)
		return confirmed(func(ctx context.Context, tx core.ToolEdits) (string, error) {
			block, err := open(ctx, tx, env.Agent.ID, label)
			if err != nil {
				return "", err
			}
			block.Description = *args.Description
			return fmt.Sprintf("The description of the block %q was changed.", label), save(ctx, tx, env, &block)
		}), nil
	}
	from := args.OldPath
	if from == nil {
		from = args.Path
	}
	if err := needs("rename", argument{"old_path", from}, argument{"new_path", args.NewPath}); err != nil {
		return core.ToolResult{}, err
	}
	old, label := labelOf(*from), labelOf(*args.NewPath)
	return confirmed(func(ctx context.Context, tx core.ToolEdits) (string, error) {
		block, err := open(ctx, tx, env.Agent.ID, old)
		if err != nil {
			return "", err
		}
		block.Label = label
		if args.Description != nil {
			block.Description = *args.Description
		}
		return fmt.Sprintf("The block %q is now %q.", old, label), save(ctx, tx, env, &block)
	}), nil
}

// argument is one that a command needs.
type argument struct {
	name  string
	value *string
}

// needs refuses a command without one of its arguments.
func needs(command string, arguments ...argument) error {
	for _, a := range arguments {
		if a.value == nil {
			return core.E(core.Invalid, "the command %s needs the argument %s", command, a.name)
		}
	}
	return nil
}

// labelOf reads a path: a label, with or without the folder of memories before it.
func labelOf(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(path), "/memories/"), "/")
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// confirmed returns a result that makes an edit when it is applied and says so.
func confirmed(fn func(ctx context.Context, tx core.ToolEdits) (string, error)) core.ToolResult {
	return core.ToolResult{Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		said, err := fn(ctx, tx)
		if err != nil {
			return core.ToolResult{}, err
		}
		return core.ToolResult{Text: said}, nil
	}}
}

// create makes a block of the agent.
func create(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, block core.Block) (core.BlockID, error) {
	if block.Limit == 0 {
		block.Limit = core.DefaultBlockLimit
	}
	block.ID, block.CreatedAt, block.UpdatedAt = core.NewBlockID(), env.Now, env.Now
	if err := block.Validate(); err != nil {
		return "", err
	}
	if err := memory.CheckLimit("", block.Value, block.Limit); err != nil {
		return "", err
	}
	if err := tx.Blocks.Create(ctx, &block, env.Author); err != nil {
		return "", err
	}
	if err := told(tx.Blocks.Attach(ctx, env.Agent.ID, block.ID)); err != nil {
		return "", err
	}
	return block.ID, tx.Conversations.MarkStale(ctx, env.Agent.ID)
}

// detach takes a block away from the agent; the block itself stays.
func detach(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, label string) error {
	block, err := open(ctx, tx, env.Agent.ID, label)
	if err != nil {
		return err
	}
	if err := tx.Blocks.Detach(ctx, env.Agent.ID, block.ID); err != nil {
		return err
	}
	return tx.Conversations.MarkStale(ctx, env.Agent.ID)
}

// save stores an edited block for every agent that has it.
func save(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, block *core.Block) error {
	block.UpdatedAt = env.Now
	if err := block.Validate(); err != nil {
		return err
	}
	if err := told(tx.Blocks.Update(ctx, block, env.Author)); err != nil {
		return err
	}
	agents, err := tx.Blocks.AgentsOf(ctx, block.ID)
	if err != nil {
		return err
	}
	return tx.Conversations.MarkStale(ctx, agents...)
}

// Assign gives a block a value in place of the one that whoever wrote it has seen.
func Assign(ctx context.Context, tx core.ToolEdits, env core.ToolEnv, label, was, next string) error {
	block, err := open(ctx, tx, env.Agent.ID, label)
	if err != nil {
		return err
	}
	if block.Value != was {
		return core.E(core.Invalid, "the block %q has changed meanwhile", label)
	}
	if err := memory.CheckLimit(block.Value, next, block.Limit); err != nil {
		return err
	}
	block.Value = next
	return save(ctx, tx, env, &block)
}

// told makes a conflict something that the model can mend: a label is taken.
func told(err error) error {
	if core.KindOf(err) == core.Conflict {
		return core.E(core.Invalid, "%w", err)
	}
	return err
}
