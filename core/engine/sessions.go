package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// errElsewhere is why a resumed run does not ask who can be asked now.
var errElsewhere = errors.New("the daemon was restarted, and what is set here now leads to another address than the one this run was begun with")

// elsewhere is an error where the variables at hand put a provider at another address than the run was begun with: the one
// that answers, each where none is chosen yet, and whoever the run's own client put anywhere.
func (t *turn) elsewhere() error {
	begun, now := t.run.Config.Moved, t.e.cfg.Models.Moved(t.env)
	own := t.override()
	if own == "" && !t.agent.ModelAuto {
		own = t.agent.Model
	}
	names := maps.Clone(now)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, begun)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, put := begun[name]
		if (put || own == "" || name == own.Provider()) && begun[name] != now[name] {
			return core.E(core.Unavailable, "%s is not asked: %w", name, errElsewhere).
				WithHint("send the message again, where the address of %s is set", name)
		}
	}
	return nil
}

// chooseAgain is Choose for a run that was taken up again. It asks nobody at another address than the run was begun with,
// and waits for a client with the key or the address that is missing.
func (t *turn) chooseAgain(ctx context.Context, agent core.Agent, override core.Handle, _ core.Env) (Choice, error) {
	wait, cancel := context.WithTimeout(ctx, t.e.cfg.KeyWait)
	defer cancel()
	for tried := 0; ; {
		var choice Choice
		missing := t.elsewhere()
		if missing == nil {
			choice, missing = t.e.choose(ctx, agent, override, t.env)
		}
		if !errors.Is(missing, errElsewhere) && core.KindOf(missing) != core.Unauthenticated {
			return choice, missing
		}
		env, err := t.e.waitForKey(wait, t.run.Conversation, &tried, unreached(missing))
		if err != nil {
			return Choice{}, err
		}
		t.env = t.e.envOf(env)
	}
}

// waitForKey waits for a client that came since the start and was not tried yet, at most until ctx ends or another run
// enters the lane; then the run fails with the error it has.
func (e *Engine) waitForKey(ctx context.Context, conv core.ConversationID, tried *int, missing error) (core.Env, error) {
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
