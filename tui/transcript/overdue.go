package transcript

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"loci/tui/term"
)

// overdueRows is how many rows an open one-line paragraph may have before its
// rows become final whatever they contain. Text that stays open too long gets
// in the way when the terminal becomes narrower.
const overdueRows = 5

// takeOverdue cuts rows from a long open paragraph that is all on one line.
// Marks open at the cut are closed there and reopened in what follows. A table
// with such a long header, or a link across the cut, becomes plain text.
func (s *Stream) takeOverdue() []Block {
	if len(s.open) <= s.Wide*overdueRows || bytes.IndexByte(s.open, '\n') >= 0 || !s.isParagraph() {
		return nil
	}
	rows := strings.Split(term.Wrap(string(s.open), s.Wide), "\n")
	if len(rows) <= overdueRows {
		return nil
	}
	for last := len(rows) - 1; last > 0; last-- {
		cut := afterWords(s.open, len(strings.Fields(strings.Join(rows[:last], " "))))
		rest := bytes.TrimLeft(s.open[cut:], " ")
		first, _ := utf8.DecodeRune(rest)
		if len(rest) == len(s.open)-cut || !unicode.IsLetter(first) {
			continue // inside a word, or where another block might begin
		}
		marks := openMarks(string(s.open[:cut]))
		b := Block{Source: string(s.open[:cut]) + closing(marks) + "\n", Tight: s.list}
		s.drop(len(s.open) - len(rest))
		again := strings.Join(marks, "")
		s.open, s.added = append([]byte(again), s.open...), len(again)
		s.list = true
		return []Block{b}
	}
	return nil
}

// isParagraph reports whether the open text is one paragraph and nothing else.
func (s *Stream) isParagraph() bool {
	doc := s.parser().Parse(text.NewReader(append(bytes.TrimRight(bytes.Clone(s.open), " "), '\n')))
	p, ok := doc.FirstChild().(*ast.Paragraph)
	return ok && p.NextSibling() == nil
}

// openMarks returns the emphasis and code marks that a line opens and does not
// close, outermost first.
func openMarks(s string) []string {
	var open []string
	before := ' '
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if !strings.ContainsRune("*_`", c) {
			if c == '\\' && i+size < len(s) { // what follows is escaped
				size++
			}
			before, i = c, i+size
			continue
		}
		run := s[i : i+len(s[i:])-len(strings.TrimLeft(s[i:], string(c)))]
		i += len(run)
		after := ' '
		if i < len(s) {
			after, _ = utf8.DecodeRuneInString(s[i:])
		}
		open = marked(open, run, before, after)
		before = c
	}
	return open
}

// marked opens or closes a run of marks.
func marked(open []string, run string, before, after rune) []string {
	n := len(open)
	code := n > 0 && open[n-1][0] == '`'
	switch {
	case n > 0 && open[n-1] == run && (code || !unicode.IsSpace(before)):
		return open[:n-1]
	case code, run[0] != '`' && (len(run) > 3 || unicode.IsSpace(after)):
		return open
	case run[0] == '_' && (unicode.IsLetter(before) || unicode.IsDigit(before)):
		return open // inside a word
	case run[0] != '`' && !unicode.IsSpace(before) && !unicode.IsPunct(before):
		return open // also inside a word: more often text than a mark
	}
	return append(open, run)
}

// closing closes marks, innermost first.
func closing(marks []string) string {
	var b strings.Builder
	for i := len(marks) - 1; i >= 0; i-- {
		b.WriteString(marks[i])
	}
	return b.String()
}
