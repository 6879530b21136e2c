package transcript

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"loci/tui/term"
	"loci/tui/theme"
)

// drawing is a Markdown text that is being drawn.
type drawing struct {
	r      *Renderer
	inks   theme.Markdown
	source []byte
}

// prose draws a Markdown text that is no code. An address that it defines for links is shown: they may stand in another block.
func (r *Renderer) prose(source string) []string {
	d := drawing{r, r.Theme.Markdown(), []byte(source)}
	defined := parser.NewContext()
	doc := r.markdown().Parse(text.NewReader(d.source), parser.WithContext(defined))
	rows := d.blocks(doc, r.Prose(), manner{}, false)
	refs := defined.References() // in no order
	slices.SortFunc(refs, func(a, b parser.Reference) int {
		return cmp.Compare(bytes.Index(d.source, a.Label()), bytes.Index(d.source, b.Label()))
	})
	for _, ref := range refs {
		address := manner{Ink: d.inks.Address, link: opened(string(ref.Destination()))}
		rows = append(rows, flow([]span{
			{Clean("[" + string(ref.Label()) + "]: "), manner{}}, {Clean(string(ref.Destination())), address},
		}, r.Prose())...)
	}
	return rows
}

// blocks draws what a block holds, with an empty row between two unless they stand tight.
func (d *drawing) blocks(parent ast.Node, width int, in manner, tight bool) []string {
	var rows []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		drawn := d.block(n, width, in)
		if len(drawn) == 0 {
			continue
		}
		if len(rows) > 0 && !tight && !follows(n) {
			rows = append(rows, "")
		}
		rows = append(rows, drawn...)
	}
	return rows
}

// follows reports whether a list comes right below a paragraph, without an empty line between them.
func follows(n ast.Node) bool {
	_, list := n.(*ast.List)
	_, text := n.PreviousSibling().(*ast.Paragraph)
	return list && text && !n.HasBlankPreviousLines()
}

func (d *drawing) block(n ast.Node, width int, in manner) []string {
	switch n := n.(type) {
	case *ast.Heading:
		ink := d.inks.Heading
		if n.Level == 1 {
			ink = d.inks.Title
		}
		return flow(d.inline(n, in.on(ink)), width)
	case *ast.Paragraph, *ast.TextBlock:
		return flow(d.inline(n, in), width)
	case *ast.ThematicBreak:
		return []string{inked(in.on(d.inks.Rule).Ink, "─────")}
	case *ast.Blockquote:
		return d.quote(n, width, in)
	case *ast.List:
		return d.list(n, width, in)
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = string(n.Info.Value(d.source))
		}
		return d.r.fenced(info, string(n.Language(d.source)), string(n.Lines().Value(d.source)))
	case *ast.CodeBlock:
		return d.r.fenced("", "", string(n.Lines().Value(d.source)))
	case *extast.Table:
		return d.table(n, d.r.Width-(d.r.Prose()-width), in)
	}
	return d.blocks(n, width, in, false)
}

// leastQuoted is the width from which a quotation has its mark.
const leastQuoted = 8

func (d *drawing) quote(n *ast.Blockquote, width int, in manner) []string {
	mark := theme.QuoteMark + " "
	if width < leastQuoted {
		mark = ""
	}
	rows := d.blocks(n, width-term.Width(mark), in.on(d.inks.Quote), false)
	for i, row := range rows {
		rows[i] = term.TrimRight(mark + row)
	}
	return rows
}

// leastNested is the width from which items hang below their first word.
const leastNested = 12

// list draws each item next to its mark.
func (d *drawing) list(list *ast.List, width int, in manner) []string {
	var rows []string
	number := list.Start
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		mark := "• "
		switch box := taskBox(n); {
		case box != nil && box.IsChecked:
			mark = "☑ "
		case box != nil:
			mark = "☐ "
		case list.IsOrdered():
			mark = strconv.Itoa(number) + ". "
		}
		number++
		hang := term.Width(mark)
		if width < leastNested {
			hang = 0
		}
		item := d.blocks(n, max(width-hang, 1), in, list.IsTight)
		if len(item) == 0 {
			item = []string{""}
		}
		for i, row := range item {
			switch {
			case i == 0:
				row = mark + row
			case row != "":
				row = strings.Repeat(" ", hang) + row
			}
			item[i] = term.TrimRight(row)
		}
		rows = append(rows, item...)
	}
	return rows
}

// taskBox is the box at the start of an item, if it has one.
func taskBox(item ast.Node) *extast.TaskCheckBox {
	if item.FirstChild() == nil {
		return nil
	}
	box, _ := item.FirstChild().FirstChild().(*extast.TaskCheckBox)
	return box
}
