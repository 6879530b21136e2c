package engine_test

import (
	"slices"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
)

// TestAModelThatSaysNothingIsMentioned hangs if nobody is told: the model answers only then.
func TestAModelThatSaysNothingIsMentioned(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]core.Delta{
		"from the beginning": nil,
		"after a wait":       {{Notice: &core.Notice{Kind: "retry", Text: "Retrying in 1 second."}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := make(chan struct{})
			h := open(t, func(int, core.ChatRequest) turn {
				return turn{deltas: before, gate: told, err: core.E(core.Invalid, "no")}
			}, func(c *engine.Config) { c.Silence = time.Millisecond })
			run, err := h.engine.Submit(t.Context(), h.request(h.agent(nil), "hi"))
			if err != nil {
				t.Fatal(err)
			}
			h.waitFor(run.ID, func(ev core.Event) bool {
				n, ok := ev.Body.(core.Notice)
				return ok && n.Kind == "waiting"
			})
			close(told)
			_, events := h.follow(run.ID)
			want := []string{"openai/gpt-test has not answered yet."}
			if got := notices(events, "waiting"); !slices.Equal(got, want) {
				t.Errorf("told %q, want %q", got, want)
			}
		})
	}
}
