package engine

import (
	"slices"
	"sync"
	"time"

	"loci/core"
)

const (
	// defaultQuiet is how long a summariser may go without a token if nothing is known of its speed.
	defaultQuiet = 20 * time.Second
	// paceMargin is how many times longer than predicted a model may read a prompt.
	paceMargin = 3
	// leastPaced is the fewest tokens whose reading tells a model's speed: below, the way to the server counts more.
	leastPaced = 500
	// keptPaces are the last measurements of a model that count, the slowest first: a prompt that was partly cached
	// unnoticed looks fast.
	keptPaces = 3
	maxPaced  = 1000 // models
)

// paces remembers how fast models read prompts, in tokens a second.
type paces struct {
	mu sync.Mutex // guards of
	of map[core.Handle][]float64
}

func newPaces() *paces { return &paces{of: map[core.Handle][]float64{}} }

// note records how long a model took to the first token after so many that it had not read before.
func (p *paces) note(h core.Handle, tokens int, took time.Duration) {
	if tokens < leastPaced || took <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of) >= maxPaced {
		clear(p.of)
	}
	kept := append(p.of[h], float64(tokens)/took.Seconds())
	p.of[h] = kept[max(len(kept)-keptPaces, 0):]
}

// patience is how long a model may go without a token after a prompt of so many.
func (p *paces) patience(h core.Handle, tokens int, least time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of[h]) == 0 {
		return least
	}
	predicted := float64(tokens) / slices.Min(p.of[h])
	return max(least, time.Duration(paceMargin*predicted*float64(time.Second)))
}

// notePace learns from an answer how fast the model reads, if it is known how much of the prompt it had to read.
func (t *turn) notePace(a *answer) {
	if a.usage == nil {
		return
	}
	read := a.usage.Prompt
	switch cold := t.step.StartedAt.Sub(t.win.conv.AskedAt) >= max(t.choice.Info.CacheTTL, time.Minute); {
	case a.usage.Cached != nil:
		read -= *a.usage.Cached
	case !cold: // much of it may have been cached, and nobody says how much
		return
	}
	t.win.pace.note(t.choice.Handle, read, t.step.ResponseAt.Sub(t.step.StartedAt))
}

// tokensSent estimates what a request for a summary makes a model read.
func tokensSent(req core.ChatRequest) int {
	n := core.EstimateTokens(req.System)
	for _, m := range req.Messages {
		n += core.EstimateTokens(m.Text)
		for _, r := range m.Returns {
			n += core.EstimateTokens(r.Text)
		}
	}
	return n
}
