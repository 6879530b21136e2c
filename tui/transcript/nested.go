package transcript

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"loci/tui/term"
)

// leastNested is the width from which items hang below their first word.
const leastNested = 12

// nested draws what the Markdown library draws badly: a list, whose items hold
// blocks of their own and hang below their first word, and indented code, which
// it wraps like prose. It reports whether source is one of these, and there is
// room: each level takes columns, which also bounds how deep this goes.
func (r *Renderer) nested(source string) (string, bool) {
	first := strings.TrimLeft(source, " ")
	code := len(source)-len(first) >= 4 || strings.HasPrefix(first, "\t")
	if r.Width < leastNested || first == "" || (!code && !strings.Contains("-*+0123456789", first[:1])) {
		return "", false
	}
	bytes := []byte(source)
	n := r.markdown().Parse(text.NewReader(bytes)).FirstChild()
	if n == nil || n.NextSibling() != nil {
		return "", false
	}
	switch n := n.(type) {
	case *ast.List:
		return r.list(n, bytes), true
	case *ast.CodeBlock:
		return r.Markdown(Block{Source: fenced(n, bytes)}), true
	}
	return "", false
}

// list draws each item as an answer of its own, next to its mark.
func (r *Renderer) list(list *ast.List, source []byte) string {
	var items []string
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		item, ok := n.(*ast.ListItem)
		if !ok {
			continue
		}
		mark, body := "• ", itemSource(item, source)
		if list.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		if box := taskBox(item); box != nil {
			mark = "☐ "
			if box.IsChecked {
				mark = "☑ "
			}
			_, body, _ = strings.Cut(body, "]")
			body = strings.TrimLeft(body, " \t")
		}
		wide := term.Width(mark)
		drawn := hang(r.narrowed(wide).blocks(body, list.IsTight), wide)
		items = append(items, strings.TrimRight(mark+drawn, " "))
	}
	return strings.Join(items, "\n")
}

// itemSource is the Markdown inside an item of a list.
func itemSource(item *ast.ListItem, source []byte) string {
	from, to := lineStart(source, item.Pos()), len(source)
	if next := item.NextSibling(); next != nil {
		to = lineStart(source, next.Pos())
	}
	var b strings.Builder
	for line := range bytes.Lines(source[from:to]) {
		if b.Len() == 0 { // the mark, with what indents it, is an indent too
			bare := bytes.TrimLeft(line, " ")
			mark := len(line) - len(bare) + max(bytes.IndexAny(bare, " \t\n"), 0)
			line = append(bytes.Repeat([]byte{' '}, mark), line[mark:]...)
		}
		b.WriteString(outdent(line, item.Offset))
	}
	return b.String()
}

// outdent removes up to n columns of space from the start of a line.
func outdent(line []byte, n int) string {
	column := 0
	for i, c := range line {
		switch {
		case column >= n:
			return strings.Repeat(" ", column-n) + string(line[i:])
		case c == ' ':
			column++
		case c == '\t':
			column += 4 - column%4
		default:
			return string(line[i:])
		}
	}
	return ""
}

// taskBox is the box at the start of an item, if it has one.
func taskBox(item *ast.ListItem) *extast.TaskCheckBox {
	if item.FirstChild() == nil {
		return nil
	}
	box, _ := item.FirstChild().FirstChild().(*extast.TaskCheckBox)
	return box
}

// fenced is indented code as a fence.
func fenced(n *ast.CodeBlock, source []byte) string {
	code := string(n.Lines().Value(source))
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(code, "\n") + "\n" + fence + "\n"
}

// narrowed is a renderer for what stands n columns to the right.
func (r *Renderer) narrowed(n int) *Renderer {
	if r.within == nil {
		r.within = map[int]*Renderer{}
	}
	if r.within[n] == nil {
		r.within[n] = NewRenderer(r.Theme, r.Prose()-n)
		r.within[n].parser = r.markdown()
	}
	return r.within[n]
}
