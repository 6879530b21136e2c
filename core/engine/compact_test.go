package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/compact"
	"loci/core/engine"
)

// asksForSummary reports whether a request is one for a summary.
func asksForSummary(req core.ChatRequest) bool {
	last := req.Messages[len(req.Messages)-1]
	return strings.HasSuffix(req.CacheKey, "-summary") ||
		last.Role == core.ChatReminder && strings.Contains(last.Text, "summary that will take the place")
}

// summariser answers summary requests with a function of their number, calls the tool that a message names, and answers
// everything else with words.
func summariser(summary func(n int) turn) func(int, core.ChatRequest) turn {
	var asked atomic.Int32
	return func(n int, req core.ChatRequest) turn {
		if asksForSummary(req) {
			return summary(int(asked.Add(1)))
		}
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == core.ChatUser && strings.Contains(last.Text, "dump much"):
			return calling("dump", map[string]any{"chars": 50_000}, calling("dump", map[string]any{"chars": 20_000}))
		case last.Role == core.ChatUser && strings.Contains(last.Text, "where nests"):
			return calling("conversation_search", map[string]any{"query": "blue heron nests"})
		}
		return say(strings.Repeat(fmt.Sprint("answer ", n, " "), 30))
	}
}

// dump is a tool whose return is as long as it is told.
type dump struct{}

func (dump) Spec() core.ToolSpec {
	return core.ToolSpec{
		Name:        "dump",
		Description: "Returns much.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"chars":{"type":"integer"}}}`),
	}
}

func (dump) Call(_ context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	var args struct{ Chars int }
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: strings.Repeat("lorem ipsum ", args.Chars/12)}, nil
}

func withDump(c *engine.Config) {
	c.Tools = &box{
		c.Tools,
		core.BoundTool{Info: core.ToolInfo{ID: core.BuiltinToolID("dump"), Effect: core.EffectFacts, Spec: dump{}.Spec()}, Tool: dump{}},
	}
}

func small(h *house, window int) {
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: window, Tools: true, CacheTTL: 5 * time.Minute}
}

func TestSummariesAreFiveTurnsApartWhereFewTurnsFillTheWindow(t *testing.T) {
	t.Parallel()
	for _, mode := range []compact.Mode{compact.SlidingWindow, compact.All, compact.StaticBuffer} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			l := &longTalk{house: open(t, summariser(func(n int) turn { return say(fmt.Sprint("Number ", n, ".")) }), withDump)}
			small(l.house, 4000)
			l.a = l.agent(func(a *core.Agent) {
				a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(mode), "message_buffer_limit": 20}}
			}, "dump")
			const turns = 32
			for i := range turns {
				l.turn(i, "dump much")
			}
			if !l.sparse() || l.summaries < turns/5-2 {
				t.Errorf("summaries begun in %v, %d made", l.attempts, l.summaries)
			}
		})
	}
}

func TestCompactionOnRequest(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(int) turn { return say("They spoke of herons.") }))
	a := h.agent(nil)
	conv := core.DefaultConversation(a.ID)
	if _, err := h.engine.Compact(t.Context(), conv, nil, nil); core.KindOf(err) != core.Invalid {
		t.Errorf("an empty conversation: %v", err)
	}
	for i := range 10 {
		h.send(a, fmt.Sprint("message ", i, strings.Repeat(" and words", 20)))
	}
	done, err := h.engine.Compact(t.Context(), conv, nil, map[string]any{"mode": "all"})
	if err != nil || done.Summary != "They spoke of herons." || done.Stats.MessagesBefore != 20 || done.Stats.MessagesAfter != 1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	if n := len(h.list(a)); n != 22 {
		t.Errorf("%d messages listed: nothing may be lost, and the summary is one more", n)
	}
	run, _ := h.send(a, "go on")
	reqs := h.model.sent()
	last := reqs[len(reqs)-1]
	if run.Status != core.RunCompleted || len(last.Messages) != 2 || !strings.Contains(last.Messages[0].Text, "herons") ||
		!strings.Contains(last.Messages[0].Text, "20 messages") {
		t.Errorf("after it was sent %+v", last.Messages)
	}
}

func TestCompactionOnRequestIsBusyWhileARunIsActive(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "ok"}}, gate: gate} })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "hi"))
	if err != nil {
		t.Fatal(err)
	}
	var e *core.Error
	if _, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, nil); !errors.As(err, &e) || e.Kind != core.Busy {
		t.Errorf("got %v", err)
	}
	close(gate)
	h.follow(run.ID)
}

func TestTheOlderFormWritesIntoABlockOverWhatStoodThere(t *testing.T) {
	t.Parallel()
	for _, mode := range []compact.Mode{compact.StaticBuffer, compact.PartialEvict} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			h := open(t, summariser(func(n int) turn { return say(fmt.Sprint("They spoke of herons, time ", n, ".")) }))
			small(h, 4000)
			a := h.agent(func(a *core.Agent) {
				a.Extra = map[string]any{
					compact.ExtraKey: map[string]any{"mode": string(mode), "message_buffer_limit": 12, "message_buffer_min": 4},
				}
			})
			b := h.agent(func(b *core.Agent) { b.Name = "Bob" })
			for range 36 {
				h.send(a, strings.Repeat("some words ", 90))
			}
			asked := h.summaryRequests()
			if len(asked) < 3 {
				t.Fatalf("%d summaries", len(asked))
			}
			if first := asked[0].Messages[0].Text; strings.Contains(first, compact.PreviousHeading) {
				t.Errorf("the first had nothing before it: %s", first)
			}
			_, before, _ := strings.Cut(asked[2].Messages[0].Text, compact.PreviousHeading+"\n")
			want := "They spoke of herons, time 2.\n\n" + compact.PreviousHeading + "\nThey spoke of herons, time 1."
			if before != want {
				t.Errorf("the third was shown as previous:\n%s", before)
			}
			block := h.block(a, compact.BlockLabel)
			if !strings.HasPrefix(block.Value, fmt.Sprintf("They spoke of herons, time %d.\n\n%s\n", len(asked), compact.PreviousHeading)) {
				t.Errorf("the block holds:\n%s", block.Value)
			}
			versions, err := h.store.Blocks().Versions(t.Context(), block.ID, core.Page{Limit: 100})
			if err != nil || len(versions) != len(asked) {
				t.Fatalf("%d versions of %d summaries, %v", len(versions), len(asked), err)
			}
			for _, v := range versions {
				if v.Author.Kind != core.AuthorSystem || v.Author.ID != compact.Author || v.Author.Step == "" {
					t.Errorf("version %d is by %+v", v.Version, v.Author)
				}
			}
			reqs := h.model.sent()
			last := reqs[len(reqs)-1]
			if !strings.Contains(last.System, "time "+fmt.Sprint(len(asked))) || strings.Contains(last.Messages[0].Text, "<summary>") ||
				!strings.Contains(last.Messages[0].Text, "memory block") {
				t.Errorf("the window begins with %q", last.Messages[0].Text)
			}
			if _, err := h.store.Blocks().ByLabel(t.Context(), b.ID, compact.BlockLabel); core.KindOf(err) != core.NotFound {
				t.Errorf("another agent has the block: %v", err)
			}
		})
	}
}

func TestTheSummaryBlockNeverOutgrowsTheWindow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long summary ", 40)
	h := open(t, summariser(func(n int) turn { return say(fmt.Sprint("number ", n, ": ", long)) }))
	small(h, 4000)
	a := h.agent(func(a *core.Agent) {
		a.Extra = map[string]any{
			compact.ExtraKey: map[string]any{"mode": string(compact.StaticBuffer), "message_buffer_limit": 8, "message_buffer_min": 2},
		}
	})
	err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error { // a person's own, with a limit of its own
		b := core.Block{
			ID:        core.NewBlockID(),
			Label:     compact.BlockLabel,
			Value:     "I wrote this.",
			Limit:     900,
			ReadOnly:  true,
			CreatedAt: h.clock(),
		}
		if err := tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser}); err != nil {
			return err
		}
		return tx.Blocks().Attach(ctx, a.ID, b.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	kept := false
	for i := range 22 {
		if run, _ := h.send(a, strings.Repeat("some words ", 40)); run.Status != core.RunCompleted {
			t.Fatalf("turn %d: %+v", i, run.Error)
		}
		b := h.block(a, compact.BlockLabel)
		if n := utf8.RuneCountInString(b.Value); n > 900 {
			t.Fatalf("turn %d: %d characters", i, n)
		}
		kept = kept || strings.HasPrefix(b.Value, "number 1") && strings.HasSuffix(b.Value, compact.PreviousHeading+"\nI wrote this.")
	}
	if b := h.block(
		a,
		compact.BlockLabel,
	); !kept || !strings.HasPrefix(b.Value, fmt.Sprintf("number %d: ", len(h.summaryRequests()))) ||
		!strings.Contains(b.Value, "cut here") {
		t.Errorf("kept %v, at last:\n%s", kept, b.Value)
	}
}

func TestAChangeOfModeLosesNoSummary(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(n int) turn { return say(fmt.Sprint("They spoke of herons, time ", n, ".")) }))
	a := h.agent(nil)
	conv := core.DefaultConversation(a.ID)
	for i, mode := range []compact.Mode{compact.SlidingWindow, compact.PartialEvict, compact.SlidingWindow} {
		for range 6 {
			h.send(a, strings.Repeat("some words ", 30))
		}
		done, err := h.engine.Compact(t.Context(), conv, nil, map[string]any{"mode": string(mode)})
		if want := fmt.Sprint("They spoke of herons, time ", i+1, "."); err != nil || done.Summary != want {
			t.Fatalf("%s: %+v, %v", mode, done, err)
		}
	}
	if b := h.block(
		a,
		compact.BlockLabel,
	); b.Value != "They spoke of herons, time 2.\n\n"+compact.PreviousHeading+"\nThey spoke of herons, time 1." {
		t.Errorf("the block holds %s", b.Value)
	}
	h.send(a, "go on")
	reqs := h.model.sent()
	last := reqs[len(reqs)-1]
	if !strings.Contains(last.Messages[0].Text, "time 3.") || !strings.Contains(last.System, "time 1.") {
		t.Errorf("sent %q", last.Messages[0].Text)
	}
	asked := h.summaryRequests()
	if text := asked[2].Messages[0].Text; strings.Contains(text, "memory block") {
		t.Errorf("the record that names the block was given as a summary: %s", text)
	}
}

func TestTheOlderFormKeepsToItsNumbersOfMessages(t *testing.T) {
	t.Parallel()
	h := open(t, summariser(func(n int) turn { return say(fmt.Sprint("Summary ", n)) }))
	a := h.agent(func(a *core.Agent) {
		a.Extra = map[string]any{
			compact.ExtraKey: map[string]any{"mode": string(compact.StaticBuffer), "message_buffer_limit": 20, "message_buffer_min": 6},
		}
	})
	conv := core.DefaultConversation(a.ID)
	if _, err := h.engine.Compact(t.Context(), conv, nil, nil); core.KindOf(err) != core.Invalid || core.HintOf(err) != "" {
		t.Errorf("nothing to compact: %v", err)
	}
	for i := range 24 {
		h.send(a, "hello")
		ids, err := h.store.Messages().ContextIDs(t.Context(), conv)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(ids) - 1; n > 20+2 || i >= 10 && n < 6 {
			t.Errorf("turn %d: %d messages in the window", i, n)
		}
	}
	if n := len(h.summaryRequests()); n < 2 || n > 5 {
		t.Errorf("%d summaries in 24 turns", n)
	}
	before := len(h.summaryRequests())
	if _, err := h.engine.Compact(t.Context(), conv, nil, nil); err != nil {
		t.Errorf("on request: %v", err)
	}
	if _, err := h.engine.Compact(t.Context(), conv, nil, nil); core.KindOf(err) != core.Invalid || core.HintOf(err) == "" {
		t.Errorf("what the settings keep: %v", err)
	}
	if n := len(h.summaryRequests()); n != before+1 {
		t.Errorf("%d requests for a summary", n-before)
	}
}

func TestARequestThatStaysTooLongIsTriedTwiceAndNotMore(t *testing.T) {
	t.Parallel()
	refuse := false
	h := open(t, func(_ int, req core.ChatRequest) turn {
		switch {
		case asksForSummary(req):
			return say("Short.")
		case refuse:
			err := core.E(core.TooLong, "maximum context length")
			err.Provider = true
			return turn{err: err}
		}
		return say(strings.Repeat("words ", 50))
	})
	a := h.agent(nil)
	for range 8 {
		h.send(a, strings.Repeat("some words ", 30))
	}
	refuse = true
	before := len(h.model.sent())
	run, events := h.send(a, "and now")
	var order []string
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case core.Compacting:
			order = append(order, b.Trigger)
		case core.Summary:
			order = append(order, "summary")
		case core.Failure:
			order = append(order, b.Error.Type)
		default: // of the answer
		}
	}
	if diff := cmp.Diff([]string{"context_window_exceeded", "summary", "context_window_overflow"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked := len(h.model.sent()) - before; run.Status != core.RunFailed || asked != 3 {
		t.Errorf("%s after %d requests, the summary's among them", run.Status, asked)
	}
	refuse = false
	if run, _ := h.send(a, "again"); run.Status != core.RunCompleted {
		t.Errorf("the agent is dead: %+v", run.Error)
	}
}
