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
	"loci/providers/internal/wire"
)

// Limits on retries.
const (
	mostAttempts = 4
	firstWait    = 500 * time.Millisecond
	mostWait     = 8 * time.Second
	longestPause = time.Minute     // if a server asks for longer, don't wait
	patience     = time.Minute     // for a server that says it will answer later
	starting     = 5 * time.Second // for a server that isn't there: it may be starting
	quietWait    = 2 * time.Second // shorter waits aren't mentioned
)

// noticeTools is the kind of notice of a request that is retried without tools.
const noticeTools = "tools"

// chatModel is a model as handed out: behind its server's gate, with retries, and without what the model doesn't accept.
type chatModel struct {
	providers *Providers
	endpoint  endpoint
	info      core.ModelInfo
}

// Stream implements core.ChatModel. Its notices say what it is waiting for.
func (a *chatModel) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	if req.Window <= 0 {
		req.Window = a.info.ContextWindow
	}
	req.Info = a.info
	return func(yield func(core.Delta, error) bool) {
		s, err := a.providers.hold(a.endpoint)
		if err != nil {
			yield(core.Delta{}, err)
			return
		}
		defer a.providers.release(s)
		a.stream(ctx, s, req, yield)
	}
}

// stream asks until there is an answer or a permanent error.
func (a *chatModel) stream(ctx context.Context, s *server, req core.ChatRequest, yield func(core.Delta, error) bool) {
	w := wait{yield: yield, start: time.Now()}
	ctx = a.providers.traces(ctx, a.info.Handle)
	words, toolless := s.learned.toolless(a.info.Name, s.now())
	if toolless && len(req.Tools) > 0 && !w.say(noticeTools, quietWait, withoutToolsWords(words)) {
		return
	}
	if !a.info.Tools || toolless {
		req = withoutTools(req)
	}
	if a.info.Images == core.ImagesRefused || s.learned.imageless(a.info.Name, s.now()) {
		req = withoutImages(req)
	}
	if a.info.Protocol == "openai" { // the other wires know what their models have from their listings
		req.Settings.ReasoningEffort = nearestEffort(a.info.Efforts, req.Settings.ReasoningEffort)
	}
	if a.info.NoTemperature {
		req.Settings.Temperature = nil
	}
	req = s.learned.fresh(req)
	for w.attempt = 1; ; w.attempt++ {
		if left := s.gate.left(); !w.say(
			core.NoticeRetry,
			left,
			a.info.Provider+" asked for a pause. Retrying in "+core.InWords(left)+".",
		) {
			return
		}
		begun, err := a.once(ctx, s, req, yield)
		if err == nil {
			return
		}
		if !begun {
			changed, kind, words := a.adapt(s, req, err)
			if words != "" && !w.say(kind, quietWait, words) {
				return
			}
			if changed != nil {
				req = *changed
				continue
			}
		}
		next := plan(ctx, err, w.attempt, begun, time.Since(w.start))
		next.again = next.again && !req.Hurried
		if next.again {
			a.log(ctx, w.attempt, next.wait, err)
			if !w.say(core.NoticeRetry, next.worth, next.words) {
				return
			}
			if next.again = pause(ctx, next.wait); !next.again {
				err = s.who.Network(ctx, nil, ctx.Err())
			}
		}
		if !next.again {
			yield(core.Delta{}, err)
			return
		}
	}
}

// adapt returns the request without what the server refused (remembered for the next one) and what to tell the user, as a
// notice of a kind; nil if that isn't why it failed.
func (a *chatModel) adapt(s *server, req core.ChatRequest, err error) (changed *core.ChatRequest, kind, words string) {
	switch {
	case stale(err) && hasNative(req):
		s.learned.refused(req)
		req = s.learned.fresh(req)
		return &req, "", ""
	case wire.Refused(err) == wire.RefusedTools && len(req.Tools) > 0:
		s.learned.noTools(a.info.Name, err.Error(), s.now())
		req = withoutTools(req)
		return &req, noticeTools, withoutToolsWords(err.Error())
	case wire.Refused(err) == wire.RefusedImages && hasImages(req):
		s.learned.noImages(a.info.Name, err.Error(), s.now())
		req = withoutImages(req)
		return &req, noticeImages, withoutImagesWords(err.Error())
	}
	return nil, "", ""
}

func withoutToolsWords(refusal string) string {
	return refusal + ". It is asked without tools for up to " + core.InWords(wire.RefusalFresh) +
		": the agent can neither edit its memory nor search."
}

// once makes one attempt. The error is nil when the answer is complete or the consumer has left.
func (a *chatModel) once(ctx context.Context, s *server, req core.ChatRequest, yield func(core.Delta, error) bool) (begun bool, err error) {
	leave, err := s.gate.enter(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, s.who.Network(ctx, nil, err)
		}
		return false, err
	}
	defer leave()
	for d, err := range s.wire.Stream(ctx, req) {
		if err != nil {
			s.limited(err)
			return begun, err
		}
		begun = true
		if !yield(d, nil) {
			return begun, nil
		}
	}
	return begun, nil
}

// limited makes everybody with this key wait if the server asked for a pause.
func (s *server) limited(err error) {
	var e *core.Error
	if errors.As(err, &e) && e.Kind == core.RateLimited && e.RetryAfter > 0 && e.RetryAfter <= longestPause {
		s.gate.rest(e.RetryAfter)
	}
}

func (a *chatModel) log(ctx context.Context, attempt int, d time.Duration, err error) {
	a.providers.cfg.Log.LogAttrs(
		ctx,
		slog.LevelInfo,
		"model asked again",
		slog.String("provider", a.info.Provider),
		slog.String("model", a.info.Name),
		slog.Int(
			"attempt",
			attempt,
		),
		slog.Duration("wait", d),
		slog.String("kind", string(core.KindOf(err))),
		slog.String("error", err.Error()),
	)
}

// wait is the state of one request across retries.
type wait struct {
	yield   func(core.Delta, error) bool
	start   time.Time
	attempt int
	said    string
}

// say tells the user about a wait that is long enough, once. It reports whether the consumer is still there.
func (w *wait) say(kind string, d time.Duration, words string) bool {
	if d < quietWait || words == "" || words == w.said {
		return true
	}
	w.said = words
	return w.yield(core.Delta{Notice: &core.Notice{Kind: kind, Text: words}}, nil)
}

// step is what to do after a failure.
type step struct {
	again bool
	wait  time.Duration
	words string        // what to tell the user
	worth time.Duration // how long it may take in total, which decides whether to mention it
}

// plan decides whether to retry, and after how long; spent is the time since the first attempt. Nothing is retried once
// a piece of the answer has been handed out.
func plan(ctx context.Context, err error, attempt int, begun bool, spent time.Duration) step {
	var e *core.Error
	if begun || ctx.Err() != nil || !errors.As(err, &e) || errors.Is(err, wire.ErrComments) {
		return step{}
	}
	if e.RetryAfter > longestPause {
		if e.Hint == "" || e.Kind == core.RateLimited || e.Kind == core.Unavailable { // the others' hints say more
			e.Hint = "it asks to be left alone for " + core.InWords(e.RetryAfter) + "; try again then, or choose another model"
		}
		return step{}
	}
	d := min(firstWait<<min(attempt-1, 8), mostWait)
	d = d/2 + rand.N(d/2)                        //nolint:gosec // jitter
	d = max(d, e.RetryAfter+rand.N(firstWait/2)) //nolint:gosec // jitter
	gone := e.Kind == core.Unavailable && errors.Is(err, syscall.ECONNREFUSED)
	switch {
	case gone:
		d = min(firstWait, starting-spent) // refusing is quick, and so is asking: the last time is when we give up
		return within(starting, d, e, spent < starting)
	case wire.Busy(err), e.Kind == core.RateLimited && e.RetryAfter == 0:
		return within(patience, d, e, spent+d <= patience)
	case e.Kind == core.Timeout: // the timeout itself was long enough
		return step{again: attempt == 1, wait: d}
	case e.Kind == core.RateLimited, e.Kind == core.Unavailable:
		return shortly(d, e, attempt)
	}
	return step{}
}

// within retries until most has passed in total.
func within(most, d time.Duration, e *core.Error, again bool) step {
	return step{again, d, wordsOf(e) + ". Retrying for up to " + core.InWords(most) + ".", most}
}

// shortly retries a few times. Once the first retry has failed too, the waits are mentioned however short they are:
// together they aren't.
func shortly(d time.Duration, e *core.Error, attempt int) step {
	again := attempt < mostAttempts
	if d < quietWait && attempt > 1 {
		return step{again, d, wordsOf(e) + ". Retrying.", quietWait}
	}
	return step{again, d, wordsOf(e) + ". Retrying in " + core.InWords(max(d, time.Second)) + ".", d}
}

func wordsOf(e *core.Error) string { return strings.TrimRight(e.Error(), ".") }

// pause waits, and reports whether the full time passed.
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

// limiter limits the concurrent requests to one server with one key, and holds all of them back when the server asked for a
// pause.
type limiter struct {
	slots chan struct{}
	mu    sync.Mutex
	until time.Time
}

// defaultParallel is how many concurrent requests one key may have.
const defaultParallel = 64

func newGate(most int) *limiter {
	if most <= 0 {
		most = defaultParallel
	}
	return &limiter{slots: make(chan struct{}, most)}
}

// enter waits for a free place and for the end of a pause.
func (g *limiter) enter(ctx context.Context) (leave func(), err error) {
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

func (g *limiter) left() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}

func (g *limiter) rest(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until = until
	}
}

func hasNative(req core.ChatRequest) bool {
	return slices.ContainsFunc(req.Messages, func(m core.ChatMessage) bool { return m.Native != nil })
}

// withoutTools rewrites a request for a model without tools: it offers none, and calls and returns in the history become
// text.
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
