package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/approval"
	"loci/core/engine"
)

// gated is a house whose agent may call probe only with a person's approval, and free without.
type gated struct {
	*house
	agent core.Agent
	probe *probe
	free  *probe
}

// openGated opens one whose model gives these answers, and says that it is done from then on.
func openGated(t *testing.T, effect core.Effect, change func(*core.Agent), answers ...turn) *gated {
	t.Helper()
	g := &gated{probe: &probe{}, free: &probe{}}
	g.house = open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(answers) {
			return answers[n]
		}
		return say("done")
	}, func(cfg *engine.Config) {
		free := g.free.Spec()
		free.Name = "free"
		cfg.Tools = &box{&box{cfg.Tools, core.BoundTool{
			Info: core.ToolInfo{ID: core.BuiltinToolID("probe"), Effect: effect, Spec: g.probe.Spec()}, Tool: g.probe,
		}}, core.BoundTool{Info: core.ToolInfo{ID: core.BuiltinToolID("free"), Effect: effect, Spec: free}, Tool: g.free}}
	})
	g.agent = g.house.agent(func(a *core.Agent) {
		a.ToolRules = []core.ToolRule{{Type: core.RuleRequiresApproval, Tool: "probe"}}
		if change != nil {
			change(a)
		}
	}, "probe", "free")
	return g
}

func (g *gated) conv() core.ConversationID { return core.DefaultConversation(g.agent.ID) }

// asked sends a message and returns the request that it ends with.
func (g *gated) asked(text string) *core.Message {
	g.t.Helper()
	run, _ := g.send(g.agent, text)
	if run.Status != core.RunCompleted || run.StopReason != core.StopRequiresApproval {
		g.t.Fatalf("the run ended %s, %s, %+v", run.Status, run.StopReason, run.Error)
	}
	return g.waiting()
}

func (g *gated) waiting() *core.Message {
	g.t.Helper()
	rows, err := g.store.Messages().Waiting(g.t.Context(), g.agent.ID)
	if err != nil || len(rows) != 1 {
		g.t.Fatalf("%d requests wait, %v", len(rows), err)
	}
	return &rows[0].Message
}

// answer is a request that decides on all that waits.
func (g *gated) answer(decisions ...engine.Decision) engine.Request {
	req := g.request(g.agent, "")
	req.Input, req.Answer = nil, &engine.Answer{Decisions: decisions}
	return req
}

func approve(call string) engine.Decision {
	return engine.Decision{Decision: core.Decision{CallID: call, Approve: true}}
}

func deny(call, reason string) engine.Decision {
	return engine.Decision{Decision: core.Decision{CallID: call, Reason: reason}}
}

// returned are the returns of a run's events, by call.
func returned(events []core.Event) map[string]string {
	out := map[string]string{}
	for _, ev := range events {
		if r, ok := ev.Body.(core.ToolReturned); ok {
			for _, one := range r.Returns {
				out[one.CallID] = one.Text
			}
		}
	}
	return out
}

func probing(x string) turn { return calling("probe", map[string]any{"x": x}) }

func TestACallThatNeedsAPersonEndsItsRunAndRunsWhenApproved(t *testing.T) {
	t.Parallel()
	for _, effect := range []core.Effect{core.EffectOutside, core.EffectFacts} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			mixed := calling("free", map[string]any{"x": "f"}, probing("a"))
			mixed.deltas = append([]core.Delta{{Text: "I will look."}}, mixed.deltas...)
			g := openGated(t, effect, nil, mixed)
			request := g.asked("go")
			if len(g.probe.ran())+len(g.free.ran()) > 0 {
				t.Fatalf("a call ran before anybody answered: %q %q", g.probe.ran(), g.free.ran())
			}
			msgs := g.list(g.agent)
			want := []core.Role{core.RoleSystem, core.RoleUser, core.RoleAssistant, core.RoleApproval}
			if diff := cmp.Diff(want, roles(msgs)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if request.ID != core.RequestID(msgs[2].ID) || len(request.Calls()) != 1 || len(msgs[2].Calls()) != 1 {
				t.Errorf("the request %s has the calls %+v, the answer %s %+v", request.ID, request.Calls(), msgs[2].ID, msgs[2].Calls())
			}
			if w := request.Approval.Waits[0]; w.Arguments != `{"x":"a"}` || !strings.Contains(w.Why, "probe") {
				t.Errorf("what waits is %+v", w)
			}
			g.restart()
			run, events := g.submit(g.answer(approve(request.Calls()[0].ID)))
			if run.StopReason != core.StopEndTurn || said(events) != "done" {
				t.Errorf("the run that goes on: %s %s %+v, %q", run.Status, run.StopReason, run.Error, said(events))
			}
			if diff := cmp.Diff([]string{`{"x":"a"}`}, g.probe.ran()); diff != "" {
				t.Errorf("what reached the tool (-want +got):\n%s", diff)
			}
			msgs = g.list(g.agent)
			want = append(want, core.RoleApproval, core.RoleTool, core.RoleAssistant)
			if diff := cmp.Diff(want, roles(msgs)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if tool := msgs[5]; len(tool.Returns) != 2 || tool.Returns[0].Name != "free" || tool.Step != request.Step {
				t.Errorf("the returns are %+v of step %s, want two of %s in call order", tool.Returns, tool.Step, request.Step)
			}
			sent := g.model.sent()
			last := sent[len(sent)-1].Messages
			if n := len(last); n < 2 || len(last[n-2].Calls) != 2 || len(last[n-1].Returns) != 2 || last[n-2].Text != "I will look." {
				t.Errorf("the model was sent %+v", last)
			}
			if rows, _ := g.store.Messages().Waiting(t.Context(), ""); len(rows) > 0 {
				t.Errorf("something still waits: %+v", rows)
			}
		})
	}
}

func TestADenialIsReadByTheModelInTheContractsWords(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, calling("probe", map[string]any{"x": "a"}, probing("b"), probing("c")))
	calls := g.asked("go").Calls()
	client := engine.Decision{Decision: core.Decision{CallID: calls[2].ID, Return: &core.ToolReturn{Text: "from the client"}}}
	_, events := g.submit(g.answer(client, deny(calls[0].ID, "not now"), approve(calls[1].ID)))
	want := map[string]string{
		calls[0].ID: "Error: request to call tool denied. User reason: not now", calls[1].ID: "probed", calls[2].ID: "from the client",
	}
	if diff := cmp.Diff(want, returned(events)); diff != "" {
		t.Errorf("returns (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`{"x":"b"}`}, g.probe.ran()); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if core.DenialText("") != "Error: request to call tool denied. User reason: None" {
		t.Errorf("a denial without a reason reads %q", core.DenialText(""))
	}
}

func TestWhatDoesNotFitWhatWaitsIsRefusedAndStoresNothing(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, probing("a"), say("done"), say("done again"))
	none := g.answer(approve("call_x"))
	if _, err := g.engine.Submit(t.Context(), none); core.KindOf(err) != core.Invalid ||
		!strings.Contains(err.Error(), "No tool call is currently awaiting approval") {
		t.Errorf("an answer to nothing: %v", err)
	}
	request := g.asked("go")
	call := request.Calls()[0].ID
	before := len(g.list(g.agent))
	cases := map[string]struct {
		req  engine.Request
		kind core.Kind
		text string
	}{
		"a message": {g.request(g.agent, "hello"), core.Conflict, "Please approve or deny the pending request before continuing."},
		"another call": {
			g.answer(approve("call_y")), core.Invalid,
			"Invalid tool call IDs. Expected '['" + call + "']', but received '['call_y']'.",
		},
		"one call too many": {g.answer(approve(call), approve("call_y")), core.Invalid, "Invalid tool call IDs."},
		"another request": {
			g.answer(engine.Decision{Decision: core.Decision{CallID: call, Approve: true}, Request: core.NewMessageID()}),
			core.Invalid, "No tool call is currently awaiting approval",
		},
		"other arguments": {
			g.answer(engine.Decision{Decision: core.Decision{CallID: call, Approve: true}, Hash: core.HashArguments("{}")}),
			core.Invalid, "are not those that were approved",
		},
		"arguments that are no object": {
			g.answer(engine.Decision{Decision: core.Decision{CallID: call, Approve: true, Arguments: "[]"}}), core.Invalid, "JSON object",
		},
		"changed arguments of a denied call": {
			g.answer(engine.Decision{Decision: core.Decision{CallID: call, Arguments: "{}"}}), core.Invalid, "approved",
		},
	}
	for name, c := range cases {
		_, err := g.engine.Submit(t.Context(), c.req)
		if core.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.kind, c.text)
		}
		var e *core.Error
		if name == "a message" && (!asError(err, &e) || e.Detail != core.Pending{Request: request.ID}) {
			t.Errorf("%s: the conflict does not name the request: %+v", name, err)
		}
	}
	if after := len(g.list(g.agent)); after != before {
		t.Errorf("%d messages became %d", before, after)
	}
	good := engine.Decision{
		Decision: core.Decision{CallID: call, Approve: true}, Request: request.ID, Hash: core.HashArguments(`{"x":"a"}`),
	}
	if run, _ := g.submit(g.answer(good)); run.Status != core.RunCompleted {
		t.Errorf("the answer that fits: %s %+v", run.Status, run.Error)
	}
}

func TestChangedArgumentsPassTheGateAgainAndTheModelIsTold(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, probing("a"))
	call := g.asked("go").Calls()[0].ID
	changed := engine.Decision{Decision: core.Decision{CallID: call, Approve: true, Arguments: `{"x":"the person's"}`}}
	_, events := g.submit(g.answer(changed))
	if diff := cmp.Diff([]string{`{"x":"the person's"}`}, g.probe.ran()); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	got, told := returned(events)[call], `arguments changed by the person: {"x":"the person's"}`
	if !strings.Contains(got, told) || !strings.HasSuffix(got, "probed") {
		t.Errorf("the model reads %q", got)
	}
}

func TestOfTwoAnswersOneWins(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, probing("a"))
	call := g.asked("go").Calls()[0].ID
	type result struct {
		run core.Run
		err error
	}
	results := make(chan result)
	for _, otid := range []string{"one", "two", "three", "four"} {
		go func() {
			req := g.answer(approve(call))
			req.Answer.OTID, req.Once, req.Background = otid, true, true
			run, err := g.engine.Submit(t.Context(), req)
			results <- result{run, err}
		}()
	}
	won := 0
	var winner core.Run
	for range 4 {
		switch r := <-results; {
		case r.err == nil:
			won, winner = won+1, r.run
		case core.KindOf(r.err) != core.Invalid || !strings.Contains(r.err.Error(), "No tool call is currently awaiting approval"):
			t.Errorf("the loser is told %v", r.err)
		}
	}
	if won != 1 {
		t.Fatalf("%d answers won", won)
	}
	g.follow(winner.ID)
	if ran := g.probe.ran(); len(ran) != 1 {
		t.Errorf("it ran %d times", len(ran))
	}
	again := g.answer(approve(call))
	again.Answer.OTID, again.Once, again.Background = winner.Input[0].OTID, true, true
	if run, err := g.engine.Submit(t.Context(), again); err != nil || run.ID != winner.ID {
		t.Errorf("the same answer again is run %s, %v, not %s", run.ID, err, winner.ID)
	}
}

func TestARepeatedAnswerGoesOnWithoutRunningAnythingAgain(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, probing("a"))
	call := g.asked("go").Calls()[0].ID
	g.submit(g.answer(approve(call)))
	run, events := g.submit(g.answer(approve(call)))
	if run.StopReason != core.StopEndTurn || said(events) != "done" || len(g.probe.ran()) != 1 {
		t.Errorf("the repeat: %s %+v, %q, ran %d times", run.StopReason, run.Error, said(events), len(g.probe.ran()))
	}
	if _, err := g.engine.Submit(t.Context(), g.answer(deny(call, "no"))); core.KindOf(err) != core.Invalid {
		t.Errorf("another answer to the same call: %v", err)
	}
}

func TestRulesCountAcrossThePause(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, func(a *core.Agent) {
		a.ToolRules = append(a.ToolRules, core.ToolRule{Type: core.RuleMaxCount, Tool: "free", MaxCount: 1})
	}, calling("free", map[string]any{"x": "1"}), probing("a"), calling("free", map[string]any{"x": "2"}), probing("b"),
		calling("free", map[string]any{"x": "3"}))
	call := g.asked("go").Calls()[0].ID
	g.restart()
	run, _ := g.submit(g.answer(approve(call)))
	if run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the second pause: %s %+v", run.StopReason, run.Error)
	}
	g.restart()
	_, events := g.submit(g.answer(approve(g.waiting().Calls()[0].ID)))
	if diff := cmp.Diff([]string{`{"x":"1"}`}, g.free.ran()); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if refused := errorReturns(events); len(refused) != 1 || !strings.Contains(refused[0], "Cannot call free") {
		t.Errorf("refused after two pauses: %q", refused)
	}
}

func TestWhatChangedMeanwhileEndsInAClearReturn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*core.Agent)
		text   string
	}{
		"a detached tool": {func(a *core.Agent) { a.Tools = a.Tools[1:] }, "there is no such tool"},
		"a rule": {func(a *core.Agent) {
			a.ToolRules = append(a.ToolRules, core.ToolRule{Type: core.RuleRunFirst, Tool: "free"})
		}, "Cannot call probe"},
		"another model": {func(a *core.Agent) { a.Model = "openai/other" }, "probed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGated(t, core.EffectOutside, nil, probing("a"))
			call := g.asked("go").Calls()[0].ID
			err := g.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
				a, err := tx.Agents().Get(ctx, g.agent.ID)
				if err != nil {
					return err
				}
				c.change(&a)
				return tx.Agents().Update(ctx, &a)
			})
			if err != nil {
				t.Fatal(err)
			}
			run, events := g.submit(g.answer(approve(call)))
			if got := returned(events)[call]; !strings.Contains(got, c.text) || run.StopReason != core.StopEndTurn {
				t.Errorf("the return is %q, the run ended %s %+v", got, run.StopReason, run.Error)
			}
		})
	}
}

func TestCallsRunThoughNoModelCanBeAsked(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, probing("a"))
	call := g.asked("go").Calls()[0].ID
	g.model.missing = map[string]string{"openai": "OPENAI_API_KEY"}
	run, events := g.submit(g.answer(approve(call)))
	if run.Status != core.RunFailed || returned(events)[call] != "probed" {
		t.Errorf("the run is %s, %+v, the return %q", run.Status, run.Error, returned(events)[call])
	}
	g.model.missing = nil
	if run, _ := g.send(g.agent, "and now?"); run.StopReason != core.StopEndTurn {
		t.Errorf("the agent is stuck: %s %+v", run.StopReason, run.Error)
	}
}

func TestClearingDeniesEverythingAndAsksNobody(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, calling("free", map[string]any{"x": "f"}, probing("a")))
	request := g.asked("go")
	desk := approval.New(g.store, g.engine, g.clock)
	list, err := desk.List(t.Context(), g.agent.ID)
	if err != nil || len(list) != 1 || list[0].Request.ID != request.ID || list[0].Agent.Name != "Ada" {
		t.Fatalf("list: %+v, %v", list, err)
	}
	if err := desk.Clear(t.Context(), request.ID); err != nil {
		t.Fatal(err)
	}
	if err := desk.Clear(t.Context(), request.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("clearing twice: %v", err)
	}
	msgs := g.list(g.agent)
	last := msgs[len(msgs)-1]
	if len(last.Returns) != 2 || !last.Returns[0].IsDenied() || !last.Returns[1].IsDenied() || len(g.model.sent()) != 1 {
		t.Errorf("the last record is %+v after %d requests", last, len(g.model.sent()))
	}
	if run, _ := g.send(g.agent, "then something else"); run.StopReason != core.StopEndTurn {
		t.Errorf("the agent is stuck: %s %+v", run.StopReason, run.Error)
	}
	sent := g.model.sent()
	for _, m := range sent[len(sent)-1].Messages {
		for _, r := range m.Returns {
			if !strings.Contains(r.Text, "denied") {
				t.Errorf("the model reads %q", r.Text)
			}
		}
	}
}

func TestAForkLeavesBehindWhatWaits(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, probing("a"))
	request := g.asked("go")
	fork, err := g.past().Fork(t.Context(), g.conv(), "")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := g.store.Messages().Context(t.Context(), fork.ID)
	answered := func(r core.InContext) bool { return r.Message.Step == request.Step && r.Message.Role != core.RoleUser }
	if err != nil || slices.ContainsFunc(rows, answered) {
		t.Errorf("the fork has %+v, %v", rows, err)
	}
	req := g.request(g.agent, "go on")
	req.Conversation = fork.ID
	if run, _ := g.submit(req); run.StopReason != core.StopEndTurn {
		t.Errorf("the fork: %s %+v", run.StopReason, run.Error)
	}
	if g.waiting().ID != request.ID {
		t.Error("the original no longer waits")
	}
}

func asError(err error, target **core.Error) bool {
	e, ok := err.(*core.Error) //nolint:errorlint // as it is returned
	*target = e
	return ok
}
