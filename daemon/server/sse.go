package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"loci/core"
	"loci/daemon/api"
)

// sseItem is one event of a stream; seq is 0 if the stream isn't numbered.
type sseItem struct {
	seq   int64
	value any
}

// sseStream describes a stream.
type sseStream struct {
	items iter.Seq2[sseItem, error]
	ping  func(last int64) any              // what to send after a period of silence; nil: nothing
	greet bool                              // send a ping at once, so that the client learns what it is following
	fail  func(last int64, err error) []any // what to send if the items end with an error; nil: nothing
	done  bool                              // the stream has an end, which is marked
	cut   func(err error) bool              // whether it breaks off at an error, for its reader to ask again; nil: it never does
}

// writeSSE is the only function that writes streams. It returns when the items end or the client leaves; by then its
// goroutine, which reads the items, has ended.
func (s *Server) writeSSE(ctx context.Context, w http.ResponseWriter, st sseStream) {
	out := newSSEWriter(w)
	ctx, cancel := context.WithCancel(ctx)
	items := make(chan result)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(items)
		for item, err := range guarded(st.items) {
			select {
			case items <- result{item, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer wg.Wait()
	defer cancel()

	last := int64(0)
	if st.greet && st.ping != nil {
		out.send(st.ping(last))
	}
	timer := time.NewTimer(s.cfg.Ping)
	defer timer.Stop()
	for out.err == nil {
		select {
		case <-ctx.Done():
			return
		case r, ok := <-items:
			switch {
			case !ok:
				out.finish(st.done)
				return
			case r.err != nil:
				s.failed(ctx, out, st, last, r.err)
				return
			}
			if r.item.seq > 0 {
				last = r.item.seq
			}
			out.send(r.item.value)
			timer.Reset(s.cfg.Ping)
		case <-timer.C:
			if st.ping != nil {
				out.send(st.ping(last))
			}
			timer.Reset(s.cfg.Ping)
		}
	}
}

// guarded turns a panic in a sequence into an error: in the goroutine that reads the sequence, nobody else would
// catch it.
func guarded(items iter.Seq2[sseItem, error]) iter.Seq2[sseItem, error] {
	return func(yield func(sseItem, error) bool) {
		more := true
		err := caught(func() {
			items(func(item sseItem, err error) bool {
				more = yield(item, err)
				return more
			})
		})
		if err != nil && more {
			yield(sseItem{}, err)
		}
	}
}

// caught runs f and turns a panic into an error.
func caught(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = core.E(core.Internal, "what feeds a stream panicked: %v\n%s", v, debug.Stack())
		}
	}()
	f()
	return nil
}

type result struct {
	item sseItem
	err  error
}

// failed reports an error in the middle of a stream, unless the cause is that the client left.
func (s *Server) failed(ctx context.Context, out *sseWriter, st sseStream, last int64, err error) {
	if ctx.Err() != nil || st.fail == nil {
		return
	}
	if st.cut != nil && st.cut(err) {
		return
	}
	logFault(ctx, err)
	for _, v := range st.fail(last, err) {
		out.send(v)
	}
	out.finish(st.done)
}

// sseWriter writes events without an event line, because clients of the contract drop events that have one. Only
// errors have one, because clients raise on nothing else.
type sseWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	err     error
}

func newSSEWriter(w http.ResponseWriter) *sseWriter {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := &sseWriter{w: w, control: http.NewResponseController(w)}
	_ = out.control.SetWriteDeadline(time.Time{}) // a writer without deadlines needs none lifted
	w.WriteHeader(http.StatusOK)
	out.err = out.control.Flush()
	return out
}

func (o *sseWriter) send(v any) {
	if o.err != nil {
		return
	}
	o.buf.Reset()
	if m, ok := v.(api.Message); ok && m.MessageType == api.MessageError {
		o.buf.WriteString("event: error\n")
	}
	o.buf.WriteString("data: ")
	enc := json.NewEncoder(&o.buf)
	enc.SetEscapeHTML(false)
	if o.err = enc.Encode(v); o.err != nil { // ends the line
		return
	}
	o.buf.WriteByte('\n')
	if _, o.err = o.w.Write(o.buf.Bytes()); o.err == nil {
		o.err = o.control.Flush()
	}
}

func (o *sseWriter) finish(marked bool) {
	if o.err != nil || !marked {
		return
	}
	if _, o.err = o.w.Write([]byte("data: [DONE]\n\n")); o.err == nil {
		o.err = o.control.Flush()
	}
}

// runStream is a run's stream as a request asked for it.
type runStream struct {
	run      core.RunID
	frames   iter.Seq2[frame, error]
	shows    shows
	numbered bool // with seq_id, and run_id in every event
	pings    bool
	own      bool // of our own clients
}

// sse converts a run's stream into events to write.
func (rs runStream) sse(now func() time.Time) sseStream {
	st := sseStream{items: rs.items(), fail: rs.fail, done: true}
	if rs.own { // they follow the run on the next daemon, as after a kill
		st.cut = func(err error) bool { return errors.Is(err, core.ErrPaused) }
	}
	if rs.pings {
		st.greet = true
		st.ping = func(last int64) any {
			m := api.Message{MessageType: api.MessagePing, ID: core.NewID[string]("ping"), Date: api.On(now()), RunID: string(rs.run)}
			if rs.numbered {
				m.SeqID = last
			}
			return m
		}
	}
	return st
}

func (rs runStream) items() iter.Seq2[sseItem, error] {
	return func(yield func(sseItem, error) bool) {
		for f, err := range rs.frames {
			if err != nil {
				yield(sseItem{}, err)
				return
			}
			m, ok := rs.shown(f)
			if ok && !yield(sseItem{seq: f.seq, value: m}, nil) {
				return
			}
		}
	}
}

// shown returns the message of a frame, numbered or not, if the request wants it.
func (rs runStream) shown(f frame) (api.Message, bool) {
	m := f.msg
	if rs.numbered {
		m.SeqID = f.seq
	}
	switch f.bound {
	case boundSaved:
		return m, false
	case boundDiscard:
		return m, f.told
	case boundPiece, boundWhole, boundAside:
		return m, rs.shows.takes(m.MessageType)
	case boundEnd:
		if !rs.numbered && m.MessageType != api.MessageError {
			m.RunID = ""
		}
	}
	return m, true
}

// fail ends a stream that can't continue, although its run may.
func (rs runStream) fail(_ int64, err error) []any {
	e := asStatus(err)
	kind := "internal_error"
	if e.kind == core.Unavailable || e.kind == core.Gone {
		kind = "stream_incomplete"
	}
	return []any{
		api.Message{MessageType: api.MessageStopReason, StopReason: api.StopError},
		errorFrame(string(rs.run), core.RunError{Type: kind, Kind: e.kind, Message: e.body.Text(), Hint: e.hint}),
	}
}
