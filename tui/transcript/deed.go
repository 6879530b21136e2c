package transcript

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"unicode"
)

// Deed is what a call would do, as a person is asked about it: nothing of the arguments is left out and nothing made
// invisible, but what a tool of ours would do with them comes first.
type Deed struct {
	What string // behind "asks": to run this line

	line   string     // of the shell
	change Difference // of a file
	ask    *Ask       // of the person
	rest   []Argument // the other arguments
}

// Brief is the deed in a few words, for a list of several.
func (d Deed) Brief() string {
	switch {
	case d.ask != nil:
		return "asks: " + strings.Join(strings.Fields(d.ask.Question), " ")
	case d.line != "":
		return "run " + strings.Join(strings.Fields(Reveal(d.line)), " ")
	}
	return strings.TrimPrefix(d.What, "to ")
}

// deeds are the tools whose calls are told in other words than their name and arguments. A call that isn't what they expect is
// told as any other.
func deeds() map[string]func(args *object, before string) (Deed, bool) {
	return map[string]func(args *object, before string) (Deed, bool){
		"shell": lineDeed, "write": writeDeed, "edit": editDeed, "read": readDeed, askTool: askDeed,
	}
}

// DeedOf reads a call. Before is what the file holds that it would replace, as far as is known.
func DeedOf(name, arguments, before string) Deed {
	if read, known := deeds()[name]; known {
		if args, ok := parseObject(arguments); ok {
			if deed, ok := read(&args, before); ok {
				deed.rest = args.left()
				return deed
			}
		}
	}
	return Deed{What: "to call " + OneLine(Reveal(name)), rest: Arguments(arguments)}
}

func lineDeed(args *object, _ string) (Deed, bool) {
	line, ok := args.text("command")
	deed := Deed{What: "to run this line", line: line}
	if background, _ := args.yes("background"); background {
		deed.What = "to run this line in the background"
	}
	return deed, ok && line != ""
}

func writeDeed(args *object, before string) (Deed, bool) {
	path, okPath := args.text("path")
	content, okContent := args.text("content")
	deed := Deed{What: "to write " + pathName(path), change: Differ(before, content)}
	if before != "" {
		deed.What = "to change " + pathName(path)
	}
	return deed, okPath && okContent && path != ""
}

func editDeed(args *object, _ string) (Deed, bool) {
	path, okPath := args.text("path")
	edits, okEdits := editsOf(args)
	deed := Deed{What: "to change " + pathName(path)}
	for _, e := range edits {
		deed.change.join(Differ(e.old, e.new))
		if e.all {
			deed.What = "to change " + pathName(path) + ", wherever this stands"
		}
	}
	return deed, okPath && okEdits && path != ""
}

func readDeed(args *object, _ string) (Deed, bool) {
	path, ok := args.text("path")
	return Deed{What: "to read " + pathName(path)}, ok && path != ""
}

// Replaces is the file of which a call would replace all; empty: none.
func Replaces(name, arguments string) string {
	args, ok := parseObject(arguments)
	if path, isText := args.text("path"); ok && isText && name == "write" {
		return path
	}
	return ""
}

// Matter is what a call is about, as rules of permission have it.
type Matter struct {
	Does string // read, write, shell, fetch, or the name of the tool
	Of   string // the path, the line or the host
}

// Subject tells what a call is about.
func Subject(name, arguments string) Matter {
	does := map[string][2]string{
		"shell": {"shell", "command"},
		"read":  {"read", "path"}, "list": {"read", "path"}, "glob": {"read", "path"}, "grep": {"read", "path"},
		"write": {"write", "path"}, "edit": {"write", "path"}, "fetch": {"fetch", "url"}, "fetch_webpage": {"fetch", "url"},
	}
	known, ok := does[name]
	if !ok {
		return Matter{Does: name}
	}
	args, _ := parseObject(arguments)
	of, _ := args.text(known[1])
	if u, err := url.Parse(of); err == nil && known[0] == "fetch" {
		of = u.Hostname()
	}
	return Matter{known[0], of}
}

// pathName is a path in a sentence, in quotes if it could be taken for more of it.
func pathName(path string) string {
	odd := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+@~", c)
	}
	if path = strings.ReplaceAll(Reveal(path), "\n", `\n`); strings.ContainsFunc(path, odd) {
		return `"` + strings.ReplaceAll(path, `"`, `\"`) + `"`
	}
	return path
}

// Deed draws what a call would do, of each text at most so many rows; 0: all.
func (r *Renderer) Deed(d Deed, most int) []string {
	var rows []string
	if d.line != "" {
		rows = r.command(d.line)
	}
	all := append(append(rows, d.change.rows(r)...), d.ask.rows(r)...)
	if rows = r.firstRows(all, most); len(rows) < len(all) {
		rows[len(rows)-1] = "  " + rows[len(rows)-1]
	}
	return append(rows, r.Arguments(d.rest, most)...)
}

// command draws a shell line behind a sign of its own.
func (r *Renderer) command(line string) []string {
	rows := strings.Split(hardwrap(Reveal(line), max(r.Width-4, 2)), "\n")
	for i, row := range rows {
		if rows[i] = strings.TrimRight("    "+row, " "); i == 0 {
			rows[i] = "  " + r.Theme.Accent.Render("$") + " " + row
		}
	}
	return rows
}

// editing is one replacement of edit.
type editing struct {
	old, new string
	all      bool
}

// editsOf takes the replacements out of the arguments of edit. It has none that it can't read in full.
func editsOf(args *object) ([]editing, bool) {
	list := []object{}
	if raw, several := args.values["edits"]; several {
		var each []json.RawMessage
		if json.Unmarshal(raw, &each) != nil || len(each) == 0 || args.has("old_string") || args.has("new_string") {
			return nil, false
		}
		for _, one := range each {
			o, ok := parseObject(string(one))
			if !ok {
				return nil, false
			}
			list = append(list, o)
		}
	} else {
		list = append(list, *args)
	}
	var edits []editing
	for i := range list {
		old, okOld := list[i].text("old_string")
		neu, okNew := list[i].text("new_string")
		all, okAll := list[i].yes("replace_all")
		if _, several := args.values["edits"]; !okOld || !okNew || !okAll || several && len(list[i].left()) > 0 {
			return nil, false
		}
		edits = append(edits, editing{old, neu, all})
	}
	delete(args.values, "edits")
	delete(args.values, "replace_all")
	return edits, true
}

// object is a JSON object in which every name stands once.
type object struct {
	names  []string
	values map[string]json.RawMessage
	used   map[string]bool
}

func parseObject(raw string) (object, bool) {
	o := object{values: map[string]json.RawMessage{}, used: map[string]bool{}}
	d := json.NewDecoder(strings.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return o, false
	}
	for d.More() {
		t, err := d.Token()
		name, isText := t.(string)
		var v json.RawMessage
		if err != nil || !isText || d.Decode(&v) != nil {
			return o, false
		}
		if _, twice := o.values[name]; twice {
			return o, false
		}
		o.names, o.values[name] = append(o.names, name), v
	}
	if _, err := d.Token(); err != nil {
		return o, false
	}
	_, err := d.Token()
	return o, err == io.EOF
}

func (o *object) has(name string) bool { _, ok := o.values[name]; return ok }

// text takes an argument that is a text.
func (o *object) text(name string) (text string, ok bool) {
	raw, there := o.values[name]
	if !there || len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	o.used[name] = true
	return text, true
}

// yes takes an argument that is true or false, or isn't there.
func (o *object) yes(name string) (yes, ok bool) {
	raw, there := o.values[name]
	if !there {
		return false, true
	}
	if json.Unmarshal(raw, &yes) != nil || string(raw) == "null" {
		return false, false
	}
	o.used[name] = true
	return yes, true
}

// left are the arguments that nobody took.
func (o *object) left() []Argument {
	var out []Argument
	for _, name := range o.names {
		if v, ok := o.values[name]; ok && !o.used[name] {
			out = append(out, Argument{strings.ReplaceAll(Reveal(name), "\n", `\n`), argumentValue(v)})
		}
	}
	return out
}
