package engine_test

import (
	"strings"
	"testing"

	"loci/core"
)

// down is a provider's failure of a kind.
func down(kind core.Kind) error {
	err := core.E(kind, "openai: it is down")
	err.Provider = true
	return err
}

// modelNotices are what a run tells of who answers.
func modelNotices(events []core.Event) string {
	var out []string
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == "model" {
			out = append(out, n.Text)
		}
	}
	return strings.Join(out, "\n")
}

func TestTheFallbackAnswersAtOnceWhereTheAgentsModelCannot(t *testing.T) {
	t.Parallel()
	for _, kind := range []core.Kind{core.Unavailable, core.RateLimited, core.NoCredit, core.Unauthenticated, core.Timeout} {
		h := open(t, func(_ int, req core.ChatRequest) turn {
			if req.Model == "gpt-test" {
				if !req.Hurried {
					t.Error("the first is waited for")
				}
				return turn{err: down(kind)}
			}
			if req.Hurried {
				t.Error("the last is not waited for")
			}
			return say("I am the other.")
		})
		h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 50_000, Tools: true, BindsPrefix: true}
		a := h.agent(nil)
		if _, err := h.engine.SetFallback(t.Context(), a.ID, "anthropic/other", nil); err != nil {
			t.Fatal(err)
		}
		run, events := h.submit(h.request(a, "hello"))
		if run.Status != core.RunCompleted || len(h.model.sent()) != 2 {
			t.Fatalf("%s: %s after %d requests: %+v", kind, run.Status, len(h.model.sent()), run.Error)
		}
		told := modelNotices(events)
		if !strings.Contains(told, "it is down. The fallback anthropic/other answers instead") ||
			!strings.Contains(told, "does not see the thinking of openai/gpt-test") {
			t.Errorf("%s: it tells %q", kind, told)
		}
		steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 9})
		if err != nil || len(steps) != 1 || steps[0].Model != "anthropic/other" {
			t.Errorf("%s: %+v %v", kind, steps, err)
		}
	}
}

func TestTheFallbackTakesThePlaceOfAModelWithoutAKey(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.model.missing = map[string]string{"openai": "OPENAI_API_KEY"}
	a := h.agent(nil)
	if _, err := h.engine.SetFallback(t.Context(), a.ID, "anthropic/other", nil); err != nil {
		t.Fatal(err)
	}
	req := h.request(a, "hello")
	req.Client.Env = func(string) (core.Secret, bool) { return "", false }
	run, events := h.submit(req)
	if run.Status != core.RunCompleted || !strings.Contains(modelNotices(events), "anthropic/other answers instead") {
		t.Errorf("%s %+v: %q", run.Status, run.Error, modelNotices(events))
	}
}

func TestWhatTheModelItselfRefusesAndWhatWasShownHaveNoFallback(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]turn{
		"a bad request":        {err: down(core.Invalid)},
		"an answer that began": {deltas: []core.Delta{{Text: "I think"}}, err: down(core.Unavailable)},
	} {
		h := open(t, func(_ int, req core.ChatRequest) turn {
			if req.Model == "gpt-test" {
				return first
			}
			return say("other")
		})
		a := h.agent(nil)
		if _, err := h.engine.SetFallback(t.Context(), a.ID, "anthropic/other", nil); err != nil {
			t.Fatal(err)
		}
		req := h.request(a, "hello")
		req.Config.StreamTokens = true
		if run, _ := h.submit(req); run.Status != core.RunFailed {
			t.Errorf("%s: %s", name, run.Status)
		}
		named := h.request(a, "again")
		named.Config.Model = "openai/gpt-test"
		if run, _ := h.submit(named); run.Status != core.RunFailed {
			t.Errorf("%s, and a model that was named for the run: %s", name, run.Status)
		}
	}
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	if _, err := h.engine.SetFallback(t.Context(), a.ID, a.Model, nil); core.KindOf(err) != core.Invalid {
		t.Errorf("its own model as its fallback: %v", err)
	}
	if _, err := h.engine.SetFallback(t.Context(), a.ID, "nohandle", nil); core.KindOf(err) != core.Invalid {
		t.Errorf("no handle: %v", err)
	}
}

func TestAFallbackThatCannotDoWhatTheRunNeedsSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, other core.ModelInfo
		wish       *core.TokenWish
		failed     string // what the run ends with
		told       string
	}{
		"no tokens": {
			core.ModelInfo{ContextWindow: 50_000, Tools: true, Tokens: true},
			core.ModelInfo{ContextWindow: 50_000, Tools: true},
			&core.TokenWish{IDs: true}, "it is down", "cannot be asked either: the server of anthropic/other gives nothing of the tokens",
		},
		"no room": {
			core.ModelInfo{ContextWindow: 50_000, Tools: true},
			core.ModelInfo{ContextWindow: 300, Tools: true},
			nil, "do not fit into the 300 tokens of anthropic/other", "it is down. The fallback anthropic/other answers",
		},
	} {
		h := open(t, func(_ int, req core.ChatRequest) turn {
			if req.Model == "gpt-test" {
				return turn{err: down(core.Unavailable)}
			}
			return say("I am the other.")
		})
		h.model.infos["openai/gpt-test"], h.model.infos["anthropic/other"] = c.own, c.other
		a := h.agent(nil)
		if _, err := h.engine.SetFallback(t.Context(), a.ID, "anthropic/other", nil); err != nil {
			t.Fatal(err)
		}
		req := h.request(a, "hello")
		req.Config.Tokens = c.wish
		run, events := h.submit(req)
		if run.Status != core.RunFailed || !strings.Contains(run.Error.Message, c.failed) || len(h.model.sent()) != 1 {
			t.Errorf("%s: %s %+v after %d requests", name, run.Status, run.Error, len(h.model.sent()))
		}
		if told := modelNotices(events); !strings.Contains(told, c.told) {
			t.Errorf("%s: it tells %q", name, told)
		}
	}
}
