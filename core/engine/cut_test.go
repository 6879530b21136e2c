package engine_test

import (
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
)

func TestALongMessageFillsWhatIsFreeAndWhatDoesNotFitIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		whole bool
	}{
		"a message of a third":   {strings.Repeat("abcdefg ", 185_764/8), true},
		"one beyond the window":  {strings.Repeat("abcdefg ", 100_000), false},
		"one of wide characters": {strings.Repeat("a", 100_000) + strings.Repeat("漢", 100_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
			h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 128_000, Tools: true, CacheTTL: 5 * time.Minute}
			a := h.agent(func(a *core.Agent) { a.Recall = 1000 })
			fit, err := h.engine.Fit(t.Context(), core.DefaultConversation(a.ID), c.text, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, events := h.send(a, c.text)
			sent := lastAsked(h.model.sent()[0])
			var said []core.Notice
			for _, ev := range events {
				if n, ok := ev.Body.(core.Notice); ok && n.Kind == engine.NoticeCut {
					said = append(said, n)
				}
			}
			if c.whole {
				if !strings.HasSuffix(sent, c.text) || len(said) > 0 || fit.Sent != fit.Characters {
					t.Errorf("%d of %d bytes are sent, said %v, foretold %+v", len(sent), len(c.text), said, fit)
				}
				return
			}
			if len(said) != 1 {
				t.Fatalf("said %v", said)
			}
			sentOf, _ := said[0].Data["sent"].(float64) // as the log has it
			limit := int(sentOf)
			if fit.Sent != limit || fit.Characters != len([]rune(c.text)) || fit.Model != "openai/gpt-test" || fit.Window != 128_000 {
				t.Errorf("foretold %+v, and %d characters were sent", fit, limit)
			}
			if tokens := core.EstimateTokens(
				sent,
			); !strings.Contains(sent, string([]rune(c.text)[:limit])+"\n[…") || tokens > 90_000 ||
				tokens < 60_000 {
				t.Errorf("%d tokens are sent, said %q", tokens, said[0].Text)
			}
		})
	}
}
