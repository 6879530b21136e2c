package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"loci/core"
	"loci/sandbox/frame"
)

// project is the folder that a job works in.
type project struct {
	path  string
	git   []string // git folders in it and, for a worktree, outside of it
	hooks string   // where git's configuration says that hooks are, in the project; may be empty
	binds []frame.Bind
}

// guarded are what git in a folder of its own would run or follow. Existing ones are read-only inside.
var guarded = []string{"hooks", "config", "config.worktree", "commondir", "gitdir"}

// ours are folders of this program in a project: what it would act on itself.
var ours = []string{".loci"}

// openProject finds out what to mount for a project. It only reads, and runs no git: that would obey the project.
func openProject(j *core.JobProject) (*project, error) {
	path, err := resolve(j.Path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, core.E(core.Invalid, "the project %s is no folder", j.Path)
	}
	p := &project{path: path}
	p.add(path, j.Writable)
	for _, name := range j.Fixed { // before all others, which would be covered
		p.fix(filepath.Join(path, name), j.Writable)
	}
	if err := p.openGit(j.Writable); err != nil {
		return nil, err
	}
	for _, name := range append(append([]string{}, ours...), j.ReadOnly...) {
		p.keep(filepath.Join(path, name))
	}
	if p.hooks != "" {
		p.keep(p.hooks)
	}
	for _, name := range j.Masked {
		p.mask(filepath.Join(path, name))
	}
	return p, nil
}

func (p *project) add(path string, writable bool) {
	p.binds = append(p.binds, frame.Bind{Source: path, Target: path, Writable: writable})
}

// keep mounts a path over itself, read-only. Being a mount, it can't be moved away either.
func (p *project) keep(path string) {
	if real, ok := p.inside(path); ok {
		p.add(real, false)
	}
}

// fix mounts a folder over itself, so that it can't be moved.
func (p *project) fix(path string, writable bool) {
	if real, ok := p.inside(path); ok {
		p.add(real, writable)
	}
}

// mask hides a path.
func (p *project) mask(path string) {
	if real, ok := p.inside(path); ok {
		p.binds = append(p.binds, frame.Bind{Target: real, Masked: true})
	}
}

// inside resolves the links of a path, and reports whether there is something at all that a mount shows.
func (p *project) inside(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	for _, b := range p.binds {
		if strings.HasPrefix(real, b.Target+"/") {
			return real, true
		}
	}
	return "", false
}

// openGit makes the project's git folder a mount of its own, which can't be moved, with what git would run read-only in it.
func (p *project) openGit(writable bool) error {
	dir := filepath.Join(p.path, ".git")
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return core.E(core.Invalid, "look at %s: %w", dir, err)
	case info.IsDir():
		p.guard(dir, writable)
	case info.Mode().IsRegular():
		p.add(dir, false)
		own, common, ok := worktree(dir)
		if !ok {
			return nil // git says inside what it misses
		}
		p.guard(common, writable)
		if !strings.HasPrefix(own, common+"/") {
			p.guard(own, writable)
		} else {
			for _, name := range guarded {
				p.keep(filepath.Join(own, name))
			}
		}
	}
	return nil
}

func (p *project) guard(dir string, writable bool) {
	p.git = append(p.git, dir)
	p.add(dir, writable)
	for _, name := range guarded {
		p.keep(filepath.Join(dir, name))
	}
	if hooks := hooksPath(filepath.Join(dir, "config")); hooks != "" {
		if !filepath.IsAbs(hooks) {
			hooks = filepath.Join(p.path, hooks)
		}
		p.hooks = filepath.Clean(hooks)
	}
}

// worktree follows the .git file of a worktree to its folder and to the one shared by all of them. The file is the project's,
// and so a job's: it is believed only where the folder points back to this very file, which nobody inside could make it do.
func worktree(file string) (own, common string, ok bool) {
	named, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return "", "", false
	}
	own = absolute(filepath.Dir(file), named)
	back, err := filepath.EvalSymlinks(absolute(own, firstLine(filepath.Join(own, "gitdir"))))
	if err != nil || back != file {
		return "", "", false
	}
	common = absolute(own, firstLine(filepath.Join(own, "commondir")))
	if common != filepath.Dir(filepath.Dir(own)) || filepath.Base(filepath.Dir(own)) != "worktrees" {
		return "", "", false
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return "", "", false
	}
	common, err = filepath.EvalSymlinks(common)
	return own, common, err == nil
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// firstLine reads a small file's first line; nothing, where that can't be read.
func firstLine(file string) string {
	line, _, _ := strings.Cut(readSmall(file), "\n")
	return strings.TrimSpace(line)
}

// readSmall reads a regular file of at most 64 KB; nothing, where that can't be done.
func readSmall(file string) string {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}

// hooksPath finds core.hooksPath in a git configuration.
func hooksPath(config string) string {
	section, found := "", ""
	for line := range strings.Lines(readSmall(config)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section, _, _ = strings.Cut(strings.ToLower(name), "]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "hooksPath") {
			found = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}
