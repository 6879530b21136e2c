package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/past"
	"loci/storage/forget"
)

func TestQuietIsBusyWhileARunDoesNotEnd(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} },
		func(c *engine.Config) { c.Patience = 20 * time.Millisecond })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "first"))
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, isSaid)
	err = h.engine.Quiet(t.Context(), func(context.Context) error {
		t.Error("it was not quiet")
		return nil
	})
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.Busy || e.Run != run.ID {
		t.Errorf("got %v", err)
	}
	close(gate)
	h.follow(run.ID)
	if _, events := h.send(a, "second"); said(events) != "ok" {
		t.Errorf("afterwards %q", said(events))
	}
}

func TestQuietWaitsForARunAndKeepsOthersWaiting(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate}
		}
		return say("later")
	})
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "first"))
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, isSaid)
	quiet, inside, end := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		quiet <- h.engine.Quiet(t.Context(), func(context.Context) error {
			close(inside)
			<-end
			return nil
		})
	}()
	close(gate)
	<-inside
	if !h.engine.Idle() {
		t.Error("a run is active in the quiet")
	}
	if err := h.engine.Quiet(t.Context(), nil); core.KindOf(err) != core.Busy {
		t.Errorf("a second quiet: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.engine.Submit(short, h.request(a, "too early")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request in the quiet: %v", err)
	}
	accepted := make(chan core.Run, 1)
	go func() {
		run, err := h.engine.Submit(t.Context(), h.request(a, "second"))
		if err != nil {
			t.Error(err)
		}
		accepted <- run
	}()
	close(end)
	if err := <-quiet; err != nil {
		t.Error(err)
	}
	second := <-accepted
	if _, events := h.follow(second.ID); said(events) != "later" {
		t.Errorf("the second said %q", said(events))
	}
}

func TestAfterForgettingTheNextRequestHoldsNothingOfIt(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "Ada Zanzibarowitz"})
		}
		return say("noted, Ada Zanzibarowitz")
	})
	a := h.agent(nil)
	first, _ := h.send(a, "I am Ada Zanzibarowitz")
	b := h.block(a, "persona")
	b.Value = "I serve Ada Zanzibarowitz"
	if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
		t.Fatal(err)
	}
	h.later(time.Hour) // the pin moves: the prompt holds the name
	h.send(a, "again")
	last := h.model.sent()[len(h.model.sent())-1]
	if !strings.Contains(last.System, "Zanzibarowitz") {
		t.Fatalf("the prompt does not hold it: %s", last.System)
	}
	prefix := last.Prefix
	err := h.engine.Quiet(t.Context(), func(ctx context.Context) error {
		_, err := forget.New(h.store, nil, nil, nil).Forget(ctx, core.ForgetQuery{Text: "Ada Zanzibarowitz"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.later(100 * 365 * 24 * time.Hour) // the store has a clock of its own
	h.model.answer = func(int, core.ChatRequest) turn { return say("fine") }
	if run, _ := h.send(a, "and now?"); run.Status != core.RunCompleted {
		t.Fatalf("the next run: %+v", run)
	}
	last = h.model.sent()[len(h.model.sent())-1]
	text := last.System
	for _, m := range last.Messages {
		text += m.Text
		for _, c := range m.Calls {
			text += c.Arguments
		}
		for _, r := range m.Returns {
			text += r.Text
		}
	}
	if strings.Contains(text, "Zanzibarowitz") || !strings.Contains(text, "I am [forgotten]") {
		t.Errorf("sent: %s", text)
	}
	if last.Prefix == prefix {
		t.Error("what a provider signed behind the old prompt would be sent behind the new one")
	}
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: first.ID}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		req, err := h.past().Reproduce(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if redacted, err := h.past().Redacted(t.Context(), s.ID); err != nil || !redacted {
			t.Errorf("step %d is not told as redacted: %v", s.Number, err)
		}
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "Zanzibarowitz") {
				t.Errorf("step %d still shows %q", s.Number, m.Text)
			}
		}
	}
	after, err := h.store.Steps().List(t.Context(), core.StepFilter{Agent: a.ID}, core.Page{Desc: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if redacted, err := h.past().Redacted(t.Context(), after[0].ID); err != nil || redacted { // it was sent the mark
		t.Errorf("the step after it: redacted %v, %v", redacted, err)
	}
}

func TestQuietIsBusyWhileAnAgentIsCopied(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	var quiet error
	var copying *engine.Engine
	cfg := h.cfg
	cfg.Patience = 10 * time.Millisecond
	cfg.Store = beforeTx{h.store, func(ctx context.Context) {
		quiet = copying.Quiet(ctx, func(context.Context) error { return nil })
	}}
	copying = engine.New(cfg)
	p := past.New(cfg.Store, copying.Prompts(), copying, nil, h.clock)
	if _, err := p.CopyAgent(t.Context(), a.ID, past.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if core.KindOf(quiet) != core.Busy || !strings.Contains(quiet.Error(), "copied") {
		t.Errorf("while it was copied: %v", quiet)
	}
	if err := copying.Quiet(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
