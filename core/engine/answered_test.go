package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
	"loci/core/engine"
	"loci/core/past"
	"loci/core/request"
)

// killed leaves the facts as a daemon does that was killed between the stored answer and its calls, and starts a new engine.
func (g *gated) killed(answer engine.Decision, change func(*core.Run)) core.Run {
	g.t.Helper()
	asked := g.waiting()
	now := g.clock()
	run := core.Run{
		ID: core.NewRunID(), Agent: g.agent.ID, Conversation: g.conv(), Status: core.RunRunning, Background: true, CreatedAt: now,
		StartedAt: now, Config: core.RunConfig{Speak: core.DefaultSpeak, Continues: []core.RunID{asked.Run}},
	}
	run.Chain = []core.RunID{run.ID}
	run.Input = []core.Message{{
		ID: core.NewMessageID(), Agent: g.agent.ID, Conversation: g.conv(), Run: run.ID, Step: asked.Step, Role: core.RoleApproval,
		Approval: &core.Approval{Request: asked.ID, Decisions: []core.Decision{answer.Decision}}, CreatedAt: now,
	}}
	change(&run)
	g.stop()
	err := g.store.Tx(g.t.Context(), func(ctx context.Context, tx core.Store) error {
		r, m := run, run.Input[0]
		if err := tx.Runs().Create(ctx, &r); err != nil {
			return err
		}
		c, err := tx.Conversations().Get(ctx, g.conv())
		if err != nil {
			return err
		}
		c.Rev++
		if err := tx.Messages().Insert(ctx, &m); err != nil {
			return err
		}
		if err := tx.Messages().Enter(ctx, c.ID, c.Rev, []core.MessageID{m.ID}, nil); err != nil {
			return err
		}
		return tx.Conversations().Update(ctx, &c)
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.engine = engine.New(g.cfg)
	if err := g.engine.Recover(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	run, _ = g.follow(run.ID)
	return run
}

func TestAKillBetweenAnAnswerAndItsCallsRunsThemAtMostOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		effect core.Effect
		change func(*core.Run)
		denied bool
		ran    int
		text   string
	}{
		"a background run that had not begun": {core.EffectOutside, func(*core.Run) {}, false, 1, "probed"},
		"a background run that had begun": {
			core.EffectOutside, func(r *core.Run) { r.Config.Acted = true }, false, 0, request.Interrupted,
		},
		"a call that only reads, beside one that had begun": {
			core.EffectFacts, func(r *core.Run) { r.Config.Acted = true }, false, 0, "did not run",
		},
		"a foreground run that had not begun": {
			core.EffectOutside, func(r *core.Run) { r.Background = false }, false, 0, "did not run",
		},
		"a foreground run that had begun": {
			core.EffectOutside, func(r *core.Run) { r.Background, r.Config.Acted = false, true }, false, 0, request.Interrupted,
		},
		"a denial": {
			core.EffectOutside, func(r *core.Run) { r.Background = false }, true, 0, "Error: request to call tool denied. User reason: no",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGated(t, c.effect, nil, probing("a"))
			call := g.asked("go").Calls()[0].ID
			decision := approve(call)
			if c.denied {
				decision = deny(call, "no")
			}
			g.killed(decision, c.change)
			if ran := len(g.probe.ran()); ran != c.ran {
				t.Errorf("it ran %d times, want %d", ran, c.ran)
			}
			text := ""
			for _, m := range g.list(g.agent) {
				for _, r := range m.Returns {
					text += r.Text
				}
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("the return is %q, want %q in it", text, c.text)
			}
			if run, _ := g.send(g.agent, "go on"); run.StopReason != core.StopEndTurn {
				t.Errorf("the agent is stuck: %s %+v", run.StopReason, run.Error)
			}
		})
	}
}

// sticky is a tool whose calls end only with their context.
type sticky struct {
	probe
	began atomic.Int32
}

func (s *sticky) Call(ctx context.Context, _ core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	s.began.Add(1)
	<-ctx.Done()
	return core.ToolResult{}, ctx.Err()
}

func TestAnApprovedCallIsNotBegunASecondTime(t *testing.T) {
	t.Parallel()
	tool := &sticky{}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return probing("a")
		}
		return say("done")
	}, func(cfg *engine.Config) {
		info := core.ToolInfo{ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Spec: tool.Spec()}
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Info: info, Tool: tool}}
	})
	g := &gated{house: h}
	g.agent = h.agent(func(a *core.Agent) { a.ToolRules = []core.ToolRule{{Type: core.RuleRequiresApproval, Tool: "probe"}} }, "probe")
	call := g.asked("go").Calls()[0].ID
	req := g.answer(approve(call))
	req.Background = true
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	coretest.Until(t, "the call begins", func() bool { return tool.began.Load() == 1 })
	h.restart()
	run, events := h.follow(run.ID)
	if run.StopReason != core.StopEndTurn || tool.began.Load() != 1 {
		t.Errorf("the run ended %s %+v, the call began %d times", run.StopReason, run.Error, tool.began.Load())
	}
	if got := returned(events)[call]; got != request.Interrupted {
		t.Errorf("the return is %q", got)
	}
}

func TestACancelWhileApprovedCallsRunKeepsTheHistoryValid(t *testing.T) {
	t.Parallel()
	tool := &sticky{}
	h := open(t, func(int, core.ChatRequest) turn { return probing("a") }, func(cfg *engine.Config) {
		info := core.ToolInfo{ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Spec: tool.Spec()}
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Info: info, Tool: tool}}
	})
	g := &gated{house: h}
	g.agent = h.agent(func(a *core.Agent) { a.ToolRules = []core.ToolRule{{Type: core.RuleRequiresApproval, Tool: "probe"}} }, "probe")
	call := g.asked("go").Calls()[0].ID
	run, err := h.engine.Submit(t.Context(), g.answer(approve(call)))
	if err != nil {
		t.Fatal(err)
	}
	coretest.Until(t, "the call begins", func() bool { return tool.began.Load() == 1 })
	if err := h.engine.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	run, events := h.follow(run.ID)
	if run.Status != core.RunCancelled || !strings.Contains(returned(events)[call], "cancelled") {
		t.Errorf("the run is %s, the return %q", run.Status, returned(events)[call])
	}
	msgs := g.list(g.agent)
	want := []core.Role{core.RoleSystem, core.RoleUser, core.RoleApproval, core.RoleApproval, core.RoleTool}
	if diff := cmp.Diff(want, roles(msgs)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestNothingThatLeavesTheWindowTakesWhatWaits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("all of this was said long ago ", 400)
	g := openGated(t, core.EffectOutside, nil, say(long), say(long), probing("a"), say(long[:3000]), say("done"))
	for range 2 {
		g.send(g.agent, long)
	}
	request := g.asked("go")
	if _, err := g.engine.Compact(t.Context(), g.conv(), nil, map[string]any{"mode": "all"}); err != nil {
		t.Fatal(err)
	}
	if g.waiting().ID != request.ID {
		t.Fatal("what waited is gone")
	}
	rows, err := g.store.Messages().Context(t.Context(), g.conv())
	if err != nil || len(rows) > 5 {
		t.Errorf("%d rows are left, %v", len(rows), err)
	}
	run, events := g.submit(g.answer(approve(request.Calls()[0].ID)))
	if run.StopReason != core.StopEndTurn || len(g.probe.ran()) != 1 || returned(events)[request.Calls()[0].ID] != "probed" {
		t.Errorf("the answer: %s %+v, ran %d times", run.StopReason, run.Error, len(g.probe.ran()))
	}
}

func TestAQueuedMessageFailsWithTheConflictWhereItsTurnFindsOneWaiting(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	asks := probing("a")
	asks.gate = gate
	g := openGated(t, core.EffectOutside, nil, asks)
	first, err := g.engine.Submit(t.Context(), g.request(g.agent, "go"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.engine.Submit(t.Context(), g.request(g.agent, "and this"))
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	g.follow(first.ID)
	run, _ := g.follow(second.ID)
	if run.Status != core.RunFailed || run.Error == nil || run.Error.Kind != core.Conflict ||
		!strings.Contains(run.Error.Message, "waiting for approval") {
		t.Errorf("the queued run: %s %+v", run.Status, run.Error)
	}
	if run, _ := g.submit(g.answer(approve(g.waiting().Calls()[0].ID))); run.StopReason != core.StopEndTurn {
		t.Errorf("the answer: %s %+v", run.StopReason, run.Error)
	}
}

func TestARewindTakesWhatWaitsBackAndForth(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, say("hello"), probing("a"))
	g.send(g.agent, "hi")
	request := g.asked("go")
	done, err := g.past().Rewind(t.Context(), g.conv(), request.Step, past.RewindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := g.store.Messages().Waiting(t.Context(), g.agent.ID); err != nil || len(rows) > 0 {
		t.Fatalf("after the rewind %d wait, %v", len(rows), err)
	}
	if _, err := g.past().UndoRewind(t.Context(), done.ID, ""); err != nil {
		t.Fatal(err)
	}
	run, _ := g.submit(g.answer(approve(g.waiting().Calls()[0].ID)))
	if run.StopReason != core.StopEndTurn || len(g.probe.ran()) != 1 {
		t.Errorf("the answer after all: %s %+v", run.StopReason, run.Error)
	}
}

func TestToolsOfTheClientStopTheRunForOneRequest(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil,
		calling("look_up", map[string]any{"q": "x"}, calling("free", map[string]any{"x": "theirs"})), say("done"), say("and done"))
	req := g.request(g.agent, "go")
	schema := json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)
	req.Config.ClientTools = []core.ToolSpec{
		{Name: "look_up", Description: "Looks up.", Parameters: schema}, {Name: "free", Description: "Theirs.", Parameters: schema},
	}
	run, _ := g.submit(req)
	if run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s %+v", run.StopReason, run.Error)
	}
	var offered []string
	for _, spec := range g.model.sent()[0].Tools {
		offered = append(offered, spec.Name+" "+spec.Description)
	}
	if diff := cmp.Diff([]string{"probe Notes that it ran.", "look_up Looks up.", "free Theirs."}, offered); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	reproduced, err := g.past().Reproduce(t.Context(), g.waiting().Step)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g.model.sent()[0], reproduced); diff != "" {
		t.Errorf("reproduced (-sent +got):\n%s", diff)
	}
	request := g.waiting()
	big := strings.Repeat("x", 200_000)
	back := func(i int, text string) engine.Decision {
		return engine.Decision{Decision: core.Decision{CallID: request.Calls()[i].ID, Return: &core.ToolReturn{Text: text}}}
	}
	again := g.answer(back(0, "found"), back(1, big))
	again.Config.ClientTools = req.Config.ClientTools[:1]
	run, events := g.submit(again)
	got := returned(events)
	if run.StopReason != core.StopEndTurn || got[request.Calls()[0].ID] != "found" || len(g.free.ran()) > 0 {
		t.Errorf("the answer: %s %+v, returns %.100v, ours ran %d times", run.StopReason, run.Error, got, len(g.free.ran()))
	}
	if text := got[request.Calls()[1].ID]; !strings.Contains(text, "truncated") || len(text) > 81_000 || len(text) < 80_000 {
		t.Errorf("the long return has %d characters", len(text))
	}
	g.send(g.agent, "and now")
	sent := g.model.sent()
	if n := len(sent[len(sent)-1].Tools); n != 2 {
		t.Errorf("the next request offers %d tools, want ours alone", n)
	}
}
