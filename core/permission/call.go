package permission

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"loci/core"
	"loci/core/shellline"
)

// Does says what a tool does. Rules about it count for every tool that does it.
type Does string

// What tools do.
const (
	DoesRemember Does = ""           // reads and edits the agent's own facts
	DoesRead     Does = "read"       // reads files
	DoesWrite    Does = "write"      // changes files
	DoesShell    Does = "shell"      // runs a shell line
	DoesFetch    Does = "fetch"      // reads what a host serves
	DoesSearch   Does = "web_search" // asks a search service
	DoesMCP      Does = "mcp"        // calls a tool of a server
	DoesOther    Does = "other"      // a tool that people wrote
	DoesClient   Does = "client"     // runs in the program that sent the message
)

// Call is a call of a tool, as far as permission depends on it.
type Call struct {
	Tool      string
	Does      Does
	Paths     []string // of DoesRead and DoesWrite: absolute and cleaned
	Line      string   // of DoesShell
	Host      string   // of DoesFetch
	Remote    string   // of DoesMCP: server/tool
	Changed   string   // of DoesMCP: how the tool differs from what a person accepted; empty: it doesn't
	Arguments map[string]any
}

// Place is where a call runs.
type Place struct {
	Mode core.PermissionMode
	Root string // the workspace, absolute; empty: none is open
	Dir  string // the folder in it where shell lines begin; empty: Root
	Home string // the person's home folder
	Real func(path string) string
	Dirs []core.WorkspaceDir // open beside the workspace; those of rules are added
}

func (p Place) real(path string) string {
	if p.Real == nil || path == "" {
		return path
	}
	return p.Real(path)
}

// resolved is the place with its folders where they really are.
func (p Place) resolved() Place {
	p.Root, p.Home = p.real(p.Root), p.real(p.Home)
	return p
}

// part is one thing that a call does, judged on its own: a file, a simple command, a host.
type part struct {
	what  string // in words
	does  Does
	host  string
	path  string   // a file
	real  string   // where it leads
	words []string // a command
	forms [][]string
	files []string // what the words may name
	doubt string   // why a shell line, or a path, can't be judged
	free  bool     // a command that only reads
	offer string   // the rule that would allow it, and what is like it, from now on
	exact string   // the rule that would allow it alone
	shut  bool     // a file of a call, in no folder that is open, or not to be changed there
	opens string   // the rule that would open the folder it is in; empty: none would
}

// parts takes a call apart.
func (c *Call) parts(at Place) []part {
	switch c.Does {
	case DoesRead, DoesWrite:
		var parts []part
		for _, path := range c.Paths {
			f := at.file(c.Does, path)
			open, writable := at.open(path)
			f.shut = at.Root != "" && (!open || c.Does == DoesWrite && !writable)
			parts = append(parts, f)
		}
		if len(parts) == 0 {
			parts = append(parts, part{what: string(c.Does), does: c.Does, doubt: "it doesn't say which file"})
		}
		return parts
	case DoesShell:
		return c.shell(at)
	case DoesFetch:
		return []part{{what: "fetch from " + c.Host, does: c.Does, host: c.Host, offer: rule(c.Does, escape(c.Host))}}
	case DoesSearch:
		return []part{{what: "search the web", does: c.Does, offer: c.Tool}}
	case DoesMCP:
		p := part{what: "call " + c.Remote, does: c.Does}
		if c.Changed == "" { // no rule would help
			p.offer = rule(c.Does, escape(c.Remote))
		}
		return []part{p}
	case DoesRemember, DoesOther, DoesClient:
	}
	return []part{{what: "call " + c.Tool, does: c.Does, offer: c.Tool}}
}

// file makes the part of one file.
func (p Place) file(does Does, path string) part {
	f := part{what: fmt.Sprintf("%s %s", does, path), does: does, path: path, real: p.real(path)}
	if f.real == "" {
		f.doubt = "where " + path + " leads can't be said"
		return f
	}
	rest, inside := under(p.Root, path)
	if p.Root == "" || !inside || rest == "" {
		f.exact = rule(does, escape(path))
		f.offer = f.exact
		if d, ok := p.dir(path); ok && d.Path != path {
			f.offer = rule(does, escape(filepath.Dir(path))+"/**")
		}
		return f
	}
	f.what = fmt.Sprintf("%s %s", does, rest)
	f.exact = rule(does, "./"+escape(rest))
	f.offer = f.exact
	if i := strings.LastIndex(rest, "/"); i >= 0 {
		f.offer = rule(does, "./"+escape(rest[:i])+"/**")
	}
	return f
}

// shell makes the parts of a shell line: its simple commands, and the files that it redirects to.
func (c *Call) shell(at Place) []part {
	folder := shellline.Folder{Root: at.Root, Dir: at.Dir}
	for _, d := range at.Dirs {
		folder.Beside = append(folder.Beside, d.Path)
	}
	if folder.Dir == "" {
		folder.Dir = at.Root
	}
	line := shellline.Parse(c.Line, folder)
	var parts []part
	if line.Doubt != "" {
		parts = append(parts, part{what: "run the line", does: DoesShell, doubt: line.Doubt})
	}
	dirs := wanders(&line, folder.Dir)
	for _, command := range line.Commands {
		p := part{
			what: "run " + brief(command.String()), does: DoesShell, words: command.Words, forms: command.Forms(),
			files: dirs.from(command.Files), doubt: command.Doubt, free: command.Reads,
		}
		if command.Always != "" {
			p.offer, p.exact = rule(DoesShell, command.Always), rule(DoesShell, command.String())
		}
		parts = append(parts, p)
	}
	for _, path := range dirs.from(line.Writes) {
		parts = append(parts, at.file(DoesWrite, path))
	}
	for _, path := range dirs.from(line.Reads) {
		parts = append(parts, at.file(DoesRead, path))
	}
	return parts
}

// whereabouts are the folders that a line's words may be relative to, where it begins first.
type whereabouts []string

// maxWhereabouts bounds how many folders of one line are considered.
const maxWhereabouts = 16

// wanders returns where a line may be because of its own cd.
func wanders(line *shellline.Line, begin string) whereabouts {
	dirs := whereabouts{begin}
	for _, c := range line.Commands {
		if len(c.Words) < 2 || c.Words[0] != "cd" {
			continue
		}
		for _, dir := range dirs {
			to := filepath.Join(dir, c.Words[len(c.Words)-1])
			if filepath.IsAbs(c.Words[len(c.Words)-1]) {
				to = filepath.Clean(c.Words[len(c.Words)-1])
			}
			if len(dirs) < maxWhereabouts && !slices.Contains(dirs, to) {
				dirs = append(dirs, to)
			}
		}
	}
	return dirs
}

// from returns the paths, and what they name from the other folders.
func (w whereabouts) from(paths []string) []string {
	if len(w) == 1 {
		return paths
	}
	all := slices.Clone(paths)
	for _, path := range paths {
		rel, err := filepath.Rel(w[0], path)
		for _, dir := range w[1:] {
			if named := filepath.Join(dir, rel); err == nil && !slices.Contains(all, named) {
				all = append(all, named)
			}
		}
	}
	return all
}

func rule(does Does, pattern string) string { return string(does) + "(" + pattern + ")" }

// escape writes a text as the pattern that stands for it alone.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`).Replace(text)
}

// unescape returns the text that an escaped pattern stands for.
func unescape(pattern string) string {
	return strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?").Replace(pattern)
}

// argument returns the texts that an argument's value goes by; none if no rule can name it. Whoever forbids or asks means every
// number that is written otherwise as well: 0.10 is 0.1.
func (c *Call) argument(name string, wide bool) (texts []string) {
	switch v := c.Arguments[name].(type) {
	case string:
		return []string{v}
	case bool, float64:
		return []string{fmt.Sprint(v)}
	case json.Number:
		texts = []string{v.String()}
		if f, err := v.Float64(); wide && err == nil {
			texts = append(texts, fmt.Sprint(f), strconv.FormatFloat(f, 'f', -1, 64))
		}
	}
	return texts
}

// matches reports whether the rule stands for a part of a call. What forbids or asks is read widely, what allows
// narrowly.
func (r *Rule) matches(c *Call, p *part, at Place) bool {
	if r.name == uncaging { // whoever lets a line run outside lets it run; one that denies that says nothing of the line
		return p.does == DoesShell && r.uncages(p)
	}
	wide := r.Effect != Allow
	named := r.name == c.Tool || r.name == "*"
	if p.does == DoesMCP && !wide && r.name != "*" { // its name is the server's choice: what allows it names the server too
		named = false
	}
	if r.name != string(p.does) && !named {
		return wide && r.reaches(p, at)
	}
	switch {
	case r.bare:
		return true
	case p.doubt != "" && !wide:
		return false
	case len(r.path.segments) > 0 || r.path.base != anywhere:
		return p.path != "" && r.onPath(p, at)
	case r.name == string(DoesShell):
		return r.onWords(p)
	case r.name == string(DoesFetch):
		return r.onHost(c.Host)
	case r.name == string(DoesMCP):
		return r.text.match(c.Remote)
	case r.argument != "":
		return slices.ContainsFunc(c.argument(r.argument, wide), r.text.match)
	}
	return false
}

func (r *Rule) onPath(p *part, at Place) bool {
	if r.Effect == Allow {
		return p.real != "" && r.path.allows(p.path, at) && (p.real == p.path || r.path.allows(p.real, at.resolved()))
	}
	return r.path.forbids(p.path, at) || p.real != "" && r.path.forbids(p.real, at.resolved())
}

func (r *Rule) onWords(p *part) bool {
	if r.Effect == Allow {
		return len(p.words) > 0 && r.words.Match(p.words)
	}
	for _, form := range p.forms {
		if r.words.Match(form) {
			return true
		}
	}
	return false
}

// reaches reports whether a rule about files stands for one that a command's words may name.
func (r *Rule) reaches(p *part, at Place) bool {
	if p.does != DoesShell || r.bare || r.name != string(DoesRead) && r.name != string(DoesWrite) {
		return false
	}
	if r.name == string(DoesWrite) && p.free {
		return false
	}
	for _, path := range p.files {
		if r.path.forbids(path, at) || r.path.forbids(at.real(path), at.resolved()) {
			return true
		}
	}
	return false
}

// names reports whether an allowing rule means a file that is guarded by name, and not only folders or commands around it.
func (r *Rule) names(guard *Rule, p *part, at Place) bool {
	switch {
	case r.bare:
		return true
	case p.path != "":
		return guard.path.forbids(r.path.literal(), at)
	}
	for _, word := range r.words.Literals() {
		if guard.path.forbids("/"+strings.Trim(word, "/"), at) {
			return true
		}
	}
	return false
}
