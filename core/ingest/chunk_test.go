package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/ingest"
)

var kinds = []core.FileKind{
	core.FileText,
	core.FileMarkdown,
	core.FileCode,
	core.FileHTML,
	core.FilePDF,
	core.FileDOCX,
	core.FileCSV,
	core.FileJSON,
	core.FileEPUB,
}

// checkCover fails unless chunks are the text, cut without gap and overlap, with the right lines.
func checkCover(tb testing.TB, doc core.Document, tokens int) []ingest.Chunk {
	tb.Helper()
	chunks := ingest.Chunks(doc, tokens)
	if strings.TrimSpace(doc.Text) == "" {
		if chunks != nil {
			tb.Fatalf("%s: %d chunks of a blank text", doc.Kind, len(chunks))
		}
		return nil
	}
	at := 0
	for i, c := range chunks {
		if c.Start != at || c.End <= c.Start || c.Text != doc.Text[c.Start:c.End] {
			tb.Fatalf("%s: chunk %d covers %d to %d, the one before ends at %d", doc.Kind, i, c.Start, c.End, at)
		}
		at = c.End
		body := strings.TrimSpace(c.Text)
		if body == "" {
			tb.Fatalf("%s: chunk %d is blank", doc.Kind, i)
		}
		first := c.Start + strings.Index(c.Text, body)
		if want := 1 + strings.Count(doc.Text[:first], "\n"); c.Line != want {
			tb.Fatalf("%s: chunk %d begins on line %d, want %d", doc.Kind, i, c.Line, want)
		}
		if want := 1 + strings.Count(doc.Text[:first+len(body)], "\n"); c.EndLine != want {
			tb.Fatalf("%s: chunk %d ends on line %d, want %d", doc.Kind, i, c.EndLine, want)
		}
		if utf8.ValidString(doc.Text) && !utf8.ValidString(c.Text) {
			tb.Fatalf("%s: chunk %d is cut within a character", doc.Kind, i)
		}
	}
	if at != len(doc.Text) {
		tb.Fatalf("%s: chunks end at %d of %d", doc.Kind, at, len(doc.Text))
	}
	return chunks
}

// random makes texts of the pieces that structure hangs on.
func random(r *rand.Rand) string {
	parts := []string{
		"\n",
		"\n\n",
		"# A heading\n",
		"## Deeper\n",
		"Words follow words here. ",
		"And Mr. Smith said so! ",
		"```go\n",
		"```\n",
		"- item\n",
		"func f() {\n\treturn\n}\n",
		`{"a": [1, 2, {"b": "c, d"}],`,
		`"k": "v",`,
		"}\n",
		"]",
		"a,b,\"c\nd\"\n",
		"\"",
		"| x | y |\n",
		"  ",
		"\t",
		"日本語の文。",
		"émigré ",
		"---\n",
		"===\n",
		strings.Repeat("x", 300),
		"\\",
		",",
		"\r\n",
	}
	var b strings.Builder
	for range r.IntN(120) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func TestChunksCoverTheTextExactlyOnceWhateverItIs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for range 1500 {
		text := random(r)
		tokens := 8 + r.IntN(200)
		for _, kind := range kinds {
			doc := core.Document{Kind: kind, Text: text, Sections: ingest.Sections(kind, text)}
			checkSections(t, doc)
			chunks := checkCover(t, doc, tokens)
			for i, c := range chunks {
				if n := core.EstimateTokens(c.Text); n > tokens+tokens/4+2 {
					t.Fatalf("%s: chunk %d has %d tokens, want about %d", kind, i, n, tokens)
				}
			}
			if diff := cmp.Diff(chunks, ingest.Chunks(doc, tokens)); diff != "" {
				t.Fatalf("%s: the same document gave other chunks:\n%s", kind, diff)
			}
			checkLines(t, doc)
		}
	}
}

func checkSections(tb testing.TB, doc core.Document) {
	tb.Helper()
	at := 0
	for i, s := range doc.Sections {
		if s.Start != at || s.End <= s.Start {
			tb.Fatalf("%s: section %d covers %d to %d, the one before ends at %d", doc.Kind, i, s.Start, s.End, at)
		}
		if want := 1 + strings.Count(doc.Text[:s.Start], "\n"); s.Line != want {
			tb.Fatalf("%s: section %d begins on line %d, want %d", doc.Kind, i, s.Line, want)
		}
		if want := 1 + strings.Count(doc.Text[:s.End-1], "\n"); s.EndLine != want {
			tb.Fatalf("%s: section %d ends on line %d, want %d", doc.Kind, i, s.EndLine, want)
		}
		at = s.End
	}
	if at != len(doc.Text) {
		tb.Fatalf("%s: sections end at %d of %d", doc.Kind, at, len(doc.Text))
	}
}

// checkLines fails unless lines rise, name their place, and leave out nothing but blanks.
func checkLines(tb testing.TB, doc core.Document) {
	tb.Helper()
	at := 0
	for i, l := range ingest.Lines(doc) {
		if l.Start < at || l.End < l.Start {
			tb.Fatalf("%s: line %d stands at %d to %d, the one before ends at %d", doc.Kind, i+1, l.Start, l.End, at)
		}
		if left := doc.Text[at:l.Start]; strings.TrimSpace(left) != "" {
			tb.Fatalf("%s: %q is in no line", doc.Kind, left)
		}
		if want := 1 + strings.Count(doc.Text[:l.Start], "\n"); l.Source != want {
			tb.Fatalf("%s: line %d comes from line %d, want %d: %q", doc.Kind, i+1, l.Source, want, l.Text)
		}
		if got, want := strings.Join(strings.Fields(l.Text), " "), strings.Join(strings.Fields(doc.Text[l.Start:l.End]), " "); got != want {
			tb.Fatalf("%s: line %d says %q, the text %q", doc.Kind, i+1, got, want)
		}
		at = l.End
	}
	if left := doc.Text[at:]; strings.TrimSpace(left) != "" {
		tb.Fatalf("%s: %q is in no line", doc.Kind, left)
	}
}

func TestMarkdownChunksKnowTheirHeadings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The harbour freezes in a cold winter. ", 30)
	text := "# Travel\n\nShort intro.\n\n## Norway\n\n" + long + "\n\n## Spain\n\n" + long + "\n\n```\n# not a heading\n\ncode stays\n```\n"
	doc := core.Document{Kind: core.FileMarkdown, Text: text, Sections: ingest.Sections(core.FileMarkdown, text)}
	chunks := checkCover(t, doc, 200)
	for _, c := range chunks {
		want := "Norway"
		if c.Line >= 9 {
			want = "Spain"
		}
		if got := strings.Join(c.Path, "/"); got != "Travel/"+want && c.Line > 1 {
			t.Errorf("line %d has the path %q, want Travel/%s", c.Line, got, want)
		}
		if strings.Contains(c.Text, "# not a heading") && !strings.Contains(c.Text, "code stays") {
			t.Errorf("a fence is cut: %q", c.Text)
		}
	}
	if len(chunks) < 4 {
		t.Errorf("%d chunks", len(chunks))
	}
}

func TestSetextHeadingsAndFrontMatterAreKnown(t *testing.T) {
	t.Parallel()
	text := "---\ntitle: x\n---\nBig\n===\n\ntext\n\nSmall\n---\n\nmore\n\na paragraph\nof two lines\n---\n"
	var got []string
	for _, s := range ingest.Sections(core.FileMarkdown, text) {
		got = append(got, fmt.Sprint(s.Line, s.Path))
	}
	if diff := cmp.Diff([]string{"1 []", "4 [Big]", "9 [Big Small]"}, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

func TestTableChunksRepeatTheHeader(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("name,city,note\n")
	for i := range 100 {
		fmt.Fprintf(&b, "person %d,town %d,\"a note,\nover two lines\"\n", i, i)
	}
	chunks := checkCover(t, core.Document{Kind: core.FileCSV, Text: b.String()}, 100)
	for i, c := range chunks[1:] {
		if c.Header != "name,city,note" || !strings.HasPrefix(c.Passage(), "name,city,note\nperson ") {
			t.Errorf("chunk %d: header %q, passage %q", i+1, c.Header, c.Passage())
		}
		if strings.Count(c.Text, `"`)%2 != 0 {
			t.Errorf("chunk %d cuts a record: %q", i+1, c.Text)
		}
	}
}

func TestCodeChunksKeepDeclarationsWhole(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(
			&b,
			"// Fn%d does a thing.\nfunc Fn%d() int {\n\tx := %d\n\n\treturn x + 1 // and some more words to fill it\n}\n\n",
			i,
			i,
			i,
		)
	}
	fmt.Fprintf(&b, "func Big() {\n%s}\n", strings.Repeat("\tcall(\"something\")\n\n", 60))
	for _, c := range checkCover(t, core.Document{Kind: core.FileCode, Text: b.String()}, 80) {
		if first := strings.SplitN(c.Text, "\n", 2)[0]; !strings.HasPrefix(first, "// Fn") && !strings.HasPrefix(first, "func Big") {
			if diff := cmp.Diff([]string{"func Big()"}, c.Path); diff != "" {
				t.Errorf("a chunk begins with %q and has the path %q", first, c.Path)
			}
		}
	}
}

func TestJSONChunksAreMembersWithTheirKey(t *testing.T) {
	t.Parallel()
	text := "{\n  \"small\": 1,\n  \"people\": [\n" + strings.Repeat(
		"    {\"name\": \"Ada, the first\", \"year\": 1843},\n",
		40,
	) + "    {}\n  ],\n  \"last\": {\"x\": \"y\"}\n}\n"
	chunks := checkCover(t, core.Document{Kind: core.FileJSON, Text: text}, 60)
	for _, c := range chunks[1 : len(chunks)-1] {
		if diff := cmp.Diff([]string{"people"}, c.Path); diff != "" || !strings.HasPrefix(strings.TrimSpace(c.Text), "{") {
			t.Errorf("path %q of %q", c.Path, c.Text)
		}
	}
	lines := strings.Repeat(`{"event": "login", "user": "ada"}`+"\n", 30)
	for _, c := range checkCover(t, core.Document{Kind: core.FileJSON, Text: lines}, 40) {
		if !strings.HasPrefix(c.Text, "{") || !strings.HasSuffix(c.Text, "}\n") {
			t.Errorf("a line is cut: %q", c.Text)
		}
	}
}

func TestPagesOfChunksAndLinesAreThoseOfTheirSection(t *testing.T) {
	t.Parallel()
	var b ingest.SectionBuilder
	text := ""
	for p := 1; p <= 5; p++ {
		b.Page(p, len(text))
		text += fmt.Sprintf("This is page %d. %s\n\n", p, strings.Repeat("It has words. ", 30))
	}
	doc := core.Document{Kind: core.FilePDF, Text: text, Sections: b.Build(text), Pages: 5}
	for _, c := range checkCover(t, doc, 60) {
		if want := doc.Sections[c.Page-1]; c.Start < want.Start || c.Start >= want.End {
			t.Errorf("a chunk at %d has page %d", c.Start, c.Page)
		}
	}
	for i, l := range ingest.Lines(doc) {
		if strings.HasPrefix(l.Text, "This is page") && l.Text != fmt.Sprintf("This is page %d.", l.Page) {
			t.Errorf("line %d, %q, has page %d", i+1, l.Text, l.Page)
		}
	}
}

func FuzzChunks(f *testing.F) {
	f.Add("# A\n\ntext. More text.\n", 20)
	f.Add("{\"a\": [1, 2]}\n", 10)
	f.Add("a,b\n\"c\nd\",e\n", 8)
	f.Fuzz(func(t *testing.T, text string, tokens int) {
		if len(text) > 20_000 {
			return
		}
		for _, kind := range kinds {
			doc := core.Document{Kind: kind, Text: text, Sections: ingest.Sections(kind, text)}
			checkSections(t, doc)
			checkCover(t, doc, tokens%500)
			if utf8.ValidString(text) {
				checkLines(t, doc)
			}
		}
	})
}
