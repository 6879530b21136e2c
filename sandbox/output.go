package sandbox

import (
	"context"
	"io"
	"sync"

	"loci/core"
)

// outputs collects both outputs of a job.
type outputs struct {
	keep int
	stop context.CancelCauseFunc

	mu    sync.Mutex // guards what follows
	live  io.Writer
	total int64 // of both
}

func newOutputs(keep int, live io.Writer, stop context.CancelCauseFunc) *outputs {
	return &outputs{keep: keep, live: live, stop: stop}
}

// drain reads one output to its end, keeps its beginning in to and counts the rest, so that a job never waits for a reader.
func (o *outputs) drain(from io.Reader, to *core.JobOutput) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			o.take(buf[:n], to)
		}
		if err != nil { // the end, or a job whose time is over
			return
		}
	}
}

func (o *outputs) take(piece []byte, to *core.JobOutput) {
	o.mu.Lock()
	defer o.mu.Unlock()
	to.Total += int64(len(piece))
	if room := o.keep - len(to.Kept); room > 0 {
		to.Kept = append(to.Kept, piece[:min(room, len(piece))]...)
	}
	if o.live != nil {
		if _, err := o.live.Write(piece); err != nil {
			o.live = nil // whoever watched is gone; the job is not
		}
	}
	if o.total += int64(len(piece)); o.total > mostOutput {
		o.stop(stopped(core.JobOverOutput))
	}
}
