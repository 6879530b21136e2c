package anthropic_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"loci/providers/anthropic"
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
	resp, _ := canned(start + text + stop).RoundTrip(req)
	if p.field != "" && bytes.Contains(p.last, []byte(p.field)) {
		p.times++
		said := `{"type":"error","error":{"type":"invalid_request_error","message":"` + strings.ReplaceAll(p.words, `"`, `\"`) + `"}}`
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(strings.NewReader(said))
	}
	return resp, nil
}

func options(through http.RoundTripper) protocol.Options {
	return protocol.Options{Provider: "anthropic", BaseURL: "http://claude.test/v1", HTTP: through}
}

// sse is events of a stream.
func sse(bodies ...string) string {
	var b strings.Builder
	for _, body := range bodies {
		name, _, _ := strings.Cut(strings.TrimPrefix(body, `{"type":"`), `"`)
		b.WriteString("event: " + name + "\ndata: " + body + "\n\n")
	}
	return b.String()
}

// Pieces of a stream.
var (
	start = sse(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],` +
		`"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2},"output_tokens":1}}}`)
	text = sse(
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`,
		`{"type":"content_block_stop","index":0}`,
	)
	stop = sse(
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`,
		`{"type":"message_stop"}`,
	)
	call = sse(
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"clock","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`,
	)
	thought = sse(
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}`,
	)
	busy = sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
)

const whole = `{"type":"message","content":[{"type":"thinking","thinking":"Hm.","signature":"s1"},{"type":"text","text":"Hello"}],` +
	`"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":7}}`

func FuzzStreams(f *testing.F) {
	for _, s := range []string{
		start + text + stop, start + thought + call + stop, strings.ReplaceAll(start+text+stop, "\n",
			"\r\n"), whole, "data: {}\n\n", ": x\n\n",
		busy, "data: " +
			"[DONE]\n",
		start + "data: {\"type\":\"content_block_delta\",\"index\":-1,\"delta\":{\"type\":\"text_delta\",\"text\":1}}\n\n" + stop,
		strings.ReplaceAll(whole, "end_turn", "pause_turn"), `{"type":"message","content":[null,1,{}],"stop_reason":"refusal","usage":[]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := anthropic.New(protocol.Options{Provider: "vendor", BaseURL: "http://127.0.0.1/v1", HTTP: canned(data)}, anthropic.Quirks{})
		if _, err := providertest.Collect(t.Context(), t, c, providertest.Ask("claude-opus-5-5", "x")); err != nil &&
			len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
