package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"loci/core"
	"loci/core/compact"
	"loci/core/coretest"
	"loci/core/moment"
)

// TestAStepKeepsTheSettingsThatItWasSentWith: somebody gives the conversation others while the model answers.
func TestAStepKeepsTheSettingsThatItWasSentWith(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: goOn} })
	a := h.agent(nil)
	conv := core.DefaultConversation(a.ID)
	set := func(settings *core.ModelSettings, model core.Handle) {
		t.Helper()
		err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
			c, err := tx.Conversations().Get(ctx, conv)
			if err != nil {
				return err
			}
			c.Settings, c.Model = settings, model
			return tx.Conversations().Update(ctx, &c)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(&core.ModelSettings{MaxOutputTokens: 111}, "openai/sent")
	run, err := h.engine.Submit(t.Context(), h.request(a, "go"))
	if err != nil {
		t.Fatal(err)
	}
	coretest.Until(t, "the model is asked", func() bool { return len(h.model.sent()) == 1 })
	set(&core.ModelSettings{MaxOutputTokens: 222}, "openai/other")
	close(goOn)
	h.follow(run.ID)
	_, text, err := h.store.Snapshots().Get(t.Context(), h.firstStep(run).AgentHash)
	if err != nil {
		t.Fatal(err)
	}
	var s moment.State
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if s.Settings.MaxOutputTokens != 111 || s.Override != "openai/sent" {
		t.Errorf("the step has %+v and %q", s.Settings, s.Override)
	}
	if c, err := h.store.Conversations().Get(t.Context(), conv); err != nil || c.Settings.MaxOutputTokens != 222 {
		t.Errorf("the conversation has %+v, %v", c.Settings, err)
	}
}

// TestABlockIsNotAnnouncedBesideAPromptThatShowsIt: an eviction at the beginning of a turn compiles the prompt anew.
func TestABlockIsNotAnnouncedBesideAPromptThatShowsIt(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say(strings.Repeat("words ", 100)) })
	small(h, 4000)
	a := h.agent(func(a *core.Agent) {
		a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(compact.Evict)}}
	})
	h.send(a, "hello")
	shown, announced := 0, 0
	for i := range 25 {
		value := fmt.Sprintf("the human of turn %d.", i)
		h.edit(a, "human", value)
		h.send(a, strings.Repeat("some words ", 50))
		req := lastOf(h.model.sent())
		inPrompt, reminders := strings.Contains(req.System, value), countReminders(req, value)
		if inPrompt {
			shown++
		}
		announced += reminders
		if inPrompt == (reminders > 0) {
			t.Errorf("turn %d: in the prompt %t, announced %d times", i, inPrompt, reminders)
		}
	}
	if shown == 0 || announced == 0 {
		t.Errorf("%d were in the prompt, %d were announced: the test does not cover it", shown, announced)
	}
}

// TestASummaryBlockThatIsSharedMakesTheOthersPromptsStale when a compaction writes it.
func TestASummaryBlockThatIsSharedMakesTheOthersPromptsStale(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(n int) turn { return say(fmt.Sprint("Summary ", n, ".")) }))
	mode := func(a *core.Agent) {
		a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(compact.PartialEvict)}}
	}
	a, other := h.agent(mode), h.agent(nil)
	compacted := func() {
		t.Helper()
		for range 8 {
			h.send(a, "hello")
		}
		if _, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	stale := func() bool {
		t.Helper()
		c, err := h.store.Conversations().Get(t.Context(), core.DefaultConversation(other.ID))
		if err != nil {
			t.Fatal(err)
		}
		return c.Stale
	}
	compacted()
	if err := h.store.Blocks().Attach(t.Context(), other.ID, h.block(a, compact.BlockLabel).ID); err != nil {
		t.Fatal(err)
	}
	if stale() {
		t.Error("stale before anything was written")
	}
	compacted()
	if !stale() {
		t.Error("the other agent's prompt does not know that its block was written")
	}
}

// TestASummaryOnRequestCountsAmongThoseThatAreFiveTurnsApart although no run made it: the fifth turn may begin the next.
func TestASummaryOnRequestCountsAmongThoseThatAreFiveTurnsApart(t *testing.T) {
	t.Parallel()
	l := &longTalk{house: open(t, summariser(func(n int) turn { return say(fmt.Sprint("Number ", n, ".")) }))}
	l.a = l.agent(nil)
	for i := range 6 {
		l.turn(i, "hello")
	}
	conv := core.DefaultConversation(l.a.ID)
	if _, err := l.engine.Compact(t.Context(), conv, nil, map[string]any{"mode": string(compact.All)}); err != nil {
		t.Fatal(err)
	}
	err := l.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		a, err := tx.Agents().Get(ctx, l.a.ID)
		if err != nil {
			return err
		}
		a.Extra = map[string]any{compact.ExtraKey: map[string]any{
			"mode": string(compact.StaticBuffer), "message_buffer_limit": 2, "message_buffer_min": 1,
		}}
		return tx.Agents().Update(ctx, &a)
	})
	if err != nil {
		t.Fatal(err)
	}
	l.attempts = nil
	for i := range 8 {
		l.turn(i, "hello again")
	}
	if len(l.attempts) == 0 || l.attempts[0] != 4 {
		t.Errorf("the next summaries are begun in %v", l.attempts)
	}
}
