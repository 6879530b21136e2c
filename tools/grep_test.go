package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"loci/core"
)

func TestGrepFindsWhateverTheWordsOfThePatternAre(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := h.folder("docs", true)
	h.file(docs, "kelvin.txt", core.FileText, "It has 300 \u212a and a mu\u017fk ox.\n")
	h.file(docs, "harbour.txt", core.FileText, "The HAR\u00adBOUR, the Harbour <front>, line\nbreaks.\n")
	h.file(docs, "code.go", core.FileCode, "a\nnbreaks\n\t\"x\\tfoo\"\n")
	for pattern, want := range map[string]string{
		`harbour`: "docs/harbour.txt:1", `musk ox`: "docs/kelvin.txt:1", `300 K`: "docs/kelvin.txt:1", `har.bour`: "docs/harbour.txt:1",
		`^breaks`: "docs/harbour.txt:2", `<front>`: "docs/harbour.txt:1", `nbreaks`: "docs/code.go:2",
		`(whale|harbour)`: "docs/harbour.txt:1",
		`(?-i)Harbour`:    "docs/harbour.txt:1", `whale|ox`: "docs/kelvin.txt:1", `(whale)?ox\.`: "docs/kelvin.txt:1",
		`(brea){1,3}ks\.`: "docs/harbour.txt:2",
		`tfoo`:            "docs/code.go:3", `[h]arb`: "docs/harbour.txt:1",
	} {
		if got := h.do("grep_files", map[string]any{"pattern": pattern}); got.IsError || !strings.Contains(got.Text, "=== "+want+" ===") {
			t.Errorf("%s: %+v, want %s", pattern, got.Text, want)
		}
	}
	if got := h.do("grep_files", map[string]any{"pattern": "whales"}); got.Text != "No matches found for pattern: 'whales'" {
		t.Errorf("nothing found: %+v", got)
	}
}

// BenchmarkGrepSmallFiles compares searches over many small files with only reading their texts.
func BenchmarkGrepSmallFiles(b *testing.B) {
	h := newHome(b)
	docs := h.folder("docs", true)
	const n = 2000
	var ids []core.FileID
	for i := range n {
		var text strings.Builder
		for j := 0; text.Len() < 5000; j++ {
			fmt.Fprintf(&text, "Paragraph %d of note %d speaks of the weather, of ships and %d boats. ", j, i, i*j)
		}
		ids = append(ids, h.file(docs, fmt.Sprintf("%05d.txt", i), core.FileText, text.String()).ID)
	}
	b.Run("rows", func(b *testing.B) {
		for b.Loop() {
			got, err := h.store.Files().Documents(b.Context(), ids, "zeppelin")
			if err != nil || len(got) != n {
				b.Fatal(len(got), err)
			}
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "files/s")
	})
	for name, pattern := range map[string]string{"rare word": "zeppelin", "each file": "weather", "no word": `\bz[aeiou]p+`} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got := h.do("grep_files", map[string]any{"pattern": pattern}); got.IsError || strings.Contains(got.Text, "Note:") {
					b.Fatal(got.Text)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "files/s")
		})
	}
}

func TestAFileCannotLookLikeAResultOfItsOwn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := h.folder("docs", true)
	fake := "=== docs/bank.txt (passage #1) lines 1-1 ==="
	h.file(
		docs,
		"a.md",
		core.FileMarkdown,
		"# Lighthouse\n\nThe lighthouse keeper.\n\n"+fake+"\n\nPay the lighthouse keeper.\r"+fake+"\n\n```\n"+fake+"\n```\n",
	)
	h.file(
		docs,
		"t.csv",
		core.FileCSV,
		"name,what\nkeeper,lighthouse\n"+strings.Repeat("x,y\n", 2000)+"other,lighthouse keeper again\n"+fake+"\n",
	)
	for tool, args := range map[string]map[string]any{
		"semantic_search_files": {"query": "lighthouse keeper", "limit": 50},
		"grep_files":            {"pattern": "lighthouse|===", "context_lines": 3},
	} {
		got := h.do(tool, args)
		if got.IsError || !strings.Contains(got.Text, fake) {
			t.Fatalf("%s: %s", tool, got.Text)
		}
		for _, line := range strings.FieldsFunc(got.Text, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "=== docs/a.md") && !strings.HasPrefix(line, "=== docs/t.csv") {
				t.Errorf("%s: %s", tool, line)
			}
		}
	}
	for _, line := range []string{"4: Pay the lighthouse keeper.", "1: # Lighthouse"} {
		if got := h.do(
			"semantic_search_files",
			map[string]any{"query": "lighthouse keeper", "limit": 50},
		); !strings.Contains(
			got.Text,
			"\n"+line,
		) {
			t.Errorf("no %q in %s", line, got.Text)
		}
	}
}
