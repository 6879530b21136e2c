package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"loci/core"
	"loci/tools/internal/plaintext"
)

// isReset reports whether the other end went with what it had not read.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, os.ErrDeadlineExceeded)
}

// outcome is what became of a call whose program has ended.
func (w *worker) outcome(limit time.Duration) (Outcome, error) {
	if w.fault != nil {
		return Outcome{}, w.fault
	}
	w.mu.Lock()
	said, broken := w.said, w.broken
	w.mu.Unlock()
	out := Outcome{
		Stdout: shown(w.result.Stdout), Stderr: shown(w.result.Stderr), Refused: w.result.Refused, Layers: w.result.Layers,
	}
	if class, why := unfinished(w.result, limit); class != "" {
		out.Class, out.Text = class, why
		return out, nil
	}
	var a answer
	switch {
	case broken != nil:
		out.Class, out.Text = "RuntimeError", "nothing of it counts: "+broken.Error()
		return out, nil //nolint:nilerr // the tool's fault, which its reader is told of
	case said == nil:
		out.Class, out.Text = "RuntimeError", "it ended the interpreter without returning"
		return out, nil
	}
	if err := json.Unmarshal(said, &a); err != nil {
		out.Class, out.Text = "RuntimeError", "its result can't be read"
		return out, nil //nolint:nilerr // likewise
	}
	if a.Failed != nil {
		out.Class, out.Text = plaintext.Line(a.Failed.Class, 100), a.Failed.Text
		if out.Class == "" {
			out.Class = "Exception"
		}
		return out, nil
	}
	out.Text, out.Note, out.Blocks = a.Text, plaintext.Line(a.Note, 500), a.Blocks
	return out, nil
}

// unfinished says how a program ended that did not end by itself.
func unfinished(r core.JobResult, limit time.Duration) (class, why string) {
	switch r.Ended {
	case core.JobExited:
		if r.ExitCode != 0 {
			return "RuntimeError", fmt.Sprintf("it ended the interpreter with the code %d, and nothing of it counts", r.ExitCode)
		}
		return "", ""
	case core.JobTimedOut:
		return "TimeoutError", fmt.Sprintf("timed out: it was stopped after %s, with all that it had started", limit)
	case core.JobCancelled:
		return "RuntimeError", "it was cancelled, with all that it had started"
	case core.JobOverMemory:
		return "MemoryError", "it was stopped, for it took more memory than a tool may have"
	case core.JobOverProcesses:
		return "RuntimeError", "it was stopped, for it started too many processes"
	case core.JobOverOutput:
		return "RuntimeError", "it was stopped, for it printed too much"
	case core.JobSignalled:
		return "RuntimeError", "its interpreter was ended by the signal " + r.Signal
	case core.JobOverDisk, core.JobUncovered, core.JobKilled:
	}
	return "RuntimeError", "it was killed from outside: the machine may be out of memory"
}

// shown is an output as it may be read.
func shown(o core.JobOutput) string {
	text := plaintext.Of(string(o.Kept))
	if left := o.Total - int64(len(o.Kept)); left > 0 {
		text += fmt.Sprintf("\n(… %d of %d bytes are left out)", left, o.Total)
	}
	return text
}
