package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"loci/core"
	"loci/core/ingest"
)

func TestPassagesAreFoundWhereTheirChunksStand(t *testing.T) {
	t.Parallel()
	same := strings.Repeat("The tide comes in and goes out again. ", 40) + "\n\n"
	var rows strings.Builder
	rows.WriteString("name,place\n")
	for i := range 400 {
		fmt.Fprintf(&rows, "person %d,town %d\n", i%7, i%7)
	}
	for kind, text := range map[core.FileKind]string{
		core.FileMarkdown: "# Sea\n\n" + same + "## Ebb\n\n" + same + "## Flow\n\n" + same,
		core.FileCSV:      rows.String(),
		core.FileText:     same + "Once only.\n\n" + same,
	} {
		doc := core.Document{Kind: kind, Text: text}
		chunks := ingest.Chunks(doc, 0)
		for i, c := range chunks {
			start, end, ok := ingest.Locate(doc, chunks, core.Passage{Text: c.Passage(), Place: i})
			body := strings.TrimSpace(c.Text)
			if want := c.Start + strings.Index(c.Text, body); !ok || start != want || text[start:end] != body {
				t.Errorf("%s, chunk %d: %d to %d, %t, want it at %d", kind, i, start, end, ok, want)
			}
		}
	}
	doc := core.Document{Kind: core.FileText, Text: "zero\none\ntwo\nthree\n"}
	other := []ingest.Chunk{{Text: doc.Text, End: len(doc.Text)}}
	if start, end, ok := ingest.Locate(doc, other, core.Passage{Text: "Heading\none\ntwo"}); !ok || doc.Text[start:end] != "one\ntwo" {
		t.Errorf("cut in another way: %d to %d, %t", start, end, ok)
	}
	if _, _, ok := ingest.Locate(doc, nil, core.Passage{Text: "five\nfour"}); ok {
		t.Error("a text that is not there was found")
	}
}

func TestAnOpenFileThatBecameShorterIsShownFromItsStart(t *testing.T) {
	t.Parallel()
	doc := core.Document{Kind: core.FileCode, Text: "one\ntwo\nthree\n"}
	for _, c := range []struct {
		open core.OpenFile
		want string
	}{
		{core.OpenFile{}, "[Viewing file start (out of 3 lines)]\n1: one\n2: two\n3: three"},
		{core.OpenFile{Start: 2, End: 2}, "[Viewing lines 2 to 2 (out of 3 lines)]\n2: two"},
		{core.OpenFile{Start: 2, End: 9}, "[Viewing lines 2 to 3 (out of 3 lines)]\n2: two\n3: three"},
		{core.OpenFile{Start: 8, End: 9}, "[Viewing file start (out of 3 lines)]\n1: one\n2: two\n3: three"},
	} {
		if v, err := ingest.ShowOpen(doc, c.open, 0); err != nil || v.Text != c.want {
			t.Errorf("%+v: %q, %v", c.open, v.Text, err)
		}
	}
	if v, err := ingest.ShowOpen(core.Document{}, core.OpenFile{Start: 1, End: 2}, 0); err != nil || v.Total != 0 {
		t.Errorf("an empty file: %+v, %v", v, err)
	}
}
