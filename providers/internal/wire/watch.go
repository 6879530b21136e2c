package wire

import (
	"context"
	"errors"
	"io"
	"time"
)

// DefaultIdle is how long a server may send nothing: local models take minutes to read a long prompt.
const DefaultIdle = 5 * time.Minute

var errIdle = errors.New("the server sent nothing for too long")

// Watch ends a request whose server has gone silent. Its timer runs only while somebody waits for the server, so a slow
// consumer of a stream is never mistaken for a silent server.
type Watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	end    *time.Timer
}

// NewWatch derives the context that the request must use.
func NewWatch(parent context.Context, idle time.Duration) *Watch {
	if idle <= 0 {
		idle = DefaultIdle
	}
	ctx, cancel := context.WithCancelCause(parent)
	return &Watch{ctx: ctx, cancel: cancel, idle: idle, timer: time.AfterFunc(idle, func() { cancel(errIdle) })}
}

// Context is the request's context.
func (w *Watch) Context() context.Context { return w.ctx }

// Within ends the request after d, even if more arrives: the answer is complete, and only the end of the stream is
// missing.
func (w *Watch) Within(d time.Duration) {
	if w.end != nil {
		w.end.Stop()
	}
	w.end = time.AfterFunc(d, func() { w.cancel(errIdle) })
}

// Stop releases the watch and ends what is left of the request.
func (w *Watch) Stop() {
	w.timer.Stop()
	if w.end != nil {
		w.end.Stop()
	}
	w.cancel(context.Canceled)
}

// Pause stops the timer until the next wait.
func (w *Watch) Pause() { w.timer.Stop() }

// Reader runs the timer while it waits for r.
func (w *Watch) Reader(r io.Reader) io.Reader { return watchedReader{w, r} }

type watchedReader struct {
	w *Watch
	r io.Reader
}

func (r watchedReader) Read(p []byte) (int, error) {
	r.w.timer.Reset(r.w.idle)
	n, err := r.r.Read(p)
	r.w.timer.Stop()
	return n, err
}
