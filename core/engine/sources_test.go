package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// stranger is a tool whose returns come from outside.
type stranger struct{ probe }

func (*stranger) Call(_ context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	return core.ToolResult{Text: "read", Source: "https://example.com/" + call.ID}, nil
}

func TestWhatIsWrittenAfterAForeignReturnOfItsRunCarriesItsSource(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		switch n {
		case 0:
			return calling("core_memory_append", map[string]any{"label": "human", "content": "before"})
		case 1:
			return probing("x")
		case 2:
			return calling("core_memory_append", map[string]any{"label": "human", "content": "after"})
		case 3:
			return calling("archival_memory_insert", map[string]any{"content": "a passage"})
		case 5:
			return calling("core_memory_append", map[string]any{"label": "human", "content": "another run"})
		}
		return say("done")
	}, func(cfg *engine.Config) {
		tool := &stranger{}
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
			ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Spec: tool.Spec(),
		}}}
	})
	a := h.agent(nil, "probe", "core_memory_append", "archival_memory_insert")
	h.submit(h.request(a, "go"))
	h.submit(h.request(a, "again"))
	blocks, err := h.store.Blocks().OfAgent(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range blocks {
		if b.Label != "human" {
			continue
		}
		versions, err := h.store.Blocks().Versions(t.Context(), b.ID, core.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			if v.Author.Kind == core.AuthorAgent {
				got = append(got, v.Author.Source)
			}
		}
	}
	const source = "https://example.com/call_probe"
	if len(got) != 3 || got[0] != "" || got[1] != source || got[2] != "" {
		t.Errorf("the versions of the block, the newest first, came after %q", got)
	}
	archive, ok, err := h.store.Archives().OfAgent(t.Context(), a.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	passages, err := h.store.Passages().List(t.Context(), core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}, core.Page{})
	if err != nil || len(passages) != 1 {
		t.Fatalf("%d passages, %v", len(passages), err)
	}
	first, err := h.store.Passages().Version(t.Context(), passages[0].ID, 1)
	if err != nil || first.Author.Source != source {
		t.Errorf("the passage came after %q, %v", first.Author.Source, err)
	}
}

// sourceOfNewest is what the newest version of an agent's block came after.
func (h *house) sourceOfNewest(a core.Agent, label string) string {
	h.t.Helper()
	versions, err := h.store.Blocks().Versions(h.t.Context(), h.block(a, label).ID, core.Page{Limit: 1})
	if err != nil || len(versions) != 1 || versions[0].Author.Kind != core.AuthorAgent {
		h.t.Fatalf("the newest version of %s: %+v, %v", label, versions, err)
	}
	return versions[0].Author.Source
}

func appending(text string) turn {
	return calling("core_memory_append", map[string]any{"label": "human", "content": text})
}

// withStranger gives probe returns that come from outside where its argument is "outside", and long ones.
func withStranger(cfg *engine.Config) {
	tool := &longStranger{}
	cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
		ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Spec: tool.Spec(),
	}}}
}

type longStranger struct{ probe }

func (*longStranger) Call(_ context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	r := core.ToolResult{Text: strings.Repeat("what was read ", 150)}
	if strings.Contains(call.Arguments, "outside") {
		r.Text, r.Source = "FROM OUTSIDE "+r.Text, "https://a.example/\nhttps://b.example/"
	}
	return r, nil
}

// cutOff is a model that calls probe with first and then often enough for that to leave a small window, hangs, and answers with last when
// it is asked again. What must have left the window by then is gone.
func cutOff(t *testing.T, first, gone string, last turn) func(n int, req core.ChatRequest) turn {
	t.Helper()
	never := make(chan struct{})
	return func(n int, req core.ChatRequest) turn {
		switch {
		case n == 0:
			return probing(first)
		case n < 8:
			return probing("inside")
		case n == 8:
			return turn{deltas: []core.Delta{{Text: "half"}}, gate: never}
		case n == 9:
			if strings.Contains(fmt.Sprint(req.Messages), gone) {
				t.Error("what was read is still in the window, so that this tests nothing")
			}
			return last
		}
		return say("done")
	}
}

// goOn starts a run of such a model in a small window, restarts the daemon when it hangs, and follows the run to its end.
func (h *house) goOn(a core.Agent) (core.Run, []core.Event) {
	h.t.Helper()
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 4000, Tools: true}
	req := h.request(a, "go")
	req.Background = true
	run, err := h.engine.Submit(h.t.Context(), req)
	if err != nil {
		h.t.Fatal(err)
	}
	h.waitFor(run.ID, isSaid)
	h.restart()
	return h.follow(run.ID)
}

const bothSources = "https://a.example/\nhttps://b.example/"

func TestSourcesAreKnownAfterWhatWasReadLeftTheWindowAndTheDaemonRestarted(t *testing.T) {
	t.Parallel()
	h := open(t, cutOff(t, "outside", "FROM OUTSIDE", appending("after")), withStranger)
	a := h.agent(nil, "probe", "core_memory_append")
	if r, _ := h.goOn(a); r.Status != core.RunCompleted {
		t.Fatalf("the run is %s %+v", r.Status, r.Error)
	}
	if got := h.sourceOfNewest(a, "human"); got != bothSources {
		t.Errorf("it came after %q", got)
	}
}

func TestARunThatBeginsWithATextFromOutsideKnowsItsSource(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return appending("after")
		}
		return say("done")
	})
	a := h.agent(nil, "core_memory_append")
	req := h.request(a, "a line has ended")
	req.Config.Source = "a.example"
	h.submit(req)
	if got := h.sourceOfNewest(a, "human"); got != "a.example" {
		t.Errorf("it came after %q", got)
	}
}

func TestSourcesAreKnownAfterAPauseInWhichTheWindowWasSummarised(t *testing.T) {
	t.Parallel()
	answers := []turn{probing("outside"), appending("after"), say("a summary")}
	g := &gated{house: open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(answers) {
			return answers[n]
		}
		return say("done")
	}, withStranger)}
	g.agent = g.house.agent(func(a *core.Agent) {
		a.ToolRules = []core.ToolRule{{Type: core.RuleRequiresApproval, Tool: "core_memory_append"}}
	}, "probe", "core_memory_append")
	request := g.asked("go")
	if _, err := g.engine.Compact(t.Context(), g.conv(), nil, map[string]any{"mode": "all"}); err != nil {
		t.Fatal(err)
	}
	rows, err := g.store.Messages().Context(t.Context(), g.conv())
	if err != nil || strings.Contains(fmt.Sprint(rows), "FROM OUTSIDE") {
		t.Fatalf("what was read is still in the window, so that this tests nothing; %v", err)
	}
	g.restart()
	run, _ := g.submit(g.answer(approve(request.Calls()[0].ID)))
	if run.StopReason != core.StopEndTurn {
		t.Fatalf("the answer: %s %+v", run.StopReason, run.Error)
	}
	if got := g.sourceOfNewest(g.agent, "human"); got != bothSources {
		t.Errorf("it came after %q", got)
	}
}

// TestRulesCountAfterWhatWasCalledLeftTheWindowAndTheDaemonRestarted calls a tool as often as a rule allows, has the first calls leave
// the window and the daemon restart, and calls once more. One of the answers goes to the summary that fails.
func TestRulesCountAfterWhatWasCalledLeftTheWindowAndTheDaemonRestarted(t *testing.T) {
	t.Parallel()
	h := open(t, cutOff(t, "the first one", "the first one", probing("once more")), withStranger)
	r, events := h.goOn(h.agent(func(a *core.Agent) {
		a.ToolRules = []core.ToolRule{{Type: core.RuleMaxCount, Tool: "probe", MaxCount: 7}}
	}, "probe"))
	refused := errorReturns(events)
	if r.Status != core.RunCompleted || len(refused) != 1 || !strings.Contains(refused[0], "Cannot call probe") {
		t.Errorf("the run is %s %+v, refused: %q", r.Status, r.Error, refused)
	}
}
