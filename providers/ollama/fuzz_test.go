package ollama_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"loci/providers/ollama"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// canned answers every request with the same bytes, without a network.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

func FuzzStreams(f *testing.F) {
	for _, s := range []string{
		say("hi") + end, end, `{"error":"x"}`,
		`{"message":{"tool_calls":[{"function":{"name":"clock","arguments":{"a":[1]}}}]},"done":true}`, "{}\n\n[]\n",
		say("<tool_call>{\"name\":\"clock\"}</tool_call>") + end, say("<think>hm") + end, `{"done":true,"done_reason":"length"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := ollama.New(protocol.Options{Provider: "ollama", BaseURL: "http://127.0.0.1", HTTP: canned(data)})
		if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x")); err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

func FuzzListings(f *testing.F) {
	for _, s := range []string{
		`{"models":[{"name":"a","context_length":4096},{"name":7},null]}`,
		`{"models":[{"name":"b"}],"capabilities":["embedding"],"parameters":"num_ctx 1e9"}`,
		`{"models":[{"name":"c"}],"capabilities":["completion","tools","thinking"],"parameters":"num_ctx -4",` +
			`"model_info":{"general.architecture":"x","x.context_length":1e300}}`,
		`{"models":[{"name":"d:latest","context_length":-1}],"model_info":{"general.architecture":"x","x.context_length":-8}}`, "<html>",
		"[", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := ollama.New(protocol.Options{Provider: "ollama", BaseURL: "http://127.0.0.1", HTTP: canned(data)})
		l, err := c.List(t.Context())
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		for _, m := range l.Models {
			if m.Name == "" || m.Window <= 0 || m.MaxOutput < 0 || m.Forced && !m.Tools {
				t.Errorf("%q: %+v", data, m)
			}
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
