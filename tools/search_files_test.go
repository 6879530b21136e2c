package tools_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/ingest"
)

func TestGrepSearchesTheFilesOfTheAgentAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if got := h.do("grep_files", map[string]any{"pattern": "x"}); got.IsError || got.Text != "No files are currently attached to search" {
		t.Errorf("without a folder: %+v", got)
	}
	docs, code, secret := h.folder("docs", true), h.folder("code", true), h.folder("secret", false)
	h.file(secret, "s.txt", core.FileText, "The harbour key.\n")
	h.file(docs, "b.md", core.FileMarkdown, "# Sea\n\nThe Harbour froze. Ships waited.\n")
	h.file(docs, "a.md", core.FileMarkdown, "Nothing here.\n")
	h.file(code, "h.go", core.FileCode, "package h\n\nvar harbour = 1\n")
	got := h.do("grep_files", map[string]any{"pattern": `harb\w+`})
	want := `Found 2 total matches across 2 files (showing matches 1-2 of 2)

Files with matches:
- docs/b.md (1 matches)
- code/h.go (1 matches)

=== docs/b.md:2 ===
  1: # Sea
> 2: The Harbour froze.
  3: Ships waited.

=== code/h.go:3 ===
  2: ` + `
> 3: var harbour = 1`
	if diff := cmp.Diff(want, got.Text); diff != "" || got.IsError {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		args map[string]any
		want string
	}{
		"nothing found": {map[string]any{"pattern": "whale"}, "No matches found for pattern: 'whale'"},
		"files by a glob": {
			map[string]any{"pattern": "harbour", "include": "*.go"}, "Found 1 total matches across 1 files (showing matches 1-1 of 1)",
		},
		"files by a folder": {map[string]any{"pattern": "harbour", "include": "docs/"}, "=== docs/b.md:2 ==="},
		"no such files": {
			map[string]any{"pattern": "harbour", "include": "*.pdf"}, `None of the 3 attached files that matches "*.pdf" can be searched`,
		},
		"no context":      {map[string]any{"pattern": "froze", "context_lines": 0}, "=== docs/b.md:2 ===\n> 2: The Harbour froze."},
		"behind the last": {map[string]any{"pattern": "harbour", "offset": 7}, "none of them behind offset 7"},
	} {
		if got := h.do("grep_files", tt.args); got.IsError || !strings.Contains(got.Text, tt.want) {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
	}
}

func TestGrepPagesAndKeepsToTheLimitOfAReturn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := h.folder("docs", true)
	h.file(docs, "long.txt", core.FileCode, strings.Repeat("hit "+strings.Repeat("y", 900)+"\n", 50))
	h.env.MaxReturn = 10_000
	seen := map[string]bool{}
	for offset := 0; offset < 50; {
		got := h.do("grep_files", map[string]any{"pattern": "^hit", "context_lines": 0, "offset": offset})
		if n := utf8.RuneCountInString(got.Text); n > h.env.MaxReturn || got.IsError {
			t.Fatalf("%d characters: %.100s", n, got.Text)
		}
		for line := range strings.Lines(got.Text) {
			if strings.HasPrefix(line, "=== ") {
				if seen[line] {
					t.Errorf("%s is shown twice", line)
				}
				seen[line] = true
			}
		}
		_, tail, more := strings.Cut(got.Text, "offset=")
		if !more {
			break
		}
		if _, err := fmt.Sscan(tail, &offset); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d matches seen of 50", len(seen))
	}
}

func TestExpressionsThatCannotBeSearchedForAreRefusedInTime(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.file(h.folder("docs", true), "a.txt", core.FileCode, strings.Repeat("a", 1<<20)+"!\n")
	for _, pattern := range []string{"", "(", "(?<=a)b", `(a)\1`, "((a{100}){100}){100}", strings.Repeat("x", 2000)} {
		if got := h.do("grep_files", map[string]any{"pattern": pattern}); !got.IsError || utf8.RuneCountInString(got.Text) > 1000 {
			t.Errorf("%.20q: %.200s", pattern, got.Text)
		}
	}
	begin := time.Now()
	got := h.do("grep_files", map[string]any{"pattern": "(.*a){20}b"}) // a fast machine comes to its end
	if took := time.Since(begin); took > 5*ingest.GrepTime || !got.IsError && !strings.HasPrefix(got.Text, "No matches found") {
		t.Errorf("after %s: %.200s", took, got.Text)
	}
	if got := h.do(
		"grep_files",
		map[string]any{"pattern": "a", "include": "[a-("},
	); got.IsError &&
		!strings.Contains(got.Text, "include pattern") {
		t.Errorf("%+v", got)
	}
	for _, args := range []map[string]any{{"pattern": "a", "offset": -1}, {"pattern": "a", "context_lines": 1000}} {
		if got := h.do("grep_files", args); !got.IsError {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestSemanticSearchShowsWhereInWhichFileThePassageStands(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	search := func(args map[string]any) string {
		t.Helper()
		got := h.do("semantic_search_files", args)
		if got.IsError {
			t.Fatalf("%v: %s", args, got.Text)
		}
		return got.Text
	}
	if got := search(map[string]any{"query": "x"}); got != "No files are currently attached to search" {
		t.Errorf("without a folder: %q", got)
	}
	docs, secret := h.folder("docs", true), h.folder("secret", false)
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "Paragraph %d speaks of the weather and of nothing else, at some length and without end.\n\n", i)
		if i == 40 {
			text.WriteString("## Moorings\n\nThe lighthouse keeper of Skagen collects barometers.\n\n")
		}
	}
	h.file(docs, "sea.md", core.FileMarkdown, text.String())
	h.file(docs, "land.md", core.FileMarkdown, "A lighthouse stands inland, too.\n")
	h.file(secret, "s.md", core.FileMarkdown, "The lighthouse keeper has a secret.\n")
	h.must(h.store.Passages().Insert(t.Context(), h.ownPassage("The lighthouse keeper is my uncle.")))
	got := search(map[string]any{"query": "lighthouse keeper barometers", "limit": 2})
	if !strings.HasPrefix(
		got,
		"Found 2 semantic matches in 2 file(s) for query: 'lighthouse keeper barometers'\n\n=== docs/sea.md (passage #",
	) ||
		!strings.Contains(got, "=== docs/land.md (passage #1) lines 1-1 ===\n1: A lighthouse stands inland, too.") {
		t.Errorf("%s", got)
	}
	if strings.Contains(got, "secret") || strings.Contains(got, "uncle") {
		t.Errorf("what is in no attached file was found: %s", got)
	}
	var passage, first, last int
	_, head, _ := strings.Cut(got, "=== docs/sea.md ")
	if _, err := fmt.Sscanf(head, "(passage #%d) lines %d-%d ===", &passage, &first, &last); err != nil || passage < 2 {
		t.Fatalf("%v: %.80s", err, head)
	}
	view := h.opens(opening(asking("docs/sea.md", first-1, last-first+1)))
	if !strings.Contains(view.Text, ": The lighthouse keeper of Skagen collects barometers.") {
		t.Errorf("lines %d to %d do not show it: %s", first, last, view.Text)
	}
	if got := search(
		map[string]any{"query": "zxqv"},
	); got != "No semantic matches found for query: 'zxqv'" &&
		!strings.HasPrefix(got, "Found ") {
		t.Errorf("nothing found: %q", got)
	}
	waiting := core.File{ID: core.NewFileID(), Folder: docs.ID, Name: "slow.pdf", Status: core.FilePending, CreatedAt: h.env.Now}
	h.must(h.store.Files().Create(t.Context(), &waiting, []byte("x")))
	if got := search(
		map[string]any{"query": "lighthouse"},
	); !strings.HasSuffix(
		got,
		"Note: 1 of the files are still being read, so that more may be found later.",
	) {
		t.Errorf("what is missing is not told: %s", got)
	}
	h.env.MaxReturn = 600
	if got := search(map[string]any{"query": "weather lighthouse", "limit": 50}); strings.Count(got, "=== docs/") > 2 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
	for _, bad := range []map[string]any{{"query": " "}, {"query": "x", "limit": 0}} {
		if got := h.do("semantic_search_files", bad); !got.IsError {
			t.Errorf("%v: %+v", bad, got)
		}
	}
	for _, query := range []string{`"quote' OR * NEAR(`, "🙂", strings.Repeat("words ", 20_000)} {
		if got := search(map[string]any{"query": query}); utf8.RuneCountInString(got) > 5000 {
			t.Errorf("%.20q: %d characters", query, utf8.RuneCountInString(got))
		}
	}
}
