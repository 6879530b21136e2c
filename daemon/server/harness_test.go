package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/approval"
	"loci/core/engine"
	"loci/core/intake"
	"loci/core/picture"
	"loci/core/service"
	"loci/core/tracing"
	"loci/core/undo"
	"loci/daemon/api"
	"loci/daemon/remote"
	"loci/daemon/seal"
	"loci/providers"
	"loci/storage"
	"loci/storage/contents"
	"loci/storage/storagetest"
	"loci/tools"
	"loci/tools/custom"
	"loci/tools/parsers"
	"loci/tools/workspace"
)

// answers is what a scripted model says to its n-th request, from 0.
type answers func(ctx context.Context, n int, req core.ChatRequest) []any

// script is a model that says what a test wrote: strings are text, core.Delta is itself, errors end the turn, functions
// are called (they may wait).
type script struct {
	mu       sync.Mutex
	requests []core.ChatRequest
	say      answers
	keyless  atomic.Bool // its key is gone
	told     atomic.Bool // what it is like is known without a key
	window   atomic.Int64
	blind    atomic.Bool // it takes no images
	tokens   atomic.Bool // its server gives what its tokens are
}

func (m *script) info() core.ModelInfo {
	return core.ModelInfo{
		Handle:        "test/model",
		Name:          "model",
		Provider:      "test",
		Protocol:      "openai",
		ContextWindow: int(cmp.Or(m.window.Load(), 100_000)),
		Tools:         true,
		ForcedTools:   true,
		CacheTTL:      5 * time.Minute,
		Images:        core.ImagesIf(!m.blind.Load()),
		Tokens:        m.tokens.Load(),
	}
}

func (m *script) Chat(_ context.Context, h core.Handle, _ core.Env) (core.ChatModel, core.ModelInfo, error) {
	if m.keyless.Load() {
		var info core.ModelInfo
		if m.told.Load() {
			info = m.info()
			info.MaxOutput = 4000
		}
		return nil, info, core.E(core.Unauthenticated, "%w for Test", core.ErrNoKey)
	}
	if h != "test/model" {
		return nil, core.ModelInfo{}, core.E(core.NotFound, "there is no model %s", h)
	}
	return m, m.info(), nil
}

func (m *script) List(context.Context, core.Env, core.ModelQuery) ([]core.ModelInfo, error) {
	return []core.ModelInfo{m.info()}, nil
}

func (m *script) Unbuilt(core.Env) []string { return nil }

func (m *script) Silent(context.Context, core.Env) []string {
	return []string{"another lists no model"}
}

func (m *script) Moved(core.Env) map[string]string { return nil }

func (m *script) First(context.Context, core.Env) core.Reach {
	return core.Reach{Info: m.info(), OK: true, Because: "TEST_API_KEY is set"}
}

func (m *script) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	m.mu.Lock()
	n := len(m.requests)
	m.requests = append(m.requests, req)
	say := m.say
	m.mu.Unlock()
	return func(yield func(core.Delta, error) bool) {
		for _, v := range say(ctx, n, req) {
			var d core.Delta
			switch v := v.(type) {
			case string:
				d.Text = v
			case core.Delta:
				d = v
			case func():
				v()
				continue
			case error:
				yield(core.Delta{}, v)
				return
			}
			if ctx.Err() != nil {
				yield(core.Delta{}, &core.Error{Kind: core.Cancelled, Msg: "stopped", Provider: true})
				return
			}
			if !yield(d, nil) || d.End {
				return
			}
		}
		yield(core.Delta{End: true, Finish: core.FinishStop, Usage: &core.Usage{Prompt: 10, Completion: 5, Total: 15}}, nil)
	}
}

func calls(name, arguments string) []any {
	half := len(arguments) / 2
	return []any{
		core.Delta{Call: &core.CallDelta{ID: "call_1", Name: name, Arguments: arguments[:half]}},
		core.Delta{Call: &core.CallDelta{Arguments: arguments[half:]}},
	}
}

func always(v ...any) answers { return func(context.Context, int, core.ChatRequest) []any { return v } }

// fixture is a whole server on a real store with a scripted model.
type fixture struct {
	t     *testing.T
	model *script
	srv   *Server
	store *storage.Store
	reads *intake.Worker

	search *searcher
}

func newFixture(t *testing.T, say answers, change ...func(*Config)) *fixture {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	model := &script{say: say}
	box := custom.New(custom.Config{BuiltIn: tools.New(), Store: store, Python: pythons(t)})
	secrets := vault(t, store)
	eng := engine.New(
		engine.Config{
			Store:      store,
			Search:     storagetest.Search(store),
			Log:        store.Events(),
			Models:     model,
			Tools:      box,
			Pictures:   picture.New(),
			Grace:      time.Millisecond,
			RecallWait: time.Minute,
			Variables:  secrets,
		},
	)
	reading := intake.Start(t.Context(), intake.Config{Store: store, Parser: parsers.New()})
	search := &searcher{Searcher: storagetest.Search(store)}
	services := service.New(
		service.Config{
			Store:          store,
			Search:         search,
			Engine:         eng,
			Models:         model,
			Tools:          box,
			Maker:          box,
			Variables:      secrets,
			Accepted:       reading.Nudge,
			RegisterWithin: time.Minute,
			Pictures:       picture.New(),
			Remote:         remote.New(nil),
			Catalogue:      providers.New(providers.Config{}),
			Sealer:         seal.New(seal.Config{Path: filepath.Join(t.TempDir(), "secret.key")}),
			Restorer: workspace.Restorer{
				Contents: contents.New(contents.Config{Dir: t.TempDir(), Clock: time.Now, Logger: slog.New(slog.DiscardHandler)}),
			},
		},
	)
	turns := undo.New(undo.Config{Store: store, Announce: eng.Announce})
	cfg := Config{
		Parts: Parts{
			Services: services, Engine: eng, Undo: turns, Approvals: approval.New(store, eng, nil), Variables: secrets,
			Traces: tracing.New(tracing.Config{On: true, Store: store.Traces()}),
		},
		Version: "1.2.3",
	}
	for _, c := range change {
		c(&cfg)
	}
	f := &fixture{t: t, model: model, srv: New(cfg), store: store, reads: reading, search: search}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := eng.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		reading.Close()
		services.Close()
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

// reply is an answer that was read to its end.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

func (f *fixture) request(method, path string, body any) *http.Request {
	f.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			f.t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req := httptest.NewRequestWithContext(f.t.Context(), method, path, r)
	req.Host = "localhost:8283"
	req.Header.Set("Content-Type", "application/json")
	return req
}

func (f *fixture) do(req *http.Request) reply {
	w := httptest.NewRecorder()
	f.srv.ServeHTTP(w, req)
	out := reply{t: f.t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	if wrong := wrongShape(req, out); wrong != "" {
		f.t.Errorf("%s %s is not as the contract has it: %s", req.Method, req.URL.Path, wrong)
	}
	return out
}

func (f *fixture) call(method, path string, body any) reply {
	return f.do(f.request(method, path, body))
}

// socket calls as a client on the socket.
func (f *fixture) socket(method, path string, body any, session string) reply {
	req := f.request(method, path, body)
	req = req.WithContext(WithPeer(req.Context(), PeerSocket))
	req.Host = "loci"
	if session != "" {
		req.Header.Set(api.HeaderClient, session)
	}
	return f.do(req)
}

func (r reply) want(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status = %d, want %d: %s", r.status, status, r.body)
	}
	return r
}

// as decodes a body.
func as[T any](r reply) T {
	r.t.Helper()
	var out T
	if err := json.Unmarshal(r.want(http.StatusOK).body, &out); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	return out
}

// detail is the error's text.
func (r reply) detail() string {
	r.t.Helper()
	var e api.ErrorBody
	if err := json.Unmarshal(r.body, &e); err != nil {
		r.t.Fatalf("%v: %s", err, r.body)
	}
	return e.Text()
}

// events are the messages of a stream without its pings; the stream must be well formed and end with [DONE].
func (r reply) events() []api.Message {
	r.t.Helper()
	var out []api.Message
	done, named := false, false
	for line := range bytes.Lines(r.want(http.StatusOK).body) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		switch {
		case len(line) == 0:
			continue
		case string(line) == "event: error":
			named = true
			continue
		case !ok || done:
			r.t.Fatalf("line %q in a stream (done %v)", line, done)
		case string(data) == "[DONE]":
			done = true
			continue
		}
		var m api.Message
		if err := json.Unmarshal(data, &m); err != nil {
			r.t.Fatalf("%v: %s", err, data)
		}
		if failed := m.MessageType == api.MessageError; failed != named {
			r.t.Fatalf("an error has the line \"event: error\", and nothing else has it: %s", data)
		}
		named = false
		if m.MessageType != api.MessagePing {
			out = append(out, m)
		}
	}
	if !done {
		r.t.Fatalf("the stream has no end: %s", r.body)
	}
	return out
}

func (f *fixture) agent(body map[string]any) api.AgentState {
	f.t.Helper()
	if body == nil {
		body = map[string]any{}
	}
	return as[api.AgentState](f.call("POST", "/v1/agents/", body))
}

func (f *fixture) messages(agent string) []api.Message {
	f.t.Helper()
	return as[[]api.Message](f.call("GET", "/v1/agents/"+agent+"/messages", nil))
}

func text(s string) map[string]any { return map[string]any{"input": s} }

func with(m map[string]any, more ...any) map[string]any {
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// lines reads a live stream line by line, without the empty ones.
func lines(t *testing.T, r io.Reader) func() string {
	t.Helper()
	scan := bufio.NewScanner(r)
	return func() string {
		t.Helper()
		for scan.Scan() {
			if scan.Text() != "" {
				return scan.Text()
			}
		}
		t.Fatalf("the stream ended: %v", scan.Err())
		return ""
	}
}

// live is the server behind a real connection.
type live struct {
	t      *testing.T
	server *httptest.Server
}

func newLive(t *testing.T, f *fixture) live {
	t.Helper()
	server := httptest.NewServer(f.srv)
	t.Cleanup(server.Close)
	return live{t, server}
}

// get begins a stream that ends with the test.
func (l live) get(path string) func() string {
	l.t.Helper()
	return l.stream(http.MethodGet, path, "")
}

// stream makes a request whose answer is read while it comes, until the test ends.
func (l live) stream(method, path, body string) func() string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	req, err := http.NewRequestWithContext(ctx, method, l.server.URL+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.server.Client().Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
	})
	return lines(l.t, resp.Body)
}

// recorded writes a stream and returns what was written.
func recorded(t *testing.T, s *Server, st sseStream) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	s.writeSSE(t.Context(), w, st)
	return w.Body.Bytes()
}
