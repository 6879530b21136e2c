package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
)

// Paths returns what the rules say of files that a shell line comes across, for mounts to hold it to. They are the rules
// that Judge goes by. What a rule forbids is closed for good. What one asks about is closed until a line names the file:
// such a line was allowed by a person or by a rule, or it would not run.
func (s Set) Paths(c Call, at Place) core.PathRules {
	at = s.opened(at)
	l := &linePaths{at: at, real: at.resolved(), files: c.named(at)}
	rules := slices.Clone(s)
	if at.Mode == core.ModeAll {
		rules = slices.DeleteFunc(rules, func(r Rule) bool { return r.Effect == Ask && r.Source != FromSystem })
	} else {
		rules = append(rules, slices.DeleteFunc(slices.Clone(guarded()), func(r Rule) bool { return r.Text == ownGuard })...)
	}
	for i := range rules {
		r := &rules[i]
		switch {
		case r.name != string(DoesRead) && r.name != string(DoesWrite):
		case r.Effect == Allow:
			l.allow = append(l.allow, r)
		default:
			l.rules = append(l.rules, r)
		}
	}
	return l
}

// ownGuard is the guarded name that the sandbox itself guards, in parts, so that git works in a line.
const ownGuard = "write(.git)"

// named returns the files that a line names and that Judge therefore asked about, if any rule wanted that.
func (c *Call) named(at Place) (files []namedFile) {
	add := func(path string, write bool) {
		f := namedFile{paths: []string{at.real(path)}, written: path, write: write}
		if rest, inside := under(at.Root, path); inside && at.Root != "" {
			f.paths = append(f.paths, filepath.Join(at.real(at.Root), rest))
		}
		if strings.ContainsAny(path, "*?") {
			if glob, err := parsePath(f.paths[len(f.paths)-1]); err == nil {
				f.glob = glob
			}
		}
		files = append(files, f)
	}
	for _, p := range c.parts(at) {
		if p.path != "" {
			add(p.path, p.does == DoesWrite)
		}
		for _, path := range p.files {
			add(path, !p.free)
		}
	}
	return files
}

// namedFile is a file, or a pattern for files, that stands in a line.
type namedFile struct {
	paths   []string // absolute; the first is where it leads
	written string   // absolute, as the line has it
	glob    pathPattern
	write   bool // the line may change it
}

// linePaths are the rules about files, as one line meets them.
type linePaths struct {
	rules    []*Rule // that forbid or ask
	allow    []*Rule
	files    []namedFile // that the line names
	at, real Place
}

// Of implements core.PathRules. Loci's own names count in the open folder only: what else a line sees are programs.
func (l *linePaths) Of(folder string) core.FolderRules {
	open := folder == l.real.Root || slices.ContainsFunc(l.at.Dirs, func(d core.WorkspaceDir) bool { return d.Path == folder })
	f := &folderPaths{line: l, path: folder, names: &nameRules{exact: map[string][]*Rule{}}}
	for _, r := range l.rules {
		if !open && (r.Source == FromLoci || r.name == string(DoesWrite)) {
			continue
		}
		f.begin(r, folder, l.real)
		if open && (l.at.Root != l.real.Root || l.at.Home != l.real.Home) {
			f.begin(r, l.at.Root, l.at)
		}
	}
	if !open && len(f.over)+len(f.far) == 0 && f.names.empty() {
		return nil
	}
	f.over = slices.DeleteFunc(f.over, func(r *Rule) bool { return l.named(r, folder) })
	return f
}

// begin finds out how a rule stands to the folder itself.
func (f *folderPaths) begin(r *Rule, path string, at Place) {
	segments, above := r.path.folded, split(path)
	switch {
	case r.bare:
		f.over = append(f.over, r)
		return
	case r.path.base == anywhere:
		f.names.add(r)
		if r.Source != FromLoci && slices.ContainsFunc(above, func(name string) bool { return segments[0].match(fold(name)) }) {
			f.over = append(f.over, r)
		}
		return
	case r.path.base == inRoot && path != at.Root, r.path.base == inHome && at.Home == "":
		return
	case r.path.base == inRoot:
		above = nil
	case r.path.base == inHome:
		segments = slices.Concat(literals(split(at.Home)), segments)
	case r.path.base == absolute:
	}
	p := progress{rule: r, segments: segments, reached: make([]bool, len(segments)+1)}
	p.reached[0] = true
	p.close()
	for _, name := range above {
		if p.reached[len(segments)] {
			break
		}
		p = p.step(fold(name))
	}
	switch {
	case p.reached[len(segments)]:
		f.over = append(f.over, r)
	case p.alive():
		f.far = append(f.far, p)
	}
}

func literals(names []string) (segments []segment) {
	for _, name := range names {
		var s segment
		for _, r := range fold(name) {
			s = append(s, token{r: r})
		}
		segments = append(segments, s)
	}
	return segments
}

// folderPaths are the rules of one folder.
type folderPaths struct {
	line  *linePaths
	path  string  // absolute and real
	over  []*Rule // that stand for the folder, and so for everything in it
	names *nameRules
	far   []progress // that may stand for something in it
}

// Self implements core.FolderRules.
func (f *folderPaths) Self() core.PathAccess { return f.line.access(f.over, f.path) }

// Entry implements core.FolderRules.
func (f *folderPaths) Entry(name string) core.PathAccess {
	rules := f.matching(name)
	if len(rules) == 0 {
		return core.PathAccess{}
	}
	return f.line.access(rules, filepath.Join(f.path, name))
}

// Folder implements core.FolderRules.
func (f *folderPaths) Folder(name string) core.FolderRules {
	below := &folderPaths{line: f.line, path: filepath.Join(f.path, name), names: f.names}
	var named []*Rule
	for _, r := range f.matching(name) {
		if f.line.named(r, below.path) {
			named = append(named, r)
		} else {
			below.over = append(below.over, r)
		}
	}
	for _, p := range f.far {
		if slices.Contains(named, p.rule) {
			continue
		}
		if next := p.step(fold(name)); next.alive() {
			below.far = append(below.far, next)
		}
	}
	return below
}

// matching returns the rules that stand for an entry.
func (f *folderPaths) matching(name string) []*Rule {
	name = fold(name)
	rules := append(slices.Clip(f.over), f.names.matching(name)...)
	for i := range f.far {
		if f.far[i].accepts(name) {
			rules = append(rules, f.far[i].rule)
		}
	}
	return rules
}

// access is what the rules that stand for a path leave of it.
func (l *linePaths) access(rules []*Rule, path string) (a core.PathAccess) {
	for _, r := range rules {
		if l.overcome(r, path) {
			continue
		}
		reach := core.PathClosed
		if l.overcomesBelow(r, path) {
			reach = core.PathPartly
		}
		if r.name == string(DoesWrite) {
			a.Write = max(a.Write, reach)
		} else {
			a.Read = max(a.Read, reach)
		}
		a.Placed = a.Placed || !r.bare && r.path.base != anywhere
	}
	return a
}

// overcome reports whether a rule that stands for a path doesn't close it: the line names it, or a rule allows the name.
func (l *linePaths) overcome(r *Rule, path string) bool {
	return l.named(r, path) || l.allowing(r, func(allow *Rule) bool { return allow.bare || allow.path.allows(path, l.real) })
}

// named reports whether the line names a path that the rule asks about.
func (l *linePaths) named(r *Rule, path string) bool {
	return r.Effect == Ask && slices.ContainsFunc(l.files, func(f namedFile) bool {
		return (f.write || r.name == string(DoesRead)) && (slices.Contains(f.paths, path) || f.means(r, path, l.at))
	})
}

// overcomesBelow reports whether something in a folder may be open, although a rule stands for the folder.
func (l *linePaths) overcomesBelow(r *Rule, path string) bool {
	below := func(p string) bool { return strings.HasPrefix(p, path+"/") }
	return r.Effect == Ask && slices.ContainsFunc(l.files, func(f namedFile) bool {
		return (f.write || r.name == string(DoesRead)) && slices.ContainsFunc(f.paths, below)
	}) || l.allowing(r, func(*Rule) bool { return true })
}

// allowing reports whether a rule allows what Loci only asks about because of its name.
func (l *linePaths) allowing(guard *Rule, holds func(allow *Rule) bool) bool {
	return guard.Source == FromLoci && guard.Effect == Ask && slices.ContainsFunc(l.allow, func(a *Rule) bool {
		return a.name == guard.name && (a.bare || guard.path.forbids(a.path.literal(), l.at)) && holds(a)
	})
}

// means reports whether a pattern in a line, which the rule asked about, stands for a path.
func (f *namedFile) means(r *Rule, path string, at Place) bool {
	return len(f.glob.segments) > 0 && matchAll(f.glob.segments, split(path)) && (r.bare || r.path.forbids(f.written, at))
}

// progress is a rule whose pattern names folders, and how far it has come on the way down.
type progress struct {
	rule     *Rule
	segments []segment
	reached  []bool // how many segments the folders so far can have used up
}

// close goes on past the segments that stand for no folder as well.
func (p *progress) close() {
	for i, s := range p.segments {
		p.reached[i+1] = p.reached[i+1] || p.reached[i] && s == nil
	}
}

// step goes into a folder.
func (p *progress) step(name string) progress {
	next := progress{p.rule, p.segments, make([]bool, len(p.reached))}
	for i, s := range p.segments {
		if !p.reached[i] {
			continue
		}
		if s == nil {
			next.reached[i] = true
		} else if s.match(name) {
			next.reached[i+1] = true
		}
	}
	next.close()
	return next
}

// accepts reports whether the rule stands for an entry of the folder.
func (p *progress) accepts(name string) bool {
	rest := len(p.segments) // from here on, the pattern needs no further folder
	for rest > 0 && p.segments[rest-1] == nil {
		rest--
	}
	for i, s := range p.segments {
		if p.reached[i] && i+1 >= rest && (s == nil || s.match(name)) {
			return true
		}
	}
	return false
}

// alive reports whether the rule can stand for anything further down.
func (p *progress) alive() bool { return slices.Contains(p.reached[:len(p.segments)], true) }

// nameRules are the rules about names, wherever they are. A walk asks about very many, so that most are told apart without
// trying every pattern.
type nameRules struct {
	exact    map[string][]*Rule
	patterns []namePattern
}

// namePattern is a pattern with what the names that it stands for begin and end with.
type namePattern struct {
	rule          *Rule
	segment       segment
	before, after string
}

func (n *nameRules) empty() bool { return len(n.exact)+len(n.patterns) == 0 }

func (n *nameRules) add(r *Rule) {
	p := namePattern{rule: r, segment: r.path.folded[0]}
	signs := 0
	for _, t := range p.segment {
		switch {
		case t.sign:
			signs++
			p.after = ""
		case signs == 0:
			p.before += string(t.r)
		default:
			p.after += string(t.r)
		}
	}
	if signs > 0 {
		n.patterns = append(n.patterns, p)
	} else if !slices.Contains(n.exact[p.before], r) {
		n.exact[p.before] = append(n.exact[p.before], r)
	}
}

func (n *nameRules) matching(name string) []*Rule {
	rules := n.exact[name]
	for i := range n.patterns {
		p := &n.patterns[i]
		if strings.HasPrefix(name, p.before) && strings.HasSuffix(name, p.after) && p.segment.match(name) {
			rules = append(slices.Clip(rules), p.rule)
		}
	}
	return rules
}
