package client

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"loci/daemon/api"
)

func TestADaemonThatTakesConnectionsAndSaysNothingIsNamed(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket) // its backlog takes connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c := New(Options{Socket: socket, Patience: 100 * time.Millisecond})
	t.Cleanup(c.Close)
	for name, call := range map[string]func() error{
		"a call":   func() error { _, err := c.Agents(t.Context(), api.ListAgents{}); return err },
		"a stream": func() error { _, err := said(c.Stream(t.Context(), Target{AgentID: "agent-1"}, hello())); return err },
	} {
		err := call()
		var e *Error
		if !errors.Is(err, ErrSilent) || !errors.As(err, &e) || e.Kind != api.KindTimeout || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADaemonThatStopsInTheMiddleOfAnAnswerIsNamed(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		event(w, text(1, "a"))
		<-r.Context().Done()
	})
	mux.HandleFunc("GET "+api.PathStatus, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := clientOf(t, mux)
	c.opts.Patience = 100 * time.Millisecond
	if got, err := said(c.Events(t.Context(), "run-1", 0)); !errors.Is(err, ErrSilent) || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestADaemonThatLivesMayThinkForLong(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	asked := make(chan struct{}, 64)
	mux.HandleFunc("GET "+api.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, api.Status{})
		asked <- struct{}{}
	})
	mux.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, _ *http.Request) {
		<-asked // before its first byte
		event(w, text(1, "a"))
		<-asked // and in its midst
		<-asked
		event(w, text(2, "b"))
		raw(w, "data: [DONE]\n\n")
	})
	c := clientOf(t, mux)
	c.opts.Patience = 500 * time.Millisecond
	if got, err := said(c.Events(t.Context(), "run-1", 0)); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
