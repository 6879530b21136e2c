package transcript

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// tagRounds bounds how often a text is reparsed: the content of an escaped
// block is parsed as a paragraph only on the next round.
const tagRounds = 8

// showTags escapes what Markdown takes for HTML. A terminal can't show HTML, so
// it would vanish: `List<String>` would lose its second half.
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

// tagMarks returns where a backslash turns HTML into text: before the first
// bracket of a tag and of each line of a block, and at the ends of those lines,
// so that they stay lines.
func tagMarks(md parser.Parser, source []byte) []int {
	var marks []int
	_ = ast.Walk(md.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
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
				if i+1 < len(lines) && !blankBytes(line.Value(source)) && !blankBytes(lines[i+1].Value(source)) &&
					source[line.Stop-1] == '\n' {
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
