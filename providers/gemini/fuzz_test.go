package gemini_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/providers/gemini"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// canned answers every request with the same bytes, without a network.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

// picky refuses requests with a field, in its words.
type picky struct {
	field, words string
	last         []byte
	times        int
}

func (p *picky) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	if p.last, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	resp, _ := canned(sse(hello, stop)).RoundTrip(req)
	if p.field != "" && bytes.Contains(p.last, []byte(p.field)) {
		p.times++
		said := `{"error":{"code":400,"message":"` + strings.ReplaceAll(p.words, `"`, `\"`) + `","status":"INVALID_ARGUMENT"}}`
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(strings.NewReader(said))
	}
	return resp, nil
}

func options(through http.RoundTripper) protocol.Options {
	return protocol.Options{Provider: "google_ai", BaseURL: "http://gemini.test/v1beta", HTTP: through}
}

// sse is events of a stream.
func sse(bodies ...string) string {
	return "data: " + strings.Join(bodies, "\r\n\r\ndata: ") + "\r\n\r\n"
}

// Pieces of a stream.
const (
	hello   = `{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10}}`
	thought = `{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true}],"role":"model"},"index":0}]}`
	call    = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"clock","args":{"city": "Rome"}},"thoughtSignature":"c2ln"}]}}]}`
	stop    = `{"candidates":[{"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,` +
		`"candidatesTokenCount":7,"thoughtsTokenCount":5,"toolUsePromptTokenCount":2,"totalTokenCount":24}}`
	busy = `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
)

// read reads a canned answer.
func read(t *testing.T, body string) (providertest.Answer, error) {
	t.Helper()
	return providertest.Collect(t.Context(), t, gemini.New(options(canned(body)), gemini.Quirks{}),
		providertest.Ask("gemini-3.8-flash", "x"))
}

func FuzzStreams(f *testing.F) {
	for _, s := range []string{
		sse(hello, stop), sse(thought, call, stop), sse(call, call, stop), hello,
		strings.Replace(hello, `"index":0`, `"finishReason":"STOP"`, 1),
		sse(busy), sse(hello, busy), "data: {}\n\n", "data: [DONE]\n", "[" + hello + "]", `{"promptFeedback":{"blockReason":"SAFETY"}}`,
		`{"candidates":[{"content":{"parts":[null,1,{},{"functionCall":null},{"text":1}]},"finishReason":"STOP"}],"usageMetadata":[]}`,
		sse(strings.Replace(stop, "STOP", "MALFORMED_FUNCTION_CALL", 1)), `{"candidates":null}`, `{"candidates":[null]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := gemini.New(protocol.Options{Provider: "vendor", BaseURL: "http://127.0.0.1/v1beta", HTTP: canned(data)}, gemini.Quirks{})
		a, err := providertest.Collect(t.Context(), t, c, providertest.Ask("gemini-3.8-flash", "x"))
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		if a.Native == nil {
			return
		}
		req := providertest.Ask("gemini-3.8-flash", "x")
		req.Messages = append(req.Messages, providertest.Continue(a, "x")...)
		seen := &picky{}
		_, err = providertest.Collect(t.Context(), t, gemini.New(options(seen), gemini.Quirks{}), req)
		if err != nil || !json.Valid(seen.last) {
			t.Errorf("it can't go back: %v", err)
		}
	})
}

func FuzzSchemas(f *testing.F) {
	for _, c := range schemas {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		seen := &picky{}
		req := providertest.Ask("gemini-3.8-flash", "x")
		req.Tools = []core.ToolSpec{{Name: "odd", Parameters: data}}
		if _, err := providertest.Collect(t.Context(), t, gemini.New(options(seen), gemini.Quirks{}), req); err != nil {
			t.Error(err)
		}
		if len(seen.last) > 4<<20 {
			t.Errorf("%d bytes became %d", len(data), len(seen.last))
		}
	})
}
