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

// ownPassage is one of the agent's own archive.
func (h *home) ownPassage(text string) *core.Passage {
	h.t.Helper()
	archive := core.Archive{ID: core.NewArchiveID(), Name: "notes", CreatedAt: h.env.Now}
	h.must(h.store.Archives().Create(h.t.Context(), &archive))
	h.must(h.store.Archives().Attach(h.t.Context(), h.env.Agent.ID, archive.ID))
	return &core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: text, CreatedAt: h.env.Now, UpdatedAt: h.env.Now}
}
