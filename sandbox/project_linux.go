package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/core/gitconfig"
	"loci/sandbox/frame"
)

// project is the folder that a job works in.
type project struct {
	path    string
	git     []string // git folders in it and, for a worktree, outside of it
	configs []string // git configurations that a job may change a copy of
	absent  []string // what git would follow, and can't be covered, for it isn't there
	hooks   string   // where git's configuration says that hooks are, in the project; may be empty
	binds   []frame.Bind

	writable bool
}

// guarded are what git in a folder of its own would run or follow. Existing ones are read-only inside. In remotes and branches,
// as git had them before its configuration did, are addresses.
var guarded = []string{"hooks", "config", "config.worktree", "commondir", "gitdir", "remotes", "branches"}

// followed are those of them that lead git to another configuration. One that a job makes is taken away after it.
var followed = []string{"config.worktree", "commondir"}

// mostModules is how many git folders of submodules are looked for.
const mostModules = 200

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
	p := &project{path: path, writable: j.Writable}
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
	p.configs = slices.DeleteFunc(p.configs, func(file string) bool { return p.closes(file, slices.Concat(j.ReadOnly, j.Masked)) })
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

// covered are the paths that mounts close, each with the folder that shows it. Where all is read-only, only masks close anything.
func (p *project) covered() []covered {
	var out []covered
	for i, b := range p.binds {
		if !b.Masked && !p.binds[0].Writable {
			continue
		}
		for _, outer := range p.binds[:i] {
			if strings.HasPrefix(b.Target, outer.Target+"/") {
				out = append(out, covered{outer.Target, b.Target})
				break
			}
		}
	}
	return out
}

// closes reports whether one of these names in the project is a path, or a folder that it lies in.
func (p *project) closes(path string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		real, err := filepath.EvalSymlinks(filepath.Join(p.path, name))
		return err == nil && (real == path || strings.HasPrefix(path, real+"/"))
	})
}

// openGit makes the project's git folder a mount of its own, which can't be moved, with what git would run read-only in it.
func (p *project) openGit(writable bool) error {
	dir := filepath.Join(p.path, ".git")
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isGit(p.path): // a bare repository
		p.guard(p.path, writable)
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
		if !strings.HasPrefix(own+"/", common+"/") {
			p.guard(own, writable)
		} else if own != common {
			p.keepGit(own)
		}
	}
	return nil
}

func (p *project) guard(dir string, writable bool) {
	p.git = append(p.git, dir)
	if dir != p.path {
		p.add(dir, writable)
	}
	p.keepGit(dir)
	if hooks := setting(filepath.Join(dir, "config"), "core.hookspath"); hooks != "" {
		if !filepath.IsAbs(hooks) {
			hooks = filepath.Join(p.path, hooks)
		}
		p.hooks = filepath.Clean(hooks)
	}
	found := 0
	_ = filepath.WalkDir(filepath.Join(dir, "modules"), func(path string, e fs.DirEntry, err error) error { // there may be none
		switch {
		case err != nil || !e.IsDir():
			return nil //nolint:nilerr // what can't be read, nothing inside can read
		case found >= mostModules || slices.Contains(ownData, e.Name()):
			return fs.SkipDir
		case isGit(path):
			found++
			p.keepGit(path)
		}
		return nil
	})
}

// keepGit keeps what git would run or follow in a folder of its own.
func (p *project) keepGit(dir string) {
	for _, name := range guarded {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && slices.Contains(followed, name) {
			p.absent = append(p.absent, path)
		}
		p.keep(path)
	}
	config := filepath.Join(dir, "config")
	if info, err := os.Lstat(config); err == nil && info.Mode().IsRegular() {
		p.configs = append(p.configs, config)
	}
}

// ownData are folders of git's in which there is nothing that it would run or follow.
var ownData = []string{"objects", "refs", "logs"}

// isGit reports whether a folder is what git takes for one of its own.
func isGit(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// worktree follows the .git file of a worktree or a submodule to its folder, and to the one shared by all worktrees. The file is the
// project's, and so a job's: it is believed only where the folder points back to it, which nobody inside could make it do.
func worktree(file string) (own, common string, ok bool) {
	named, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return "", "", false
	}
	own, err := filepath.EvalSymlinks(absolute(filepath.Dir(file), named))
	if err != nil {
		return "", "", false
	}
	if tree := setting(filepath.Join(own, "config"), "core.worktree"); tree != "" && isGit(own) {
		back, err := filepath.EvalSymlinks(absolute(own, tree))
		return own, own, err == nil && back == filepath.Dir(file)
	}
	back, err := filepath.EvalSymlinks(absolute(own, firstLine(filepath.Join(own, "gitdir"))))
	if err != nil || back != file {
		return "", "", false
	}
	common = absolute(own, firstLine(filepath.Join(own, "commondir")))
	if common != filepath.Dir(filepath.Dir(own)) || filepath.Base(filepath.Dir(own)) != "worktrees" {
		return "", "", false
	}
	return own, common, true
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
	text, err := readRegular(file, 64<<10)
	if err != nil {
		return ""
	}
	return text
}

// setting is a setting of a git configuration; empty, where that can't be read.
func setting(config, name string) string {
	text, err := readRegular(config, gitconfig.MostBytes)
	if err != nil {
		return ""
	}
	file, err := gitconfig.Parse(text)
	if err != nil {
		return ""
	}
	return file.Value(name)
}
