package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/ingest"
)

// folder makes a folder; attached says whether the agent has it.
func (h *home) folder(name string, attached bool) core.Folder {
	h.t.Helper()
	f := core.Folder{ID: core.NewFolderID(), Name: name, CreatedAt: h.env.Now, UpdatedAt: h.env.Now}
	h.must(h.store.Folders().Create(h.t.Context(), &f))
	if attached {
		h.must(h.store.Folders().Attach(h.t.Context(), h.env.Agent.ID, f.ID))
	}
	return f
}

// file makes a file that has been read.
func (h *home) file(in core.Folder, name string, kind core.FileKind, text string) core.File {
	h.t.Helper()
	f := core.File{
		ID: core.NewFileID(), Folder: in.ID, Name: name, Kind: kind, Size: int64(len(text)), Status: core.FilePending,
		CreatedAt: h.env.Now, UpdatedAt: h.env.Now,
	}
	h.must(h.store.Files().Create(h.t.Context(), &f, []byte(text)))
	doc := core.Document{Kind: kind, Text: text}
	f.Status, f.Lines, f.Chars = core.FileCompleted, ingest.CountLines(ingest.Lines(doc)), utf8.RuneCountInString(text)
	var chunks []core.Passage
	for _, c := range ingest.Chunks(doc, 0) {
		chunks = append(chunks, core.Passage{ID: core.NewPassageID(), Text: c.Passage(), CreatedAt: h.env.Now, UpdatedAt: h.env.Now})
	}
	f.Chunks = len(chunks)
	h.must(h.store.Files().Fill(h.t.Context(), &f, doc, chunks))
	return f
}

// asking is one request of open_files: a name, then offset and length.
func asking(name string, at ...int) map[string]any {
	r := map[string]any{"file_name": name}
	for i, key := range []string{"offset", "length"} {
		if i < len(at) {
			r[key] = at[i]
		}
	}
	return r
}

func opening(requests ...map[string]any) map[string]any {
	return map[string]any{"file_requests": requests}
}

// opens calls open_files, a minute after what came before.
func (h *home) opens(args map[string]any) core.ToolResult {
	h.t.Helper()
	h.env.Now = h.env.Now.Add(time.Minute)
	return h.do("open_files", args)
}

// open returns what the agent has open, those used last first.
func (h *home) open() []string {
	h.t.Helper()
	opened, err := h.store.Files().Opened(h.t.Context(), h.env.Agent.ID)
	h.must(err)
	var out []string
	for _, o := range opened {
		if !o.Open {
			continue
		}
		f, err := h.store.Files().Get(h.t.Context(), o.File)
		h.must(err)
		out = append(out, fmt.Sprintf("%s %d-%d", f.Name, o.Start, o.End))
	}
	return out
}

func TestOpenFilesShowsWhatItOpensAndKeepsIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := h.folder("docs", true)
	h.file(docs, "src/a.go", core.FileCode, "one\ntwo\nthree\nfour\n")
	got := h.opens(opening(asking("docs/src/a.go", 1, 2)))
	want := "* Opened docs/src/a.go (lines 2-3)\n[Viewing lines 2 to 3 (out of 4 lines)]\n2: two\n3: three"
	if got.IsError || got.Text != want {
		t.Errorf("%q, want %q", got.Text, want)
	}
	if diff := cmp.Diff([]string{"src/a.go 2-3"}, h.open()); diff != "" {
		t.Error(diff)
	}
	got = h.opens(opening(asking("docs/src/a.go")))
	want = "* Opened docs/src/a.go (lines 1-4) (previously lines 2-3)\n[Viewing file start (out of 4 lines)]\n1: one\n" +
		"2: two\n3: three\n4: four"
	if got.IsError || got.Text != want {
		t.Errorf("%q, want %q", got.Text, want)
	}
	if diff := cmp.Diff([]string{"src/a.go 0-0"}, h.open()); diff != "" {
		t.Error(diff)
	}
	conv, err := h.store.Conversations().Get(t.Context(), h.env.Conversation)
	h.must(err)
	if !conv.Stale {
		t.Error("the stored system message is not marked stale")
	}
}

func TestTheFilesUsedLongestAgoCloseAndAreNamed(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env.Files = core.FileLimits{Open: 3, Chars: 1000}
	docs := h.folder("docs", true)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		h.file(docs, name+".txt", core.FileCode, name+"\n")
	}
	h.opens(opening(asking("docs/a.txt"), asking("docs/b.txt")))
	h.opens(opening(asking("docs/c.txt")))
	h.opens(opening(asking("docs/a.txt", 0, 1)))
	got := h.opens(opening(asking("docs/d.txt")))
	if !strings.HasSuffix(got.Text, "\n\nNote: closed 1 (at most 3 can be open, and these were used longest ago): docs/b.txt") {
		t.Errorf("%q", got.Text)
	}
	if diff := cmp.Diff([]string{"d.txt 0-0", "a.txt 1-1", "c.txt 0-0"}, h.open()); diff != "" {
		t.Error(diff)
	}
	got = h.opens(opening(asking("docs/b.txt"), asking("docs/e.txt"), asking("docs/d.txt")))
	if !strings.Contains(got.Text, "closed 2 ") || !strings.Contains(got.Text, "docs/a.txt, docs/c.txt") ||
		strings.Count(got.Text, "* Opened") != 3 {
		t.Errorf("%q", got.Text)
	}
	both := []core.ToolResult{ // of one response: neither sees the other before the save
		h.call("open_files", opening(asking("docs/a.txt"))), h.call("open_files", opening(asking("docs/c.txt"))),
	}
	h.apply(both...)
	if n := len(h.open()); n != 3 {
		t.Errorf("%d files are open, the limit is 3", n)
	}
	args := opening(asking("docs/e.txt"))
	args["close_all_others"] = true
	got = h.opens(args)
	if diff := cmp.Diff([]string{"e.txt 0-0"}, h.open()); diff != "" || !strings.Contains(got.Text, "(as asked)") {
		t.Errorf("%q\n%s", got.Text, diff)
	}
}

func TestViewsAndReturnsKeepToTheirLimits(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := h.folder("docs", true)
	h.env.Files = core.FileLimits{Open: 5, Chars: 20_000}
	var requests []map[string]any
	for i := range 5 {
		h.file(docs, fmt.Sprint(i, ".log"), core.FileCode, strings.Repeat("grüße aus köln\n", 5000))
		requests = append(requests, asking(fmt.Sprint("docs/", i, ".log")))
	}
	got := h.opens(opening(requests...))
	if n := utf8.RuneCountInString(got.Text); n > h.env.MaxReturn || n < h.env.MaxReturn*8/10 || strings.Count(got.Text, "* Opened") != 5 {
		t.Errorf("five large files return %d characters, allowed are %d", n, h.env.MaxReturn)
	}
	got = h.opens(opening(requests[0]))
	if n := utf8.RuneCountInString(got.Text); n > 20_200 || n < 19_900 {
		t.Errorf("one large file returns %d characters, its view may have 20000", n)
	}
	var next int
	_, tail, _ := strings.Cut(got.Text, "go on with ")
	if _, err := fmt.Sscanf(tail, "offset=%d", &next); err != nil || next < 100 {
		t.Fatalf("how to go on is not told: …%s", got.Text[len(got.Text)-200:])
	}
	got = h.opens(opening(asking("docs/0.log", next)))
	if want := fmt.Sprintf("\n%d: grüße", next+1); !strings.Contains(got.Text, want) {
		t.Errorf("the next view does not begin at line %d: %.200s", next+1, got.Text)
	}
}

func TestALongLineIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := h.folder("docs", true)
	h.env.Files = core.FileLimits{Open: 5, Chars: 4000}
	h.file(docs, "long.txt", core.FileText, strings.Repeat("all of it on one line, ", 1000)+"the end.\nAnd a second one.\n")
	name := "docs/long.txt"
	for range 20 {
		got := h.opens(opening(asking(name)))
		if strings.Contains(got.Text, "\n2: And a second one.") {
			if !strings.Contains(got.Text, "the end.\n2:") || !slices.Equal(h.open(), []string{"long.txt 1-2"}) {
				t.Errorf("%v is open, the end of the line is missing: …%s", h.open(), got.Text[len(got.Text)-200:])
			}
			h.file(docs, name[len("docs/"):], core.FileText, "Its name is like a place in another.\n")
			if got := h.opens(opening(asking(name))); !strings.Contains(got.Text, "1: Its name is like") {
				t.Errorf("a file is not found by its name %q: %s", name, got.Text)
			}
			return
		}
		_, next, found := strings.Cut(got.Text, "\n(Line 1 goes on: to read on, open it under the name ")
		if name = strings.TrimSuffix(next, ".)"); !found || !strings.HasPrefix(name, "docs/long.txt:1:") {
			t.Fatalf("how to go on is not told: …%s", got.Text[len(got.Text)-200:])
		}
	}
	t.Error("the end of the line is never shown")
}

func TestWhatCannotBeOpenedIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env.Files = core.FileLimits{Open: 3, Chars: 1000}
	docs, secret := h.folder("docs", true), h.folder("secret", false)
	h.file(docs, "guide.md", core.FileMarkdown, "One. Two.\n")
	h.file(docs, "other.md", core.FileMarkdown, "x\n")
	h.file(secret, "key.txt", core.FileText, "the key\n")
	for i := range 60 {
		h.file(docs, fmt.Sprintf("a file with a rather long name, number %d.txt", i), core.FileText, "x\n")
	}
	pending := core.File{ID: core.NewFileID(), Folder: docs.ID, Name: "slow.pdf", Status: core.FilePending, CreatedAt: h.env.Now}
	failed := core.File{
		ID:        core.NewFileID(),
		Folder:    docs.ID,
		Name:      "bad.pdf",
		Status:    core.FileFailed,
		Error:     "it is encrypted",
		CreatedAt: h.env.Now,
	}
	h.must(h.store.Files().Create(t.Context(), &pending, []byte("x")))
	h.must(h.store.Files().Create(t.Context(), &failed, []byte("y")))
	for name, tt := range map[string]struct {
		args map[string]any
		want string
	}{
		"nothing":             {map[string]any{"file_requests": []any{}}, "names no file"},
		"too many":            {opening(asking("docs/guide.md"), asking("b"), asking("c"), asking("d")), "at most 3 can be open"},
		"unknown":             {opening(asking("docs/guide.txt")), `there is no file "docs/guide.txt". Attached files: `},
		"one of two unknown":  {opening(asking("docs/other.md"), asking("docs/nope")), `there is no file "docs/nope"`},
		"another's folder":    {opening(asking("secret/key.txt")), "there is no file"},
		"another's bare file": {opening(asking("key.txt")), "there is no file"},
		"a step up":           {opening(asking("docs/../secret/key.txt")), "there is no file"},
		"a path of the disk":  {opening(asking("/etc/passwd")), "there is no file"},
		"no name":             {opening(asking("")), "there is no file"},
		"a huge name":         {opening(asking(strings.Repeat("x/", 100_000))), "there is no file"},
		"control characters":  {opening(asking("docs/\x00\n\x1b[2J")), "there is no file"},
		"not read yet":        {opening(asking("docs/slow.pdf")), "has not been read yet"},
		"not readable":        {opening(asking("docs/bad.pdf")), "could not be read: it is encrypted"},
		"behind the end":      {opening(asking("docs/guide.md", 2)), "offset 2 is behind the end of the file, which has 2 lines"},
		"before the start":    {opening(asking("docs/guide.md", -1)), "cannot be negative"},
		"behind a line":       {opening(asking("docs/guide.md:1:99")), "line 1 has fewer than 99 characters"},
		"a place in nothing":  {opening(asking("docs/nope:1:9")), `there is no file "docs/nope:1:9"`},
		"no lines":            {opening(asking("docs/guide.md", 0, 0)), "must be at least 1"},
		"a number of a name":  {map[string]any{"file_requests": []any{7}}, `argument "file_requests" must be a list of objects`},
	} {
		got := h.opens(tt.args)
		if !got.IsError ||
			!strings.HasPrefix(got.Text, "Error executing function open_files: ValueError: ") && name != "a number of a name" ||
			!strings.Contains(got.Text, tt.want) {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
		if n := utf8.RuneCountInString(got.Text); n > 1000 {
			t.Errorf("%s: an error of %d characters", name, n)
		}
		if strings.Contains(got.Text, "key.txt. ") || strings.Contains(got.Text, "secret/key.txt,") {
			t.Errorf("the files of another agent are told: %s", got.Text)
		}
		if open := h.open(); len(open) != 0 {
			t.Errorf("%s: %v are open", name, open)
		}
	}
	if got := h.opens(opening(asking("docs/guide.txt"))); !strings.Contains(got.Text, " more") || strings.Count(got.Text, "docs/") < 5 {
		t.Errorf("the names are not listed as far as they fit: %s", got.Text)
	}
	if got := h.opens(opening(asking("docs/guide"))); !strings.Contains(got.Text, "Attached files: docs/guide.md, ") {
		t.Errorf("a name that is alike does not come first: %s", got.Text)
	}
}

func TestNamesAreTakenAsModelsWriteThem(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs, more := h.folder("docs", true), h.folder("more/of", true)
	h.file(docs, `R&D "plan" <1>.md`, core.FileMarkdown, "The plan.\n")
	h.file(docs, "same.md", core.FileMarkdown, "here\n")
	h.file(more, "same.md", core.FileMarkdown, "there\n")
	h.file(more, "日本.txt", core.FileText, "東京。\n")
	for args, want := range map[string]string{
		`[{"file_name": "docs/R&D \"plan\" <1>.md"}]`:                   "1: The plan.",
		`[{"file_name": "docs/R&amp;D &quot;plan&quot; &lt;1&gt;.md"}]`: "1: The plan.",
		`"docs/same.md"`:               "1: here",
		`{"file_name":"docs/same.md"}`: "1: here",
		`["more/of/same.md"]`:          "1: there",
		`["日本.txt"]`:                   "1: 東京。",
		`["same.md"]`:                  "there is no file",
	} {
		tool, _, err := h.tools.Find(t.Context(), "open_files")
		h.must(err)
		got, err := tool.Tool.Call(
			t.Context(),
			core.ToolCall{ID: "c", Name: "open_files", Arguments: `{"file_requests": ` + args + `}`},
			h.env,
		)
		h.must(err)
		if got = h.apply(got)[0]; !strings.Contains(got.Text, want) {
			t.Errorf("%s: %q, want %q", args, got.Text, want)
		}
	}
}

func TestAFileThatIsDeletedBeforeTheSaveIsToldSo(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	f := h.file(h.folder("docs", true), "a.txt", core.FileText, "x\n")
	call := h.call("open_files", opening(asking("docs/a.txt")))
	h.must(h.store.Files().Delete(t.Context(), f.ID))
	if got := h.apply(call)[0]; !got.IsError || !strings.Contains(got.Text, "was deleted just now") {
		t.Errorf("%+v", got)
	}
}

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

// ownPassage is one of the agent's own archive.
func (h *home) ownPassage(text string) *core.Passage {
	h.t.Helper()
	archive := core.Archive{ID: core.NewArchiveID(), Name: "notes", CreatedAt: h.env.Now}
	h.must(h.store.Archives().Create(h.t.Context(), &archive))
	h.must(h.store.Archives().Attach(h.t.Context(), h.env.Agent.ID, archive.ID))
	return &core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: text, CreatedAt: h.env.Now, UpdatedAt: h.env.Now}
}
