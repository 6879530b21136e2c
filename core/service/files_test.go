package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/embedding"
	"loci/core/engine"
	"loci/core/ingest"
	"loci/core/intake"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
	"loci/tools/parsers"
	"loci/tools/parsers/parserstest"
)

// anyVectors are embeddings that give every text the same vector.
type anyVectors struct{}

func (anyVectors) Embeddings(context.Context, core.Env) []core.EmbeddingInfo { return nil }

func (a anyVectors) Embedder(context.Context, core.Handle, core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	return a, core.EmbeddingInfo{Handle: core.WordsHandle, Batch: 16}, nil
}

func (anyVectors) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1, 0}
	}
	return vectors, nil
}

// library is the services with everything that reads files.
type library struct {
	testing.TB
	*Services
	store  *storage.Store
	intake *intake.Worker
	embeds *embedding.Worker
	ctx    context.Context
}

func newLibrary(tb testing.TB, cfg storage.Config, change ...func(*intake.Config)) *library {
	tb.Helper()
	if cfg.Dir == "" {
		cfg.Dir = tb.TempDir()
	}
	ctx := context.Background()
	store, err := storage.Open(ctx, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	reading := intake.Config{Store: store, Parser: parsers.New()}
	for _, c := range change {
		c(&reading)
	}
	l := &library{TB: tb, store: store, ctx: ctx, intake: intake.Start(ctx, reading)}
	l.embeds = embedding.Start(ctx, embedding.Config{Store: store, Embedders: anyVectors{}, After: l.intake.Nudge})
	box := tools.New()
	eng := engine.New(
		engine.Config{Store: store, Search: storagetest.Search(store), Log: store.Events(), Models: reach{"m/one"}, Tools: box},
	)
	l.Services = New(
		Config{Store: store, Search: storagetest.Search(store), Engine: eng, Models: reach{"m/one"}, Tools: box, Accepted: l.intake.Nudge},
	)
	tb.Cleanup(func() {
		l.intake.Close()
		l.embeds.Close()
		l.Close()
		if err := errors.Join(eng.Shutdown(ctx), store.Close()); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func (l *library) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *library) folder(name string) core.Folder {
	l.Helper()
	f, err := l.Folders.Create(l.ctx, NewFolder{Name: name}, nil)
	l.ok(err)
	return f
}

func (l *library) upload(folder core.FolderID, name, data string, how ...Duplicates) Uploaded {
	l.Helper()
	in := Upload{Name: name, Data: []byte(data)}
	if len(how) > 0 {
		in.Duplicates = how[0]
	}
	up, err := l.Files.Upload(l.ctx, folder, in)
	l.ok(err)
	return up
}

// settled waits until nothing is on its way and returns the files of a folder.
func (l *library) settled(folder core.FolderID) []core.File {
	l.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute)
	for {
		n, err := l.store.Files().
			Count(l.ctx, core.FileFilter{Status: []core.FileStatus{core.FilePending, core.FileParsing, core.FileEmbedding}})
		l.ok(err)
		if n == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-late:
			l.Fatalf("%d files are still on their way", n)
		}
	}
	files, err := l.store.Files().List(l.ctx, core.FileFilter{Folders: []core.FolderID{folder}}, core.Page{Limit: 100_000})
	l.ok(err)
	return files
}

func byName(files []core.File) map[string]core.File {
	out := map[string]core.File{}
	for _, f := range files {
		out[f.Name] = f
	}
	return out
}

func TestKnownSentencesAreFoundViewedAndGreppedAtTheirPlaceInEveryFormat(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	folder := l.folder("library")
	samples := parserstest.Samples(t)
	for _, s := range samples {
		l.upload(folder.ID, s.Name, string(s.Data))
	}
	files := byName(l.settled(folder.ID))
	kinds := map[core.FileKind]int{}
	for _, s := range samples {
		f := files[s.Name]
		if f.Status != core.FileCompleted || f.Kind != s.Kind || f.Chunks == 0 || f.Embedded != f.Chunks || f.Error != "" {
			t.Fatalf("%s: %+v", s.Name, f)
		}
		kinds[f.Kind]++
		doc, err := l.store.Files().Document(l.ctx, f.ID)
		l.ok(err)
		lines := ingest.Lines(doc)
		if n := ingest.CountLines(lines); n != f.Lines {
			t.Errorf("%s has %d lines, %d are kept", s.Name, n, f.Lines)
		}
		for _, want := range s.Want {
			at := lines[slices.IndexFunc(lines, func(line ingest.Line) bool { return line.Text == want.Text })].Number
			l.found(f, want, at)
			l.grepped(f, lines, want, at)
			v, err := ingest.Show(lines, ingest.Range{Offset: core.Some(at - 1), Length: core.Some(1)}, 0)
			if err != nil || !strings.HasSuffix(v.Text, fmt.Sprintf("\n%d: %s", at, want.Text)) {
				t.Errorf("%s, line %d is viewed as %q (%v)", s.Name, at, v.Text, err)
			}
		}
	}
	for _, kind := range []core.FileKind{
		core.FileText, core.FileMarkdown, core.FileCode, core.FileHTML, core.FilePDF, core.FileDOCX, core.FileCSV, core.FileJSON,
		core.FileEPUB,
	} {
		if kinds[kind] < 3 {
			t.Errorf("only %d documents of kind %s", kinds[kind], kind)
		}
	}
}

// found searches for a sentence and checks that one of the first hits says where it stands.
func (l *library) found(f core.File, want parserstest.Place, line int) {
	l.Helper()
	results, err := l.Files.Search(l.ctx, FileQuery{Text: want.Text, Folders: []core.FolderID{f.Folder}, Limit: 3})
	l.ok(err)
	hits := results.Hits
	at := slices.IndexFunc(hits, func(h FileHit) bool { return h.File.ID == f.ID })
	if at < 0 && want.Text != "  this" { // which is no word to search for
		l.Errorf("%q of %s is not among the first %d", want.Text, f.Name, len(hits))
	}
	if at < 0 {
		return
	}
	m := hits[at].Passage.Metadata
	number := func(key string) int {
		n, _ := m[key].(float64)
		return int(n)
	}
	if line < number("line") || line > number("end_line") || want.Page < number("page") ||
		want.Page > max(number("page"), number("end_page")) {
		l.Errorf("%q of %s is on line %d and page %d, found at %v", want.Text, f.Name, line, want.Page, m)
	}
}

func (l *library) grepped(f core.File, lines []ingest.Line, want parserstest.Place, line int) {
	l.Helper()
	one := func(yield func(ingest.GrepFile, error) bool) { yield(ingest.GrepFile{Name: f.Name, Lines: lines}, nil) }
	pattern := regexp.QuoteMeta(want.Text)
	got, err := ingest.Grep(l.ctx, iter.Seq2[ingest.GrepFile, error](one), ingest.GrepQuery{Pattern: pattern})
	l.ok(err)
	if got.Total != 1 || got.Matches[0].Line != line || want.Page != 0 && got.Matches[0].Page != want.Page {
		l.Errorf("%q of %s: %+v, want line %d", want.Text, f.Name, got, line)
	}
}

func TestAHostileFileIsRefusedAlone(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	folder := l.folder("mixed")
	accepted := map[core.FileID]parserstest.Hostile{}
	for i, h := range parserstest.Hostiles(t) {
		if h.Bound != (core.ParseLimits{}) {
			continue
		}
		up, err := l.Files.Upload(l.ctx, folder.ID, Upload{Name: h.Name, Data: h.Data})
		if err == nil {
			accepted[up.File.ID] = h
		} else if core.KindOf(err) != h.Kind || !strings.Contains(err.Error(), h.Says) {
			t.Errorf("%.30q: refused with %q of kind %s", h.Name, err, core.KindOf(err))
		}
		l.upload(folder.ID, fmt.Sprintf("good-%d.txt", i), fmt.Sprintf("Good text number %d.", i))
	}
	good := 0
	for _, f := range l.settled(folder.ID) {
		h, hostile := accepted[f.ID]
		switch {
		case !hostile && f.Status == core.FileCompleted:
			good++
		case !hostile:
			t.Errorf("%s beside hostile files: %s %s", f.Name, f.Status, f.Error)
		case f.Status != core.FileFailed || !strings.Contains(f.Error, h.Says) || f.Chunks != 0:
			t.Errorf("%.30q: %s %q with %d chunks", f.Name, f.Status, f.Error, f.Chunks)
		}
	}
	if len(accepted) < 10 || good < 30 {
		t.Errorf("%d hostile files were only seen when read, %d good ones went through", len(accepted), good)
	}
}

func TestAFileIsNotAcceptedThatNobodyCouldRead(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	folder := l.folder("f")
	for name, c := range map[string]struct {
		in   Upload
		want core.Kind
	}{
		"empty":      {Upload{Name: "a.txt"}, core.Invalid},
		"step up":    {Upload{Name: "../a.txt", Data: []byte("x")}, core.Invalid},
		"binary":     {Upload{Name: "a.bin", Data: []byte{0, 1, 2, 3}}, core.Unsupported},
		"too large":  {Upload{Name: "a.txt", Data: make([]byte, MaxUpload()+1)}, core.TooLarge},
		"duplicates": {Upload{Name: "a.txt", Data: []byte("x"), Duplicates: "guess"}, core.Invalid},
	} {
		if _, err := l.Files.Upload(l.ctx, folder.ID, c.in); core.KindOf(err) != c.want {
			t.Errorf("%s: %v, want kind %s", name, err, c.want)
		}
	}
	if _, err := l.Files.Upload(l.ctx, core.NewFolderID(), Upload{Name: "a.txt", Data: []byte("x")}); core.KindOf(err) != core.NotFound {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if files := l.settled(folder.ID); len(files) != 0 {
		t.Errorf("%d files were kept", len(files))
	}
}

func TestDuplicatesByNameAreHandledAsAsked(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	folder := l.folder("f")
	first := l.upload(folder.ID, "notes.txt", "one").File
	if up := l.upload(folder.ID, "notes.txt", "one"); up.File.Name != "notes_(1).txt" || up.Same.ID != first.ID {
		t.Errorf("suffix: %+v", up)
	}
	if up := l.upload(
		folder.ID,
		"notes.txt",
		"two",
		DuplicateSuffix,
	); up.File.Name != "notes_(2).txt" || up.File.Original != "notes.txt" ||
		up.Same.ID != "" {
		t.Errorf("suffix again: %+v", up)
	}
	if up := l.upload(folder.ID, "notes.txt", "other", DuplicateSkip); !up.Skipped || up.File.ID != first.ID {
		t.Errorf("skip: %+v", up)
	}
	if _, err := l.Files.Upload(
		l.ctx,
		folder.ID,
		Upload{Name: "notes.txt", Data: []byte("x"), Duplicates: DuplicateError},
	); core.KindOf(
		err,
	) != core.Invalid {
		t.Errorf("error: %v", err)
	}
	if up := l.upload(folder.ID, "notes.txt", "one", DuplicateReplace); !up.Skipped || up.File.ID != first.ID {
		t.Errorf("replace with the same: %+v", up)
	}
	l.settled(folder.ID)
	up := l.upload(folder.ID, "notes.txt", "newer harbour", DuplicateReplace)
	if up.Skipped || up.File.ID == first.ID || up.File.Name != "notes.txt" {
		t.Errorf("replace: %+v", up)
	}
	files := byName(l.settled(folder.ID))
	if len(files) != 3 || files["notes.txt"].ID != up.File.ID {
		t.Errorf("files: %+v", files)
	}
	got, err := l.store.Archives().Get(l.ctx, folder.Archive)
	if err != nil || got.Passages != 3 {
		t.Errorf("%d chunks are counted (%v), want 3", got.Passages, err)
	}
}

// gate is a parser that waits until it may go on.
type gate struct {
	core.Parser
	open    chan struct{}
	entered chan struct{}
	waiting atomic.Int32
	most    atomic.Int32
}

func (g *gate) Parse(ctx context.Context, in core.ParseInput) (core.Document, error) {
	n := g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
	g.entered <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
		return core.Document{}, ctx.Err()
	}
	return g.Parser.Parse(ctx, in)
}

func TestAFileThatChangesOrGoesWhileItIsReadLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := &gate{Parser: parsers.New(), open: make(chan struct{}), entered: make(chan struct{}, 10)}
	l := newLibrary(t, storage.Config{}, func(c *intake.Config) { c.Parser = g })
	folder := l.folder("f")
	gone, old := l.upload(folder.ID, "gone.txt", "lake of yesterday").File, l.upload(folder.ID, "changed.txt", "lake of old").File
	<-g.entered
	<-g.entered
	l.ok(l.Files.Delete(l.ctx, folder.ID, gone.ID))
	fresh := l.upload(folder.ID, "changed.txt", "lake of now", DuplicateReplace).File
	close(g.open)
	files := l.settled(folder.ID)
	if len(files) != 1 || files[0].ID != fresh.ID || fresh.ID == old.ID {
		t.Fatalf("files: %+v", files)
	}
	results, err := l.Files.Search(l.ctx, FileQuery{Text: "lake"})
	l.ok(err)
	hits := results.Hits
	if len(hits) != 1 || hits[0].Passage.Text != "lake of now" {
		t.Errorf("found %+v", hits)
	}
	if g.most.Load() > 2 {
		t.Errorf("%d files were read at once", g.most.Load())
	}
}

// TestWhatWasInterruptedAnywhereGoesOnAndStoresNoChunkTwice takes a copy of the home before many of the statements that
// write, as a kill at that moment would leave it, and lets each copy go on.
func TestWhatWasInterruptedAnywhereGoesOnAndStoresNoChunkTwice(t *testing.T) {
	t.Parallel()
	home, copies := t.TempDir(), t.TempDir()
	var mu sync.Mutex
	var kept []string
	counting, seen, texts := atomic.Bool{}, 0, map[string]bool{}
	hook := func(sql string) {
		if !counting.Load() || !strings.HasPrefix(sql, "INSERT") && !strings.HasPrefix(sql, "UPDATE") && !strings.HasPrefix(sql, "DELETE") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		first := !texts[sql] // so that each state of a file is met, however its steps and others' fall together
		texts[sql] = true
		if seen++; seen%20 != 0 && !first {
			return
		}
		to := filepath.Join(copies, fmt.Sprint(seen))
		for _, name := range []string{"loci.db", "loci.db-wal"} {
			if err := copyTo(filepath.Join(home, name), filepath.Join(to, name)); err != nil {
				t.Error(err)
			}
		}
		kept = append(kept, to)
	}
	text := strings.Repeat("A sentence about the harbour and its boats. ", 200)
	l := newLibrary(t, storage.Config{Dir: home, OnStatement: hook})
	folder := l.folder("f")
	counting.Store(true)
	for _, name := range []string{"a.txt", "b.md", "broken.pdf"} {
		data := name + "\n\n" + text
		if name == "broken.pdf" {
			data = "%PDF-1.4 nothing"
		}
		l.upload(folder.ID, name, data)
	}
	want := byName(l.settled(folder.ID))
	counting.Store(false)
	if want["a.txt"].Chunks < 3 || want["broken.pdf"].Status != core.FileFailed {
		t.Fatalf("files: %+v", want)
	}
	states := map[core.FileStatus]int{}
	for _, dir := range kept {
		goesOn(t, dir, folder.ID, want, states)
	}
	for _, s := range []core.FileStatus{core.FilePending, core.FileParsing, core.FileEmbedding} {
		if states[s] == 0 {
			t.Errorf("no copy has a file in state %s: %v of %d copies", s, states, len(kept))
		}
	}
}

func copyTo(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// goesOn opens a home that was killed and checks that its files end as they would have, those it had accepted.
func goesOn(t *testing.T, dir string, folder core.FolderID, want map[string]core.File, states map[core.FileStatus]int) {
	t.Helper()
	before, err := storage.Open(t.Context(), storage.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	had, err := before.Files().List(t.Context(), core.FileFilter{}, core.Page{})
	if err := errors.Join(err, before.Close()); err != nil {
		t.Fatal(err)
	}
	for _, f := range had {
		states[f.Status]++
	}
	l := newLibrary(t, storage.Config{Dir: dir})
	files := l.settled(folder)
	if len(files) != len(had) {
		t.Errorf("%s: %d files, %d were accepted", filepath.Base(dir), len(files), len(had))
	}
	total := 0
	for _, f := range files {
		w := want[f.Name]
		if f.Status != w.Status || f.Chunks != w.Chunks || f.Embedded != w.Embedded || f.Error != w.Error {
			t.Errorf("%s: %s is %s with %d/%d chunks %q", filepath.Base(dir), f.Name, f.Status, f.Embedded, f.Chunks, f.Error)
		}
		chunks, err := l.store.Passages().List(l.ctx, core.PassageFilter{Files: []core.FileID{f.ID}}, core.Page{Limit: 1000})
		l.ok(err)
		places := map[int]bool{}
		for _, c := range chunks {
			places[c.Place] = true
		}
		if len(chunks) != w.Chunks || len(places) != w.Chunks {
			t.Errorf("%s: %s has %d passages at %d places, want %d", filepath.Base(dir), f.Name, len(chunks), len(places), w.Chunks)
		}
		total += len(chunks)
	}
	d, err := l.store.Folders().Get(l.ctx, folder)
	l.ok(err)
	archive, err := l.store.Archives().Get(l.ctx, d.Archive)
	l.ok(err)
	if archive.Passages != total || d.Files != len(files) {
		t.Errorf(
			"%s: counters say %d chunks and %d files, there are %d and %d",
			filepath.Base(dir),
			archive.Passages,
			d.Files,
			total,
			len(files),
		)
	}
}

func TestAttachingAFolderGivesItsToolsAndOpensItsFirstFiles(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	one, two := l.folder("one"), l.folder("two")
	var ids []core.FileID
	for i := range 5 {
		ids = append(ids, l.upload(one.ID, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("Text %d.", i)).File.ID)
	}
	l.settled(one.ID)
	agent, err := l.Agents.Create(l.ctx, NewAgent{Name: "a", Extra: map[string]any{core.ExtraMaxFilesOpen: 3}}, nil)
	l.ok(err)
	plain := len(agent.Tools)
	tools, err := l.Agents.fileTools(l.ctx)
	l.ok(err)
	agent, err = l.Folders.Attach(l.ctx, agent.ID, one.ID, nil)
	l.ok(err)
	if len(agent.Tools) != plain+len(tools) {
		t.Errorf("%d tools, want %d more than %d", len(agent.Tools), len(tools), plain)
	}
	open := func() []core.FileID {
		t.Helper()
		got, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Open: core.Some(true)}, nil)
		l.ok(err)
		var out []core.FileID
		for _, f := range got.Files {
			if f.View == "" || f.Folder.Name != "one" {
				t.Errorf("an open file without a view: %+v", f)
			}
			out = append(out, f.File.ID)
		}
		return out
	}
	if got := open(); !slices.Equal(got, ids[:3]) {
		t.Errorf("open: %v, want the first three of %v", got, ids)
	}
	closed, err := l.Files.Open(l.ctx, agent.ID, ids[4], nil)
	if err != nil || len(closed) != 1 || !slices.Contains(open(), ids[4]) || len(open()) != 3 {
		t.Errorf("opening one more closed %q (%v), open: %v", closed, err, open())
	}
	l.ok(l.Files.Close(l.ctx, agent.ID, ids[4]))
	l.upload(one.ID, "late.txt", "Late text.")
	l.settled(one.ID)
	if len(open()) != 3 {
		t.Errorf("a new file is not opened where there is room: %v", open())
	}
	page, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Limit: 4}, nil)
	l.ok(err)
	rest, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Limit: 4, After: string(page.Files[3].File.ID)}, nil)
	l.ok(err)
	if !page.More || rest.More || len(rest.Files) != 2 {
		t.Errorf("pages of %d (more: %t) and %d (more: %t)", len(page.Files), page.More, len(rest.Files), rest.More)
	}
	shut, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Open: core.Some(false)}, nil)
	if err != nil || len(shut.Files) != 3 {
		t.Errorf("%d closed files (%v), want 3", len(shut.Files), err)
	}
	first := open()
	l.ok(l.Files.Close(l.ctx, agent.ID, first[1]))
	after, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Open: core.Some(true), After: string(first[1])}, nil)
	if err != nil || len(after.Files) != 1 || after.Files[0].File.ID != first[2] {
		t.Errorf("behind a file that was closed since: %+v (%v), want %s alone", after.Files, err, first[2])
	}
	if _, err := l.Files.OfAgent(
		l.ctx,
		agent.ID,
		AgentFilesQuery{Open: core.Some(true), After: "file-none"},
		nil,
	); core.KindOf(
		err,
	) != core.NotFound {
		t.Errorf("behind a file that never was: %v", err)
	}
	_, err = l.Files.Open(l.ctx, agent.ID, first[1], nil)
	l.ok(err)
	names, err := l.Files.CloseAll(l.ctx, agent.ID)
	if err != nil || len(names) != 3 || !strings.HasPrefix(names[0], "one/") || len(open()) != 0 {
		t.Errorf("closed %q (%v)", names, err)
	}
	other := l.upload(two.ID, "x.txt", "x").File
	if _, err := l.Files.Open(l.ctx, agent.ID, other.ID, nil); core.KindOf(err) != core.NotFound {
		t.Errorf("a file of a folder that is not attached: %v", err)
	}
	_, err = l.Folders.Attach(l.ctx, agent.ID, two.ID, nil)
	l.ok(err)
	agent, err = l.Folders.Detach(l.ctx, agent.ID, one.ID)
	if err != nil || len(agent.Tools) != plain+len(tools) {
		t.Errorf("%d tools with a folder left (%v)", len(agent.Tools), err)
	}
	l.ok(l.Folders.Delete(l.ctx, two.ID))
	if agent, err = l.Agents.Get(l.ctx, agent.ID); err != nil || len(agent.Tools) != plain {
		t.Errorf("%d tools without a folder (%v), want %d", len(agent.Tools), err, plain)
	}
}

func TestAnAgentIsMadeAndChangedWithItsFolders(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	one, two := l.folder("one"), l.folder("two")
	l.upload(one.ID, "a.txt", "Text.")
	agent, err := l.Agents.Create(l.ctx, NewAgent{Name: "a", FolderIDs: []core.FolderID{one.ID}}, nil)
	l.ok(err)
	folders := func() []string {
		t.Helper()
		list, err := l.Folders.OfAgent(l.ctx, agent.ID)
		l.ok(err)
		var out []string
		for _, f := range list {
			out = append(out, f.Name)
		}
		return out
	}
	opened, err := l.store.Files().Opened(l.ctx, agent.ID)
	if err != nil || len(opened) != 1 || !slices.Equal(folders(), []string{"one"}) {
		t.Errorf("opened %+v (%v), folders %q", opened, err, folders())
	}
	_, err = l.Agents.Update(l.ctx, agent.ID, AgentPatch{FolderIDs: core.Some([]core.FolderID{two.ID})}, nil)
	if err != nil || !slices.Equal(folders(), []string{"two"}) {
		t.Errorf("folders %q (%v)", folders(), err)
	}
	if _, err := l.Agents.Update(
		l.ctx,
		agent.ID,
		AgentPatch{FolderIDs: core.Some([]core.FolderID{core.NewFolderID()})},
		nil,
	); core.KindOf(
		err,
	) != core.NotFound {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if !slices.Equal(folders(), []string{"two"}) {
		t.Errorf("what was refused changed the folders: %q", folders())
	}
	if _, err := l.Agents.Create(
		l.ctx,
		NewAgent{Name: "b", FolderIDs: []core.FolderID{core.NewFolderID()}},
		nil,
	); core.KindOf(
		err,
	) != core.NotFound {
		t.Errorf("an agent of a folder that does not exist: %v", err)
	}
}

func BenchmarkSmallFiles(b *testing.B) {
	l := newLibrary(b, storage.Config{})
	folder := l.folder("f")
	n := 0
	for b.Loop() {
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 125 {
					data := fmt.Sprintf(
						"# File %d\n\nThe %d. file of writer %d, run %d, has a sentence or two. This is the other.\n",
						i,
						i,
						w,
						n,
					)
					if _, err := l.Files.Upload(
						l.ctx,
						folder.ID,
						Upload{Name: fmt.Sprintf("%d/%d/%d.md", n, w, i), Data: []byte(data)},
					); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		l.settled(folder.ID)
		n++
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}
