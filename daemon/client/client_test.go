package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/daemon/api"
)

func TestParametersAreWrittenAsTheContractReadsThem(t *testing.T) {
	t.Parallel()
	got := queryOf(api.ListAgents{
		Page: api.Page{Limit: 5, Order: "asc"}, AgentFilter: api.AgentFilter{Tags: []string{"a b", "c"}, MatchAllTags: true},
		AgentInclude: api.AgentInclude{Include: []string{api.IncludeBlocks}},
	})
	want := url.Values{"limit": {"5"}, "order": {"asc"}, "tags": {"a b", "c"}, "match_all_tags": {"true"}, "include": {"agent.blocks"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := queryOf(api.ListRuns{Background: api.Given(false)}); got.Get("background") != "false" {
		t.Errorf("a parameter that is false but given: %v", got)
	}
	if got := queryOf(api.ListRuns{}); len(got) != 0 {
		t.Errorf("nothing given: %v", got)
	}
}

func TestACallCarriesWhatItMust(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("PATCH /v1/agents/{id}/core-memory/blocks/{label}", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(map[string]any{"value": ""}, in); diff != "" {
			t.Errorf("the body: %s", diff)
		}
		if r.PathValue("label") != "a/b" || r.Header.Get("If-Match") != `"7"` || r.Header.Get("User-Agent") != "" {
			t.Errorf("label %q, headers %v", r.PathValue("label"), r.Header)
		}
		w.Header().Set("ETag", `"8"`)
		answer(w, api.Block{ID: "block-1"})
	})
	c := clientOf(t, mux)
	b, etag, err := c.UpdateAgentBlock(t.Context(), "agent-1", "a/b", api.UpdateBlock{Value: api.Some("")}, `"7"`)
	if err != nil || b.ID != "block-1" || etag != `"8"` {
		t.Errorf("%+v %q %v", b, etag, err)
	}
}

func TestAnErrorHasItsKindTextHintAndRun(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/runs/run-1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderError, api.KindBusy)
		w.Header().Set(api.HeaderHint, url.PathEscape("wait – or cancel"))
		w.WriteHeader(http.StatusConflict)
		answer(w, api.ErrorBody{Detail: "busy", RunID: "run-9"})
	})
	mux.HandleFunc("GET /v1/runs/run-2", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		answer(
			w,
			api.ErrorBody{
				Detail: api.PendingApproval{Code: api.CodePendingApproval, Message: "answer first", PendingRequestID: "message-1"},
			},
		)
	})
	mux.HandleFunc("GET /v1/runs/run-4", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		answer(w, api.ErrorBody{Detail: `[{"type":"value_error","loc":["query","limit"],"msg":"expected number \u003c= 1000",` +
			`"input":1001},{"type":"value_error","loc":["body"],"msg":"it is not a list"}]`})
	})
	mux.HandleFunc("GET /v1/runs/run-3", func(w http.ResponseWriter, _ *http.Request) { raw(w, "no JSON") })
	c := clientOf(t, mux)
	get := func(id string) *Error {
		_, err := c.Run(t.Context(), id)
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", id, err)
		}
		return e
	}
	if e := get(
		"run-1",
	); e.Status != 409 || e.Kind != api.KindBusy || e.Message != "busy" || e.Hint != "wait – or cancel" ||
		e.RunID != "run-9" {
		t.Errorf("%+v", e)
	}
	e := get("run-2")
	if p, ok := e.Pending(); !ok || p.PendingRequestID != "message-1" || e.Message != "answer first" || e.Kind != api.KindConflict {
		t.Errorf("%+v %+v", e, p)
	}
	if e := get("run-4"); e.Message != "limit: expected number <= 1000, not 1001; it is not a list" {
		t.Errorf("%+v", e)
	}
	if e := get("run-3"); e.Kind != api.KindInternal {
		t.Errorf("%+v", e)
	}
	if e := get("none"); e.Kind != api.KindNotFound {
		t.Errorf("%+v", e)
	}
}

func TestNobodyListeningIsUnavailableAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := New(Options{Socket: socketIn(t)})
	_, err := c.Status(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Kind != api.KindUnavailable || e.Hint == "" {
		t.Errorf("%+v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := clientOf(t, http.NewServeMux()).Status(ctx); KindOf(err) != api.KindCancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// sessions is a daemon that knows one session at a time.
type sessions struct {
	mu         sync.Mutex
	current    string
	registered int
	opens      int
}

func (s *sessions) mux(t *testing.T) *http.ServeMux {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+api.PathClients, func(w http.ResponseWriter, r *http.Request) {
		var who api.Client
		if err := json.NewDecoder(r.Body).Decode(&who); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.registered++
		if who.Open != nil {
			s.opens++
		}
		s.current = "client-" + string(rune('0'+s.registered))
		if who.Env["OPENAI_API_KEY"] != "k" {
			t.Errorf("the variables are lost: %v", who.Env)
		}
		answer(w, api.Session{Client: s.current, AgentID: "agent-1"})
	})
	mux.HandleFunc("GET /v1/tags", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Header.Get(api.HeaderClient) != s.current {
			w.Header().Set(api.HeaderError, api.KindPrecondition)
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		answer(w, []string{"ok"})
	})
	return mux
}

func TestAForgottenSessionIsRegisteredAgainOnce(t *testing.T) {
	t.Parallel()
	var s sessions
	c := clientOf(t, s.mux(t))
	who := api.Client{Kind: api.ClientChat, Env: map[string]string{"OPENAI_API_KEY": "k"}, Open: &api.Open{Agent: api.OpenNew}}
	if _, err := c.Register(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.current = "forgotten by a restart"
	s.mu.Unlock()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, err := c.Tags(t.Context(), api.ListTags{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registered != 2 || s.opens != 1 {
		t.Errorf("registered %d times, %d with open; want 2 and 1", s.registered, s.opens)
	}
}

func TestWithoutASessionA412IsJustAnError(t *testing.T) {
	t.Parallel()
	s := sessions{current: "another"}
	if _, err := clientOf(t, s.mux(t)).Tags(t.Context(), api.ListTags{}); KindOf(err) != api.KindPrecondition {
		t.Errorf("%v", err)
	}
}

func TestAnotherVersionIsToldOnce(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderVersion, "2")
		answer(w, api.Status{})
	})
	socket := socketIn(t)
	serve(t, socket, mux)
	var lines []string
	c := New(Options{Socket: socket, Version: "1", Notify: func(l string) { lines = append(lines, l) }})
	defer c.Close()
	for range 3 {
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(lines) != 1 {
		t.Errorf("told %q", lines)
	}
}
