package shellline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Dialect is the shell whose grammar a line is parsed in, and that has to run it.
const Dialect = "bash"

// The bounds of a line.
const (
	maxLine  = 16 << 10
	maxDepth = 100 // brackets and quotes that open within each other
	maxNest  = 3   // lines within lines: sh -c '…'
)

// Folder says where a line runs.
type Folder struct {
	Root string // the workspace, an absolute path
	Dir  string // the folder in it where the line begins

	Beside []string // folders that are open beside the workspace, absolute paths
}

// Line is a shell line, taken apart.
type Line struct {
	Commands []Command
	Writes   []string // files that redirections write
	Reads    []string // files that redirections read
	Doubt    string   // why it can't be judged as a whole; empty: it can
}

// Free reports whether the line only reads, and only within the workspace.
func (l Line) Free() bool {
	return l.Doubt == "" && len(l.Writes) == 0 && len(l.Commands) > 0 &&
		!slices.ContainsFunc(l.Commands, func(c Command) bool { return !c.Reads })
}

// Command is one simple command of a line.
type Command struct {
	Words  []string // as the program gets them; one that isn't literal stands as it was written
	Files  []string // absolute paths that the words may name
	Doubt  string   // why it can't be judged; empty: it can
	Reads  bool     // it only reads, within the workspace
	Always string   // the pattern that would allow it from now on; empty: none is offered
}

// String returns the command as a person would write it.
func (c Command) String() string { return quoteAll(c.Words) }

// Forms returns every way in which a rule that forbids may see the command: as it stands, without the folder of its
// program, and, where the program starts another one, everything that could be that one.
func (c Command) Forms() [][]string {
	if len(c.Words) == 0 {
		return nil
	}
	forms := [][]string{c.Words}
	last := 1
	if starters()[base(c.Words[0])] {
		last = len(c.Words)
	}
	for i := range last {
		if name := base(c.Words[i]); i > 0 || name != c.Words[0] {
			forms = append(forms, append([]string{name}, c.Words[i+1:]...))
		}
	}
	return forms
}

// base returns the name of a program without its folder and without what hides an alias.
func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// Parse takes a line apart.
func Parse(text string, at Folder) Line { return parse(text, at, 0) }

func parse(text string, at Folder, nest int) Line {
	if why := unreadable(text); why != "" {
		return Line{Doubt: why}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		var parsed syntax.ParseError
		if errors.As(err, &parsed) {
			return Line{Doubt: "it is not a complete shell line: " + parsed.Text}
		}
		return Line{Doubt: "it is not a complete shell line"}
	}
	w := &walk{text: text, at: at, nest: nest}
	syntax.Walk(file, w.visit)
	for _, call := range w.calls {
		w.line.Commands = append(w.line.Commands, w.command(call))
	}
	w.line.Commands = append(w.line.Commands, w.inner...)
	if len(w.line.Commands) == 0 {
		w.doubt("it has no command")
	}
	return w.line
}

// unreadable returns why a text is not given to the parser: what the parser and the shell might read differently.
func unreadable(text string) string {
	if len(text) > maxLine {
		return fmt.Sprintf("it is longer than %d characters", maxLine)
	}
	if !utf8.ValidString(text) {
		return "it is not valid UTF-8"
	}
	depth, word := 0, strings.Count(text, "`")
	for _, r := range text {
		switch {
		case r == '(' || r == '{':
			depth++
		case r == ')' || r == '}':
			depth = max(0, depth-1)
		case r != ' ' && r != '\t' && r != '\n' && (unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)):
			return "it has invisible characters"
		}
		if depth+word > maxDepth {
			return "it is nested too deeply"
		}
	}
	for _, keyword := range []string{"if", "while", "until", "case", "for", "!"} {
		if strings.Count(text, keyword) > maxDepth {
			return "it is nested too deeply"
		}
	}
	return ""
}

// walk collects what stands in a line.
type walk struct {
	text  string
	at    Folder
	nest  int
	line  Line
	calls []*syntax.CallExpr
	inner []Command
	moved bool // a cd stands somewhere in the line
}

func (w *walk) doubt(why string) {
	if w.line.Doubt == "" {
		w.line.Doubt = why
	}
}

// visit notes what one node of the line means. Commands are collected wherever they stand; whatever isn't known to be
// harmless is a doubt about the whole line.
func (w *walk) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess || n.Disown {
			w.doubt("it leaves something running in the background")
		}
	case *syntax.CallExpr:
		if len(n.Assigns) > 0 {
			w.doubt("it sets variables")
		}
		if len(n.Args) > 0 {
			w.calls = append(w.calls, n)
			if name, ok := w.literal(n.Args[0]); ok && name.text == "cd" {
				w.moved = true
			}
		}
	case *syntax.Redirect:
		w.redirect(n)
	case nil, *syntax.File, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Comment, *syntax.BinaryCmd,
		*syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.TimeClause, *syntax.Assign:
	default:
		w.doubt(unknown(node))
	}
	return true
}

// unknown says what a construct is that can't be judged.
func unknown(node syntax.Node) string {
	switch node.(type) {
	case *syntax.FuncDecl:
		return "it defines a function"
	case *syntax.CmdSubst, *syntax.ProcSubst:
		return "it runs a command inside of a word"
	case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		return "it has an expression that is only known when it runs"
	case *syntax.DeclClause, *syntax.ForClause, *syntax.WordIter:
		return "it sets variables"
	case *syntax.CoprocClause:
		return "it leaves something running in the background"
	default:
		return "it has a construct that can't be judged"
	}
}

// redirect notes the file of a redirection.
func (w *walk) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		w.doubt("it sets the variable " + r.N.Value)
		return
	}
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
		return // what expands in it is a node of its own
	}
	word, ok := w.literal(r.Word)
	if !ok || word.glob {
		w.doubt("it redirects to what is only known when it runs")
		return
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc: // what expands in it is a node of its own
	case syntax.DplIn, syntax.DplOut:
		if strings.Trim(word.text, "0123456789-") != "" {
			w.doubt("it redirects to what is only known when it runs")
		}
	case syntax.RdrIn:
		w.line.Reads = append(w.line.Reads, w.path(word.text))
		if w.outside(word.text) {
			w.doubt("it reads " + word.text + ", which is not in the folder")
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.AppClob,
		syntax.RdrAllClob, syntax.AppAllClob:
		if word.text != "/dev/null" {
			w.line.Writes = append(w.line.Writes, w.path(word.text))
			if w.moved || strings.Contains(word.text, "..") {
				w.doubt("where it writes depends on what runs before")
			}
		}
	}
}

// command judges one simple command.
func (w *walk) command(call *syntax.CallExpr) Command {
	var c Command
	loose := ""
	for _, arg := range call.Args {
		word, ok := w.literal(arg)
		if !ok {
			word.text = w.text[arg.Pos().Offset():arg.End().Offset()]
			c.Doubt = "the word " + word.text + " is only known when it runs"
		}
		if word.glob && (loose == "" && strings.IndexAny(word.text, "*?[-") == 0 || len(c.Words) == 0) {
			loose = word.text
		}
		c.Words = append(c.Words, word.text)
	}
	for _, word := range c.Words[1:] {
		if value := fileOf(word); value != "" {
			c.Files = append(c.Files, w.path(value))
		}
	}
	w.within(c)
	if c.Doubt != "" {
		return c
	}
	if why := changers()[c.Words[0]]; why != "" {
		c.Doubt = why
		return c
	}
	c.Reads = w.reads(c.Words, loose != "")
	if !c.Reads && loose != "" {
		c.Doubt = "the names that " + loose + " stands for may be options"
		return c
	}
	c.Always = always(c.Words)
	return c
}

// within adds the commands of a line that the command runs as a line: sh -c '…' and eval. They count for what forbids.
func (w *walk) within(c Command) {
	if w.nest >= maxNest {
		return
	}
	var text string
	switch name := base(c.Words[0]); {
	case name == "eval":
		text = strings.Join(c.Words[1:], " ")
	case shells()[name]:
		i := slices.IndexFunc(c.Words, func(word string) bool {
			return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.HasSuffix(word, "c")
		})
		if i < 0 || i+1 >= len(c.Words) {
			return
		}
		text = c.Words[i+1]
	default:
		return
	}
	for _, inner := range parse(text, w.at, w.nest+1).Commands {
		inner.Reads, inner.Always = false, ""
		w.inner = append(w.inner, inner)
	}
}
