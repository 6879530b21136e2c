package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errLongLine = errors.New("a request of over 4 MB")

// Serve serves one program over a pair of streams until that program closes its side, and what it asked for is answered, or
// ctx ends.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	open := &openRequests{ids: map[string]bool{}}
	open.changed.L = &open.mu
	defer context.AfterFunc(ctx, open.end)()
	err := New(cfg).Run(ctx, &mcp.IOTransport{Reader: &requests{ReadCloser: in, open: open}, Writer: &responses{out, open}})
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

// requests are lines of bounded length. Their end is told once all are answered.
type requests struct {
	io.ReadCloser
	open *openRequests
	line []byte
}

func (r *requests) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	for rest := p[:n]; ; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(r.line)+len(line) > maxRequest {
			return 0, errLongLine
		}
		if r.line = append(r.line, line...); !ended {
			break
		}
		r.open.note(r.line, false)
		r.line, rest = r.line[:0], after
	}
	if err != nil {
		r.open.note(r.line, false)
		r.line = nil
		r.open.wait()
	}
	return n, err
}

// responses are written one at a time.
type responses struct {
	io.WriteCloser
	open *openRequests
}

func (r *responses) Write(p []byte) (int, error) {
	n, err := r.WriteCloser.Write(p)
	if err != nil {
		r.open.end() // nobody reads what is still to come
	}
	for line := range bytes.SplitSeq(p, []byte("\n")) {
		r.open.note(line, true)
	}
	return n, err
}
