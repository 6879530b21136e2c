package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"loci/core"
	"loci/providers/internal/wire"
)

// exchange travels in the context of a request: what to change in it, and who watches over its answer.
type exchange struct {
	who     wire.Who
	headers map[string]string
	set     map[string]any            // fields of the outgoing JSON that go-openai cannot make
	wrap    func(whole []byte) []byte // an answer that did not stream, as one event
	whole   bool
	watch   *wire.Watch
}

type exchangeKey struct{}

// transport is the one place where go-openai's wire is mended. Going out it edits the JSON and sets headers. Coming in
// it turns a failure status into a typed error with its Retry-After, strips comments and event lines, ends the last
// line, turns errors inside a stream into typed errors and answers that did not stream into one event.
type transport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return t.base.RoundTrip(req)
	}
	out := req.Clone(req.Context())
	if err := x.prepare(out); err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(out)
	x.watch.Pause()
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(x.watch.Reader(resp.Body), wire.MaxError)) // what came is what there is to say
		return nil, x.who.Status(resp.StatusCode, resp.Header, body)
	}
	resp.Body = &mender{x: x, body: resp.Body, lines: wire.NewLines(x.watch.Reader(resp.Body))}
	return resp, nil
}

// prepare edits the outgoing request. Keys come out sorted, so equal requests have equal bytes.
func (x *exchange) prepare(req *http.Request) error {
	for name, value := range x.headers {
		req.Header.Set(name, value)
	}
	if req.Body == nil {
		return nil
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	for field, value := range x.set {
		if body[field], err = encode(value); err != nil {
			return err
		}
	}
	if x.whole {
		body["stream"] = json.RawMessage("false")
		delete(body, "stream_options")
	}
	raw = join(body)
	req.ContentLength = int64(len(raw))
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return nil
}

// join writes an object whose values are written already: the messages of a long conversation are not read again.
func join(body map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, field := range slices.Sorted(maps.Keys(body)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(field))
		b.WriteByte(':')
		b.Write(body[field])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encode writes JSON without escaping <, > and &: the same text in fewer bytes.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mender is the body that go-openai reads: nothing but data lines.
type mender struct {
	x       *exchange
	body    io.Closer
	lines   *wire.Lines
	pending []byte
	begun   bool
	err     error
}

// Read implements io.Reader.
func (m *mender) Read(p []byte) (int, error) {
	for len(m.pending) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		m.fill()
	}
	n := copy(p, m.pending)
	m.pending = m.pending[n:]
	return n, nil
}

// Close implements io.Closer.
func (m *mender) Close() error { return m.body.Close() }

func (m *mender) fill() {
	line, err := m.lines.Next()
	if err != nil {
		m.err = err
		return
	}
	line = bytes.TrimLeft(line, " \t\ufeff")
	if !m.begun && len(line) > 0 {
		m.begun = true
		if line[0] == '{' || line[0] == '[' {
			m.whole(line)
			return
		}
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return // a comment, an event name, a blank line
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return
	}
	if e := m.inBand(data); e != nil {
		m.err = e
		return
	}
	m.emit(data)
}

// whole reads an answer that is one JSON text in place of a stream.
func (m *mender) whole(first []byte) {
	raw, err := m.lines.Rest(first)
	if err != nil {
		m.err = err
		return
	}
	var one bytes.Buffer
	if json.Compact(&one, raw) != nil {
		m.err = m.x.who.Cut()
		return
	}
	if e := m.inBand(one.Bytes()); e != nil {
		m.err = e
		return
	}
	m.emit(m.x.wrap(one.Bytes()))
	m.pending = append(m.pending, "data: [DONE]\n\n"...)
}

func (m *mender) emit(data []byte) {
	m.pending = append(m.pending[:0], "data: "...)
	if rest, ok := bytes.CutPrefix(data, []byte(`{"error":`)); ok { // null, or it would not be here; go-openai looks at the bytes
		m.pending = append(m.pending, `{ "error":`...)
		data = rest
	}
	m.pending = append(m.pending, data...)
	m.pending = append(m.pending, "\n\n"...)
}

// inBand finds an error inside an answer that began well.
func (m *mender) inBand(data []byte) *core.Error {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	var e struct {
		Type   string          `json:"type"`
		Object string          `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	readable := json.Unmarshal(data, &e) == nil // if not, whoever reads the event says so
	named := len(e.Error) > 0 && string(e.Error) != "null" && string(e.Error) != `""`
	switch {
	case !readable:
	case e.Type == "error", e.Object == "error":
		return m.x.who.InBand(data)
	case named && e.Object != "response" && e.Type == "":
		return m.x.who.InBand(data)
	}
	return nil
}
