package engine_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

// watchedModel tells with which context it was asked.
type watchedModel struct {
	*script
	asked chan context.Context
}

func (m watchedModel) Chat(ctx context.Context, h core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	_, info, err := m.script.Chat(ctx, h, env)
	return m, info, err
}

func (m watchedModel) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	select {
	case m.asked <- ctx:
	default: // only the first question counts
	}
	return m.script.Stream(ctx, req)
}

// beforeTx does something before a transaction begins.
type beforeTx struct {
	core.Store
	do func(ctx context.Context)
}

func (s beforeTx) Tx(ctx context.Context, fn func(ctx context.Context, tx core.Store) error) error {
	s.do(ctx)
	return s.Store.Tx(ctx, fn)
}

func TestRule2ACancelBetweenAnAnswerAndItsSaveLosesNothingThatWasShown(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]turn{
		"text":    say("the whole answer"),
		"an edit": calling("memory_insert", map[string]any{"label": "human", "new_string": "a fact"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *house
			var cancelled sync.WaitGroup
			asked, runs := make(chan context.Context, 1), make(chan core.RunID, 1)
			cancel := sync.OnceFunc(func() {
				ctx := <-asked
				cancelled.Go(func() {
					if err := h.engine.Cancel(t.Context(), <-runs); err != nil {
						t.Errorf("cancel: %v", err)
					}
				})
				<-ctx.Done()
			})
			h = open(t, func(n int, _ core.ChatRequest) turn {
				if n == 0 {
					return answer
				}
				return say("more")
			}, func(c *engine.Config) {
				models, store := c.Models.(*script), c.Store
				c.Models = watchedModel{models, asked}
				c.Store = beforeTx{store, func(context.Context) {
					if len(asked) > 0 { // the first transaction after the answer
						cancel()
					}
				}}
			})
			a := h.agent(nil)
			run, err := h.engine.Submit(t.Context(), h.request(a, "hello"))
			if err != nil {
				t.Fatal(err)
			}
			runs <- run.ID
			got, events := h.follow(run.ID)
			cancelled.Wait()
			if !got.Delivered {
				t.Fatalf("the run is %s and its input is no message: %+v", got.Status, got.Error)
			}
			kept := h.list(a)[2]
			if kept.PlainText() != said(events) {
				t.Errorf("shown %q, kept %q", said(events), kept.PlainText())
			}
			if edited := strings.Contains(h.block(a, "human").Value, "a fact"); edited != (len(kept.Calls()) == 1) {
				t.Errorf("edited: %v, and the history has %d calls", edited, len(kept.Calls()))
			}
		})
	}
}

func TestRule2ACallOfWhichOnlyTheNameCameIsDropped(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn {
		return turn{deltas: []core.Delta{{Text: "I note that."}, {Call: &core.CallDelta{ID: "c1", Name: "memory_insert"}}}, gate: never}
	})
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, func(ev core.Event) bool { _, ok := ev.Body.(core.ToolCallDelta); return ok })
	if err := h.engine.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]core.Role{core.RoleSystem, core.RoleUser, core.RoleAssistant}, roles(h.list(a))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestRule2ACancelWhileAStepBeginsEndsTheRun(t *testing.T) {
	t.Parallel()
	gate, armed := make(chan struct{}), make(chan core.RunID, 1)
	var h *house
	var cancelled sync.WaitGroup
	h = open(t, func(int, core.ChatRequest) turn {
		s := say("an answer")
		s.gate = gate
		return s
	}, func(c *engine.Config) {
		c.Store = beforeTx{c.Store, func(ctx context.Context) {
			if ctx.Done() == nil || len(armed) == 0 {
				return // the save of the first run
			}
			run := <-armed
			cancelled.Go(func() {
				if err := h.engine.Cancel(t.Context(), run); err != nil {
					t.Errorf("cancel: %v", err)
				}
			})
			<-ctx.Done()
		}}
	})
	a := h.agent(nil)
	for i := range 2 { // the second waits, so that its acceptance begins no step
		run, err := h.engine.Submit(t.Context(), h.request(a, "hello"))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			armed <- run.ID
			close(gate)
			if got, _ := h.follow(run.ID); got.Status != core.RunCancelled {
				t.Errorf("the cancelled run is %s", got.Status)
			}
		}
	}
	cancelled.Wait()
}

func TestRule6ReadersThatComeTogetherGetTheSameEnd(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("an answer") })
	a := h.agent(nil)
	for range 10 {
		run, _ := h.send(a, "hello")
		if err := h.store.Events().DeleteRun(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		seen, errs := make([][]core.Event, 8), make([]error, 8)
		for i := range seen {
			wg.Go(func() {
				for ev, err := range h.engine.Follow(t.Context(), run.ID, 0) {
					seen[i], errs[i] = append(seen[i], ev), errors.Join(errs[i], err)
				}
			})
		}
		wg.Wait()
		for i := range seen {
			if errs[i] != nil {
				t.Fatalf("reader %d: %v", i, errs[i])
			}
			if diff := cmp.Diff(seen[0], seen[i]); diff != "" {
				t.Fatalf("reader %d saw other events (-first +this):\n%s", i, diff)
			}
		}
	}
}

func TestRunsThatAreOverAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	run, events := h.send(h.agent(nil), "hello")
	h.follow(run.ID)
	for _, err := range h.engine.Follow(t.Context(), run.ID, events[len(events)-1].Seq) {
		t.Errorf("behind the end: %v", err)
	}
	for _, err := range h.engine.Follow(t.Context(), "run-none", 0) {
		if core.KindOf(err) != core.NotFound {
			t.Errorf("a run that never was: %v", err)
		}
	}
	if n := h.engine.Watched(); n > 0 {
		t.Errorf("%d runs are kept for who might wait for them", n)
	}
}

func TestRule10NothingBeginsBehindAShutdown(t *testing.T) {
	t.Parallel()
	var over atomic.Bool
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	late := beforeChat{h.model, func() {
		if over.Load() {
			t.Error("a run began after the shutdown")
		}
	}}
	a := h.agent(nil)
	for range longRun(120) {
		over.Store(false)
		cfg := h.cfg
		cfg.Models = late
		e := engine.New(cfg)
		var submitted sync.WaitGroup
		done := make(chan struct{})
		submitted.Go(func() {
			defer close(done)
			req := h.request(a, "hello")
			req.Queue = false
			_, _ = e.Submit(t.Context(), req)
		})
		for waits := true; waits && len(e.Active(core.DefaultConversation(a.ID))) == 0; {
			select {
			case <-done:
				waits = false
			default:
				runtime.Gosched()
			}
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		over.Store(true)
		submitted.Wait()
	}
}

// beforeChat does something before a model is found.
type beforeChat struct {
	*script
	do func()
}

func (b beforeChat) Chat(ctx context.Context, h core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	b.do()
	return b.script.Chat(ctx, h, env)
}
