package providers

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"loci/core"
)

// Bounds on repeating a request.
const (
	mostAttempts = 4
	firstWait    = 500 * time.Millisecond
	mostWait     = 8 * time.Second
	longestPause = time.Minute // a server that wants more is not waited for
)

// asked is a model as it is handed out: behind its server's gate, repeated where that may help, and without tools
// where it has none.
type asked struct {
	providers *Providers
	server    *server
	info      core.ModelInfo
}

// Stream implements core.ChatModel.
func (a *asked) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	if req.Window <= 0 {
		req.Window = a.info.ContextWindow
	}
	if !a.info.Tools {
		req = withoutTools(req)
	}
	return func(yield func(core.Delta, error) bool) {
		for attempt := 1; ; attempt++ {
			begun, err := a.once(ctx, req, yield)
			if err == nil {
				return
			}
			if !begun && stale(err) && hasNative(req) {
				req = withoutNative(req)
				continue
			}
			wait, again := plan(ctx, err, attempt, begun)
			if again {
				a.tell(ctx, Notice{Provider: a.info.Provider, Model: a.info.Name, Attempt: attempt, Wait: wait, Err: err})
				again = pause(ctx, wait)
				if !again {
					err = a.server.who.Network(ctx, nil, ctx.Err())
				}
			}
			if !again {
				yield(core.Delta{}, err)
				return
			}
		}
	}
}

// once makes one attempt. The error is nil when the answer is complete or the consumer has left.
func (a *asked) once(ctx context.Context, req core.ChatRequest, yield func(core.Delta, error) bool) (begun bool, err error) {
	leave, err := a.server.gate.enter(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, a.server.who.Network(ctx, nil, err)
		}
		return false, err
	}
	defer leave()
	for d, err := range a.server.chat.Stream(ctx, req) {
		if err != nil {
			a.server.limited(err)
			return begun, err
		}
		begun = true
		if !yield(d, nil) {
			return begun, nil
		}
	}
	return begun, nil
}

// limited makes everybody with this key wait when the server asked for a pause.
func (s *server) limited(err error) {
	var e *core.Error
	if errors.As(err, &e) && e.Kind == core.RateLimited && e.RetryAfter > 0 && e.RetryAfter <= longestPause {
		s.gate.rest(e.RetryAfter)
	}
}

func (a *asked) tell(ctx context.Context, n Notice) {
	a.server.log.LogAttrs(ctx, slog.LevelInfo, "model asked again", slog.String("provider", n.Provider), slog.String("model", n.Model),
		slog.Int("attempt", n.Attempt), slog.Duration("wait", n.Wait), slog.String("kind", string(core.KindOf(n.Err))), slog.String("error", n.Err.Error()))
	if a.providers.cfg.Notice != nil {
		a.providers.cfg.Notice(ctx, n)
	}
}

// plan says whether to ask again, and after how long. Nothing is repeated once a piece of the answer was handed out.
func plan(ctx context.Context, err error, attempt int, begun bool) (time.Duration, bool) {
	var e *core.Error
	if begun || ctx.Err() != nil || attempt >= mostAttempts || !errors.As(err, &e) {
		return 0, false
	}
	gone := e.Kind == core.Unavailable && errors.Is(err, syscall.ECONNREFUSED) // nobody is there: a restart at most is waited for
	slow := e.Kind == core.Timeout                                             // it has been waited for long enough
	passes := e.Kind == core.RateLimited || e.Kind == core.Unavailable || slow
	if !passes || attempt > 1 && (gone || slow) {
		return 0, false
	}
	if e.RetryAfter > longestPause {
		if e.Hint == "" {
			e.Hint = "it asks to be left alone for " + e.RetryAfter.Round(time.Second).String() + "; try again then, or choose another model"
		}
		return 0, false
	}
	wait := min(firstWait<<(attempt-1), mostWait)
	wait = wait/2 + rand.N(wait/2)                           //nolint:gosec // jitter
	return max(wait, e.RetryAfter+rand.N(firstWait/2)), true //nolint:gosec // jitter
}

// pause waits, and reports whether the whole time has passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// gate bounds the requests to one server with one key, and holds all of them back when the server asked for a pause.
type gate struct {
	slots chan struct{}
	mu    sync.Mutex
	until time.Time
}

// defaultParallel is how many requests run at once with one key.
const defaultParallel = 64

func newGate(most int) *gate {
	if most <= 0 {
		most = defaultParallel
	}
	return &gate{slots: make(chan struct{}, most)}
}

// enter waits for a place and for the end of a pause.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-g.slots }
	for {
		wait := g.left()
		if wait <= 0 {
			return leave, nil
		}
		if !pause(ctx, wait) {
			leave()
			return nil, ctx.Err()
		}
	}
}

func (g *gate) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}

func (g *gate) rest(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until = until
	}
}

// staleWords is how servers say that reasoning which they gave out is not theirs any more: another account's, another
// model's, or bound to a prefix that has changed.
var staleWords = []string{"encrypted content", "encrypted_content", "invalid `signature`", "thinking blocks cannot be modified", "thought signature"}

// stale reports whether a request failed only because of what it replayed.
func stale(err error) bool {
	text := strings.ToLower(err.Error())
	return core.KindOf(err) == core.Invalid && slices.ContainsFunc(staleWords, func(w string) bool { return strings.Contains(text, w) })
}

func hasNative(req core.ChatRequest) bool {
	return slices.ContainsFunc(req.Messages, func(m core.ChatMessage) bool { return m.Native != nil })
}

// withoutNative makes a request that replays the normalised form only.
func withoutNative(req core.ChatRequest) core.ChatRequest {
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		req.Messages[i].Native = nil
	}
	return req
}

// withoutTools makes a request that a model without tools understands: none are offered, and calls and returns of the
// history become text.
func withoutTools(req core.ChatRequest) core.ChatRequest {
	req.Tools, req.Choice = nil, core.ToolChoice{}
	messages := make([]core.ChatMessage, 0, len(req.Messages))
	for _, m := range req.Messages {
		switch {
		case m.Role == core.ChatTool:
			messages = append(messages, core.ChatMessage{Role: core.ChatReminder, Text: returnsText(m.Returns)})
			continue
		case len(m.Calls) > 0:
			m.Text, m.Calls, m.Native = callsText(m), nil, nil
		}
		messages = append(messages, m)
	}
	req.Messages = messages
	return req
}

func callsText(m core.ChatMessage) string {
	lines := []string{}
	if m.Text != "" {
		lines = append(lines, m.Text)
	}
	for _, c := range m.Calls {
		lines = append(lines, "(called "+c.Name+" with "+c.Arguments+")")
	}
	return strings.Join(lines, "\n")
}

func returnsText(returns []core.ChatReturn) string {
	var lines []string
	for _, r := range returns {
		lines = append(lines, r.Name+" returned: "+r.Text)
	}
	return strings.Join(lines, "\n")
}
