package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
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

func (anyVectors) Embeddings(context.Context, core.Env, string) []core.EmbeddingInfo { return nil }

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

func (l *library) upload(folder core.FolderID, name, data string, how ...Duplicates) UploadResult {
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
