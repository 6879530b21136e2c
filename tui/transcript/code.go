package transcript

import (
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"loci/tui/theme"
)

// code draws lines of code, which aren't wrapped, so that they copy exactly as written. Each row has its colours to itself.
func (r *Renderer) code(language, source string) []string {
	source = strings.TrimSuffix(source, "\n")
	if inks := r.Theme.Markdown().Syntax; inks != nil {
		if rows, err := coloured(language, source, inks); err == nil {
			return rows
		}
	}
	return strings.Split(source, "\n")
}

// fenced draws code with the marks of a fence, where no colour shows that it is code.
func (r *Renderer) fenced(info, language, source string) []string {
	var rows []string
	if source = strings.TrimRight(source, "\n"); source != "" {
		rows = r.code(language, source)
	}
	if r.Theme.Kind != theme.None {
		return rows
	}
	mark := "```"
	for strings.Contains(source, mark) {
		mark += "`"
	}
	return append(append([]string{mark + info}, rows...), mark)
}

// coloured draws lines of code in the inks of what they hold.
func coloured(language, source string, inks *theme.Syntax) ([]string, error) {
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Analyse(source)
	}
	if lexer == nil {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, source+"\n")
	if err != nil {
		return nil, err
	}
	rows := make([]string, 0, 1+strings.Count(source, "\n"))
	for _, line := range chroma.SplitTokensIntoLines(tokens.Tokens()) {
		var row []span
		for _, t := range line {
			row = add(row, strings.TrimSuffix(t.Value, "\n"), manner{Ink: syntaxInk(t.Type, inks)})
		}
		rows = append(rows, paint(row))
	}
	return rows, nil
}

func syntaxInk(t chroma.TokenType, inks *theme.Syntax) theme.Ink {
	switch {
	case t.InCategory(chroma.Comment):
		return inks.Comment
	case slices.Contains([]chroma.TokenType{
		chroma.KeywordType, chroma.NameClass, chroma.NameNamespace, chroma.NameTag, chroma.NameAttribute, chroma.NameConstant,
		chroma.NameBuiltin, chroma.NameBuiltinPseudo, chroma.NameDecorator,
	}, t):
		return inks.Type
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return inks.Keyword
	case t == chroma.NameFunction, t == chroma.NameFunctionMagic:
		return inks.Function
	case t.InSubCategory(chroma.LiteralString):
		return inks.String
	case t.InSubCategory(chroma.LiteralNumber):
		return inks.Number
	case t.InCategory(chroma.Operator), t.InCategory(chroma.Punctuation):
		return inks.Operator
	case t == chroma.GenericInserted:
		return inks.Inserted
	case t == chroma.GenericDeleted:
		return inks.Deleted
	case t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return inks.Heading
	}
	return inks.Plain
}
