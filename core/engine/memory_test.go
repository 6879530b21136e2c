package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestOverSixtyTurnsEachRequestBeginsWithTheOneBefore(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == core.ChatTool {
			return say("Noted.")
		}
		switch n % 7 {
		case 1:
			return calling("memory_insert", map[string]any{"label": "human", "new_string": fmt.Sprint("fact ", n)})
		case 3:
			return calling("archival_memory_insert", map[string]any{"content": fmt.Sprint("note ", n)})
		case 5:
			return calling("memory_replace", map[string]any{"label": "human", "old_string": "no such text", "new_string": "y"})
		}
		return say(fmt.Sprint("answer ", n))
	})
	a := h.agent(nil)
	other := h.agent(nil)
	shared := h.block(a, "persona")
	if err := h.store.Blocks().Detach(t.Context(), other.ID, h.block(other, "persona").ID); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Blocks().Attach(t.Context(), other.ID, shared.ID); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if i%10 == 4 { // a person edits
			b := h.block(a, "human")
			b.Value += fmt.Sprint("\nperson's edit ", i)
			if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
				t.Fatal(err)
			}
		}
		if i%10 == 8 { // another agent edits the shared block
			b := h.block(other, "persona")
			b.Value = fmt.Sprint("the other agent's edit ", i)
			if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorAgent, ID: string(other.ID)}); err != nil {
				t.Fatal(err)
			}
		}
		h.later(time.Minute) // the provider's cache stays warm
		if run, _ := h.send(a, fmt.Sprint("message ", i)); run.Status != core.RunCompleted {
			t.Fatalf("turn %d: %+v", i, run.Error)
		}
	}
	reqs := h.model.sent()
	for i := 1; i < len(reqs); i++ {
		prefixHolds(t, i, reqs[i-1], reqs[i])
	}
	whole := sentText(reqs[len(reqs)-1])
	for _, want := range []string{"person's edit 54", "the other agent's edit 58"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q never reached the model", want)
		}
	}
	for _, m := range h.list(a) {
		if m.Hidden != core.NotHidden || strings.Contains(m.PlainText(), "was changed outside of this thread") {
			t.Errorf("a hidden record is listed: %s", m.PlainText())
		}
	}
}

func sentText(req core.ChatRequest) string {
	var b strings.Builder
	b.WriteString(req.System)
	for _, m := range req.Messages {
		b.WriteString(m.Text)
		for _, r := range m.Returns {
			b.WriteString(r.Text)
		}
	}
	return b.String()
}

func TestThePinMovesWhenTheCacheIsColdAndNotBefore(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	h.send(a, "one")
	edit := func(v string) {
		b := h.block(a, "human")
		b.Value = v
		if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
			t.Fatal(err)
		}
	}
	edit("first edit")
	h.send(a, "two")
	h.send(a, "three")
	h.later(10 * time.Minute)
	edit("second edit")
	h.send(a, "four")
	reqs := h.model.sent()
	if reqs[1].System != reqs[0].System || countReminders(reqs[1], "first edit") != 1 || countReminders(reqs[2], "first edit") != 1 {
		t.Error("a warm pin moved, or the edit was not announced exactly once")
	}
	if !strings.Contains(reqs[3].System, "second edit") || countReminders(reqs[3], "second edit") != 0 {
		t.Error("a cold pin did not move, or announced what it shows")
	}
}

func countReminders(req core.ChatRequest, text string) int {
	n := 0
	for _, said := range reminders(req) {
		if strings.Contains(said, text) {
			n++
		}
	}
	return n
}

func TestEveryStepIsReproducedExactly(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	h := open(t, func(n int, req core.ChatRequest) turn {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role != core.ChatTool && strings.Contains(lastAsked(req), "fail now"):
			e := core.E(core.Unavailable, "down")
			e.Provider = true
			return turn{err: e}
		case last.Role == core.ChatTool || n%3 == 0:
			return say(strings.Repeat(fmt.Sprint("words ", n, " "), 60))
		case n%3 == 1:
			return calling(
				"memory_insert",
				map[string]any{"label": "human", "new_string": fmt.Sprint("fact ", n)},
				calling("conversation_search", map[string]any{"query": "words"}),
			)
		}
		return calling("archival_memory_search", map[string]any{"query": "nothing"})
	})
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 4000, Tools: true, CacheTTL: 5 * time.Minute}
	a := h.agent(func(a *core.Agent) { a.Recall = 400 })
	failed := 0
	for i := range 40 {
		text := fmt.Sprint("message ", i)
		if rng.IntN(6) == 0 {
			text, failed = "fail now", failed+1
		}
		if rng.IntN(5) == 0 {
			b := h.block(a, "persona")
			b.Value = fmt.Sprint("edit ", i)
			if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
				t.Fatal(err)
			}
		}
		h.later(time.Duration(rng.IntN(10)) * time.Minute)
		h.send(a, text)
	}
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Agent: a.ID}, core.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var reqs []core.ChatRequest
	summaries := 0
	for _, req := range h.model.sent() {
		if strings.HasSuffix(req.CacheKey, "-summary") {
			summaries++
			continue
		}
		reqs = append(reqs, req)
	}
	if summaries == 0 {
		t.Error("nothing was summarised: the test does not cover it")
	}
	if len(steps) != len(reqs) || failed == 0 {
		t.Fatalf("%d steps, %d requests, %d failures", len(steps), len(reqs), failed)
	}
	evicted, remembered := false, false
	for i, s := range steps {
		again, err := h.past().Reproduce(t.Context(), s.ID)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if diff := cmp.Diff(reqs[i], again); diff != "" {
			t.Fatalf("step %d of %d (-sent +reproduced):\n%s", i, len(steps), diff)
		}
		remembered = remembered || len(recalled(again)) > 0
		evicted = evicted || countReminders(again, "no longer fit") > 0 || countReminders(again, "no longer fits") > 0
	}
	if !evicted || !remembered {
		t.Errorf("evicted: %t, recalled: %t: the test does not cover it", evicted, remembered)
	}
}

func TestWhatIsSentAlwaysFits(t *testing.T) {
	t.Parallel()
	const window = 4000
	h := open(t, func(n int, req core.ChatRequest) turn {
		if req.Messages[len(req.Messages)-1].Role != core.ChatTool && n%4 == 1 {
			return calling("conversation_search", map[string]any{"query": "words", "limit": 20})
		}
		return say(strings.Repeat("words and words ", 40))
	})
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: window, Tools: true, CacheTTL: 5 * time.Minute}
	a := h.agent(func(a *core.Agent) { a.Recall = 1500 })
	for i := range 80 {
		size := 10
		if i%9 == 0 {
			size = 4000 // far larger than the window's share
		}
		run, _ := h.send(a, strings.Repeat(fmt.Sprint("input ", i, " "), size))
		if run.Status != core.RunCompleted {
			t.Fatalf("turn %d: %s %+v", i, run.StopReason, run.Error)
		}
	}
	markers, last := 0, ""
	for i, req := range h.model.sent() {
		raw, err := json.Marshal(req.Tools)
		if err != nil {
			t.Fatal(err)
		}
		messages := 0
		for _, m := range req.Messages {
			messages += core.EstimateTokens(m.Text)
			for _, r := range m.Returns {
				messages += core.EstimateTokens(r.Text)
			}
		}
		tokens := core.EstimateTokens(req.System) + core.EstimateTokens(string(raw)) + messages
		if tokens > window*9/10 {
			t.Errorf("request %d takes %d tokens of %d", i, tokens, window)
		}
		switch first := req.Messages[0]; {
		case len(req.Tools) == 0: // the summariser's
		case first.Role == core.ChatReminder:
			markers++
			record := core.EstimateTokens(first.Text)
			if fixed := tokens - messages; first.Text != last && messages-record > (window*9/10-fixed)*6/10 {
				t.Errorf("request %d: %d of %d tokens stayed beside system and tools", i, messages-record, window*9/10-fixed)
			}
			last = first.Text
		case markers > 0:
			t.Errorf("request %d says nothing of what left before it", i)
		}
		validHistory(t, i, req)
	}
	if markers == 0 {
		t.Error("nothing was evicted: the test covers nothing")
	}
	if got := len(h.list(a)); got < 160 {
		t.Errorf("%d messages listed: what left the window must stay in the history", got)
	}
	found, err := h.cfg.Search.Messages(t.Context(), core.SearchQuery{Text: "input 1"}, core.MessageFilter{Agent: a.ID})
	if err != nil || len(found.Hits) == 0 {
		t.Errorf("what left is not found: %v", err)
	}
}

// validHistory checks that every call has its return right behind it.
func validHistory(t *testing.T, i int, req core.ChatRequest) {
	t.Helper()
	for j, m := range req.Messages {
		if len(m.Calls) > 0 {
			if j+1 == len(req.Messages) || len(req.Messages[j+1].Returns) != len(m.Calls) {
				t.Errorf("request %d: message %d has calls without returns", i, j)
			}
		}
		if m.Role == core.ChatTool && (j == 0 || len(req.Messages[j-1].Calls) == 0) {
			t.Errorf("request %d: message %d has returns without calls", i, j)
		}
	}
}

func TestAPromptThatAloneDoesNotFitIsItsOwnError(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 1000, Tools: true}
	a := h.agent(func(a *core.Agent) { a.System = strings.Repeat("very long ", 2000) })
	run, _ := h.send(a, "hi")
	if run.StopReason != core.StopSystemPromptFull || len(h.model.sent()) != 0 {
		t.Errorf("run %s, %d requests", run.StopReason, len(h.model.sent()))
	}
}

func TestAPromptThatDoesNotFitIsMendedByAShorterBlockAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 3000, Tools: true, CacheTTL: time.Hour}
	a := h.agent(nil)
	h.send(a, "hi")
	h.edit(a, "human", strings.Repeat("very long ", 2000))
	if _, err := h.engine.Prompts().Recompile(t.Context(), core.DefaultConversation(a.ID), false); err != nil {
		t.Fatal(err)
	}
	if run, _ := h.send(a, "hi"); run.StopReason != core.StopSystemPromptFull {
		t.Fatalf("run %s: the test does not cover it", run.StopReason)
	}
	h.edit(a, "human", "short")
	if run, _ := h.send(a, "hi"); run.Status != core.RunCompleted {
		t.Errorf("run %s %s: the shorter block is of no use", run.Status, run.StopReason)
	}
}

func TestARequestThatTheProviderFindsTooLongIsShortenedOnce(t *testing.T) {
	t.Parallel()
	refused := 0
	h := open(t, func(n int, req core.ChatRequest) turn {
		if n == 12 {
			refused = len(req.Messages)
			e := core.E(core.TooLong, "maximum context length")
			e.Provider = true
			return turn{err: e}
		}
		return say("ok")
	})
	a := h.agent(nil)
	for i := range 12 {
		h.send(a, fmt.Sprint("message ", i))
	}
	run, _ := h.send(a, "the last")
	reqs := h.model.sent()
	if run.Status != core.RunCompleted || len(reqs[13].Messages) >= refused {
		t.Errorf("run %s, %d messages after %d", run.Status, len(reqs[13].Messages), refused)
	}
}

func TestToolErrorsGoToTheModelAndTheTurnGoesOn(t *testing.T) {
	t.Parallel()
	bad := []turn{
		calling("memory_insert", map[string]any{"label": "no such block", "new_string": "x"}),
		calling("memory_replace", map[string]any{"label": "human", "old_string": "absent", "new_string": "x"}),
		calling("memory_insert", map[string]any{"label": "human", "new_string": strings.Repeat("x", 6000)}),
		calling("memory_insert", map[string]any{"wrong": true}),
		calling("no_such_tool", map[string]any{}),
		{deltas: []core.Delta{{Call: &core.CallDelta{ID: "c", Name: "memory_insert", Arguments: `{"label": "human`}}}},
	}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(bad) {
			return bad[n]
		}
		return say("I give up.")
	})
	a := h.agent(nil)
	before := h.block(a, "human")
	run, events := h.send(a, "go")
	if run.Status != core.RunCompleted {
		t.Fatalf("run %+v", run)
	}
	returns := 0
	for _, ev := range events {
		if r, ok := ev.Body.(core.ToolReturned); ok {
			for _, ret := range r.Returns {
				returns++
				if !ret.IsError || ret.Text == "" {
					t.Errorf("return %d: %+v", returns, ret)
				}
			}
		}
	}
	if returns != len(bad) {
		t.Errorf("%d returns, want %d", returns, len(bad))
	}
	if after := h.block(a, "human"); after.Value != before.Value || after.Version != before.Version {
		t.Errorf("a failed edit changed the block: %+v", after)
	}
	for i, req := range h.model.sent() {
		validHistory(t, i, req)
		for _, m := range req.Messages {
			for _, c := range m.Calls {
				if !json.Valid([]byte(c.Arguments)) {
					t.Errorf("request %d replays broken arguments %q", i, c.Arguments)
				}
			}
		}
	}
}

func TestTheDateIsToldOnceAndStays(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	req := h.request(a, "first")
	req.Client.Zone, req.Client.Workspace = "Europe/Berlin", "/home/ada/compilers"
	h.submit(req)
	h.later(72 * time.Hour)
	req = h.request(a, "second")
	req.Client.Zone, req.Client.Workspace = "Europe/Berlin", "/home/ada/compilers"
	h.submit(req)
	reqs := h.model.sent()
	first, second := reqs[1].Messages[0].Text, reqs[1].Messages[2].Text
	if !strings.HasPrefix(first, "[Friday 2026-11-20 10:00 CET") || !strings.Contains(first, "/home/ada/compilers") {
		t.Errorf("first message %q", first)
	}
	if !strings.HasPrefix(second, "[Monday 2026-11-23 10:00 CET") || !strings.Contains(second, "3 days") ||
		strings.Contains(second, "/home/ada") {
		t.Errorf("second message %q", second)
	}
	if first != reqs[0].Messages[0].Text {
		t.Error("a sent line of time changed")
	}
	for _, m := range h.list(a) {
		if strings.Contains(m.PlainText(), "CET") && m.Role == core.RoleUser {
			t.Error("the line of time is part of the text in the API")
		}
	}
}

func TestSharedBlocksLoseNothingBetweenTwoAgents(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if req.Messages[len(req.Messages)-1].Role == core.ChatTool {
			return say("ok")
		}
		return calling(
			"memory_insert",
			map[string]any{"label": "human", "new_string": "line of " + req.CacheKey[:12] + fmt.Sprint(" ", len(req.Messages))},
		)
	})
	a, b := h.agent(nil), h.agent(nil)
	if err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		own, err := tx.Blocks().ByLabel(ctx, b.ID, "human")
		if err != nil {
			return err
		}
		if err := tx.Blocks().Detach(ctx, b.ID, own.ID); err != nil {
			return err
		}
		shared, err := tx.Blocks().ByLabel(ctx, a.ID, "human")
		if err != nil {
			return err
		}
		return tx.Blocks().Attach(ctx, b.ID, shared.ID)
	}); err != nil {
		t.Fatal(err)
	}
	done := make(chan core.Run, 20)
	for range 10 {
		for _, agent := range []core.Agent{a, b} {
			run, err := h.engine.Submit(t.Context(), h.request(agent, "note it"))
			if err != nil {
				t.Fatal(err)
			}
			go func() { r, _ := h.follow(run.ID); done <- r }()
		}
	}
	for range 20 {
		if r := <-done; r.Status != core.RunCompleted {
			t.Errorf("run %s %+v", r.Status, r.Error)
		}
	}
	if got := strings.Count(h.block(a, "human").Value, "line of"); got != 20 {
		t.Errorf("%d of 20 lines are there", got)
	}
}

func TestWhatTheRunningTurnWasAskedNeverLeavesUnderIt(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if strings.HasSuffix(req.CacheKey, "-summary") {
			return say("notes were kept")
		}
		if !strings.Contains(sentText(req), "the question of this turn") {
			t.Errorf("request %d lacks the question", n)
		}
		if n%9 == 8 {
			return say("done")
		}
		return calling("archival_memory_insert", map[string]any{"content": strings.Repeat(fmt.Sprint("note ", n, " "), 300)})
	})
	small(h, 4000)
	a := h.agent(nil)
	for range 2 {
		if run, _ := h.send(a, "the question of this turn "+strings.Repeat("and more of it ", 100)); run.Status != core.RunCompleted {
			t.Fatalf("run %s %+v", run.StopReason, run.Error)
		}
	}
}
