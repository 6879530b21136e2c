package parsers_test

import (
	"context"
	"strings"
	"testing"

	"loci/core"
	"loci/core/ingest"
	"loci/tools/parsers"
	"loci/tools/parsers/parserstest"
)

// parse reads a sample.
func parse(tb testing.TB, s parserstest.Sample) core.Document {
	tb.Helper()
	doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: s.Name, Data: s.Data})
	if err != nil {
		tb.Fatalf("%s: %v", s.Name, err)
	}
	return doc
}

func TestKnownSentencesAreFoundAtTheirPlace(t *testing.T) {
	t.Parallel()
	for _, s := range parserstest.Samples(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			doc := parse(t, s)
			if doc.Kind != s.Kind {
				t.Fatalf("kind %q, want %q", doc.Kind, s.Kind)
			}
			lines := ingest.Lines(doc)
			for _, want := range s.Want {
				found := 0
				for _, l := range lines {
					if l.Text != want.Text {
						continue
					}
					found++
					if l.Page != want.Page {
						t.Errorf("%q is on page %d, want %d", want.Text, l.Page, want.Page)
					}
					if at := sectionAt(doc, l.Start); strings.Join(at.Path, "/") != want.Path {
						t.Errorf("%q stands under %q, want %q", want.Text, at.Path, want.Path)
					}
					if ingest.LineAt(lines, l.Start) != l.Number {
						t.Errorf("%q is line %d, but byte %d is on %d", want.Text, l.Number, l.Start, ingest.LineAt(lines, l.Start))
					}
				}
				if found != 1 {
					t.Errorf("%q is found %d times in:\n%s", want.Text, found, doc.Text)
				}
			}
			checkDocument(t, doc)
		})
	}
}

func sectionAt(doc core.Document, offset int) core.Section {
	for _, s := range doc.Sections {
		if offset < s.End {
			return s
		}
	}
	return core.Section{}
}

// checkDocument fails unless the document keeps its promises, and its chunks theirs.
func checkDocument(tb testing.TB, doc core.Document) {
	tb.Helper()
	at := 0
	for i, s := range doc.Sections {
		if s.Start != at || s.End <= s.Start || s.Line != 1+strings.Count(doc.Text[:s.Start], "\n") ||
			s.EndLine != 1+strings.Count(doc.Text[:s.End-1], "\n") {
			tb.Fatalf("section %d is %+v, the one before ends at %d", i, s, at)
		}
		at = s.End
	}
	if at != len(doc.Text) || strings.Contains(doc.Text, "\r") {
		tb.Fatalf("sections end at %d of %d", at, len(doc.Text))
	}
	at = 0
	for _, c := range ingest.Chunks(doc, 60) {
		if c.Start != at || doc.Text[c.Start:c.End] != c.Text {
			tb.Fatalf("a chunk begins at %d, the one before ends at %d", c.Start, at)
		}
		at = c.End
	}
	if at != len(doc.Text) {
		tb.Fatalf("chunks end at %d of %d", at, len(doc.Text))
	}
}

func TestTitlesComeFromTheFile(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"notes.md":     "Garden",
		"page.html":    "Lighthouse keepers",
		"minutes.docx": "Minutes of March",
		"tale.epub":    "A Tale of Tides",
		"plain.pdf":    "A report by hand",
		"packed.pdf":   "A report by hand",
	}
	for _, s := range parserstest.Samples(t) {
		if title, ok := want[s.Name]; ok && parse(t, s).Title != title {
			t.Errorf("%s: title %q, want %q", s.Name, parse(t, s).Title, title)
		}
	}
}

func TestWhatNobodySeesIsNotRead(t *testing.T) {
	t.Parallel()
	for _, s := range parserstest.Samples(t) {
		doc := parse(t, s)
		for _, hidden := range []string{"secret", "color:red", "gone", "\x01"} {
			if s.Name != "old.log" && strings.Contains(doc.Text, hidden) {
				t.Errorf("%s shows %q", s.Name, hidden)
			}
		}
	}
}

func TestNothingButANewlineEndsALineWhereThereAreNewlines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the first\r\nsecond\fand\fthird\rof them\r\nlast": "the first\nsecond and third of them\nlast",
		"made\ron an old\rmachine":                         "made\non an old\nmachine",
		"a page of text\n\f\nand another\n":                "a page of text\n \nand another\n",
	} {
		if doc := parse(t, parserstest.Sample{Name: "f.txt", Kind: core.FileText, Data: []byte(text)}); doc.Text != want {
			t.Errorf("%q is read as %q, want %q", text, doc.Text, want)
		}
	}
}
