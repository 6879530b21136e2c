package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
	"loci/providers/embed"
)

// many is a toolbox with many tools that people wrote, all of which are probes.
type many struct {
	core.Toolbox
	mu    sync.Mutex
	bound []core.BoundTool
	probe probe
}

// manyTools has those that the search among many is measured with.
func manyTools(t *testing.T) *many {
	t.Helper()
	text, err := os.ReadFile("../toolsearch/testdata/tools.json")
	var specs []core.ToolSpec
	if err == nil {
		err = json.Unmarshal(text, &specs)
	}
	if err != nil {
		t.Fatal(err)
	}
	m := &many{}
	for _, s := range specs {
		m.add(s)
	}
	return m
}

func (m *many) add(s core.ToolSpec) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bound = append(m.bound, core.BoundTool{
		Info: core.ToolInfo{ID: core.BuiltinToolID(s.Name), Kind: core.ToolCustom, Effect: core.EffectOutside, Spec: s}, Tool: &m.probe,
	})
}

func (m *many) names() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bound {
		names = append(names, b.Info.Spec.Name)
	}
	return names
}

func (m *many) Tools(ctx context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	out, err := m.Toolbox.Tools(ctx, ids)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.bound {
		if slices.Contains(ids, b.Info.ID) {
			out = append(out, b)
		}
	}
	return out, err
}

// openMany opens a house whose agent has many tools beside those that are built in.
func openMany(t *testing.T, change func(*engine.Config, *core.Agent), answers ...turn) (*house, core.Agent, *many) {
	t.Helper()
	m := manyTools(t)
	var agent core.Agent
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(answers) {
			return answers[n]
		}
		return say("done")
	}, func(cfg *engine.Config) {
		m.Toolbox, cfg.Related = cfg.Tools, embed.Related
		cfg.Tools = m
		if change != nil {
			change(cfg, &agent)
		}
	})
	rules := agent.ToolRules
	names := append([]string{"memory_insert", "memory_replace", "conversation_search"}, m.names()...)
	a := h.agent(func(a *core.Agent) { a.ToolRules = rules }, names...)
	return h, a, m
}

func through(name string, args map[string]any) turn {
	return calling(core.MoreToolsName, map[string]any{"call": name, "arguments": args})
}

func offeredNames(req core.ChatRequest) (names []string) {
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return names
}

// callsOf are the calls and returns that watchers of a run saw, by name.
func callsOf(events []core.Event) (calls, returns []string) {
	for _, ev := range events {
		if b, ok := ev.Body.(core.ToolCallDelta); ok && b.Name != "" {
			calls = append(calls, b.Name+" "+b.Arguments)
		}
		if b, ok := ev.Body.(core.ToolReturned); ok {
			for _, r := range b.Returns {
				returns = append(returns, r.Name)
			}
		}
	}
	return calls, returns
}

func TestOfManyToolsAModelIsOfferedOneAndEverybodyElseSeesTheOthers(t *testing.T) {
	t.Parallel()
	h, a, m := openMany(t, nil,
		calling(core.MoreToolsName, map[string]any{"search": "weather forecast for a place and its days"}),
		through("weather_forecast", map[string]any{"place": "Bergen"}))
	run, events := h.send(a, "will it rain?")
	if run.Status != core.RunCompleted {
		t.Fatalf("%s %+v", run.Status, run.Error)
	}
	sent := h.model.sent()
	want := []string{"memory_insert", "memory_replace", "conversation_search", core.MoreToolsName}
	if !slices.Equal(offeredNames(sent[0]), want) {
		t.Errorf("offered: %q", offeredNames(sent[0]))
	}
	raw, _ := json.Marshal(sent[0])
	if tokens := core.EstimateTokens(string(raw)); tokens > 8000 {
		t.Errorf("the first request has %d tokens", tokens)
	}
	found := sent[1].Messages[len(sent[1].Messages)-1].Returns[0].Text
	if strings.Count(found, `parameters`) != 5 || !strings.Contains(found, "weather_forecast") {
		t.Errorf("found: %s", found)
	}
	calls, returns := callsOf(events)
	if !slices.Contains(calls, `weather_forecast {"place":"Bergen"}`) ||
		!slices.Equal(returns, []string{core.MoreToolsName, "weather_forecast"}) {
		t.Errorf("watchers saw %q and %q", calls, returns)
	}
	if ran := m.probe.ran(); !slices.Equal(ran, []string{`{"place":"Bergen"}`}) {
		t.Errorf("it ran with %q", ran)
	}
	for _, msg := range h.list(a) {
		for _, c := range msg.Calls() {
			if c.Name == core.MoreToolsName && strings.Contains(c.Arguments, "Bergen") {
				t.Errorf("the record has %+v", c)
			}
		}
	}
	again := sent[2].Messages
	call, answer := again[len(again)-2].Calls[0], again[len(again)-1].Returns[0]
	if call.Name != core.MoreToolsName || call.Arguments != `{"call":"weather_forecast","arguments":{"place":"Bergen"}}` ||
		answer.Name != core.MoreToolsName {
		t.Errorf("the model is told %+v and %+v", call, answer)
	}
}

func TestThePrefixStaysWhenToolsBehindTheOneChange(t *testing.T) {
	t.Parallel()
	h, a, m := openMany(t, nil)
	h.send(a, "one")
	more := core.ToolSpec{Name: "added", Description: "New.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
	m.add(more)
	changed, err := h.store.Agents().Get(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	changed.Tools = append(changed.Tools, core.BuiltinToolID("added"))
	changed.Rev++
	if err := h.store.Agents().Update(t.Context(), &changed); err != nil {
		t.Fatal(err)
	}
	h.send(a, "two")
	sent := h.model.sent()
	first, second := sent[0], sent[1]
	if first.System != second.System || fmt.Sprint(first.Tools) != fmt.Sprint(second.Tools) || first.Prefix != second.Prefix {
		t.Error("the prefix moved")
	}
	m.mu.Lock()
	m.bound = m.bound[:49]
	m.mu.Unlock()
	h.send(a, "three")
	if names := offeredNames(h.model.sent()[2]); len(names) != 52 || slices.Contains(names, core.MoreToolsName) {
		t.Errorf("of fewer, these are offered: %q", names)
	}
}

func TestRulesPermissionsAndHooksMeetTheToolBehindTheOne(t *testing.T) {
	t.Parallel()
	call := through("slack_post_message", map[string]any{"channel": "#a", "text": "x"})
	for name, tt := range map[string]struct {
		rules   []core.ToolRule
		answers []turn
		change  func(*engine.Config)
		ran     int
		refused string // what an error return says
	}{
		"nothing forbids it": {answers: []turn{call}, ran: 1},
		"no such tool":       {answers: []turn{through("nowhere", nil)}, refused: "finds no tool"},
		"not its arguments":  {answers: []turn{through("slack_post_message", map[string]any{"text": 3})}, refused: "TypeError"},
		"a built-in one":     {answers: []turn{through("memory_insert", nil)}, refused: "called by itself"},
		"no arguments at all": {
			answers: []turn{calling(core.MoreToolsName, map[string]any{"call": "slack_post_message"})}, refused: "channel",
		},
		"as a text": {
			answers: []turn{calling(core.MoreToolsName, map[string]any{
				"call": "slack_post_message", "arguments": `{"channel":"#a","text":"x"}`,
			})}, ran: 1,
		},
		"another first": {
			rules: []core.ToolRule{{Type: core.RuleRunFirst, Tool: "weather_forecast"}}, answers: []turn{call},
			refused: "must be called before",
		},
		"a search is no call that a rule follows": {
			rules: []core.ToolRule{{Type: core.RuleRunFirst, Tool: "slack_post_message"}},
			answers: []turn{
				calling(core.MoreToolsName, map[string]any{"search": "post to slack"}), call,
			}, ran: 1,
		},
		"once": {
			rules:   []core.ToolRule{{Type: core.RuleMaxCount, Tool: "slack_post_message", MaxCount: 1}},
			answers: []turn{call, call}, ran: 1, refused: "Cannot call slack_post_message",
		},
		"a person's rule": {
			answers: []turn{call}, refused: "PermissionError",
			change: func(cfg *engine.Config) {
				cfg.Permissions = writtenRules(t, permission.List{Deny: []string{"slack_post_message"}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a, m := openMany(t, func(cfg *engine.Config, a *core.Agent) {
				a.ToolRules = tt.rules
				if tt.change != nil {
					tt.change(cfg)
				}
			}, tt.answers...)
			run, events := h.send(a, "go")
			if run.Status != core.RunCompleted {
				t.Errorf("%s %+v", run.Status, run.Error)
			}
			refused := strings.Join(errorReturns(events), "\n")
			if got := len(m.probe.ran()); got != tt.ran || !strings.Contains(refused, tt.refused) || tt.refused == "" && refused != "" {
				t.Errorf("it ran %d times; refused: %s", got, refused)
			}
			for _, req := range h.model.sent() {
				if names := offeredNames(req); !slices.Contains(names, core.MoreToolsName) {
					t.Errorf("offered: %q", names)
				}
			}
		})
	}
}

func TestAPersonApprovesTheToolBehindTheOne(t *testing.T) {
	t.Parallel()
	h, a, m := openMany(t, func(_ *engine.Config, a *core.Agent) {
		a.ToolRules = []core.ToolRule{{Type: core.RuleRequiresApproval, Tool: "stripe_refund_charge"}}
	}, through("stripe_refund_charge", map[string]any{"charge_id": "ch_9"}))
	run, events := h.send(a, "refund it")
	if run.StopReason != core.StopRequiresApproval || len(m.probe.ran()) > 0 {
		t.Fatalf("%s %q", run.StopReason, m.probe.ran())
	}
	g := &gated{house: h, agent: a}
	request := g.waiting()
	calls := request.Calls()
	if len(calls) != 1 || calls[0].Name != "stripe_refund_charge" || request.Approval.Waits[0].Arguments != `{"charge_id":"ch_9"}` {
		t.Errorf("a person is asked about %+v", calls)
	}
	if calls, _ := callsOf(events); !slices.Contains(calls, `stripe_refund_charge {"charge_id":"ch_9"}`) {
		t.Errorf("watchers saw %q", calls)
	}
	if run, _ := h.submit(g.answer(approve(calls[0].ID))); run.Status != core.RunCompleted {
		t.Errorf("%s %+v", run.Status, run.Error)
	}
	if ran := m.probe.ran(); !slices.Equal(ran, []string{`{"charge_id":"ch_9"}`}) {
		t.Errorf("it ran with %q", ran)
	}
	last := h.model.sent()[1].Messages
	if got := last[len(last)-1].Returns[0]; got.Name != core.MoreToolsName {
		t.Errorf("the model is told of %s", got.Name)
	}
}
