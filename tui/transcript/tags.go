package transcript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tagRounds bounds how often a text is looked at again: what an escaped block
// holds is parsed as a paragraph only then.
const tagRounds = 8

// showTags escapes what Markdown takes for HTML. A terminal has none, and drawn
// as such it would not be there: `List<String>` would lose its half.
func showTags(md parser.Parser, source string) string {
	for range tagRounds {
		if !strings.Contains(source, "<") {
			return source
		}
		marks := tagMarks(md, []byte(source))
		if len(marks) == 0 {
			return source
		}
		var b strings.Builder
		from := 0
		for _, at := range marks {
			b.WriteString(source[from:at] + `\`)
			from = at
		}
		b.WriteString(source[from:])
		source = b.String()
	}
	return source
}

// tagMarks is where a backslash makes text of HTML: before the first bracket of
// a tag, of each line of a block, and at the ends of its lines, which stay lines.
func tagMarks(md parser.Parser, source []byte) []int {
	var marks []int
	_ = ast.Walk(md.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it has no errors
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.RawHTML:
			marks = append(marks, n.Segments.At(0).Start)
		case *ast.HTMLBlock:
			lines := slices.Clone(n.Lines().Sliced(0, n.Lines().Len()))
			if n.HasClosure() {
				lines = append(lines, n.ClosureLine)
			}
			for i, line := range lines {
				if at := bytes.IndexByte(line.Value(source), '<'); at >= 0 {
					marks = append(marks, line.Start+at-line.Padding)
				}
				if i+1 < len(lines) && !blankBytes(line.Value(source)) && !blankBytes(lines[i+1].Value(source)) && source[line.Stop-1] == '\n' {
					marks = append(marks, line.Stop-1)
				}
			}
		}
		return ast.WalkContinue, nil
	})
	slices.Sort(marks)
	return slices.Compact(marks)
}

func blankBytes(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// hasBreaks reports whether a line of a text ends by its own mark: two spaces or
// a backslash.
func hasBreaks(md parser.Parser, source string) bool {
	found := false
	_ = ast.Walk(md.Parse(text.NewReader([]byte(source))), func(n ast.Node, _ bool) (ast.WalkStatus, error) { // it has no errors
		if t, ok := n.(*ast.Text); ok && t.HardLineBreak() {
			found = true
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return found
}
