package openai_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"loci/providers/openai"
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
		whole, responsesOK, strings.ReplaceAll(whole, "\n", "\r\n"), `{"choices":[]}`, `data: {"error":null}`, "data: [DONE]",
		": x\ndata:\ndata: []\n",
		calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"function":{"arguments":"}"}}`) + endChunk,
		`data: {"type":"response.completed"}`,
		`data: {"choices":[{"delta":{"reasoning_details":[{"index":0,"text":"a"},{"index":0,"text":"b"},null]},"finish_reason":"stop"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, q := range []openai.Quirks{{History: openai.HistoryDetails}, {Wire: openai.Responses}} {
			c := openai.New(protocol.Options{Provider: "vendor", BaseURL: "http://127.0.0.1/v1", HTTP: canned(data)}, q)
			if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("m", "x")); err != nil && len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		}
	})
}
