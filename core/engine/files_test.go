package engine_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/ingest"
	"loci/core/past"
)

// folder makes a folder that no agent has.
func (h *house) folder(name string) core.Folder {
	h.t.Helper()
	f := core.Folder{ID: core.NewFolderID(), Name: name, CreatedAt: h.clock(), UpdatedAt: h.clock()}
	if err := h.store.Folders().Create(h.t.Context(), &f); err != nil {
		h.t.Fatal(err)
	}
	return f
}

// file makes a file of ten lines that has been read.
func (h *house) file(in core.Folder, name, text string) core.File {
	h.t.Helper()
	f := core.File{
		ID:        core.NewFileID(),
		Folder:    in.ID,
		Name:      name,
		Kind:      core.FileCode,
		Status:    core.FilePending,
		CreatedAt: h.clock(),
		UpdatedAt: h.clock(),
	}
	if err := h.store.Files().Create(h.t.Context(), &f, []byte(text)); err != nil {
		h.t.Fatal(err)
	}
	if err := h.fill(h.t.Context(), h.store, &f, text); err != nil {
		h.t.Fatal(err)
	}
	return f
}

// fill gives a file ten lines of a text.
func (h *house) fill(ctx context.Context, tx core.Store, f *core.File, text string) error {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "%s, line %d\n", text, i+1)
	}
	doc := core.Document{Kind: core.FileCode, Text: b.String()}
	f.Status, f.Lines, f.Chars, f.UpdatedAt = core.FileCompleted, 10, utf8.RuneCountInString(doc.Text), h.clock()
	f.Hash = fmt.Sprintf("%x", sha256.Sum256([]byte(doc.Text)))
	if err := tx.Files().Update(ctx, f); err != nil {
		return err
	}
	var chunks []core.Passage
	for _, c := range ingest.Chunks(doc, 0) {
		chunks = append(chunks, core.Passage{ID: core.NewPassageID(), Text: c.Passage(), CreatedAt: h.clock()})
	}
	return tx.Files().Fill(ctx, f, doc, chunks)
}

// attach gives an agent a folder.
func (h *house) attach(a core.Agent, f core.Folder) {
	h.t.Helper()
	if err := h.store.Folders().Attach(h.t.Context(), a.ID, f.ID); err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.Conversations().MarkStale(h.t.Context(), a.ID); err != nil {
		h.t.Fatal(err)
	}
}

// openFiles returns an agent's folders, and what it has open.
func (h *house) openFiles(a core.Agent) (ids []core.FolderID, open []core.OpenFile) {
	h.t.Helper()
	folders, err := h.store.Folders().OfAgent(h.t.Context(), a.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range folders {
		ids = append(ids, f.ID)
	}
	all, err := h.store.Files().Opened(h.t.Context(), a.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, o := range all {
		if o.Open {
			open = append(open, o)
		}
	}
	return ids, open
}

// reader is a model that opens the file a message names, searches for the word that it names, or talks.
func reader(n int, req core.ChatRequest) turn {
	last := req.Messages[len(req.Messages)-1]
	_, name, opens := strings.Cut(last.Text, "open ")
	_, word, greps := strings.Cut(last.Text, "grep ")
	switch {
	case last.Role == core.ChatTool:
		return say("I see.")
	case opens:
		return calling("open_files", map[string]any{"file_requests": []any{map[string]any{"file_name": name}}})
	case greps:
		return calling("grep_files", map[string]any{"pattern": word})
	}
	return say(fmt.Sprint("words ", n))
}

var fileTools = []string{"memory_insert", "open_files", "grep_files", "semantic_search_files"}

// last is the newest request.
func (h *house) last() core.ChatRequest {
	h.t.Helper()
	sent := h.model.sent()
	return sent[len(sent)-1]
}

func TestAModelOpensAndSearchesFilesAcrossARestart(t *testing.T) {
	t.Parallel()
	h := open(t, reader)
	a := h.agent(nil, fileTools...)
	docs := h.folder("docs")
	h.file(docs, "tide.go", "the tide")
	h.file(docs, "moon.go", "the moon")
	h.attach(a, docs)
	h.send(a, "open docs/tide.go")
	first := h.last()
	if got := first.Messages[len(first.Messages)-1].Returns[0].Text; !strings.Contains(got, "* Opened docs/tide.go (lines 1-10)") ||
		!strings.Contains(got, "10: the tide, line 10") {
		t.Errorf("open_files returned %q", got)
	}
	if !strings.Contains(first.System, "<file status=\"closed\" name=\"docs/tide.go\">10 lines, ") {
		t.Errorf("the prompt does not list the file:\n%s", first.System)
	}
	h.restart()
	h.send(a, "grep MOON, line 3")
	second := h.last()
	if got := second.Messages[len(second.Messages)-1].Returns[0].Text; !strings.Contains(got, "=== docs/moon.go:3 ===") {
		t.Errorf("grep_files returned %q", got)
	}
	prefixHolds(t, 1, first, second)
	if _, open := h.openFiles(a); len(open) != 1 {
		t.Errorf("after the restart are open %v", open)
	}
	text, err := h.engine.Prompts().Recompile(t.Context(), core.DefaultConversation(a.ID), false)
	if err != nil || !strings.Contains(text, "<file status=\"open\" name=\"docs/tide.go\">") ||
		!strings.Contains(text, "10: the tide, line 10") {
		t.Errorf("compiled anew, the prompt does not show the open file: %v\n%s", err, text)
	}
	h.send(a, "hello")
	if h.last().System != text {
		t.Error("what is sent is not what was compiled")
	}
}

func TestOpeningAFileChangesNothingThatWasSent(t *testing.T) {
	t.Parallel()
	h := open(t, reader)
	a := h.agent(func(a *core.Agent) { a.Extra = map[string]any{core.ExtraMaxFilesOpen: 3} }, fileTools...)
	docs := h.folder("docs")
	for i := range 6 {
		h.file(docs, fmt.Sprint(i, ".go"), fmt.Sprint("file ", i))
	}
	h.attach(a, docs)
	for i := range longRun(60) {
		h.later(time.Duration(i%7) * time.Minute) // the provider forgets now and then
		h.send(a, fmt.Sprintf("open docs/%d.go", i%6))
	}
	sent := h.model.sent()
	for i := 1; i < len(sent); i++ {
		if sent[i].System != sent[0].System || !cmp.Equal(sent[i].Tools, sent[0].Tools) {
			t.Fatalf("request %d: system or tools changed", i)
		}
		prefixHolds(t, i, sent[i-1], sent[i])
	}
	if _, open := h.openFiles(a); len(open) != 3 {
		t.Errorf("%d files are open, the limit is 3", len(open))
	}
}

func TestThePinMovesWhenFoldersAreAttachedAndForNewFilesOnlyWhenItCostsNothing(t *testing.T) {
	t.Parallel()
	h := open(t, reader)
	a := h.agent(nil, fileTools...)
	docs := h.folder("docs")
	h.send(a, "hello")
	if strings.Contains(h.last().System, "<directories>") {
		t.Errorf("an agent without folders is told of some:\n%s", h.last().System)
	}
	h.attach(a, docs)
	h.send(a, "hello")
	attached := h.last().System
	if !strings.Contains(attached, "<directory name=\"docs\">") {
		t.Fatalf("the attached folder is not in the next request:\n%s", attached)
	}
	h.file(docs, "new.go", "new")
	h.send(a, "hello")
	if h.last().System != attached {
		t.Error("a new file changed the prompt while the provider knew it")
	}
	h.later(time.Hour)
	h.send(a, "hello")
	listed := h.last().System
	if !strings.Contains(listed, "docs/new.go") {
		t.Errorf("the new file is not told when the provider has forgotten the prompt:\n%s", listed)
	}
	h.send(a, "open docs/new.go")
	h.later(time.Hour)
	h.send(a, "hello")
	if h.last().System != listed {
		t.Error("opening a file moved the pin")
	}
	if err := h.store.Folders().Detach(t.Context(), a.ID, docs.ID); err != nil {
		t.Fatal(err)
	}
	h.send(a, "hello")
	if strings.Contains(h.last().System, "<directories>") {
		t.Error("the detached folder is still in the request")
	}
}

func TestOpenFilesLeaveRoomInASmallWindow(t *testing.T) {
	t.Parallel()
	h := open(t, reader)
	small(h, 4000)
	a := h.agent(nil, fileTools...)
	docs := h.folder("docs")
	for i := range 60 {
		h.file(docs, fmt.Sprintf("chapter %d.go", i), strings.Repeat("word ", 50))
	}
	h.attach(a, docs)
	for i := range 12 {
		h.send(a, fmt.Sprintf("open docs/chapter %d.go", 50+i%4))
		if _, err := h.engine.Prompts().Recompile(t.Context(), core.DefaultConversation(a.ID), false); err != nil {
			t.Fatal(err)
		}
	}
	run, _ := h.send(a, "hello")
	if run.Status != core.RunCompleted {
		t.Fatalf("%s: %v", run.Status, run.Error)
	}
	o, err := h.engine.Overview(t.Context(), core.DefaultConversation(a.ID), nil, core.ModelInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if o.Directories < 100 || o.Directories > o.Window*2/5 || core.EstimateTokens(o.DirectoriesText) != o.Directories {
		t.Errorf("folders take %d of %d tokens", o.Directories, o.Window)
	}
	if !strings.Contains(o.DirectoriesText, "more files are not listed") || !strings.Contains(o.DirectoriesText, "[Viewing file start") {
		t.Errorf("%s", o.DirectoriesText)
	}
	if sum := o.System + o.Memory + o.Directories + o.Rules + o.Facts + o.Tools + o.Summary + o.Messages; sum != o.Current ||
		strings.Contains(o.MemoryText, "<directories>") {
		t.Errorf("the parts sum up to %d, told are %d", sum, o.Current)
	}
}

func TestARewindSaysWhichFoldersAndFilesItCannotBringBack(t *testing.T) {
	t.Parallel()
	h := open(t, reader)
	a := h.agent(nil, fileTools...)
	docs, gone := h.folder("docs"), h.folder("gone")
	changed, deleted := h.file(docs, "changed.go", "before"), h.file(docs, "deleted.go", "before")
	same := h.file(docs, "same.go", "same")
	h.file(gone, "x.go", "x")
	h.attach(a, docs)
	h.attach(a, gone)
	h.send(a, "open docs/changed.go")
	h.send(a, "open docs/deleted.go")
	h.send(a, "open gone/x.go")
	h.send(a, "open docs/same.go")
	run, _ := h.send(a, "hello")
	sent := h.last()
	same.UpdatedAt = h.clock() // no other file by that
	for _, err := range []error{
		h.store.Files().Update(t.Context(), &same),
		h.fill(t.Context(), h.store, &changed, "after"), h.store.Files().Delete(t.Context(), deleted.ID),
		h.store.Folders().Delete(t.Context(), gone.ID),
		h.store.Folders().Detach(t.Context(), a.ID, docs.ID),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`the folder "gone" is deleted`,
		"deleted since: 2 open files",
		`the open file "changed.go" has changed since and stays as it is`,
	}
	if diff := cmp.Diff(want, r.Missing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	kept, err := h.store.Rewinds().Get(t.Context(), r.ID)
	if diff := cmp.Diff(want, kept.Missing); diff != "" || err != nil {
		t.Errorf("kept: %v\n%s", err, diff)
	}
	if ids, open := h.openFiles(
		a,
	); len(ids) != 1 || ids[0] != docs.ID || len(open) != 2 || open[0].File != same.ID ||
		open[1].File != changed.ID {
		t.Errorf("folders %v, open %v", ids, open)
	}
	if _, err := h.past().UndoRewind(t.Context(), r.ID, ""); err != nil {
		t.Fatal(err)
	}
	if ids, open := h.openFiles(a); len(ids)+len(open) != 0 {
		t.Errorf("undone: folders %v, open %v", ids, open)
	}
	if again, err := h.past().Reproduce(t.Context(), h.firstStep(run).ID); err != nil || again.System != sent.System {
		t.Errorf("what was sent is told in another way: %v", err)
	}
}

func TestCopiesShareTheFoldersAndHaveTheSameFilesOpen(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		h := open(t, reader)
		a := h.agent(nil, fileTools...)
		docs, more := h.folder("docs"), h.folder("more")
		file := h.file(docs, "a.go", "a")
		h.attach(a, more)
		h.attach(a, docs)
		h.send(a, "open docs/a.go")
		run, _ := h.send(a, "hello")
		o := past.CopyOptions{History: true}
		if back {
			o.Step = h.firstStep(run).ID
			if err := h.store.Folders().Detach(t.Context(), a.ID, docs.ID); err != nil {
				t.Fatal(err)
			}
		}
		before, open := h.openFiles(a)
		made, err := h.past().CopyAgent(t.Context(), a.ID, o)
		if err != nil {
			t.Fatal(err)
		}
		ids, files := h.openFiles(made)
		if diff := cmp.Diff([]core.FolderID{more.ID, docs.ID}, ids); diff != "" || len(files) != 1 || files[0].File != file.ID {
			t.Errorf("at a step %t: open %v, folders\n%s", back, files, diff)
		}
		h.send(made, "hello")
		if !strings.Contains(h.last().System, "<file status=\"open\" name=\"docs/a.go\">") {
			t.Errorf("at a step %t, the copy is not told:\n%s", back, h.last().System)
		}
		if now, stillOpen := h.openFiles(a); !cmp.Equal(before, now) || !cmp.Equal(open, stillOpen) {
			t.Error("the copy changed what it was copied from")
		}
	}
}

// TestAStepThatCountedSentencesOpensTheSameLines: an older snapshot says nothing of how it counts.
func TestAStepThatCountedSentencesOpensTheSameLines(t *testing.T) {
	t.Parallel()
	h := open(t, reader)
	a := h.agent(nil, fileTools...)
	docs := h.folder("docs")
	file := h.file(docs, "a.txt", "x")
	doc := core.Document{Kind: core.FileText, Text: "One. Two.\n\nThree. Four.\nFive.\n"}
	file.Kind, file.Lines = core.FileText, 4
	if err := h.store.Files().Fill(t.Context(), &file, doc, nil); err != nil {
		t.Fatal(err)
	}
	h.attach(a, docs)
	if err := h.store.Files().
		Open(t.Context(), a.ID, core.OpenFile{File: file.ID, Open: true, Start: 3, End: 4, UsedAt: h.clock()}); err != nil {
		t.Fatal(err)
	}
	run, _ := h.send(a, "hello")
	step := h.firstStep(run)
	opened := func() core.OpenFile {
		made, err := h.past().CopyAgent(t.Context(), a.ID, past.CopyOptions{History: true, Step: step.ID})
		if err != nil {
			t.Fatal(err)
		}
		_, files := h.openFiles(made)
		if len(files) != 1 {
			t.Fatalf("%d files are open", len(files))
		}
		return files[0]
	}
	if o := opened(); o.Start != 3 || o.End != 4 {
		t.Errorf("a step of today: lines %d to %d are open", o.Start, o.End)
	}
	kind, body, err := h.store.Snapshots().Get(t.Context(), step.AgentHash)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(body, `,"own":true`, "", 1)
	if old == body {
		t.Fatalf("the snapshot does not say how it counts: %s", body)
	}
	if step.AgentHash, err = h.store.Snapshots().
		Put(t.Context(), kind, strings.Replace(old, `"start":3,"end":4`, `"start":3,"end":5`, 1)); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Steps().Update(t.Context(), &step); err != nil {
		t.Fatal(err)
	}
	if o := opened(); o.Start != 3 || o.End != 4 { // sentences 3 to 5 are lines 3 and 4
		t.Errorf("an old step: lines %d to %d are open", o.Start, o.End)
	}
}
