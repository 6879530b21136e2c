package engine_test

import (
	"strings"
	"testing"
	"time"

	"loci/core"
)

func TestACancelledToolLeavesAConsistentHistory(t *testing.T) {
	t.Parallel()
	tool := &outside{started: make(chan struct{}, 4), release: make(chan struct{})}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("launch", map[string]any{})
		}
		return say("fine")
	}, withOutside(tool))
	a := h.agent(nil, "launch")
	run, err := h.engine.Submit(t.Context(), h.request(a, "go"))
	if err != nil {
		t.Fatal(err)
	}
	<-tool.started
	begun := time.Now()
	if err := h.engine.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 20*time.Second { // left to itself, it would never end
		t.Errorf("cancelling took %s", took)
	}
	if r, _ := h.follow(run.ID); r.Status != core.RunCancelled {
		t.Errorf("run %s", r.Status)
	}
	h.send(a, "go on")
	reqs := h.model.sent()
	validHistory(t, 1, reqs[1])
	if !strings.Contains(sentText(reqs[1]), "cancelled") {
		t.Error("the model is not told that the call was cancelled")
	}
}

func TestModelChoice(t *testing.T) {
	t.Parallel()
	none := func(string) (core.Secret, bool) { return "", false }
	key := func(name string) (core.Secret, bool) { return "sk-test", name == "OPENAI_API_KEY" }
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.model.infos[core.OfflineHandle] = core.ModelInfo{Offline: true, Tools: true, ContextWindow: 32_000}
	a := h.agent(func(a *core.Agent) { a.Model, a.ModelAuto = core.OfflineHandle, true })
	choice, err := h.engine.Choose(t.Context(), a, "", none)
	if err != nil || choice.Handle != core.OfflineHandle || choice.Notice == "" {
		t.Fatalf("without a key: %+v, %v", choice, err)
	}
	refused := func(name string) (core.Secret, bool) { return "refused", name == "OPENAI_API_KEY" }
	if choice, err = h.engine.Choose(t.Context(), a, "", refused); err != nil || choice.Handle != core.OfflineHandle ||
		!strings.HasPrefix(choice.Notice, "OPENAI_API_KEY is set, but OpenAI refused it. ") {
		t.Errorf("with a key that is refused: %+v, %v", choice, err)
	}
	if choice, err = h.engine.Choose(t.Context(), a, "openai/other", key); err != nil || choice.Handle != "openai/other" || choice.Move {
		t.Errorf("a flag: %+v, %v", choice, err)
	}
	const last = " openai/gpt-test (OPENAI_API_KEY is set). To change that: /model in the chat, --model for one run."
	if choice, err = h.engine.Choose(t.Context(), a, "", key); err != nil || choice.Notice != "This agent uses"+last {
		t.Errorf("an agent that never ran: %+v, %v", choice, err)
	}
	offline := h.request(a, "hi")
	offline.Client.Env = none
	h.submit(offline)
	req := h.request(a, "hi")
	req.Client.Env = key
	run, events := h.submit(req)
	if run.Status != core.RunCompleted {
		t.Fatalf("run %+v", run.Error)
	}
	announced := false
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == "model" &&
			n.Text == "This agent now uses openai/gpt-test (OPENAI_API_KEY is set); it keeps everything it remembers. To change that: "+
				"/model in the chat, --model for one run." {
			announced = true
		}
	}
	moved, err := h.store.Agents().Get(t.Context(), a.ID)
	if err != nil || moved.Model != "openai/gpt-test" || moved.ModelAuto || !announced {
		t.Errorf("moved to %s (auto %v), announced %v, %v", moved.Model, moved.ModelAuto, announced, err)
	}
	b := h.agent(func(a *core.Agent) { a.Model, a.ModelAuto = core.OfflineHandle, true })
	if _, err := h.engine.Choose(t.Context(), b, "", none); core.KindOf(err) != core.Unavailable {
		t.Errorf("after a real model answered, offline was chosen: %v", err)
	}
	if _, err := h.engine.Choose(t.Context(), b, "", refused); err == nil || !strings.Contains(err.Error(), "refused it") {
		t.Errorf("after a real model answered, a refused key is not named: %v", err)
	}
	h.model.missing = map[string]string{"openai": "OPENAI_API_KEY"}
	keyed := h.agent(nil)
	for name, override := range map[string]core.Handle{"its own": "", "a named one": "openai/gpt-named"} {
		if _, err := h.engine.Choose(
			t.Context(),
			keyed,
			override,
			none,
		); core.KindOf(err) != core.Unavailable ||
			!strings.Contains(err.Error(), "no model can be reached: there is no key for openai") {
			t.Errorf("a model without its key, %s: %v", name, err)
		}
	}
	h.model.missing = nil
	made := h.agent(func(a *core.Agent) { a.Model, a.ModelAuto = "openai/gpt-made", true })
	if choice, err := h.engine.Choose(
		t.Context(),
		made,
		"",
		none,
	); err != nil || choice.Handle != "openai/gpt-made" || !choice.Move ||
		choice.Notice == "" {
		t.Errorf("an agent whose model was found when it was made: %+v, %v", choice, err)
	}
	c := h.agent(func(a *core.Agent) { a.Model = core.OfflineHandle })
	if choice, err := h.engine.Choose(t.Context(), c, "", none); err != nil || choice.Handle != core.OfflineHandle {
		t.Errorf("an agent set to offline on purpose: %+v, %v", choice, err)
	}
}
