package server

import "testing"

// BenchmarkNew watches what registering all operations costs: it is part of every start of the daemon. Over 40 ms,
// register a noun's operations at its first request.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Config{Version: "test"})
	}
}
