package client

import (
	"net/http"
	"testing"

	"loci/daemon/api"
)

// BenchmarkFirstCall is what a command pays for a new client, a connection and one small call.
func BenchmarkFirstCall(b *testing.B) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api.PathStatus, func(w http.ResponseWriter, _ *http.Request) { answer(w, api.Status{Ready: true}) })
	socket := socketIn(b)
	serve(b, socket, mux)
	for b.Loop() {
		c := New(Options{Socket: socket})
		if _, err := c.Status(b.Context()); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

// BenchmarkStream is what one event of a stream costs, from the socket to the message.
func BenchmarkStream(b *testing.B) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		for i := range int64(b.N) {
			event(w, text(i+1, "a few words"))
		}
		raw(w, "data: [DONE]\n\n")
	})
	socket := socketIn(b)
	serve(b, socket, mux)
	c := New(Options{Socket: socket})
	defer c.Close()
	b.ReportAllocs()
	b.ResetTimer()
	for _, err := range c.Events(b.Context(), "run-1", 0) {
		if err != nil {
			b.Fatal(err)
		}
	}
}
