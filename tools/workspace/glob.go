package workspace

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"loci/core"
	"loci/core/ingest"
)

// GlobDoc tells a model what glob does.
const GlobDoc = "Find files of the open folder by name, without those that .gitignore leaves out."

// GlobArgs are the arguments of glob.
type GlobArgs struct {
	Pattern string `json:"pattern" jsonschema:"For example *.go, cmd/**/*_test.go or *.{ts,tsx}."`
	Path    string `json:"path,omitempty" jsonschema:"Only below this folder."`
	Offset  *int   `json:"offset,omitempty" jsonschema:"How many files to skip, for the rest of a long list."`
}

// Glob is the tool glob.
func Glob(ctx context.Context, args GlobArgs, env core.ToolEnv) (core.ToolResult, error) {
	return within(ctx, env, args.begins(), func(ctx context.Context, f *folder) (core.ToolResult, error) { return f.glob(ctx, args) })
}

// begins is what says which folder is meant: a pattern can, too.
func (a *GlobArgs) begins() string {
	if a.Path == "" && filepath.IsAbs(a.Pattern) {
		return a.Pattern
	}
	return a.Path
}

func (f *folder) glob(ctx context.Context, args GlobArgs) (core.ToolResult, error) {
	if strings.TrimSpace(args.Pattern) == "" {
		return core.ToolResult{}, core.E(core.Invalid, "glob needs a pattern, such as *.go")
	}
	from, isFile, err := f.start(args.Path)
	if err != nil {
		return core.ToolResult{}, err
	}
	if isFile {
		return core.ToolResult{}, core.E(core.Invalid, "%q is a file; name a folder", clip(args.Path, 200))
	}
	wanted, err := ingest.Include(strings.TrimPrefix(f.relative(args.Pattern), "./"))
	if err != nil {
		return core.ToolResult{}, err
	}
	var rows []string
	full, err := f.walk(ctx, from, maxDepth, func(rel string, entry fs.DirEntry, _ bool) bool {
		if !entry.IsDir() && (wanted(rel) || from != "." && wanted(strings.TrimPrefix(rel, from+"/"))) {
			rows = append(rows, f.shown(rel))
		}
		return true
	})
	if err != nil {
		return core.ToolResult{}, err
	}
	result, err := f.rows(rows, args.Offset, "No file matches "+clip(args.Pattern, 200)+".", "files")
	return noted(result, full), err
}

// relative takes the folder's own path off the front of a pattern.
func (f *folder) relative(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, f.path+"/"); ok {
		return rest
	}
	return pattern
}

// noted says that a walk met a bound.
func noted(result core.ToolResult, full bool) core.ToolResult {
	if full && result.Text != "" {
		result.Text += "\n(The folder is too large or too deep: not all of it was looked at. Name a folder in it.)"
	}
	return result
}
