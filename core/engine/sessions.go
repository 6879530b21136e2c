package engine

import (
	"context"
	"errors"
	"sync"

	"loci/core"
)

// sessions remembers the provider variables of the clients that came since the start, so that a resumed run whose own
// client is gone can go on once anybody with the key is there.
type sessions struct {
	mu     sync.Mutex // guards all fields
	joined chan struct{}
	latest []core.Env // newest last
	count  int        // how many came in all
}

// maxSessions bounds how many clients' variables are kept in reach of resumed runs.
const maxSessions = 16

func newSessions() *sessions { return &sessions{joined: make(chan struct{})} }

// Joined tells the engine of a client session.
func (e *Engine) Joined(env core.Env) {
	if env == nil {
		return
	}
	s := e.envs
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = append(s.latest, env)
	s.count++
	if n := len(s.latest); n > maxSessions {
		s.latest = append([]core.Env(nil), s.latest[n-maxSessions:]...)
	}
	close(s.joined)
	s.joined = make(chan struct{})
}

// after returns the oldest kept client behind the first n, how many came up to it, and what is closed when the next comes.
func (s *sessions) after(n int) (env core.Env, upTo int, joined <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.count - len(s.latest)
	if n = max(n, first); n < s.count {
		return s.latest[n-first], n + 1, s.joined
	}
	return nil, n, s.joined
}

// waitForKey waits for a client that came since the start and was not tried yet, at most until ctx ends or another run
// enters the lane; then the run fails with the error it has. tell is called before it waits.
func (e *Engine) waitForKey(ctx context.Context, conv core.ConversationID, tried *int, missing error, tell func()) (core.Env, error) {
	for {
		env, upTo, joined := e.envs.after(*tried)
		*tried = upTo
		if env != nil {
			return env, nil
		}
		e.mu.Lock()
		l := e.lanes[conv]
		if l == nil || len(l.queue) > 0 {
			e.mu.Unlock()
			return nil, missing
		}
		queued := l.queued
		e.mu.Unlock()
		tell()
		select {
		case <-joined:
		case <-queued:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return nil, missing
			}
			return nil, context.Cause(ctx)
		}
	}
}

// envOf looks a variable up with the one who asks first, then in the daemon's own environment.
func (e *Engine) envOf(asker core.Env) core.Env {
	if asker == nil {
		return e.cfg.Env
	}
	return func(name string) (core.Secret, bool) {
		if v, ok := asker(name); ok {
			return v, true
		}
		return e.cfg.Env(name)
	}
}
