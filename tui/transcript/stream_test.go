package transcript

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// pieces of Markdown to build documents from.
var pieces = []string{
	"# Title\n", "Setext\n===\n", "Setext two\n---\n", "***\n", "A paragraph\nover two lines.\n", "word ",
	"- one\n", "- two\n  more\n", "  - nested\n", "1. first\n", "2. second\n\n   loose\n", "> quote\n", "> > deep\n", "lazy\n",
	"```go\nfunc f() {}\n", "```\n", "~~~\ntext\n~~~\n", "```\n\n", "    indented\n", "\tindented by tab\n",
	"| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "<div>\n", "</div>\n", "<!-- comment\n", "-->\n", "\n", "\n\n", "* * *\n",
	"- [ ] task\n", "漢字 emoji 👩‍👩‍👧\n", "**open\n", "`code\n", "\\\n", "    \n", "+ plus\n", "10) ten\n", "#\n", "-\n",
	"a | b\n-|-\n",
}

func document(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(20) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// starts are the offsets at which top-level blocks of a document start.
func starts(doc string) map[int]bool {
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(doc)))
	out := map[int]bool{}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		out[lineStart([]byte(doc), n.Pos())] = true
	}
	return out
}

func checkStream(t *testing.T, doc string, cuts func(rest int) int) {
	t.Helper()
	var s Stream
	var got strings.Builder
	final := starts(doc)
	for rest := doc; rest != ""; {
		n := min(cuts(len(rest)), len(rest))
		for _, b := range s.Write(rest[:n]) {
			got.WriteString(b.Source)
			if !final[got.Len()] {
				t.Fatalf("%q\nis cut at %d, where the whole has no top-level block: %q", doc, got.Len(), doc[:got.Len()])
			}
		}
		rest = rest[n:]
		if seen := got.String() + s.Open(); seen != doc[:len(doc)-len(rest)] {
			t.Fatalf("text was lost:\n%s", cmp.Diff(doc[:len(doc)-len(rest)], seen))
		}
	}
}

func TestWhatIsCommittedAtALineEndNeverChanges(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		doc := document(r)
		checkStream(t, doc, func(int) int { return 1 + r.IntN(12) })
	}
}

func FuzzStream(f *testing.F) {
	for _, p := range pieces {
		f.Add(p+pieces[0]+p, uint8(3))
	}
	f.Fuzz(func(t *testing.T, doc string, step uint8) {
		if strings.Contains(doc, "]:") || strings.ContainsAny(doc, "\x00\r") {
			t.Skip() // a later link reference may change earlier text
		}
		checkStream(t, doc, func(int) int { return 1 + int(step) })
	})
}

// whole joins blocks into the text they represent.
func whole(blocks []Block) string {
	var b strings.Builder
	for _, bl := range blocks {
		lines := strings.SplitAfter(bl.Source, "\n")
		if mark := fenceMark(lines[0]); mark != "" && bl.Skip+1 < len(lines) && closesFence(strings.TrimSpace(lines[len(lines)-2]), mark) {
			lines = lines[1+bl.Skip : len(lines)-2]
		}
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}

func TestALongOpenFenceGivesWholeLines(t *testing.T) {
	t.Parallel()
	s := Stream{Long: 10}
	var blocks []Block
	blocks = append(blocks, s.Write("Look:\n\n```go\n")...)
	var code strings.Builder
	for i := range 600 {
		line := fmt.Sprintf("line %d\n", i)
		code.WriteString(line)
		blocks = append(blocks, s.Write(line)...)
	}
	if n := strings.Count(s.Open(), "\n"); n > 12 {
		t.Errorf("%d lines are still open", n)
	}
	blocks = append(blocks, s.Write("```\nafter\n\n")...)
	blocks = append(blocks, s.Close()...)
	if diff := cmp.Diff("Look:\n\n"+code.String()+"after\n\n", whole(blocks)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for i, b := range blocks[1 : len(blocks)-1] {
		if b.Tight != (i > 0) || !strings.HasPrefix(b.Source, "```go\n") || !strings.HasSuffix(b.Source, "```\n") {
			t.Fatalf("block %d: %+v", i, b)
		}
		if n := strings.Count(b.Source, "\n"); n > keepLines+30 {
			t.Fatalf("block %d is lexed with %d lines", i, n)
		}
	}
}

func TestALongOpenListGivesItemsButTheLast(t *testing.T) {
	t.Parallel()
	s := Stream{Long: 5}
	var blocks []Block
	var doc strings.Builder
	for i := range 40 {
		item := fmt.Sprintf("- item %d\n  more of it\n", i)
		doc.WriteString(item)
		blocks = append(blocks, s.Write(item)...)
	}
	if len(blocks) == 0 || strings.Count(s.Open(), "- item") > 4 {
		t.Errorf("%d blocks, open %q", len(blocks), s.Open())
	}
	doc.WriteString("\nafter\n")
	blocks = append(blocks, s.Write("\nafter\n")...)
	blocks = append(blocks, s.Close()...)
	if diff := cmp.Diff(doc.String(), whole(blocks)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if last := blocks[len(blocks)-1]; last.Tight || last.Source != "after\n" {
		t.Errorf("what follows the list: %+v", last)
	}
}

func TestCloseGivesALineWithoutANewline(t *testing.T) {
	t.Parallel()
	var s Stream
	if b := s.Write("half a line"); b != nil {
		t.Errorf("committed %v", b)
	}
	if diff := cmp.Diff([]Block{{Source: "half a line\n"}}, s.Close()); diff != "" {
		t.Errorf("Close (-want +got):\n%s", diff)
	}
	if s.Open() != "" || s.Close() != nil {
		t.Error("the stream is not empty after Close")
	}
}
