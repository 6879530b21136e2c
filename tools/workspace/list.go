package workspace

import (
	"context"
	"io/fs"
	"path"

	"loci/core"
)

// ListDoc tells a model what list does.
const ListDoc = "List what is in a folder of the open folder, without what .gitignore leaves out."

// ListArgs are the arguments of list.
type ListArgs struct {
	Path   string `json:"path,omitempty" jsonschema:"The folder; empty: the open folder itself."`
	Offset *int   `json:"offset,omitempty" jsonschema:"How many entries to skip, for the rest of a long list."`
}

// List is the tool list.
func List(ctx context.Context, args ListArgs, env core.ToolEnv) (core.ToolResult, error) {
	return within(ctx, env, args.Path, func(ctx context.Context, f *folder) (core.ToolResult, error) { return f.list(ctx, args) })
}

func (f *folder) list(ctx context.Context, args ListArgs) (core.ToolResult, error) {
	from, isFile, err := f.start(args.Path)
	if err != nil {
		return core.ToolResult{}, err
	}
	if isFile {
		return core.ToolResult{}, core.E(core.Invalid, "%q is a file; read shows what it says", clip(args.Path, 200))
	}
	var rows []string
	full, err := f.walk(ctx, from, 0, func(rel string, entry fs.DirEntry, _ bool) bool {
		row := path.Base(rel)
		switch {
		case entry.IsDir():
			row += "/"
		case entry.Type()&fs.ModeSymlink != 0:
			row += " (link)"
		case !entry.Type().IsRegular():
			row += " (no file)"
		}
		rows = append(rows, row)
		return true
	})
	if err != nil {
		return core.ToolResult{}, err
	}
	result, err := f.rows(rows, args.Offset, "The folder is empty, or .gitignore leaves out all that is in it.", "entries")
	return noted(result, full && len(rows) >= maxEntries), err
}
