package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

func TestAHookSeesTheToolBehindTheOne(t *testing.T) {
	t.Parallel()
	w := &watch{before: func(call core.HookCall) core.HookVerdict {
		if call.Tool == "stripe_refund_charge" {
			return core.HookVerdict{Deny: "no refunds on Fridays"}
		}
		return core.HookVerdict{}
	}}
	h, a, m := openMany(t, func(cfg *engine.Config, _ *core.Agent) { cfg.Hooks = w },
		through("stripe_refund_charge", map[string]any{"charge_id": "ch_9"}),
		through("weather_forecast", map[string]any{"place": "Bergen"}))
	_, events := h.send(a, "go")
	if refused := errorReturns(events); len(refused) != 1 || !strings.Contains(refused[0], "no refunds on Fridays") {
		t.Errorf("%q", refused)
	}
	if ran := m.probe.ran(); !slices.Equal(ran, []string{`{"place":"Bergen"}`}) {
		t.Errorf("ran: %q", ran)
	}
	want := []string{
		`before stripe_refund_charge {"charge_id":"ch_9"}`, `before weather_forecast {"place":"Bergen"}`, "after weather_forecast probed",
	}
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Error(diff)
	}
}

func TestARequestWithACallThroughTheOneIsReproduced(t *testing.T) {
	t.Parallel()
	h, a, _ := openMany(t, nil, calling("conversation_search", map[string]any{"query": "x"},
		through("weather_forecast", map[string]any{"place": "Bergen"})), through("air_quality", map[string]any{"place": "Bergen"}))
	run, _ := h.send(a, "go")
	h.send(a, "and now?")
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 10})
	if err != nil || len(steps) != 3 {
		t.Fatalf("%v, %d steps", err, len(steps))
	}
	for i, step := range steps {
		again, err := h.past().Reproduce(t.Context(), step.ID)
		if err != nil {
			t.Fatal(err)
		}
		sent := h.model.sent()[i]
		if diff := cmp.Diff(sent.Messages, again.Messages); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		if diff := cmp.Diff(sent.Tools, again.Tools); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
	mixed := h.model.sent()[1].Messages
	var names []string
	for _, c := range mixed[len(mixed)-2].Calls {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"conversation_search", core.MoreToolsName}) {
		t.Errorf("the order of the calls: %q", names)
	}
}

func TestALegacyAgentThinksAndGoesOnThroughTheOne(t *testing.T) {
	t.Parallel()
	args := map[string]any{
		"thinking": "I look.", "call": "weather_forecast", "arguments": map[string]any{"place": "Bergen"}, "request_heartbeat": true,
	}
	m := manyTools(t)
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling(core.MoreToolsName, args)
		}
		return calling("send_message", map[string]any{"thinking": "I say it.", "message": "It rains."})
	}, func(cfg *engine.Config) {
		m.Toolbox = cfg.Tools
		cfg.Tools = m
	})
	a := h.agent(func(a *core.Agent) { a.Type = core.AgentMemGPTV2 }, append([]string{"send_message"}, m.names()...)...)
	run, events := h.send(a, "go")
	if run.Status != core.RunCompleted || said(events) != "It rains." {
		t.Errorf("%s %+v %q", run.Status, run.Error, said(events))
	}
	if ran := m.probe.ran(); !slices.Equal(ran, []string{`{"place":"Bergen"}`}) {
		t.Errorf("ran: %q", ran)
	}
	if calls, _ := callsOf(events); !slices.Contains(calls, `weather_forecast {"place":"Bergen"}`) {
		t.Errorf("watchers saw %q", calls)
	}
	for _, msg := range h.model.sent()[1].Messages {
		for _, c := range msg.Calls {
			if c.Name == "send_message" {
				continue // of the boot messages
			}
			var told map[string]any
			if err := json.Unmarshal([]byte(c.Arguments), &told); err != nil || c.Name != core.MoreToolsName ||
				told["thinking"] != "I look." || told["call"] != "weather_forecast" {
				t.Errorf("%v: the model is told %+v", err, c)
			}
		}
	}
}
