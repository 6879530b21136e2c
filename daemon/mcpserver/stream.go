package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one program over a pair of streams until that program closes its side, and what it asked for is answered, or
// ctx ends.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	open := &openRequests{ids: map[string]bool{}}
	open.changed.L = &open.mu
	defer context.AfterFunc(ctx, open.end)()
	answers := &responses{Closer: out, out: out, open: open}
	asked := &requests{Closer: in, lines: bufio.NewReader(in), open: open, out: answers}
	err := New(cfg).Run(ctx, &mcp.IOTransport{Reader: asked, Writer: answers})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// openRequests are the requests without an answer: a program such as a shell's pipe closes its side before it has them all.
type openRequests struct {
	mu      sync.Mutex // guards the rest
	changed sync.Cond
	ids     map[string]bool
	ended   bool // nobody waits any more
}

func (o *openRequests) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.changed.Broadcast()
}

func (o *openRequests) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.ids) > 0 && !o.ended {
		o.changed.Wait()
	}
}

// note takes a line of the program's, or of ours.
func (o *openRequests) note(line []byte, ours bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case m.Method == "notifications/cancelled" && !ours:
		delete(o.ids, string(m.Params.RequestID)) // it gets no answer
	case len(m.ID) > 0 && m.Method != "" && !ours:
		o.ids[string(m.ID)] = true
	case len(m.ID) > 0 && m.Method == "" && ours:
		delete(o.ids, string(m.ID))
	}
	o.changed.Broadcast()
}

// requests are whole lines, each a message of the protocol. What is none is answered as such and goes no further: the protocol's
// own reader would end at it. Their end is told once all are answered.
type requests struct {
	io.Closer
	lines *bufio.Reader
	open  *openRequests
	out   *responses
	rest  []byte // of the message that is being read
	err   error
}

func (r *requests) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			r.open.wait()
			return 0, r.err
		}
		var line []byte
		line, r.err = r.line()
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if fault := faultOf(line); fault != "" {
			r.out.refuse(fault)
			continue
		}
		r.open.note(line, false)
		r.rest = append(line, '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// line reads a line. Of one that is too long it keeps so much that it is seen to be.
func (r *requests) line() (line []byte, err error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line) <= maxRequest {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// faultOf is the response to a line that is no message of the protocol; empty: it is one.
func faultOf(line []byte) string {
	const response = `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}` + "\n"
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
	}
	switch {
	case len(line) > maxRequest:
		return fmt.Sprintf(response, -32600, "a request of over 4 MB")
	case !json.Valid(line):
		return fmt.Sprintf(response, -32700, "this is no JSON")
	case json.Unmarshal(line, &m) != nil || m.Version != "2.0" || len(m.ID) > 0 && (m.ID[0] == '{' || m.ID[0] == '['):
		return fmt.Sprintf(response, -32600, "this is no request of JSON-RPC 2.0; several at once are not taken either")
	}
	return ""
}

// responses are written one at a time.
type responses struct {
	io.Closer
	mu   sync.Mutex // guards out
	out  io.Writer
	open *openRequests
}

func (r *responses) Write(p []byte) (int, error) {
	r.mu.Lock()
	n, err := r.out.Write(p)
	r.mu.Unlock()
	if err != nil {
		r.open.end() // nobody reads what is still to come
	}
	for line := range bytes.SplitSeq(p, []byte("\n")) {
		r.open.note(line, true)
	}
	return n, err
}

func (r *responses) refuse(response string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.out, response) // a program that doesn't read learns nothing
}
