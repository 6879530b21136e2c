package workspace

import (
	"context"
	"io/fs"

	"loci/core"
)

// maxNames bounds how many names of files are listed.
const maxNames = 100_000

// Names lists the files of a folder by their paths in it, as glob finds them, for a person who names one.
func Names(ctx context.Context, dir string) (names []string, partial bool, err error) {
	env := core.ToolEnv{Workspace: core.WorkspaceEnv{Path: dir}}
	result, err := within(ctx, env, "", func(ctx context.Context, f *folder) (core.ToolResult, error) {
		full, err := f.walk(ctx, ".", maxDepth, func(rel string, entry fs.DirEntry, _ bool) bool {
			if !entry.IsDir() {
				names = append(names, rel)
			}
			return len(names) < maxNames
		})
		partial = full || len(names) == maxNames
		return core.ToolResult{}, err
	})
	if err == nil && result.IsError {
		err = core.E(core.NotFound, "%s", result.Text)
	}
	return names, partial, err
}
