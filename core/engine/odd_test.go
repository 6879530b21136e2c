package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
)

func notices(events []core.Event, kind string) []string {
	var out []string
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == kind {
			out = append(out, n.Text)
		}
	}
	return out
}

func piece(index int, id, name, arguments string) core.Delta {
	return core.Delta{Call: &core.CallDelta{Index: index, ID: id, Name: name, Arguments: arguments}}
}

func TestARunawayAnswerIsStoppedWithAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	many := func(n int, make func(i int) core.Delta) []core.Delta {
		out := []core.Delta{piece(0, "c", "memory_insert", `{"label":"human","new_string":"`)}
		for i := range n {
			out = append(out, make(i))
		}
		return out
	}
	for name, c := range map[string]struct {
		deltas []core.Delta
		want   string
	}{
		"text":      {many(5, func(int) core.Delta { return core.Delta{Text: strings.Repeat("x", 1<<20)} }), "over 4 MB"},
		"reasoning": {many(5, func(int) core.Delta { return core.Delta{Reasoning: strings.Repeat("x", 1<<20)} }), "over 4 MB"},
		"arguments": {many(5, func(int) core.Delta { return piece(0, "", "", strings.Repeat("x", 1<<20)) }), "over 4 MB"},
		"blanks":    {many(2100, func(i int) core.Delta { return piece(0, "", "", strings.Repeat(" ", 1+i%3)) }), "repeat themselves"},
		"the same few": {
			many(2100, func(i int) core.Delta { return piece(0, "", "", []string{"to ", "be ", "or "}[i%3]) }), "repeat themselves",
		},
		"a page is no runaway": {
			append(many(2500, func(i int) core.Delta { return piece(0, "", "", fmt.Sprintf("%d ", i)) }), piece(0, "", "", `"}`)), "",
		},
		"calls without a number": {many(1100, func(i int) core.Delta { return piece(i+1, "", "memory_insert", "{}") }), "1000 tools"},
		"a long list is no circle": {
			append(many(1900, func(int) core.Delta { return piece(0, "", "", "- ") }), piece(0, "", "", `"}`)), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(n int, _ core.ChatRequest) turn {
				if n == 0 {
					return turn{deltas: c.deltas}
				}
				return say("Done.")
			})
			run, _ := h.send(h.agent(nil), "go")
			if c.want == "" {
				if run.Status != core.RunCompleted {
					t.Errorf("run %+v", run.Error)
				}
				return
			}
			if run.Status != core.RunFailed || run.StopReason != core.StopInvalidLLMResponse || run.Error == nil ||
				run.Error.Type != "llm_runaway" ||
				!strings.Contains(run.Error.Message, c.want) ||
				run.Error.Hint == "" {
				t.Errorf("%s %s %+v", run.Status, run.StopReason, run.Error)
			}
		})
	}
}

func TestACallUnderNoLegalNameIsAnsweredAsUnknownAndNotReplayed(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"me mory$insert", "memory.insert", strings.Repeat("x", 100_000), "日記"} {
		h := open(t, func(n int, _ core.ChatRequest) turn {
			if n == 0 {
				return turn{deltas: []core.Delta{piece(0, "c", wrong, "{}"), {Native: json.RawMessage(`{"items":["as it was"]}`)}}}
			}
			return say("Sorry.")
		})
		a := h.agent(nil)
		run, _ := h.send(a, "go")
		if run.Status != core.RunCompleted {
			t.Fatalf("run %+v", run.Error)
		}
		second := h.model.sent()[1]
		n := len(second.Messages)
		called, returned := second.Messages[n-2], second.Messages[n-1]
		if len(called.Calls) != 1 || called.Calls[0].Name != core.NoToolName || called.Native != nil {
			t.Errorf("%.20q is replayed as %+v", wrong, called)
		}
		if len(returned.Returns) != 1 || !returned.Returns[0].IsError || !strings.Contains(returned.Returns[0].Text, "there is no tool") ||
			len(returned.Returns[0].Text) > 1000 {
			t.Errorf("%.20q: %+v", wrong, returned.Returns)
		}
	}
}

func TestTheFirstRunWithAModelThatIsNotListedSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("Hi.") })
	h.model.listed = []core.ModelInfo{{Handle: "openai/gpt-listed"}}
	a := h.agent(func(a *core.Agent) { a.Model = "openai/gpt-liste" })
	warnings := func(want int) {
		t.Helper()
		_, events := h.send(a, "go")
		n := 0
		for _, ev := range events {
			if said, ok := ev.Body.(core.Notice); ok && said.Kind == "model" &&
				strings.Contains(said.Text, "The closest names are openai/gpt-listed") {
				n++
			}
		}
		if n != want {
			t.Errorf("%d warnings, want %d", n, want)
		}
	}
	warnings(1)
	warnings(0)
	a, err := h.store.Agents().Get(t.Context(), a.ID)
	if err == nil {
		a.Model, a.UpdatedAt = "openai/gpt-listen", h.clock()
		a.Rev++
		err = h.store.Agents().Update(t.Context(), &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	warnings(1)
	a, err = h.store.Agents().Get(t.Context(), a.ID)
	if err == nil {
		a.Model, a.UpdatedAt = "openai/gpt-listed", h.clock()
		a.Rev++
		err = h.store.Agents().Update(t.Context(), &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	warnings(0)
}

func TestARefusalWithoutATextIsNoEmptyAnswer(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return turn{finish: core.FinishRefused} })
	run, _ := h.send(h.agent(nil), "go")
	if run.Status != core.RunFailed || run.StopReason != core.StopLLMAPIError || run.Error == nil || run.Error.Kind != core.Invalid ||
		!strings.Contains(run.Error.Message, "declined to answer") || run.Error.Hint == "" {
		t.Errorf("%s %s %+v", run.Status, run.StopReason, run.Error)
	}
	if n := len(h.model.sent()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestAnItemGoesBackOnlyToTheAddressThatMadeIt(t *testing.T) {
	t.Parallel()
	for at, again := range map[string]bool{"https://one.example/v1": true, "https://two.example/v1": false} {
		h := open(t, func(n int, _ core.ChatRequest) turn {
			if n == 0 {
				return turn{deltas: []core.Delta{{Text: "Hello."}, {Native: json.RawMessage(`{"items":["as it was"]}`)}}}
			}
			return say("Again.")
		})
		info := core.ModelInfo{
			ContextWindow: 100_000,
			Tools:         true,
			ForcedTools:   true,
			CacheTTL:      5 * time.Minute,
			Endpoint:      "https://one.example/v1",
		}
		a := h.agent(nil)
		h.model.infos[a.Model] = info
		h.send(a, "hi")
		info.Endpoint = at
		h.model.infos[a.Model] = info
		h.send(a, "and now")
		requests := h.model.sent()
		var native *core.Native
		for _, m := range requests[len(requests)-1].Messages {
			if m.Role == core.ChatAssistant {
				native = m.Native
			}
		}
		if (native != nil) != again || native != nil && native.Endpoint != "https://one.example/v1" {
			t.Errorf("at %s: %+v", at, native)
		}
	}
}

func TestCallsUnderOneIDGetTheirOwnReturns(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return turn{deltas: []core.Delta{
				piece(0, "same", "memory_insert", `{"label":"human","new_string":"Ada"}`), piece(1, "same", "no_such_tool", "{}"),
				{Native: json.RawMessage(`{"items":["as it was"]}`)},
			}}
		}
		return say("Done.")
	})
	run, _ := h.send(h.agent(nil), "go")
	second := h.model.sent()[1]
	last := second.Messages[len(second.Messages)-1].Returns
	if run.Status != core.RunCompleted || len(last) != 2 || last[0].CallID == last[1].CallID || last[0].IsError || !last[1].IsError {
		t.Errorf("run %s, returns %+v", run.Status, last)
	}
	if second.Messages[len(second.Messages)-2].Native != nil {
		t.Error("the items go back as they came")
	}
}

func TestTextThatTurnsOutToBeThoughtsIsTakenBack(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn {
		return turn{deltas: []core.Delta{{Text: "They say "}, {Text: "hello."}, {Thought: true}, {Text: "Hello!"}}}
	})
	a := h.agent(nil)
	run, events := h.send(a, "hi")
	if run.Status != core.RunCompleted || len(notices(events, "discard")) != 1 {
		t.Errorf("run %s, notices %v", run.Status, notices(events, "discard"))
	}
	msgs := h.list(a)
	m := msgs[len(msgs)-1]
	if m.PlainText() != "Hello!" || len(m.Content) != 2 || m.Content[0].Type != core.ContentReasoning ||
		m.Content[0].Text != "They say hello." {
		t.Errorf("kept %+v", m.Content)
	}
	for _, ev := range events {
		if said, ok := ev.Body.(core.Said); ok && ev.Message == m.ID && said.Text != "Hello!" {
			t.Errorf("shown of the message that counts: %q", said.Text)
		}
	}
}

func TestAnAnswerThatBreaksOffUnseenIsAskedForAgain(t *testing.T) {
	t.Parallel()
	cut := core.E(core.Unavailable, "the answer broke off")
	cut.Provider = true
	ask := func(breaks ...turn) (core.Run, int) {
		h := open(t, func(n int, _ core.ChatRequest) turn {
			if n < len(breaks) {
				return breaks[n]
			}
			return calling("send_message", map[string]any{"thinking": "I greet.", "message": "Hello"})
		})
		req := h.request(h.agent(func(a *core.Agent) { a.Type = core.AgentMemGPTV2 }, "send_message"), "hi")
		req.Config.StreamTokens = true
		run, _ := h.submit(req)
		return run, len(h.model.sent())
	}
	unseen := turn{deltas: []core.Delta{piece(0, "c", "send_message", `{"thi`)}, err: cut} // held back until its thoughts are whole
	if run, n := ask(unseen); run.Status != core.RunCompleted || n != 2 {
		t.Errorf("unseen: %s after %d requests", run.Status, n)
	}
	if run, n := ask(unseen, unseen, unseen); run.Status != core.RunFailed || n != 2 {
		t.Errorf("again and again: %s after %d requests", run.Status, n)
	}
	seen := turn{deltas: []core.Delta{piece(0, "c", "send_message", `{"thinking": "I greet.", "message": "Hel`)}, err: cut}
	if run, n := ask(seen); run.Status != core.RunFailed || n != 1 {
		t.Errorf("seen: %s after %d requests", run.Status, n)
	}
	if run, n := ask(turn{err: cut}); run.Status != core.RunFailed || n != 1 {
		t.Errorf("never reached: %s after %d requests", run.Status, n)
	}
}

func TestAnswersThatBreakOffAreTakenBackWhereEveryReaderCanDropThem(t *testing.T) {
	t.Parallel()
	cut := core.E(core.Timeout, "the answer broke off")
	cut.Provider = true
	thought, call := core.Delta{Reasoning: "They greet me."}, piece(0, "c", "memory_insert", `{"label": "hu`)
	contract := func(tokens bool) func(*engine.Request) {
		return func(r *engine.Request) { r.Config.StreamTokens = tokens }
	}
	own := func(r *engine.Request) {
		r.Client, r.Config.StreamTokens = core.Client{ID: "client-1", Kind: core.ClientChat}, true
	}
	ownWhole := func(r *engine.Request) { own(r); r.Config.StreamTokens = false }
	for name, tc := range map[string]struct {
		of    func(*engine.Request)
		first []core.Delta
		again bool
	}{
		"a thought, a client that gets whole messages":      {contract(false), []core.Delta{thought}, true},
		"half a call, a client that gets whole messages":    {contract(false), []core.Delta{call}, true},
		"both, a client of ours":                            {own, []core.Delta{thought, call}, true},
		"a text, a client of ours":                          {own, []core.Delta{thought, {Text: "Hel"}}, false},
		"a text, a client that gets whole messages":         {contract(false), []core.Delta{{Text: "Hel"}}, true},
		"a text and a call, a session with whole messages":  {ownWhole, []core.Delta{{Text: "Hel"}, call}, true},
		"a text, a client that shows pieces and no more":    {contract(true), []core.Delta{{Text: "Hel"}}, false},
		"a thought, a client that shows pieces and no more": {contract(true), []core.Delta{thought}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(n int, _ core.ChatRequest) turn {
				if n == 0 {
					return turn{deltas: tc.first, err: cut}
				}
				return say("Hello")
			})
			req := h.request(h.agent(nil), "hi")
			tc.of(&req)
			run, events := h.submit(req)
			want, status := 1, core.RunFailed
			if tc.again {
				want, status = 2, core.RunCompleted
			}
			if n := len(h.model.sent()); run.Status != status || n != want {
				t.Errorf("run %s after %d requests, want %s after %d", run.Status, n, status, want)
			}
			if n := len(notices(events, "discard")); n != want-1 {
				t.Errorf("%d discards, want %d", n, want-1)
			}
		})
	}
}

func TestAWaitIsSaidInTheRunsStream(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn {
		return turn{
			deltas: []core.Delta{{Notice: &core.Notice{Kind: "retry", Text: "llama: Loading model; waiting for it"}}, {Text: "Hello"}},
		}
	})
	a := h.agent(nil)
	run, events := h.send(a, "hi")
	if got := notices(
		events,
		"retry",
	); run.Status != core.RunCompleted || len(got) != 1 ||
		got[0] != "llama: Loading model; waiting for it" {
		t.Errorf("run %s, notices %v", run.Status, got)
	}
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 10})
	if err != nil || len(steps) != 1 {
		t.Fatalf("%v %v", steps, err)
	}
}

// failing is a tool whose edit writes and then finds that it must not have.
type failing struct{ core.Toolbox }

func (f failing) Tools(ctx context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	bound, err := f.Toolbox.Tools(ctx, ids)
	bound = slices.Clone(bound)
	for i := range bound {
		if bound[i].Info.Spec.Name == "memory_insert" {
			bound[i].Tool = halfway{bound[i].Tool}
		}
	}
	return bound, err
}

type halfway struct{ core.Tool }

func (h halfway) Call(ctx context.Context, call core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	result, err := h.Tool.Call(ctx, call, env)
	if apply := result.Apply; apply != nil {
		result.Apply = func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
			if _, err := apply(ctx, tx); err != nil {
				return core.ToolResult{}, err
			}
			return core.ToolError("the second half failed"), nil
		}
	}
	return result, err
}

func TestAFailedEditLeavesNothingOfItself(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "half"},
				calling("archival_memory_insert", map[string]any{"content": "kept"}))
		}
		return say("Done.")
	}, func(c *engine.Config) { c.Tools = failing{c.Tools} })
	a := h.agent(nil)
	before := h.block(a, "human")
	run, events := h.send(a, "go")
	if run.Status != core.RunCompleted {
		t.Fatalf("run %+v", run.Error)
	}
	for _, ev := range events {
		if r, ok := ev.Body.(core.ToolReturned); ok && (!r.Returns[0].IsError || r.Returns[1].IsError) {
			t.Errorf("returns %+v", r.Returns)
		}
	}
	if after := h.block(a, "human"); after.Value != before.Value || after.Version != before.Version {
		t.Errorf("the failed edit stays: %+v", after)
	}
	archive, ok, err := h.store.Archives().OfAgent(t.Context(), a.ID)
	if err != nil || !ok {
		t.Fatalf("no archive: %v", err)
	}
	if kept, err := h.store.Passages().
		List(t.Context(), core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}, core.Page{Limit: 10}); err != nil ||
		len(kept) != 1 {
		t.Errorf("the edit beside it: %v, %v", kept, err)
	}
}

func TestAStepKeepsWhatItsModelReportedAndNothingElse(t *testing.T) {
	t.Parallel()
	want := []*core.Usage{{Prompt: 11, Completion: 3, Total: 14, Cached: new(5)}, nil}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		out := say("Done.")
		if n == 0 {
			out = calling("memory_insert", map[string]any{"label": "human", "new_string": "x"})
		}
		out.usage = want[n]
		return out
	})
	run, _ := h.send(h.agent(nil), "go")
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 10})
	if err != nil || len(steps) != 2 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	for _, s := range steps {
		got, _ := json.Marshal(s.Usage)
		wanted, _ := json.Marshal(want[s.Number-1])
		if string(got) != string(wanted) {
			t.Errorf("step %d: %s, want %s", s.Number, got, wanted)
		}
	}
}
