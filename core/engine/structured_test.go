package engine_test

import (
	"strings"
	"testing"

	"loci/core"
)

// cityForm asks for an object with a name.
func cityForm() any {
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "city", "schema": map[string]any{
		"type": "object", "required": []any{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string"}},
	}}}
}

// formed sends a message whose answer is to have a form.
func (h *house) formed(a core.Agent, format any) (core.Run, []core.Event) {
	h.t.Helper()
	req := h.request(a, "Which city?")
	req.Config.ResponseFormat = format
	return h.submit(req)
}

// answersOf are the texts that the agent's messages have.
func (h *house) answersOf(a core.Agent) []string {
	h.t.Helper()
	var out []string
	for _, m := range h.list(a) {
		if m.Role == core.RoleAssistant && m.PlainText() != "" {
			out = append(out, m.PlainText())
		}
	}
	return out
}

func TestAnAnswerThatFitsItsSchemaEndsTheTurn(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say(`{"name": "Oslo"}`) })
	a := h.agent(nil)
	if run, _ := h.formed(a, cityForm()); run.StopReason != core.StopEndTurn {
		t.Fatalf("%s: %+v", run.StopReason, run.Error)
	}
	if sent := h.model.sent(); len(sent) != 1 || core.AnswerFormatOf(sent[0].Settings.ResponseFormat).Kind != core.AnswerSchema {
		t.Errorf("sent %+v", sent)
	}
	if run, _ := h.send(a, "And in words?"); run.StopReason != core.StopEndTurn || h.model.sent()[1].Settings.ResponseFormat != nil {
		t.Errorf("the form of one run stayed: %s", run.StopReason)
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForOnceMoreWithItsFaults(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn { return say([]string{`{"city": "Oslo"}`, `{"name": "Oslo"}`}[n]) })
	a := h.agent(nil)
	run, events := h.formed(a, cityForm())
	if run.StopReason != core.StopEndTurn || run.Error != nil {
		t.Fatalf("%s: %+v", run.StopReason, run.Error)
	}
	sent := h.model.sent()
	last := sent[1].Messages[len(sent[1].Messages)-1]
	if len(sent) != 2 || last.Role != core.ChatUser || !strings.Contains(last.Text, `missing required member \"name\"`) {
		t.Errorf("%d requests, the last with %+v", len(sent), last)
	}
	if got := h.answersOf(a); len(got) != 2 || got[1] != `{"name": "Oslo"}` {
		t.Errorf("answers %q", got)
	}
	if told := notices(events, "form"); len(told) != 1 || !strings.Contains(told[0], "asked once more") {
		t.Errorf("told %q", told)
	}
}

func TestAnAnswerThatNeverFitsFailsTheRunWithItsOwnKind(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("Oslo.") })
	a := h.agent(nil)
	run, _ := h.formed(a, cityForm())
	if run.Status != core.RunFailed || run.StopReason != core.StopInvalidLLMResponse || run.Error == nil ||
		run.Error.Kind != core.SchemaMismatch || run.Error.Type != "schema_mismatch" ||
		!strings.Contains(run.Error.Message, "it is not JSON") {
		t.Fatalf("%s %s %+v", run.Status, run.StopReason, run.Error)
	}
	if n := len(h.model.sent()); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	if got := h.answersOf(a); len(got) != 2 {
		t.Errorf("what it said is not kept: %q", got)
	}
	if run, _ := h.formed(a, cityForm()); run.Error == nil || len(h.model.sent()) != 4 {
		t.Errorf("a later run is not asked again: %d requests, %+v", len(h.model.sent()), run.Error)
	}
}

func TestTheSchemaCountsForTheLastAnswerOnly(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "Lives in Oslo."})
		}
		return say("```json\n{\"name\": \"Oslo\"}\n```")
	})
	a := h.agent(func(a *core.Agent) { a.Settings.ResponseFormat = cityForm() })
	run, _ := h.send(a, "I live in Oslo.")
	if run.StopReason != core.StopEndTurn || len(h.model.sent()) != 2 {
		t.Fatalf("%s %+v, %d requests", run.StopReason, run.Error, len(h.model.sent()))
	}
	if got := h.answersOf(a); len(got) != 1 || got[0] != `{"name": "Oslo"}` {
		t.Errorf("the fence is kept: %q", got)
	}
}

func TestThereIsNoSecondQuestionWithoutAStepLeft(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("Oslo.") })
	a := h.agent(nil)
	req := h.request(a, "Which city?")
	req.Config.ResponseFormat, req.Config.MaxSteps = cityForm(), 1
	run, _ := h.submit(req)
	if run.Error == nil || !strings.Contains(run.Error.Message, "no step left") || len(h.model.sent()) != 1 {
		t.Errorf("%+v, %d requests", run.Error, len(h.model.sent()))
	}
}

func TestAFormThatNobodyCanGiveIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say(`{"name": "Oslo"}`) })
	h.model.infos["offline/loci"] = core.ModelInfo{Offline: true, Tools: true, ContextWindow: 32_000}
	for name, c := range map[string]struct {
		agent  core.Agent
		format any
		kind   core.Kind
	}{
		"a schema with an unknown type": {h.agent(nil), map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"schema": map[string]any{"type": "city"}},
		}, core.Invalid},
		"the offline model":   {h.agent(func(a *core.Agent) { a.Model = core.OfflineHandle }), cityForm(), core.Unsupported},
		"an agent of old age": {h.agent(func(a *core.Agent) { a.Type = core.AgentMemGPTV2 }, "send_message"), cityForm(), core.Unsupported},
	} {
		run, _ := h.formed(c.agent, c.format)
		if run.Status != core.RunFailed || run.Error == nil || run.Error.Kind != c.kind {
			t.Errorf("%s: %s %+v", name, run.Status, run.Error)
		}
	}
	if n := len(h.model.sent()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
