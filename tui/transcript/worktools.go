package transcript

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"loci/tui/term"
)

// How many rows of a change, and of what a line wrote, are shown below its call where it is folded.
const (
	changeRows = 6
	outputRows = 3
)

// workLooks are the rows of the tools that work in a folder.
func workLooks() map[string]look {
	return map[string]look{
		"read":   {mark: "▸", verb: "reads", what: readWhat, tell: linesRead},
		"list":   {mark: "▸", verb: "lists", what: folderOf, tell: counted("entry", "entries")},
		"glob":   {mark: "⌕", verb: "looks for", what: patternOf, tell: counted("file", "files")},
		"grep":   {mark: "⌕", verb: "searches for", what: patternOf, tell: linesMatched},
		"write":  {mark: "✎", verb: "writes", what: changeOf, below: changeBelow},
		"edit":   {mark: "✎", verb: "changes", what: changeOf, below: changeBelow},
		"shell":  {mark: "$", what: lineOf, tell: lineEnd, below: outputBelow},
		OwnLine:  {mark: "!", what: lineOf, tell: lineEnd, below: ownBelow},
		todoTool: {mark: "▸", verb: "plans", what: todoWhat, below: todoBelow},
		askTool:  {mark: "?", verb: "asks", what: asksWhat, below: askBelow},
		"job":    {mark: "▸", verb: "looks after", what: jobOf, tell: firstSentence},
	}
}

func named(path string) string { return OneLine(Reveal(path)) }

func readWhat(r *Renderer, args fields) string { return r.Theme.Strong.Render(named(args.get("path"))) }

func folderOf(r *Renderer, args fields) string {
	if path := named(args.get("path")); path != "" && path != "." {
		return r.Theme.Strong.Render(path)
	}
	return r.Theme.Dim.Render("the folder")
}

// patternOf is what a search looks for, and where.
func patternOf(r *Renderer, args fields) string {
	out := "“" + named(args.get("pattern")) + "”"
	var where []string
	for _, name := range []string{"path", "glob"} {
		if v := named(args.get(name)); v != "" && v != "." {
			where = append(where, v)
		}
	}
	if len(where) > 0 {
		out += r.Theme.Dim.Render(" in " + strings.Join(where, " "))
	}
	return out
}

// changeOf is a file that is changed, and how many lines come and go.
func changeOf(r *Renderer, args fields) string {
	out := r.Theme.Strong.Render(named(args.get("path")))
	if d := args.difference(); d.added+d.removed > 0 {
		out += " " + d.counts(r)
	}
	return out
}

// difference is what a call of write or edit changes, as far as its arguments tell.
func (f fields) difference() Difference {
	if content := f.get("content"); content != "" {
		return Differ("", content)
	}
	args := object{values: f.raw(), used: map[string]bool{}}
	edits, ok := editsOf(&args)
	var d Difference
	if ok {
		for _, e := range edits {
			d.join(Differ(e.old, e.new))
		}
	}
	return d
}

// changeBelow is the beginning of a change.
func changeBelow(r *Renderer, args fields, _ string) []string {
	d := args.difference()
	return r.cutBelow(d.rows(r), changeRows)
}

// cutBelow cuts rows that are indented already.
func (r *Renderer) cutBelow(rows []string, most int) []string {
	if len(rows) <= most {
		return rows
	}
	shown := most - 1
	return append(rows[:shown:shown], "  "+r.Theme.Dim.Render(fmt.Sprintf("%s %d more (ctrl+o)", term.CutMark, len(rows)-shown)))
}

func lineOf(_ *Renderer, args fields) string { return named(args.get("command")) }

// lineEnd is how a shell line ended: the first sentence of its return, and in short if it simply ended.
func lineEnd(ret string) string {
	out := ""
	head, _, _ := strings.Cut(ret, "\n")
	if head, _, _ = strings.Cut(head, " The next line begins in "); strings.Contains(head, ranUncaged) {
		out = ", uncaged"
	}
	var code int
	if n, err := fmt.Sscanf(ret, "Exit code %d.", &code); err == nil && n == 1 {
		return fmt.Sprintf("exit %d%s", code, out)
	}
	return strings.TrimPrefix(firstSentence(ret), "It runs ") + out
}

// ranUncaged is said of a line that ran outside of the sandbox on the first row of its return, before what a program names.
const ranUncaged = ". It ran uncaged: "

// outputBelow is the end of what a line wrote, without what we tell the model about it.
func outputBelow(r *Renderer, _ fields, ret string) []string {
	_, written, _ := strings.Cut(ret, "\n")
	var rows []string
	for row := range strings.SplitSeq(strings.TrimRight(written, "\n"), "\n") {
		marks := row == "</foreign>" || strings.HasPrefix(row, "<foreign from=")
		if !marks && !strings.HasPrefix(row, "(") && strings.TrimSpace(row) != "" {
			rows = append(rows, row)
		}
	}
	rows = rows[max(0, len(rows)-outputRows):]
	for i, row := range rows {
		rows[i] = Short(r.Theme.Dim.Render("  │ "+term.ExpandTabs(Clean(row))), r.Width)
	}
	return rows
}

// OwnLine is the name of a call that isn't one: a shell line that the person ran. No tool can be called so.
const OwnLine = "!"

// ownRows bounds what is shown of the output of a person's own line, of which they want to see more than of an agent's.
const ownRows = 24

func ownBelow(r *Renderer, _ fields, ret string) []string {
	_, written, _ := strings.Cut(ret, "\n")
	if written == "" {
		return nil
	}
	rows := strings.Split(hardwrap(Clean(written), max(r.Width-2, 2)), "\n")
	if over := len(rows) - ownRows; over > 0 {
		cut := r.Theme.Dim.Render(fmt.Sprintf("%s %d more (ctrl+o)", term.CutMark, over+1))
		rows = append([]string{cut}, rows[over+1:]...)
	}
	for i, row := range rows {
		rows[i] = strings.TrimRight("  "+row, " ")
	}
	return rows
}

func jobOf(_ *Renderer, args fields) string {
	if args.get("stop") == "true" {
		return named(args.get("id")) + ", and stops it"
	}
	return named(args.get("id"))
}

// firstSentence is the first of a return, without its full stop.
func firstSentence(ret string) string {
	first, _, _ := strings.Cut(ret, "\n")
	first, _, _ = strings.Cut(first, ". ")
	return strings.TrimSuffix(OneLine(first), ".")
}

var (
	numberedRow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\d+)\t`) })
	matchedRow  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\d+:`) })
	moreRows    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\((\d+) more[^)]*\)$`) })
)

// linesRead says which lines a read showed.
func linesRead(ret string) string {
	rows := numberedRow().FindAllStringSubmatch(ret, -1)
	switch {
	case len(rows) == 0:
		return strings.Trim(firstSentence(ret), "().")
	case len(rows) == 1:
		return "line " + rows[0][1]
	}
	return "lines " + rows[0][1] + "–" + rows[len(rows)-1][1]
}

// linesMatched counts the lines that a search found.
func linesMatched(ret string) string {
	n := len(matchedRow().FindAllString(ret, -1)) + more(ret)
	if strings.HasPrefix(ret, "No line matches") {
		return count(0)
	}
	if strings.Contains(ret, "\n(More than ") {
		return fmt.Sprintf("more than %d found", n)
	}
	return count(n)
}

// more is how many rows a return says that it left out.
func more(ret string) (n int) {
	if m := moreRows().FindStringSubmatch(ret); m != nil {
		_, _ = fmt.Sscan(m[1], &n) // digits
	}
	return n
}

// counted counts the rows of a list.
func counted(one, several string) func(ret string) string {
	return func(ret string) string {
		if first := firstSentence(ret); strings.HasPrefix(first, "No file matches") || strings.HasPrefix(first, "The folder is empty") {
			return count(0)
		}
		n := more(ret)
		for row := range strings.SplitSeq(ret, "\n") {
			if row != "" && !strings.HasPrefix(row, "(") {
				n++
			}
		}
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, several)
	}
}
