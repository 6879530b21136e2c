package engine

import (
	"context"
	"iter"
	"sync"

	"loci/core"
)

// maxHints bounds what a slow listener may have pending; beyond it the oldest hint of another agent is lost.
const maxHints = 256

// hub wakes those who wait: followers of a run, and listeners for hints. It holds no facts.
type hub struct {
	mu        sync.Mutex // guards all fields
	runs      map[core.RunID]chan struct{}
	listeners map[*listener]struct{}
}

type listener struct {
	pending map[core.Change]struct{}
	wake    chan struct{}
}

func newHub() *hub {
	return &hub{runs: map[core.RunID]chan struct{}{}, listeners: map[*listener]struct{}{}}
}

// wait returns the channel that is closed at the next change of the run.
func (h *hub) wait(run core.RunID) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.runs[run]
	if ch == nil {
		ch = make(chan struct{})
		h.runs[run] = ch
	}
	return ch
}

// changed wakes the run's followers.
func (h *hub) changed(run core.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.runs[run]; ch != nil {
		close(ch)
		delete(h.runs, run)
	}
}

func (h *hub) join(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
}

func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// announce gives a hint to every listener.
func (h *hub) announce(c core.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if len(l.pending) < maxHints {
			l.pending[c] = struct{}{}
		}
		select {
		case l.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// Announce adds a hint, for changes made outside of runs.
func (e *Engine) Announce(c core.Change) { e.hub.announce(c) }

// Changes yields hints about everything that is announced after the call, until ctx ends. It is to be read once.
func (e *Engine) Changes(ctx context.Context) iter.Seq[core.Change] {
	l := &listener{pending: map[core.Change]struct{}{}, wake: make(chan struct{}, 1)}
	e.hub.join(l)
	stop := context.AfterFunc(ctx, func() { e.hub.leave(l) }) // should nobody read
	return func(yield func(core.Change) bool) {
		defer func() {
			stop()
			e.hub.leave(l)
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.wake:
			}
			e.hub.mu.Lock()
			batch := l.pending
			l.pending = map[core.Change]struct{}{}
			e.hub.mu.Unlock()
			for c := range batch {
				if !yield(c) {
					return
				}
			}
		}
	}
}
