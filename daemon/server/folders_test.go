package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/embedding"
	"loci/core/service"
	"loci/daemon/api"
)

// blank is an embedding that knows no word.
type blank struct{}

func (blank) Embeddings(context.Context, core.Env, string) []core.EmbeddingInfo { return nil }

func (blank) Embedder(context.Context, core.Handle, core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	return blank{}, core.EmbeddingInfo{Handle: core.WordsHandle, Batch: 100}, nil
}

func (blank) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

// shelf is a server that reads files to their end, and a folder.
type shelf struct {
	*fixture
	folder api.Folder
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	f := newFixture(t, always("ok"))
	e := embedding.Start(t.Context(), embedding.Config{Store: f.store, Embedders: blank{}, After: f.reads.Nudge})
	t.Cleanup(e.Close)
	return &shelf{
		fixture: f,
		folder:  as[api.Folder](f.call("POST", "/v1/folders/", map[string]any{"name": "Library", "description": "Old books"})),
	}
}

// upload sends a file under a name as it is, which the standard library's own writer would not.
func (s *shelf) upload(path, name string, data []byte) reply {
	s.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename=%q`, name))
	h.Set("Content-Type", "application/octet-stream")
	part, err := w.CreatePart(h)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(s.t.Context(), "POST", path, &b)
	req.Host = "localhost"
	req.Header.Set("Content-Type", w.FormDataContentType())
	return s.do(req)
}

func (s *shelf) put(name, text string) api.File {
	s.t.Helper()
	return as[api.File](s.upload("/v1/folders/"+s.folder.ID+"/upload", name, []byte(text)))
}

// done waits until a file is read, as a client would.
func (s *shelf) done(id string) api.File {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for {
		f := as[api.File](s.call("GET", "/v1/folders/"+s.folder.ID+"/files/"+id, nil))
		if f.ProcessingStatus == api.FileCompleted || f.ProcessingStatus == api.FileError {
			return f
		}
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatalf("still %s", f.ProcessingStatus)
		}
	}
}

func TestAFolderLivesAndEndsUnderBothItsNames(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	f := s.folder
	if !strings.HasPrefix(f.ID, "source-") || f.Name != "Library" || *f.Description != "Old books" ||
		api.Val(f.EmbeddingConfig.Handle) != "builtin/words" ||
		f.CreatedAt == nil {
		t.Errorf("folder %+v", f)
	}
	s.call("POST", "/v1/folders/", map[string]any{"name": "Library"}).want(http.StatusConflict)
	s.call("POST", "/v1/folders/", map[string]any{"name": "../x"}).want(http.StatusBadRequest)
	s.call("POST", "/v1/folders/", map[string]any{}).want(http.StatusUnprocessableEntity)
	other := as[api.Source](
		s.call(
			"POST",
			"/v1/sources/",
			map[string]any{"name": "Other", "embedding": "openai/text-embedding-3-small", "metadata": map[string]any{"k": "v"}},
		),
	)
	if other.VectorDBProvider != "native" || other.Metadata["k"] != "v" ||
		api.Val(other.EmbeddingConfig.Handle) != "openai/text-embedding-3-small" {
		t.Errorf("source %+v", other)
	}
	for _, root := range []string{"/v1/folders/", "/v1/sources/"} {
		if got := as[[]api.Folder](s.call("GET", root, nil)); len(got) != 2 || got[0].ID != f.ID {
			t.Errorf("%s: %+v", root, got)
		}
		if got := as[api.Folder](s.call("GET", root+f.ID, nil)); got.Name != "Library" {
			t.Errorf("%s: %+v", root, got)
		}
		if got := as[string](s.call("GET", root+"name/Library", nil)); got != f.ID {
			t.Errorf("%s by name: %q", root, got)
		}
		if got := as[int](s.call("GET", root+"count", nil)); got != 2 {
			t.Errorf("%s: %d are counted", root, got)
		}
		s.call("GET", root+"name/Nobody", nil).want(http.StatusNotFound)
		s.call("GET", root+string(core.NewFolderID()), nil).want(http.StatusNotFound)
		s.call("GET", root+"source-1", nil).want(http.StatusUnprocessableEntity)
	}
	if got := as[[]api.Folder](s.call("GET", "/v1/folders/?name=Other", nil)); len(got) != 1 {
		t.Errorf("by name: %+v", got)
	}
	changed := as[api.Folder](s.call("PATCH", "/v1/folders/"+f.ID, map[string]any{"name": "Books", "instructions": "Quote them."}))
	if changed.Name != "Books" || *changed.Instructions != "Quote them." || *changed.Description != "Old books" {
		t.Errorf("changed %+v", changed)
	}
	if got := as[api.Source](
		s.call("PATCH", "/v1/sources/"+f.ID, map[string]any{"description": ""}),
	); got.Description != nil ||
		got.Name != "Books" {
		t.Errorf("changed %+v", got)
	}
	s.call("PATCH", "/v1/folders/"+f.ID, map[string]any{"name": "Other"}).want(http.StatusConflict)
	s.call("DELETE", "/v1/folders/"+f.ID, nil).want(http.StatusOK)
	s.call("GET", "/v1/folders/"+f.ID, nil).want(http.StatusNotFound)
	s.call("DELETE", "/v1/sources/"+f.ID, nil).want(http.StatusNotFound)
}

func TestAFileIsUploadedWatchedReadAndDeleted(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	up := s.put("report.md", "# Tides\n\nThe lighthouse keeper wrote everything down.\n")
	if up.ProcessingStatus != api.FilePending || *up.FileName != "report.md" || up.SourceID != s.folder.ID ||
		*up.FileType != "text/markdown" ||
		*up.FileSize != 54 {
		t.Errorf("upload %+v", up)
	}
	f := s.done(up.ID)
	if f.ProcessingStatus != api.FileCompleted || *f.TotalChunks != 1 || *f.ChunksEmbedded != 1 || f.Content != nil {
		t.Errorf("read %+v", f)
	}
	path := "/v1/folders/" + s.folder.ID
	if got := as[api.File](
		s.call("GET", path+"/files/"+up.ID+"?include_content=true", nil),
	); !strings.Contains(
		api.Val(got.Content),
		"keeper wrote",
	) {
		t.Errorf("content %+v", got.Content)
	}
	for _, root := range []string{"/v1/folders/", "/v1/sources/"} {
		passages := as[[]api.Passage](s.call("GET", root+s.folder.ID+"/passages", nil))
		if len(passages) != 1 || api.Val(passages[0].FileID) != up.ID || api.Val(passages[0].FileName) != "report.md" ||
			api.Val(passages[0].SourceID) != s.folder.ID ||
			passages[0].ArchiveID != nil {
			t.Errorf("passages %+v", passages)
		}
	}
	hits := as[[]api.FileResult](s.call("POST", api.PathFiles+"/search", map[string]any{"query": "lighthouse keeper"}))
	if len(hits) != 1 || hits[0].FileName != "report.md" || hits[0].FolderName != "Library" || hits[0].Line != 1 || hits[0].EndLine != 2 ||
		!slices.Equal(hits[0].Path, []string{"Tides"}) {
		t.Errorf("hits %+v", hits)
	}
	if got := as[[]api.PassageResult](s.call("POST", "/v1/passages/search", map[string]any{"query": "lighthouse keeper"})); len(got) != 0 {
		t.Errorf("files are found among archival memory: %+v", got)
	}
	s.put("b.txt", "Second.")
	if got := as[[]api.File](s.call("GET", path+"/files", nil)); len(got) != 2 || *got[0].FileName != "b.txt" {
		t.Errorf("files %+v", got)
	}
	if got := as[[]api.File](s.call("GET", path+"/files?order=asc&limit=1", nil)); len(got) != 1 || got[0].ID != up.ID {
		t.Errorf("first file %+v", got)
	}
	stats := as[api.FolderStats](s.call("GET", "/v1/folders/metadata?include_detailed_per_source_metadata=true", nil))
	if stats.TotalFiles != 2 || stats.TotalSize != 61 || stats.TotalSources != 1 || len(stats.Sources) != 1 ||
		len(stats.Sources[0].Files) != 2 {
		t.Errorf("stats %+v", stats)
	}
	if brief := as[api.FolderStats](
		s.call("GET", "/v1/sources/metadata", nil),
	); len(brief.Sources) != 1 || brief.Sources[0].FileCount != 2 ||
		len(brief.Sources[0].Files) != 0 {
		t.Errorf("brief stats %+v", brief)
	}
	other := as[api.Folder](s.call("POST", "/v1/folders/", map[string]any{"name": "Other"}))
	s.call("GET", "/v1/folders/"+other.ID+"/files/"+up.ID, nil).want(http.StatusNotFound)
	s.call("DELETE", path+"/"+up.ID, nil).want(http.StatusNoContent)
	s.call("GET", path+"/files/"+up.ID, nil).want(http.StatusNotFound)
	s.call("DELETE", path+"/"+up.ID, nil).want(http.StatusNotFound)
}

func TestAnUploadIsRefusedWithTheStatusThatItDeserves(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	path := "/v1/folders/" + s.folder.ID + "/upload"
	for name, c := range map[string]struct {
		file   string
		data   []byte
		status int
	}{
		"a step up":      {"../../evil.txt", []byte("x"), http.StatusBadRequest},
		"a backslash":    {`..\evil.txt`, []byte("x"), http.StatusBadRequest},
		"absolute":       {"/etc/passwd", []byte("x"), http.StatusBadRequest},
		"empty":          {"a.txt", nil, http.StatusBadRequest},
		"binary":         {"a.png", []byte("\x89PNG\r\n\x1a\n\x00\x00"), http.StatusUnsupportedMediaType},
		"too large":      {"a.txt", make([]byte, service.MaxUpload()+1), http.StatusRequestEntityTooLarge},
		"much too large": {"a.txt", make([]byte, service.MaxUpload()+2<<20), http.StatusRequestEntityTooLarge},
		"not a zip":      {"a.docx", []byte("PK\x03\x04 nothing"), http.StatusBadRequest},
	} {
		if got := s.upload(path, c.file, c.data); got.status != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, got.status, c.status, got.body)
		}
	}
	s.call("POST", path, map[string]any{"file": "x"}).want(http.StatusUnprocessableEntity)
	s.upload("/v1/folders/"+string(core.NewFolderID())+"/upload", "a.txt", []byte("x")).want(http.StatusNotFound)
	s.upload(path+"?duplicate_handling=guess", "a.txt", []byte("x")).want(http.StatusUnprocessableEntity)
	if got := as[[]api.File](s.call("GET", "/v1/folders/"+s.folder.ID+"/files", nil)); len(got) != 0 {
		t.Errorf("kept: %+v", got)
	}
	broken := s.done(as[api.File](s.upload(path, "broken.pdf", []byte("%PDF-1.4\nnothing"))).ID)
	if broken.ProcessingStatus != api.FileError || !strings.Contains(api.Val(broken.ErrorMessage), "broken.pdf") {
		t.Errorf("broken: %+v", broken)
	}
}

// unread is a body that nobody may read yet.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the upload is read although there is no room for it")
	return 0, io.EOF
}

func TestUploadsBeyondThoseHeldInMemoryWaitUnread(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	path := "/v1/folders/" + s.folder.ID + "/upload"
	for range uploadsAtOnce {
		s.srv.uploads <- struct{}{}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(gone, "POST", path, unread{t})
	req.Host = "localhost"
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	if got := s.do(req); got.status < http.StatusBadRequest {
		t.Errorf("status %d", got.status)
	}
	<-s.srv.uploads
	s.put("a.txt", "there is room")
	if n := len(s.srv.uploads); n != uploadsAtOnce-1 {
		t.Errorf("%d places are taken behind an upload", n)
	}
}

func TestDuplicatesAnswerAsTheContractSays(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	path := "/v1/sources/" + s.folder.ID + "/upload"
	first := as[api.File](s.upload(path, "a.txt", []byte("one")))
	again := s.upload(path, "a.txt", []byte("one"))
	if f := as[api.File](
		again,
	); *f.FileName != "a_(1).txt" || *f.OriginalFileName != "a.txt" ||
		again.header.Get(api.HeaderSame) != first.ID {
		t.Errorf("suffix: %s %v", again.body, again.header)
	}
	skipped := s.upload(path+"?duplicate_handling=skip", "a.txt", []byte("two"))
	if f := as[api.File](skipped); f.ID != first.ID || skipped.header.Get(api.HeaderUpload) != api.UploadSkipped {
		t.Errorf("skip: %s %v", skipped.body, skipped.header)
	}
	s.upload(path+"?duplicate_handling=error", "a.txt", []byte("two")).want(http.StatusBadRequest)
	replaced := as[api.File](s.upload(path+"?duplicate_handling=replace", "a.txt", []byte("two")))
	if replaced.ID == first.ID || *replaced.FileName != "a.txt" {
		t.Errorf("replace: %+v", replaced)
	}
	if f := as[api.File](s.upload(path+"?name=chosen.txt", "a.txt", []byte("three"))); *f.FileName != "chosen.txt" {
		t.Errorf("name: %+v", f)
	}
}

func TestAnAgentsFoldersAndFilesAreShownAndChanged(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	one, two := s.put("one.txt", "First line.\nSecond line."), s.put("two.txt", "Other.")
	s.done(one.ID)
	s.done(two.ID)
	agent := s.agent(map[string]any{"folder_ids": []string{s.folder.ID}, "max_files_open": 1})
	if len(agent.Sources) != 1 || agent.Sources[0].Name != "Library" {
		t.Errorf("sources %+v", agent.Sources)
	}
	path := "/v1/agents/" + agent.ID
	for _, kind := range []string{"/folders", "/sources"} {
		if got := as[[]api.Source](s.call("GET", path+kind, nil)); len(got) != 1 || got[0].ID != s.folder.ID {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	if got := as[[]string](s.call("GET", "/v1/folders/"+s.folder.ID+"/agents", nil)); !slices.Equal(got, []string{agent.ID}) {
		t.Errorf("agents of the folder: %v", got)
	}
	open := as[api.AgentFiles](s.call("GET", path+"/files?is_open=true", nil))
	if len(open.Files) != 1 || open.Files[0].FileID != one.ID || open.Files[0].FileName != "Library/one.txt" || open.HasMore ||
		open.NextCursor != nil ||
		!strings.Contains(api.Val(open.Files[0].VisibleContent), "2: Second line.") {
		t.Errorf("open: %+v", open)
	}
	if closed := as[[]string](s.call("PATCH", path+"/files/"+two.ID+"/open", nil)); !slices.Equal(closed, []string{"Library/one.txt"}) {
		t.Errorf("closed to make room: %q", closed)
	}
	first := as[api.AgentFiles](s.call("GET", path+"/files?limit=1&order=asc", nil))
	if len(first.Files) != 1 || !first.HasMore || api.Val(first.NextCursor) != one.ID {
		t.Errorf("first page: %+v", first)
	}
	if rest := as[api.AgentFiles](
		s.call("GET", path+"/files?limit=1&order=asc&cursor="+*first.NextCursor, nil),
	); len(rest.Files) != 1 || rest.HasMore ||
		!rest.Files[0].IsOpen {
		t.Errorf("second page: %+v", rest)
	}
	s.call("PATCH", path+"/files/"+two.ID+"/close", nil).want(http.StatusOK)
	s.call("PATCH", path+"/files/"+one.ID+"/open", nil).want(http.StatusOK)
	if closed := as[[]string](s.call("PATCH", path+"/files/close-all", nil)); !slices.Equal(closed, []string{"Library/one.txt"}) {
		t.Errorf("close-all: %q", closed)
	}
	s.call("PATCH", path+"/files/"+string(core.NewFileID())+"/open", nil).want(http.StatusNotFound)
	if got := s.call("PATCH", path+"/folders/detach/"+s.folder.ID, nil).want(http.StatusOK); string(bytes.TrimSpace(got.body)) != "null" {
		t.Errorf("detach answers a current client with %s", got.body)
	}
	s.call("PATCH", path+"/folders/detach/"+s.folder.ID, nil).want(http.StatusNotFound)
	if got := as[api.AgentState](s.call("PATCH", path+"/sources/attach/"+s.folder.ID, nil)); len(got.Sources) != 1 {
		t.Errorf("attach: %+v", got.Sources)
	}
	s.call("PATCH", path+"/folders/attach/"+string(core.NewFolderID()), nil).want(http.StatusNotFound)
	if got := as[api.AgentState](s.call("PATCH", path, map[string]any{"folder_ids": []string{}})); len(got.Sources) != 0 {
		t.Errorf("folders are not replaced: %+v", got.Sources)
	}
	if got := as[api.AgentState](s.call("PATCH", path, map[string]any{"source_ids": []string{s.folder.ID}})); len(got.Sources) != 1 {
		t.Errorf("sources are not replaced: %+v", got.Sources)
	}
	keys := as[map[string]json.RawMessage](s.call("GET", path, nil))
	if string(keys["sources"]) != "[]" {
		t.Errorf("a current client did not ask for sources: %s", keys["sources"])
	}
	if got := as[api.AgentState](s.call("GET", path+"?include=agent.sources", nil)); len(got.Sources) != 1 {
		t.Errorf("include: %+v", got.Sources)
	}
	s.call("POST", "/v1/agents/", map[string]any{"folder_ids": []string{string(core.NewFolderID())}}).want(http.StatusNotFound)
	s.call("DELETE", "/v1/folders/"+s.folder.ID, nil).want(http.StatusOK)
	if got := as[[]api.Source](s.call("GET", path+"/folders", nil)); len(got) != 0 {
		t.Errorf("a deleted folder is still attached: %+v", got)
	}
}

func TestAnEmbeddingIsNamedByItsHandleOrByItsConfig(t *testing.T) {
	t.Parallel()
	words := &api.EmbeddingConfig{Handle: api.PtrTo("builtin/words")}
	for _, tt := range []struct {
		handle *string
		config *api.EmbeddingConfig
		want   core.Handle
	}{
		{nil, nil, ""},
		{nil, &api.EmbeddingConfig{}, ""},
		{
			nil, &api.EmbeddingConfig{EmbeddingEndpointType: "openai", EmbeddingModel: "text-embedding-3-small"},
			"openai/text-embedding-3-small",
		},
		{nil, words, "builtin/words"},
		{api.PtrTo("ollama/nomic"), words, "ollama/nomic"},
	} {
		if got := embeddingOf(tt.handle, tt.config); got != tt.want {
			t.Errorf("%v, %+v: %q, want %q", tt.handle, tt.config, got, tt.want)
		}
	}
}

func TestOnlyAnUploadMayBeAsLargeAsAFile(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	upload := "/v1/folders/" + s.folder.ID + "/upload"
	s.upload(upload, "large.txt", bytes.Repeat([]byte("words \n"), (maxBody+uploadFrame)/7)).want(http.StatusOK)
	for method, path := range map[string]string{http.MethodPatch: upload, http.MethodPost: "/v1/folders/"} {
		if got := bodyLimit(httptest.NewRequestWithContext(t.Context(), method, path, nil)); got != maxBody {
			t.Errorf("%s %s may have %d bytes", method, path, got)
		}
	}
}

func TestASearchOfFilesGoesByAnAgentOrByFolders(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	a := s.agent(nil)
	search := func(body map[string]any) reply {
		body["query"] = "words"
		return s.call("POST", api.PathFiles+"/search", body)
	}
	search(map[string]any{"agent_id": a.ID}).want(http.StatusOK)
	search(map[string]any{"folder_ids": []string{s.folder.ID}}).want(http.StatusOK)
	search(map[string]any{"agent_id": a.ID, "folder_ids": []string{s.folder.ID}}).want(http.StatusBadRequest)
}

// TestWhatKnowsNoPagesShowsEveryFolderAndFile: a home may have more of them than one look at the store takes.
func TestWhatKnowsNoPagesShowsEveryFolderAndFile(t *testing.T) {
	t.Parallel()
	const many = 1003
	f := newFixture(t, always("ok"))
	now := time.Now()
	err := f.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		for i := range many {
			d := core.Folder{ID: core.NewFolderID(), Name: fmt.Sprint("folder ", i), CreatedAt: now, UpdatedAt: now}
			if err := tx.Folders().Create(ctx, &d); err != nil {
				return err
			}
			for j := range many {
				if i > 0 {
					break
				}
				file := core.File{
					ID:        core.NewFileID(),
					Folder:    d.ID,
					Name:      fmt.Sprint(j),
					Hash:      fmt.Sprint(j),
					Size:      1,
					Status:    core.FileCompleted,
					CreatedAt: now,
					UpdatedAt: now,
				}
				if err := tx.Files().Create(ctx, &file, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := as[[]api.Source](f.call("GET", "/v1/sources/", nil)); len(got) != many {
		t.Errorf("%d sources are listed, want %d", len(got), many)
	}
	stats := as[api.FolderStats](f.call("GET", "/v1/folders/metadata?include_detailed_per_source_metadata=true", nil))
	if stats.TotalSources != many || len(stats.Sources) != many || stats.TotalFiles != many {
		t.Errorf("%d folders with %d files are counted, %d shown, want %d", stats.TotalSources, stats.TotalFiles, len(stats.Sources), many)
	}
	shown := 0
	for _, one := range stats.Sources {
		shown += len(one.Files)
	}
	if shown != many {
		t.Errorf("%d files are shown, want %d", shown, many)
	}
}
