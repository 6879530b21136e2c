package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"loci/core"
	"loci/providers/internal/wire"
)

// exchange is passed in a request's context: how to edit the request, and the watch over its answer.
type exchange struct {
	who   wire.Who
	set   map[string]any            // fields that go-openai can't put into the JSON
	wrap  func(whole []byte) []byte // turns an answer that wasn't streamed into one event
	whole bool
	watch *wire.Watch

	status int // of a refusal
	alive  wire.KeepAlives
	ended  bool // the server has said that the answer is complete
}

type exchangeKey struct{}

// transport is the one place that works around go-openai. Going out, it edits the JSON and sets headers. Coming in, it
// turns a failure status into a typed error with its Retry-After, strips comments and event lines, joins multi-line
// events, terminates the last line, and turns errors inside a stream into typed errors and answers that weren't streamed
// into one event.
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
	wire.Unpack(resp)
	if resp.StatusCode >= 300 {
		x.status = resp.StatusCode
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(x.watch.Reader(resp.Body), wire.MaxError)) // whatever was read is good enough
		return nil, x.who.Status(resp.StatusCode, resp.Header, body)
	}
	resp.Body = &mender{x: x, body: resp.Body, lines: wire.NewLines(x.watch.Reader(resp.Body))}
	return resp, nil
}

// prepare edits the outgoing request. Keys are sorted, so equal requests have equal bytes.
func (x *exchange) prepare(req *http.Request) error {
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
		if body[field], err = wire.Encode(value); err != nil {
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

// join writes an object whose values are already encoded, so the messages of a long conversation aren't parsed again.
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

// mender is the body that go-openai reads: data lines only.
type mender struct {
	x       *exchange
	body    io.Closer
	lines   *wire.Lines
	pending []byte
	begun   bool
	event   string // name of the event whose data is arriving
	part    []byte // data that isn't complete JSON yet: more lines follow
	stray   []byte // lines that aren't part of an event, as long as there was none
	heard   bool   // an event has arrived
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
		m.last(err)
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
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data":
		m.data(bytes.TrimSpace(value))
	case "event":
		m.event = string(bytes.TrimSpace(value))
	case "":
		if len(line) == 0 {
			m.dispatch()
			m.event = ""
		}
		m.comment()
	case "id", "retry":
	default:
		m.comment()
		if !m.heard && len(m.stray)+len(line) < wire.MaxError {
			m.stray = append(append(m.stray, line...), '\n')
		}
	}
}

func (m *mender) comment() {
	if err := m.x.alive.Note(); err != nil {
		m.err = err
	}
}

// last ends the body. An answer that wasn't a stream at all is treated as the server's message.
func (m *mender) last(err error) {
	if errors.Is(err, io.EOF) {
		m.dispatch()
		if words := bytes.TrimSpace(m.stray); !m.heard && len(words) > 0 {
			err = m.x.who.InBand(words)
		}
	}
	if m.err == nil {
		m.err = err
	}
}

// data takes one line of an event. JSON is an event as soon as it is complete, with or without the blank line; anything
// but JSON is an error in words.
func (m *mender) data(line []byte) {
	if len(line) == 0 {
		return
	}
	switch {
	case len(m.part) > 0:
		m.part = append(append(m.part, '\n'), line...)
		if len(m.part) > wire.MaxLine {
			m.err = wire.ErrLineTooLong
		}
	case string(line) == "[DONE]":
		m.x.ended, m.heard = true, true
		m.emit(line)
		return
	case line[0] == '{' || line[0] == '[':
		m.part = append(m.part[:0], line...)
	case m.event == "ping" || m.event == "heartbeat" || m.event == "keepalive":
		return
	default:
		m.err = m.x.who.InBand(line)
		return
	}
	if json.Valid(m.part) {
		m.dispatch()
	}
}

// dispatch passes on the collected event.
func (m *mender) dispatch() {
	if len(m.part) == 0 || m.err != nil {
		return
	}
	event := m.part
	if bytes.IndexByte(event, '\n') >= 0 {
		var one bytes.Buffer
		if json.Compact(&one, event) == nil {
			event = one.Bytes()
		}
	}
	m.part, m.heard = m.part[:0], true
	if e := m.inBand(event); e != nil {
		m.err = e
		return
	}
	m.emit(event)
}

// whole reads an answer that is a single JSON text instead of a stream.
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
	m.x.ended = true
	m.emit(m.x.wrap(one.Bytes()))
	m.pending = append(m.pending, "data: [DONE]\n\n"...)
}

func (m *mender) emit(data []byte) {
	m.pending = append(m.pending[:0], "data: "...)
	if rest, ok := bytes.CutPrefix(data, []byte(`{"error":`)); ok { // it is null, or we wouldn't be here; but go-openai looks at the bytes
		m.pending = append(m.pending, `{ "error":`...)
		data = rest
	}
	m.pending = append(m.pending, data...)
	m.pending = append(m.pending, "\n\n"...)
}

// inBand finds an error inside an answer that began successfully.
func (m *mender) inBand(data []byte) *core.Error {
	if m.event == "error" {
		return m.x.who.InBand(data)
	}
	if !bytes.Contains(data, []byte(`"error"`)) {
		return nil
	}
	var e struct {
		Type   string          `json:"type"`
		Object string          `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	readable := json.Unmarshal(data, &e) == nil // if not, the reader of the event reports it
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
