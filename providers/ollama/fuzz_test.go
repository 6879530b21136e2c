package ollama_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"loci/providers/ollama"
	"loci/providers/providertest"
)

// canned answers every request with the same bytes, without a network.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

func FuzzStreams(f *testing.F) {
	for _, s := range []string{
		say("hi") + end, end, `{"error":"x"}`, `{"message":{"tool_calls":[{"function":{"name":"clock","arguments":{"a":[1]}}}]},"done":true}`, "{}\n\n[]\n",
		say("<tool_call>{\"name\":\"clock\"}</tool_call>") + end, say("<think>hm") + end, `{"done":true,"done_reason":"length"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := ollama.New(ollama.Options{Provider: "ollama", BaseURL: "http://127.0.0.1", HTTP: canned(data)})
		if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x")); err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"", ":1", "[::1]:2", "http://a/b", "a@b:c", "//", "[", "0.0.0.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		base, err := ollama.BaseURL(host)
		if (err == nil) == (base == "") {
			t.Errorf("%q: %q %v", host, base, err)
		}
		if err != nil {
			return
		}
		if again, err := ollama.BaseURL(base); err != nil || again != base {
			t.Errorf("%q: %q is read as %q %v", host, base, again, err)
		}
	})
}
