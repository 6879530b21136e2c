package openai_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/providers/openai"
	"loci/providers/providertest"
)

func TestAServerThatOnlyCompletesTextsIsRefusedOnceAndSaysWhatToStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chat        int
		said        string
		completions int
		want        bool
	}{
		"no such path":          {404, `{"detail":"Not Found"}`, 422, true},
		"no such path, plainly": {404, "404 page not found", 400, true},
		"no such method":        {405, `{"detail":"Method Not Allowed"}`, 400, true},
		"neither path":          {404, `{"detail":"Not Found"}`, 404, false},
		"a base model at OpenAI's": {
			404, `{"error":{"message":"This is not a chat model and thus not supported in the v1/chat/completions endpoint."}}`, 400, true,
		},
		"a base model at vLLM": {
			400, `{"message":"As of transformers v4.44, default chat template is no longer allowed, provide a chat template"}`, 400, true,
		},
		"a model that isn't there": {404, `{"error":{"message":"The model does not exist"}}`, 400, false},
		"another refusal":          {400, `{"error":{"message":"temperature is too high"}}`, 400, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serveFunc(t, openai.Quirks{}, func(w http.ResponseWriter, req *http.Request) {
				status, said := c.chat, c.said
				if strings.HasSuffix(req.URL.Path, "/v1/completions") {
					status, said = c.completions, `{"error":{"message":"prompt is missing"}}`
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, said)
			})
			var failed error
			for _, err := range r.client.Stream(context.Background(), providertest.Ask("m", "hello")) {
				failed = err
			}
			told := strings.Contains(core.HintOf(failed), "--jinja") && strings.Contains(failed.Error(), "only completes texts")
			if failed == nil || told != c.want || c.want && core.KindOf(failed) != core.Invalid {
				t.Errorf("%v (%s)", failed, core.HintOf(failed))
			}
			if asked := r.asked.Load(); asked > 2 {
				t.Errorf("it was asked %d times", asked)
			}
		})
	}
}

func TestAModelThatCannotBeForcedIsAskedForTheCallInWords(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{Force: openai.ForceNot}, whole)
	req := providertest.Ask("m", "hello")
	req.Choice = core.ToolChoice{Mode: core.ChoiceRequired}
	r.ask(t, req)
	sent := r.sent(t)
	messages, _ := sent["messages"].([]any)
	last, _ := messages[len(messages)-1].(map[string]any)
	if words, _ := last["content"].(string); sent["tool_choice"] != nil || !strings.Contains(words, "Answer with a call of a tool.") {
		t.Errorf("sent is %v", sent)
	}
}
