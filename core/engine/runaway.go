package engine

import (
	"errors"
	"hash/maphash"
	"strings"

	"loci/core"
)

// Bounds on one answer.
const (
	defaultAnswer = 4 << 20 // bytes of text, reasoning and arguments
	mostRepeats   = 2000    // pieces of one call that say the same over and over
	longestPeriod = 64      // pieces after which a loop of them begins again
	mostPieces    = 50_000  // pieces of calls since the last one began, at a token a piece more than any argument
	mostCalls     = 1000
)

var errRunaway = errors.New("it comes to no end")

// guard ends an answer that has no end: one that is longer than any answer, or a call whose arguments go in circles or
// take far more pieces than a page that a tool writes, which has thousands.
type guard struct {
	handle core.Handle
	most   int
	bytes  int
	opened int // the highest call so far
	since  int // pieces of calls since it began
	call   int
	seed   maphash.Seed
	last   [longestPeriod]uint64 // hashes of the last pieces
	pieces int
	same   [longestPeriod]int // by period: how many pieces in a row equal the one a period before
}

func newGuard(handle core.Handle, most int) *guard {
	return &guard{handle: handle, most: most, opened: -1, call: -1, seed: maphash.MakeSeed()}
}

// check takes a delta and returns an error once the answer has run away.
func (g *guard) check(d core.Delta) error {
	g.bytes += len(d.Text) + len(d.Reasoning)
	if d.Call != nil {
		g.bytes += len(d.Call.Name) + len(d.Call.Arguments)
	}
	switch {
	case g.bytes > g.most:
		return g.stopped("its answer is over %d MB", g.most>>20)
	case d.Call == nil:
		return nil
	case d.Call.Index >= mostCalls:
		return g.stopped("it calls over %d tools at once", mostCalls)
	case g.circles(d.Call):
		return g.stopped("the arguments of its tool call repeat themselves without an end")
	case g.drags(d.Call):
		return g.stopped("its tool call is not finished after %d pieces", mostPieces)
	}
	return nil
}

// drags reports whether too many pieces have come since the last call began. One that comes in turns with others that
// are open, too, begins only once.
func (g *guard) drags(d *core.CallDelta) bool {
	if d.Index > g.opened {
		g.opened, g.since = d.Index, 0
	}
	g.since++
	return g.since > mostPieces
}

// circles reports whether the pieces of a call have been the same, or the same few in the same order, for too long.
func (g *guard) circles(d *core.CallDelta) bool {
	if d.Index != g.call {
		g.call, g.pieces, g.same = d.Index, 0, [longestPeriod]int{}
	}
	h := maphash.String(g.seed, strings.TrimSpace(d.Arguments))
	for i := range g.same {
		period := i + 1
		if g.pieces < period || g.last[(g.pieces-period)%longestPeriod] != h {
			g.same[i] = 0
			continue
		}
		if g.same[i]++; g.same[i] > mostRepeats {
			return true
		}
	}
	g.last[g.pieces%longestPeriod] = h
	g.pieces++
	return false
}

func (g *guard) stopped(format string, args ...any) error {
	err := core.E(core.Unavailable, "%s was stopped because %w: "+format, append([]any{g.handle, errRunaway}, args...)...)
	err.Provider, err.Detail = true, core.StopInvalidLLMResponse
	return err.WithHint("ask again, or choose another model; a limit on its output tokens (max_tokens) stops it earlier")
}
