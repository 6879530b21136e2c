package transcript

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"loci/tui/term"
)

// Block is a piece of an answer that won't change any more.
type Block struct {
	Source string // Markdown, complete in itself
	Tight  bool   // continues the previous block: no empty line between them
	Skip   int    // rows of the rendering already shown with the previous block
	Goes   bool   // code that continues in the next block
}

// Stream cuts growing Markdown into final blocks. At the end of a line, every
// top-level block but the last is final; within a line nothing is. Once they
// are longer than Long rows, an open fence gives up whole lines and an open
// list whole items. The zero value is ready to use.
type Stream struct {
	Long int // rows; 0: never cut an open block
	Wide int // columns of prose; 0: never cut an open paragraph

	open   []byte // not final yet
	parsed int    // bytes of the open text already examined
	fence  fence  // set when the open text continues a fence whose earlier lines are out
	added  int    // bytes at the start of the open text that we added: marks closed at a cut and reopened
	list   bool   // the open text continues a list or paragraph that is partly out
	md     parser.Parser
}

// fence is an open code fence.
type fence struct {
	mark  string // the run of ` or ~ that opened it; empty: none
	head  string // its first line
	tail  []string
	lines int // in tail
}

// keepLines is how many lines before a cut are lexed again to get the colours
// right.
const keepLines = 200

// Write adds text and returns the blocks that have become final.
func (s *Stream) Write(delta string) []Block {
	s.open = append(s.open, delta...)
	if strings.IndexByte(delta, '\n') < 0 {
		return s.takeProse()
	}
	return s.take(bytes.LastIndexByte(s.open, '\n') + 1)
}

// Open is the text that may still change, as a Markdown block.
func (s *Stream) Open() string {
	if s.fence.mark != "" {
		return s.fence.head + string(s.open)
	}
	return string(s.open)
}

// Continues reports whether the open text continues a block that is already
// partly final.
func (s *Stream) Continues() bool { return s.list || s.fence.lines > 0 }

// InFence reports whether the open text is inside a code fence.
func (s *Stream) InFence() bool { return s.fence.mark != "" || fenceMark(string(s.open)) != "" }

// Pending is how many of the bytes written are not final yet.
func (s *Stream) Pending() int { return len(s.open) - s.added }

// Close ends the text and returns the rest.
func (s *Stream) Close() []Block {
	var out []Block
	if len(s.open) > 0 && s.open[len(s.open)-1] != '\n' {
		s.open = append(s.open, '\n')
	}
	out = append(out, s.take(len(s.open))...)
	if s.fence.mark != "" {
		out = append(out, s.fenceBlock(string(s.open)))
	} else if rest := string(s.open); strings.TrimSpace(rest) != "" {
		out = append(out, Block{Source: rest, Tight: s.list})
	}
	*s = Stream{Long: s.Long, Wide: s.Wide, md: s.md}
	return out
}

// take cuts what is final from the first end bytes, which end in a newline.
func (s *Stream) take(end int) []Block {
	if end <= s.parsed {
		return nil
	}
	if s.fence.mark != "" {
		return s.takeFence(end)
	}
	s.parsed = end
	source := s.open[:end]
	doc := s.parser().Parse(text.NewReader(source))
	out, cut := s.final(doc, source)
	last := doc.LastChild()
	s.drop(cut)
	if s.Long > 0 && last != nil && bytes.Count(source[cut:], []byte{'\n'}) > s.Long {
		out = append(out, s.takeLong(last, source, cut)...)
	}
	return out
}

// final returns every block of a document but the last, and where they end. A
// list that follows a paragraph without an empty line stays tight to it.
func (s *Stream) final(doc ast.Node, source []byte) (out []Block, cut int) {
	tight := s.list
	for n := doc.FirstChild(); n != nil && n.NextSibling() != nil; n = n.NextSibling() {
		next := lineStart(source, n.NextSibling().Pos())
		if next <= cut {
			continue // holds nothing but what the previous block already has
		}
		out = append(out, Block{Source: string(source[cut:next]), Tight: tight})
		_, list := n.NextSibling().(*ast.List)
		_, text := n.(*ast.Paragraph)
		tight = list && text && !bytes.HasSuffix(source[cut:next], []byte("\n\n"))
		cut = next
	}
	s.list = tight
	return out, cut
}

// proseMost is how many rows an open paragraph may have before all but the last
// become final.
const proseMost = 2

// takeProse cuts rows from an open one-line paragraph where no Markdown mark is
// open, so nothing that follows can change them.
func (s *Stream) takeProse() []Block {
	if s.Wide <= 0 || s.fence.mark != "" {
		return nil
	}
	s.drop(len(s.open) - len(bytes.TrimLeft(s.open, "\n"))) // what separates it from the previous block
	if len(s.open) <= s.Wide*proseMost {
		return nil
	}
	if i := bytes.LastIndex(s.open, []byte("\n\n")); i >= 0 && len(s.open)-i > s.Wide*proseMost && isProse(s.open[i+2:]) {
		source := append(bytes.Clone(s.open), '\n')
		doc := s.parser().Parse(text.NewReader(source))
		if p, ok := doc.LastChild().(*ast.Paragraph); ok && lineStart(source, p.Pos()) == i+2 {
			out, cut := s.final(doc, source)
			s.drop(cut)
			return append(out, s.takeProse()...)
		}
	}
	if !isProse(s.open) {
		return s.takeOverdue()
	}
	bare := strings.NewReplacer("*", "", "`", "").Replace(string(s.open)) // its width without marks
	rows := strings.Split(term.Wrap(bare, s.Wide), "\n")
	if len(rows) <= proseMost || len(strings.Fields(bare)) != len(bytes.Fields(s.open)) {
		return nil
	}
	for last := len(rows) - 1; last > 0; last-- {
		cut := afterWords(s.open, len(strings.Fields(strings.Join(rows[:last], " "))))
		rest := bytes.TrimLeft(s.open[cut:], " ")
		if len(rest) == len(s.open)-cut || !isProse(rest) || !balanced(s.open[:cut]) {
			continue // inside a word, where another block might begin, or between marks
		}
		b := Block{Source: string(s.open[:cut]) + "\n", Tight: s.list}
		s.drop(len(s.open) - len(rest))
		s.list = true
		return []Block{b}
	}
	return s.takeOverdue()
}

// isProse reports whether a text can only be a paragraph of one line.
func isProse(text []byte) bool {
	first, _ := utf8.DecodeRune(bytes.TrimLeft(text, "*`"))
	if bytes.HasPrefix(text, []byte("* ")) || bytes.HasPrefix(text, []byte("```")) {
		return false
	}
	return unicode.IsLetter(first) && !bytes.ContainsAny(text, "\n\t<\\|~")
}

// balanced reports whether every mark in a text has its partner.
func balanced(text []byte) bool {
	for _, mark := range []string{"*", "**", "_", "`"} {
		if bytes.Count(text, []byte(mark))%2 != 0 {
			return false
		}
	}
	return bytes.Count(text, []byte("[")) == bytes.Count(text, []byte("]"))
}

// afterWords is the offset at which the first n words of a text end.
func afterWords(text []byte, n int) int {
	cut := 0
	for range n {
		for cut < len(text) && text[cut] == ' ' {
			cut++
		}
		for cut < len(text) && text[cut] != ' ' {
			cut++
		}
	}
	return cut
}

// takeLong cuts from a long last block, whose text starts at cut in source.
func (s *Stream) takeLong(last ast.Node, source []byte, cut int) []Block {
	switch n := last.(type) {
	case *ast.FencedCodeBlock:
		if lineStart(source, n.Pos()) != cut {
			return nil
		}
		line, _, _ := bytes.Cut(source[cut:], []byte{'\n'})
		mark := fenceMark(string(line))
		if mark == "" || bytes.HasPrefix(line, []byte{' '}) {
			return nil // the indent would have to be removed from every line
		}
		s.fence = fence{mark: mark, head: string(line) + "\n"}
		s.drop(len(line) + 1)
		s.parsed = 0 // its end may already be here
		return s.takeFence(len(source) - cut - len(line) - 1)
	case *ast.List:
		item := n.LastChild()
		if item == nil || item == n.FirstChild() {
			return nil
		}
		next := lineStart(source, item.Pos())
		if next <= cut {
			return nil
		}
		b := Block{Source: string(source[cut:next]), Tight: s.list}
		s.drop(next - cut)
		s.list = true
		return []Block{b}
	}
	return nil
}

// takeFence looks for the end of the open fence in the first end bytes, and
// cuts whole lines once there are many.
func (s *Stream) takeFence(end int) []Block {
	body := s.open[:end]
	for at := s.parsed; at < len(body); {
		line, _, _ := bytes.Cut(body[at:], []byte{'\n'})
		next := at + len(line) + 1
		if closesFence(string(line), s.fence.mark) {
			var out []Block
			out = append(out, s.fenceBlock(string(body[:at])))
			s.fence = fence{}
			s.drop(next)
			return append(out, s.take(bytes.LastIndexByte(s.open, '\n')+1)...)
		}
		at = next
	}
	s.parsed = end
	if bytes.Count(body, []byte{'\n'}) <= s.Long {
		return nil
	}
	b := s.fenceBlock(string(body))
	b.Goes = true
	s.drop(end)
	return []Block{b}
}

// fenceBlock makes a block from lines of the open fence. They are lexed
// together with the lines before them, so that a comment or string that began
// there is coloured correctly.
func (s *Stream) fenceBlock(lines string) Block {
	f := &s.fence
	b := Block{Source: f.head + strings.Join(f.tail, "") + lines + f.mark + "\n", Tight: f.lines > 0, Skip: len(f.tail)}
	for l := range strings.Lines(lines) {
		f.tail = append(f.tail, l)
		f.lines++
	}
	f.tail = f.tail[max(0, len(f.tail)-keepLines):]
	return b
}

func (s *Stream) drop(n int) {
	s.open = append([]byte(nil), s.open[n:]...)
	s.added = max(0, s.added-n)
	s.parsed = max(0, s.parsed-n)
}

func (s *Stream) parser() parser.Parser {
	if s.md == nil {
		s.md = newParser()
	}
	return s.md
}

func newParser() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
}

func lineStart(source []byte, pos int) int {
	pos = min(max(pos, 0), len(source))
	return bytes.LastIndexByte(source[:pos], '\n') + 1
}

// fenceMark is the run of marks that opens a fence on the first line of a text,
// or "".
func fenceMark(source string) string {
	line, _, _ := strings.Cut(source, "\n")
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return ""
	}
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(trimmed, c)
		if n := len(trimmed) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return trimmed[:n]
		}
	}
	return ""
}

func closesFence(line, mark string) bool {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return false
	}
	run := len(trimmed) - len(strings.TrimLeft(trimmed, mark[:1]))
	return run >= len(mark) && strings.Trim(trimmed[run:], " \t\r") == ""
}
