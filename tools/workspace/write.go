package workspace

import (
	"context"
	"fmt"
	"strings"

	"loci/core"
)

// WriteDoc tells a model what write does.
const WriteDoc = "Make a file of the open folder, or replace all of one that you read before. To change a part of a file, use edit."

// WriteArgs are the arguments of write.
type WriteArgs struct {
	Path    string `json:"path" jsonschema:"The file, relative to the folder. Missing folders are made."`
	Content string `json:"content" jsonschema:"All that the file is to hold."`
}

// Write is the tool write.
func Write(ctx context.Context, args WriteArgs, env core.ToolEnv) (core.ToolResult, error) {
	return within(ctx, env, args.Path, func(ctx context.Context, f *folder) (core.ToolResult, error) { return f.write(ctx, args) })
}

func (f *folder) write(ctx context.Context, args WriteArgs) (core.ToolResult, error) {
	if err := checkText(args.Path, args.Content); err != nil {
		return core.ToolResult{}, err
	}
	d, err := f.document(args.Path)
	if err != nil {
		return core.ToolResult{}, err
	}
	what := "made"
	if d.info != nil {
		if err := d.decode(); err != nil {
			return core.ToolResult{}, err
		}
		known, refusal, err := f.changedSince(ctx, d)
		if err != nil {
			return core.ToolResult{}, err
		}
		if refusal != "" {
			return core.ToolError(refusal), nil
		}
		if !known {
			return core.ToolResult{}, core.E(core.Invalid, "%q is there already and you have not read it; read it first, or change it "+
				"with edit", clip(args.Path, 200))
		}
		what = "replaced"
	}
	text := args.Content
	if d.info != nil && len(d.text.crlf) > 0 && d.text.mostlyCRLF() {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	if err := f.save(ctx, d, d.enc.encode(text)); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: fmt.Sprintf("%s is %s: %s.", args.Path, what, core.Count(lineCount(text), "line"))}, nil
}
