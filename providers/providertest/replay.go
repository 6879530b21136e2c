package providertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Recorded is a line of an exported trace, as far as it can be played again.
type Recorded struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Request struct {
		Body string `json:"body"`
	} `json:"request"`
	Status   int `json:"status"`
	Response struct {
		Header http.Header `json:"header"`
		Body   string      `json:"body"`
	} `json:"response"`
}

// ReadTraces reads the lines of an export.
func ReadTraces(tb testing.TB, lines []byte) []Recorded {
	tb.Helper()
	var out []Recorded
	scan := bufio.NewScanner(bytes.NewReader(lines))
	scan.Buffer(nil, 64<<20)
	for scan.Scan() {
		var one Recorded
		if err := json.Unmarshal(scan.Bytes(), &one); err != nil {
			tb.Fatalf("a line of the export: %v", err)
		}
		out = append(out, one)
	}
	if err := scan.Err(); err != nil {
		tb.Fatal(err)
	}
	return out
}

// Replay starts a server that answers each recorded request once, with what was answered then. Another request to the same place is a
// failure of the test; elsewhere, a scripted server answers. Left returns how many were not made yet.
func Replay(tb testing.TB, recorded []Recorded) (base string, left func() int) {
	tb.Helper()
	var mu sync.Mutex
	waiting := slices.Clone(recorded)
	places := map[string]bool{}
	for _, one := range recorded {
		u, err := url.Parse(one.URL)
		if err != nil {
			tb.Fatal(err)
		}
		places[u.Path] = true
	}
	other := NewServer(tb)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !places[r.URL.Path] {
			other.serve(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		i := slices.IndexFunc(waiting, func(one Recorded) bool {
			u, err := url.Parse(one.URL)
			return err == nil && one.Method == r.Method && u.RequestURI() == r.URL.RequestURI() && one.Request.Body == string(body)
		})
		if i < 0 {
			tb.Errorf("nobody recorded %s %s with %s", r.Method, r.URL, body)
			http.NotFound(w, r)
			return
		}
		for name, values := range waiting[i].Response.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(waiting[i].Status)
		_, _ = io.WriteString(w, waiting[i].Response.Body) // a client that has left needs no answer
		waiting = slices.Delete(waiting, i, i+1)
	}))
	tb.Cleanup(s.Close)
	return s.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(waiting)
	}
}
