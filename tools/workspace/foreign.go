package workspace

import (
	"context"
	"slices"
	"strings"

	"loci/core"
)

// mostDownloads bounds how often a file was downloaded that is compared with each time.
const mostDownloads = 20

// mostSources bounds how many sources one search names.
const mostSources = 20

// sourceOf is where the content of a file comes from that is not the person's: a folder that holds what others wrote, or hosts
// that a line had reached which made it just so. Empty: it is the person's.
func sourceOf(ctx context.Context, w core.WorkspaceEnv, rel, hash string) (string, error) {
	if core.ForeignPath(rel) {
		return rel, nil
	}
	if w.Files == nil || hash == "" {
		return "", nil
	}
	made, err := w.Files.Changes(ctx, core.FileChanges{
		Downloaded: &core.FilePath{Workspace: w.Path, Path: rel}, Limit: mostDownloads,
	})
	i := slices.IndexFunc(made, func(c core.FileChange) bool { return c.After.Hash == hash })
	if err != nil || i < 0 {
		return "", err
	}
	return made[i].Source, nil
}

// marked marks what is shown of a file that is not the person's.
func marked(source, rel, text string) string {
	if source != "" && source != rel {
		rel += " from " + strings.Join(strings.Fields(source), ", ")
	}
	if source == "" || text == "" {
		return text
	}
	return core.Foreign(rel, text)
}
