package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/daemon/api"
)

func TestRegisteringOutlivesADaemonThatWasJustKilled(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+api.PathClients, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		answer(w, api.Session{Client: "client-1"})
	})
	c := clientOf(t, mux)
	session, err := c.Register(t.Context(), api.Client{Kind: "script"})
	if err != nil || session.Client != "client-1" || calls.Load() != 2 {
		t.Errorf("got %+v after %d calls, %v", session, calls.Load(), err)
	}
	calls.Store(0)
	if _, err := c.Register(t.Context(), api.Client{Kind: "script", Open: &api.Open{Agent: api.OpenNew}}); err == nil || calls.Load() != 1 {
		t.Errorf("what makes an agent was sent %d times, %v", calls.Load(), err)
	}
}

func TestTheModeGoesAlongAndTheRulesOfAnAnswerOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var known string
	var modes []string
	var allowed [][]string
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+api.PathClients, func(w http.ResponseWriter, r *http.Request) {
		var who api.Client
		if err := json.NewDecoder(r.Body).Decode(&who); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		allowed = append(allowed, who.Allow)
		known = fmt.Sprint("client-", len(allowed))
		answer(w, api.Session{Client: known})
	})
	run := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get(api.HeaderClient) != known {
			w.Header().Set(api.HeaderError, api.KindPrecondition)
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		modes = append(modes, r.Header.Get(api.HeaderMode))
		event(w, stop(1))
		raw(w, "data: [DONE]\n\n")
	}
	mux.HandleFunc("POST "+api.PathConversations+"/{id}/approvals", run)
	mux.HandleFunc("POST /v1/conversations/{id}/messages", run)
	c := clientOf(t, mux)
	if _, err := c.Register(t.Context(), api.Client{Kind: api.ClientChat, Allow: []string{"fetch"}}); err != nil {
		t.Fatal(err)
	}
	to := Target{ConversationID: "conv-1"}
	decide := func(scope string, rules ...string) {
		t.Helper()
		d := api.Decision{ToolCallID: "call-1", Approve: new(true), Rules: rules, Scope: scope}
		if _, err := said(c.Answer(InMode(t.Context(), "plan"), to, api.AnswerRequest{Approvals: []api.Decision{d}})); err != nil {
			t.Fatal(err)
		}
	}
	decide(api.ScopeSession, "shell(make *)", "fetch")
	decide(api.ScopeFolder, "shell(rm *)") // the daemon keeps it
	mu.Lock()
	known = "none, after a restart"
	mu.Unlock()
	if _, err := said(c.Stream(t.Context(), to, hello())); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([][]string{{"fetch"}, {"fetch", "shell(make *)"}}, allowed); diff != "" {
		t.Errorf("registered with (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"plan", "plan", ""}, modes); diff != "" {
		t.Errorf("sent in (-want +got):\n%s", diff)
	}
}
