package permission

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
)

// openingDir is the name of rules that open a folder beside the workspace: add_dir(/data), and add_dir(/data:rw) to change it.
const openingDir = "add_dir"

// writableMark follows a folder that may be changed, too.
const writableMark = ":rw"

// MaxDirs bounds how many folders are open beside a workspace.
const MaxDirs = 16

// DirRule is the rule that opens a folder. A slash ends one whose own name ends in the mark, so that it isn't opened to be changed.
func DirRule(path string, writable bool) string {
	switch {
	case writable:
		return openingDir + "(" + escape(path) + writableMark + ")"
	case strings.HasSuffix(path, writableMark):
		path += "/"
	}
	return openingDir + "(" + escape(path) + ")"
}

// readDir reads what stands in the brackets of a rule about folders. One that opens names a folder, and no pattern.
func (r *Rule) readDir(pattern string) (err error) {
	pattern, r.writable = strings.CutSuffix(pattern, writableMark)
	if r.path, err = parsePath(pattern); err != nil || r.Effect == Deny {
		return err
	}
	if r.path.base != absolute && r.path.base != inHome || slices.ContainsFunc(r.path.segments, func(s segment) bool {
		return s == nil || !s.literal()
	}) {
		return core.E(core.Invalid, "it names no folder by its absolute path")
	}
	return nil
}

// OpensDir reports whether the rule opens a folder beside the workspace, and which.
func (r *Rule) OpensDir(home string) (dir core.WorkspaceDir, ok bool) {
	if r.name != openingDir || r.Effect != Allow {
		return dir, false
	}
	path := r.path.literal()
	if r.path.base == inHome {
		if home == "" {
			return dir, false
		}
		path = filepath.Join(home, path)
	}
	return core.WorkspaceDir{Path: filepath.Clean(cmp.Or(path, "/")), Writable: r.writable}, true
}

// Dirs returns the folders that are open beside the workspace, outer ones first. One that can't be, for what stands there by
// now, is left out.
func (s Set) Dirs(at Place) []core.WorkspaceDir {
	if at.Root == "" {
		return nil
	}
	var open []core.WorkspaceDir
	for i := range s {
		dir, ok := s[i].OpensDir(at.Home)
		if !ok || s.CheckDir(dir, at) != nil {
			continue
		}
		if dir.Writable && s.deniesDir(dir, at, true) {
			dir.Writable = false
		}
		open = append(open, dir)
	}
	slices.SortFunc(open, func(a, b core.WorkspaceDir) int {
		if a.Path == b.Path && a.Writable != b.Writable {
			if a.Writable {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path+"/", b.Path+"/")
	})
	var dirs []core.WorkspaceDir
	for _, dir := range open {
		within := func(d core.WorkspaceDir) bool {
			_, inside := under(d.Path, dir.Path)
			return inside && (d.Writable || !dir.Writable)
		}
		if len(dirs) < MaxDirs && !slices.ContainsFunc(dirs, within) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// deniesDir reports whether a rule forbids to open a folder, or only to change it.
func (s Set) deniesDir(dir core.WorkspaceDir, at Place, writing bool) bool {
	return slices.ContainsFunc(s, func(r Rule) bool {
		return r.name == openingDir && r.Effect == Deny && (r.bare || r.path.forbids(dir.Path, at)) && r.writable == writing
	})
}

// CheckDir says why a folder can't be opened beside the workspace; nil: it can. A folder is named by the path that leads to it
// through no link, so that nobody can put another one in its place.
func (s Set) CheckDir(dir core.WorkspaceDir, at Place) error {
	path := dir.Path
	if s.deniesDir(dir, at, false) {
		return core.E(core.Forbidden, "a rule of permission forbids to open the folder %s", brief(path))
	}
	if why := ofTheSystem(path); why != "" {
		return core.E(core.Forbidden, "%s %s", brief(path), why)
	}
	for _, root := range []string{at.Root, at.real(at.Root)} {
		if _, inside := under(root, path); inside && root != "" {
			return core.E(core.Invalid, "%s is in the open folder already", brief(path))
		}
		if _, around := under(path, root); around && root != "" {
			return core.E(core.Forbidden, "%s is around the open folder; to work there, start loci in it", brief(path))
		}
	}
	for i := range s {
		if s[i].Source != FromLoci || s[i].Effect != Deny || s[i].name != string(DoesRead) {
			continue
		}
		own := s[i].path.literal()
		for _, own := range []string{own, at.real(own)} {
			_, holds := under(path, own)
			if _, within := under(own, path); holds || within {
				return core.E(core.Forbidden, "%s holds what is Loci's own, which no agent sees; name a folder in it", brief(path))
			}
		}
	}
	if at.Real == nil {
		return nil
	}
	return standing(path, at)
}

// ofTheSystem says why a folder of the system is nobody's to open; empty: it is none.
func ofTheSystem(path string) string {
	if path == "/" {
		return "is the whole machine; name a folder in it"
	}
	top, below, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(path), "/"), "/")
	switch top {
	case "proc", "sys", "dev":
		if strings.HasPrefix(below, "shm/") { // memory, where people keep files as well
			return ""
		}
		return "is made by the kernel and shows the machine itself, its processes and devices; a line has one of its own"
	case "etc":
		return "is the configuration of the system, with what its programs obey; copy what the agent needs into its folder"
	case "boot":
		return "is what the machine starts from; no agent needs it"
	case "run":
		if !strings.HasPrefix(below, "media/") { // disks that were plugged in
			return "is where running programs keep their sockets; no agent needs it"
		}
	case "private": // where macOS has some of them
		return ofTheSystem("/" + below)
	case "bin", "sbin", "lib", "lib32", "lib64", "usr", "var", "tmp", "home", "System", "Library", "Users":
		if below == "" {
			return "is more than a folder to work in; name the one in it that the agent needs"
		}
	}
	return ""
}

// standing says what is wrong with what stands at the path of a folder.
func standing(path string, at Place) error {
	info, err := os.Stat(path)
	switch real := at.real(path); {
	case os.IsNotExist(err):
		return core.E(core.NotFound, "there is no folder %s", brief(path))
	case err != nil:
		return core.E(core.Invalid, "the folder %s can't be opened: %w", brief(path), err)
	case !info.IsDir():
		return core.E(core.Invalid, "%s is a file; name the folder that it is in", brief(path))
	case real != path:
		return core.E(core.Invalid, "%s leads through a link, which may lead elsewhere tomorrow; name the folder itself: %s",
			brief(path), brief(real))
	}
	return nil
}

// opened is the place with the folders that the rules open.
func (s Set) opened(at Place) Place {
	at.Dirs = append(slices.Clip(at.Dirs), s.Dirs(at)...)
	return at
}

// dir returns the innermost folder that is open beside the workspace and that a path is in.
func (p Place) dir(path string) (found core.WorkspaceDir, ok bool) {
	for _, d := range p.Dirs {
		if _, inside := under(d.Path, path); inside && len(d.Path) >= len(found.Path) {
			found, ok = d, true
		}
	}
	return found, ok
}

// open reports whether a path is in the workspace or a folder beside it, and whether it may be changed there.
func (p Place) open(path string) (open, writable bool) {
	if p.Root == "" || path == "" {
		return false, false
	}
	for _, root := range []string{p.Root, p.real(p.Root)} {
		if _, inside := under(root, path); inside {
			return true, true
		}
	}
	d, open := p.dir(path)
	return open, d.Writable
}

// folderOf is the folder that has to be open for a path: itself, if it is one, or the nearest above it that is there.
func (p Place) folderOf(path string) string {
	if p.Real == nil {
		return filepath.Dir(path)
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// Opens returns the folder that a call about one file needs beside those that are open, for this once; ok is false if it needs
// none.
func (s Set) Opens(c Call, at Place) (dir core.WorkspaceDir, ok bool) {
	at = s.opened(at)
	if c.Does != DoesRead && c.Does != DoesWrite || len(c.Paths) != 1 || at.Root == "" {
		return dir, false
	}
	if open, _ := at.open(c.Paths[0]); open {
		return dir, false
	}
	return core.WorkspaceDir{Path: at.folderOf(c.Paths[0]), Writable: c.Does == DoesWrite}, true
}

// offerDir finds the rule that would open the folder of a file.
func (s Set) offerDir(p *part, at Place) {
	dir := core.WorkspaceDir{Path: at.folderOf(p.path), Writable: p.does == DoesWrite}
	if p.real == p.path && s.CheckDir(dir, at) == nil && (!dir.Writable || !s.deniesDir(dir, at, true)) {
		p.opens = DirRule(dir.Path, dir.Writable)
	}
	if p.does == DoesRead {
		p.offer = p.opens // whoever opens a folder lets it be read
	}
}

// whyShut says why a file is out of reach, and what a person can do about it.
func (p *part) whyShut(at Place) string {
	why, dir := p.path+" is outside of the open folder", at.folderOf(p.path)
	if d, ok := at.dir(p.path); ok {
		why, dir = d.Path+" is open for reading only", d.Path
	}
	if no := ofTheSystem(dir); no != "" {
		return why + "; no folder is opened for it, for " + dir + " " + no
	}
	if p.does == DoesWrite {
		dir += " --write"
	}
	return why + "; a person opens another one with /add-dir " + dir
}

// holds reports whether a file is where the mode decides: in the workspace or a folder beside it, through links as well.
func (p Place) holds(f *part, writing bool) bool {
	in := func(path string, root string) bool {
		if _, inside := under(root, path); inside && root != "" {
			return true
		}
		d, inside := p.dir(path)
		return inside && (d.Writable || !writing)
	}
	return p.Root != "" && in(f.path, p.Root) && in(f.real, p.real(p.Root))
}
