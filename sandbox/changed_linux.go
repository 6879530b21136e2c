package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	mostEntries = 500_000 // of a project, that are looked at after a job
	mostChanged = 100     // paths that are reported
)

// actedOn are names that git, an editor, a shell or another agent would act on without asking, in any folder.
var actedOn = []string{".git", ".envrc", ".vscode", ".mcp.json", ".claude", ".loci"}

// inGit are names in a git folder that git would run or follow, at any depth: a submodule's folder lies in it too.
var inGit = guarded

// changed lists what the job made or changed of what other programs act on. Nothing inside can turn back the time at which
// the kernel says that a file changed.
func (p *plan) changed() (found []string) {
	for _, in := range append([]*project{p.project}, p.beside...) {
		if in == nil || !in.writable {
			continue
		}
		c := comparison{since: p.since, hooks: in.hooks, mounted: in.git}
		c.walk(in.path, "") // of a bare repository too
		for _, dir := range in.git {
			if !strings.HasPrefix(dir, in.path+"/") {
				c.walk(dir, ".git")
			}
		}
		if c.entries >= mostEntries {
			c.found = append(c.found, in.path+": too many files to look at all of them")
		}
		found = append(found, c.found...)
	}
	return found
}

type comparison struct {
	since   time.Time
	hooks   string
	mounted []string // git folders that are mounts: nothing can take their place, and git itself writes in them
	entries int
	found   []string
}

// walk looks at a folder. within is which of the names acted on it lies in, if any.
func (c *comparison) walk(dir, within string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // a folder that nobody can read has nothing to act on
	}
	if within == "" && looksLikeGit(entries) { // a git folder under another name
		within = ".git"
	}
	for _, e := range entries {
		if c.entries++; c.entries >= mostEntries || len(c.found) >= mostChanged {
			return
		}
		name, path := e.Name(), filepath.Join(dir, e.Name())
		inside := c.kind(within, name, path)
		// A folder of git's may have been moved here whole; of any other, what lies in it tells.
		if inside == ".git" && within == "" || inside != "" && inside != ".git" && !e.IsDir() {
			c.compare(path, e)
		}
		if e.IsDir() && !skipped(within, name) {
			c.walk(path, inside)
		}
	}
}

// looksLikeGit reports whether git would take a folder for one of its own.
func looksLikeGit(entries []fs.DirEntry) bool {
	found := 0
	for _, e := range entries {
		if name := e.Name(); name == "HEAD" || name == "objects" || name == "refs" {
			found++
		}
	}
	return found == 3
}

// kind says which of the names that are acted on a path belongs to.
func (c *comparison) kind(within, name, path string) string {
	switch {
	case within == ".git" && slices.Contains(inGit, name):
		return name
	case within != "":
		return within
	case path == c.hooks:
		return "hooks"
	case slices.Contains(actedOn, name):
		return name
	}
	return ""
}

// skipped reports whether a folder of git's holds nothing but its own data.
func skipped(within, name string) bool {
	return within == ".git" && slices.Contains(ownData, name)
}

func (c *comparison) compare(path string, e fs.DirEntry) {
	if slices.Contains(c.mounted, path) {
		return
	}
	info, err := e.Info()
	if err != nil {
		return // it has gone
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Unix(st.Ctim.Unix()).Before(c.since) {
		return
	}
	c.found = append(c.found, path)
}
