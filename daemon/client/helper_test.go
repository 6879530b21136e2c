package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/ipc"
)

// socketIn is a short path in a folder of its own.
func socketIn(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "loci") //nolint:usetesting // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return filepath.Join(dir, "run", "loci.sock")
}

// serve answers on a socket until the test ends, or until the function it gives is called.
func serve(tb testing.TB, socket string, h http.Handler) (stop func()) {
	tb.Helper()
	l, err := ipc.Listen(tb.Context(), socket)
	if err != nil {
		tb.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) })
	stop = sync.OnceFunc(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
		served.Wait()
	})
	tb.Cleanup(stop)
	return stop
}

// clientOf is a client of a server with these handlers.
func clientOf(t *testing.T, mux *http.ServeMux) *Client {
	t.Helper()
	socket := socketIn(t)
	serve(t, socket, mux)
	c := New(Options{Socket: socket, Version: "1"})
	t.Cleanup(c.Close)
	return c
}

func answer(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// event writes one event and sends it off.
func event(w http.ResponseWriter, m api.Message) {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	raw(w, "data: "+string(data)+"\n\n")
}

func raw(w http.ResponseWriter, text string) {
	_, _ = fmt.Fprint(w, text) // the reader may have gone
	w.(http.Flusher).Flush()
}

func text(seq int64, s string) api.Message {
	return api.Message{MessageType: api.MessageAssistant, ID: "message-1", RunID: "run-1", SeqID: seq, Content: api.Text(s)}
}

func stop(seq int64) api.Message {
	return api.Message{MessageType: api.MessageStopReason, RunID: "run-1", SeqID: seq, StopReason: api.StopEndTurn}
}

func usage(seq int64) api.Message {
	return api.Message{MessageType: api.MessageUsage, RunID: "run-1", SeqID: seq, Usage: &api.Usage{TotalTokens: 3}}
}
