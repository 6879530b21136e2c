package client

import (
	"net/http"
	"sync/atomic"
	"testing"

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
