package transcript

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// plainText is what a Markdown text says, without its marks. Of a text that is
// still growing, or of which only the end is known, marks without a partner go
// too.
func (r *Renderer) plainText(markdown string) string {
	var b strings.Builder
	source := []byte(paired(Clean(markdown)))
	_ = ast.Walk(r.markdown().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		if n.Type() == ast.TypeBlock {
			b.WriteByte('\n')
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(n.Value(source)))))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.RawHTML:
			b.Write(n.Segments.Value(source))
		case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.NewReplacer("**", "", "__", "", "`", "").Replace(b.String())
}

// paired closes, at the end of its paragraph, every mark that is open there.
func paired(markdown string) string {
	paragraphs := strings.Split(markdown, "\n\n")
	for i, p := range paragraphs {
		if fenceMark(p) == "" {
			p = strings.TrimRight(p, " \n")
			paragraphs[i] = p + closing(openMarks(p))
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
