package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core"
	"loci/core/compact"
	"loci/core/coretest"
	"loci/core/engine"
	"loci/core/past"
)

// soon lets a conversation rest only a moment before its summary is made.
func soon(c *engine.Config) { c.Rest = time.Millisecond }

// rest waits until nothing is done for the agent's conversation.
func (h *house) rest(a core.Agent) {
	h.t.Helper()
	coretest.Until(h.t, "the conversation rests", func() bool { return h.engine.AtRest(core.DefaultConversation(a.ID)) })
}

// use is the share of the room for messages that the window takes.
func (h *house) use(a core.Agent, window int) float64 {
	h.t.Helper()
	o, err := h.engine.Overview(h.t.Context(), core.DefaultConversation(a.ID), nil, core.ModelInfo{})
	if err != nil {
		h.t.Fatal(err)
	}
	messages := o.Messages + o.Summary
	return float64(messages) / float64(window-window/10-(o.Current-messages))
}

// summary returns the summary in the window.
func (h *house) summary(a core.Agent) *core.Message {
	h.t.Helper()
	rows, err := h.store.Messages().Context(h.t.Context(), core.DefaultConversation(a.ID))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range rows {
		if rows[i].Message.Role == core.RoleSummary {
			return &rows[i].Message
		}
	}
	return nil
}

// untilAsked sends until a summariser was asked for a summary between turns.
func (h *house) untilAsked(a core.Agent) core.Run {
	h.t.Helper()
	for range 40 {
		run, events := h.send(a, strings.Repeat("some words ", 30))
		if slices.Contains(told(events), "compacting") {
			h.t.Fatal("a summary was made in the stream")
		}
		if h.use(a, 4000) >= 0.85 {
			coretest.Until(h.t, "a summary is asked for", func() bool { return len(h.summaryRequests()) > 0 })
			return run
		}
	}
	h.t.Fatal("the window was never nearly full")
	return core.Run{}
}

func TestASummaryIsMadeBetweenTurnsOnceTheWindowIsNearlyFull(t *testing.T) {
	t.Parallel()
	for _, mode := range []compact.Mode{compact.SlidingWindow, compact.All, compact.SelfSlidingWindow, compact.PartialEvict} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(n int) turn { return say(fmt.Sprint("They spoke of herons, time ", n, ".")) }), soon)
			small(h, 4000)
			a := h.agent(func(a *core.Agent) { a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(mode)}} })
			hints := h.hints()
			var made []int
			var runs []core.Run
			last := core.MessageID("")
			for i := range 40 {
				run, events := h.send(a, strings.Repeat("some words ", 30))
				if got := told(events); !slices.Equal(got, []string{"said", "saved", "stop"}) {
					t.Errorf("turn %d was told as %v", i, got)
				}
				runs = append(runs, run)
				before := len(h.log(run.ID))
				h.rest(a)
				if after := len(h.log(run.ID)); after != before {
					t.Errorf("turn %d: the stream of a run that is over grew from %d to %d events", i, before, after)
				}
				s := h.summary(a)
				if s == nil || s.ID == last {
					if use := h.use(a, 4000); use >= 0.85 && (len(made) == 0 || i-lastOf(made) >= 5) {
						t.Errorf("turn %d left %.2f of the room taken, and no summary was made", i, use)
					}
					continue
				}
				made, last = append(made, i), s.ID
				if c := s.Compaction; s.Run != "" || c.TokensBefore < 3000 || c.TokensAfter >= c.TokensBefore ||
					c.Trigger != "post_step_context_check" {
					t.Errorf("turn %d: summary of run %q, %+v", i, s.Run, c)
				}
				if !hints.told(core.Change{Agent: a.ID, Conversation: s.Conversation}) {
					t.Error("no watcher was told")
				}
			}
			if len(made) < 2 || len(made) != len(h.summaryRequests()) {
				t.Errorf("summaries after the turns %v, %d requests", made, len(h.summaryRequests()))
			}
			h.checkRequests(made, runs)
		})
	}
}

// checkRequests asks that each run's request goes on from the one before, but behind a new summary, and is reproduced.
func (h *house) checkRequests(made []int, runs []core.Run) {
	t, _ := h.t.(*testing.T)
	t.Helper()
	reqs := slices.DeleteFunc(h.model.sent(), asksForSummary)
	for i, req := range reqs {
		validHistory(t, i, req)
		again, err := h.past().Reproduce(t.Context(), h.firstStep(runs[i]).ID)
		if diff := cmp.Diff(req, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("request %d: %v (-sent +reproduced):\n%s", i, err, diff)
		}
		switch {
		case i > 0 && !slices.Contains(made, i-1):
			prefixHolds(t, i, reqs[i-1], req)
		case i > 0 && !strings.Contains(req.System+req.Messages[0].Text, "They spoke of herons"):
			t.Errorf("request %d begins without the summary: %s", i, req.Messages[0].Text)
		}
	}
}

// hintBook keeps the hints that a watcher gets.
type hintBook struct {
	h    *house
	kept chan core.Change
}

func (h *house) hints() *hintBook {
	b := &hintBook{h, make(chan core.Change, 1000)}
	ctx, cancel := context.WithCancel(h.t.Context())
	changes, done := h.engine.Changes(ctx), make(chan struct{})
	go func() {
		defer close(done)
		for c := range changes {
			b.kept <- c
		}
	}()
	h.t.Cleanup(func() { cancel(); <-done })
	return b
}

// told says whether a hint comes.
func (b *hintBook) told(want core.Change) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case c := <-b.kept:
			if c == want {
				return true
			}
		case <-timer.C:
			return false
		}
	}
}

// TestNobodyWaitsForASummaryBetweenTurns holds the summariser for ever and fails on the test's patience.
func TestNobodyWaitsForASummaryBetweenTurns(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(ctx context.Context, h *house, a core.Agent, run core.Run) error{
		"a message": func(ctx context.Context, h *house, a core.Agent, _ core.Run) error {
			req := h.request(a, "and now?")
			req.Queue = false
			next, err := h.engine.Submit(ctx, req)
			if err != nil {
				return err
			}
			h.follow(next.ID)
			return nil
		},
		"a rewind": func(ctx context.Context, h *house, a core.Agent, run core.Run) error {
			_, err := h.past().Rewind(ctx, core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{})
			return err
		},
		"a fork": func(ctx context.Context, h *house, a core.Agent, _ core.Run) error {
			_, err := h.past().CopyAgent(ctx, a.ID, past.CopyOptions{History: true})
			return err
		},
		"a reset": func(_ context.Context, h *house, a core.Agent, _ core.Run) error {
			return h.reset(core.DefaultConversation(a.ID), false)
		},
		"what needs quiet": func(ctx context.Context, h *house, _ core.Agent, _ core.Run) error {
			return h.engine.Quiet(ctx, func(context.Context) error { return nil })
		},
		"a cancel": func(ctx context.Context, h *house, a core.Agent, run core.Run) error {
			err := h.engine.Cancel(ctx, run.ID)
			h.rest(a)
			return err
		},
		"a shutdown": func(ctx context.Context, h *house, _ core.Agent, _ core.Run) error {
			defer h.restart()
			return h.engine.Shutdown(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(int) turn { return turn{deltas: []core.Delta{{Text: "They"}}, gate: make(chan struct{})} }), soon,
				func(c *engine.Config) {
					c.SummaryWait, c.SummaryQuiet, c.Grace, c.Patience = time.Hour, time.Hour, time.Hour, time.Hour
				})
			small(h, 4000)
			a := h.agent(nil)
			run := h.untilAsked(a)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := do(ctx, h, a, run); err != nil {
				t.Fatal(err)
			}
			if s := h.summary(a); s != nil {
				t.Errorf("the window begins with %+v", s)
			}
			if name != "a fork" { // which reads, and leaves what is being made alone
				h.cfg.Rest = time.Hour
				h.restart()
			}
			if _, events := h.send(a, "still there?"); !slices.Contains(told(events), "said") {
				t.Errorf("the next message was told as %v", told(events))
			}
		})
	}
}

// TestAMessageThatComesBeforeASummaryIsStoredFindsTheOldWindow: the summary is whole and about to be stored.
func TestAMessageThatComesBeforeASummaryIsStoredFindsTheOldWindow(t *testing.T) {
	t.Parallel()
	var summarised atomic.Bool
	storing := make(chan struct{}, 1)
	h := open(t, summariser(func(int) turn {
		summarised.Store(true)
		return say("They spoke of herons.")
	}), soon, func(c *engine.Config) {
		c.Store = beforeTx{c.Store, func(ctx context.Context) {
			if summarised.CompareAndSwap(true, false) {
				storing <- struct{}{}
				<-ctx.Done()
			}
		}}
	})
	small(h, 4000)
	a := h.agent(nil)
	h.untilAsked(a)
	<-storing
	if _, events := h.send(a, "and now?"); !slices.Equal(told(events), []string{"said", "saved", "stop"}) {
		t.Errorf("told as %v", told(events))
	}
	reqs := h.model.sent()
	if last := lastOf(slices.DeleteFunc(reqs, asksForSummary)); strings.Contains(last.Messages[0].Text, "herons") {
		t.Error("the message was sent behind the summary")
	}
}

func TestASummaryBetweenTurnsThatFailsIsNotAskedForAgainAndAgain(t *testing.T) {
	t.Parallel()
	broken := core.E(core.Unavailable, "down")
	broken.Provider = true
	h := open(t, summariser(func(int) turn { return turn{err: broken} }), soon)
	small(h, 4000)
	a := h.agent(nil)
	h.untilAsked(a)
	h.rest(a)
	var between []int
	stream := false
	for i := 1; i < 30 && !stream; i++ {
		asked := len(h.summaryRequests())
		run, events := h.send(a, "so?")
		if run.Status != core.RunCompleted {
			t.Fatalf("the run ended as %s", run.Status)
		}
		stream = slices.Contains(told(events), "compacting")
		h.rest(a)
		if n := len(h.summaryRequests()); n > asked && !stream {
			between = append(between, i)
		}
	}
	if !stream {
		t.Error("nobody was asked in the stream when the window was full")
	}
	for i, at := range append([]int{0}, between...) {
		if i < len(between) && between[i]-at < 5 {
			t.Errorf("asked again after the turns %v", between)
		}
	}
}

func TestTheSummaryInTheStreamIsTheNetOfOneThatFailedBetweenTurns(t *testing.T) {
	t.Parallel()
	broken := core.E(core.Unavailable, "down")
	broken.Provider = true
	h := open(t, summariser(func(n int) turn {
		if n == 1 {
			return turn{err: broken}
		}
		return say("They spoke of herons.")
	}), soon)
	small(h, 4000)
	a := h.agent(nil)
	h.untilAsked(a)
	h.rest(a)
	_, events := h.send(a, strings.Repeat("some words ", 250))
	if got := told(events); !slices.Equal(got, []string{"compacting", "summary", "said", "saved", "stop"}) {
		t.Errorf("told as %v", got)
	}
}

func TestNoSummaryIsMadeBetweenTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings map[string]any
		info     core.ModelInfo
		change   func(*engine.Config)
	}{
		"where turns leave without one":      {settings: map[string]any{"mode": "evict"}},
		"by the offline model":               {info: core.ModelInfo{Offline: true}},
		"before the conversation has rested": {change: func(c *engine.Config) { c.Rest = time.Hour }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(int) turn { return say("They spoke.") }), func(cfg *engine.Config) {
				if soon(cfg); c.change != nil {
					c.change(cfg)
				}
			})
			c.info.ContextWindow, c.info.Tools, c.info.CacheTTL = 4000, true, 5*time.Minute
			h.model.infos["openai/gpt-test"] = c.info
			a := h.agent(func(a *core.Agent) { a.Extra = map[string]any{compact.ExtraKey: c.settings} })
			for i := 0; h.use(a, 4000) < 0.85; i++ {
				if i > 100 {
					t.Fatal("the window was never nearly full")
				}
				h.send(a, "so?")
			}
			if c.change == nil {
				h.rest(a)
			}
			if n := len(h.summaryRequests()); n > 0 {
				t.Errorf("%d were asked for", n)
			}
		})
	}
}

// TestABadSummariserIsTreatedBetweenTurnsAsInTheStream: what is asked for again at once, and what is not asked for any more.
func TestABadSummariserIsTreatedBetweenTurnsAsInTheStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		summary turn
		asked   int  // requests for the one summary between turns
		net     bool // whether it is asked for once more when the window is full
		quiet   time.Duration
	}{
		"that says far too little": {summary: say("They talked."), asked: 2, net: true},
		"that gives no token":      {summary: turn{gate: make(chan struct{})}, asked: 1, quiet: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(int) turn { return c.summary }), soon, func(cfg *engine.Config) { cfg.SummaryQuiet = c.quiet })
			const window = 24_000
			small(h, window)
			a := h.agent(nil)
			for h.use(a, window) < 0.85 {
				h.send(a, strings.Repeat("some words ", 600))
				h.rest(a)
			}
			if n := len(h.summaryRequests()); n != c.asked || h.summary(a) != nil {
				t.Fatalf("asked %d times for %+v", n, h.summary(a))
			}
			var got []string
			for !slices.Contains(got, "evicted") {
				_, events := h.send(a, strings.Repeat("some words ", 600))
				for _, ev := range events {
					if n, ok := ev.Body.(core.Notice); ok {
						got = append(got, n.Kind)
					}
				}
				h.rest(a)
			}
			if slices.Contains(got, "summary_failed") != c.net {
				t.Errorf("at the full window it was told as %v", got)
			}
		})
	}
}

// TestAnAgentThatIsDeletedWhileItsSummaryIsMadeIsNothingToComplainOf deletes during the call.
func TestAnAgentThatIsDeletedWhileItsSummaryIsMadeIsNothingToComplainOf(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}), make(chan struct{})
	var said strings.Builder
	h := open(t, summariser(func(int) turn {
		close(asked)
		return turn{deltas: []core.Delta{{Text: "They spoke of herons."}}, gate: goOn}
	}), soon, func(c *engine.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	small(h, 4000)
	a := h.agent(nil)
	h.untilAsked(a)
	<-asked
	if err := h.store.Agents().Delete(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	h.rest(a)
	if said.Len() > 0 || h.summary(a) != nil {
		t.Errorf("summary %+v, the log:\n%s", h.summary(a), said.String())
	}
}
