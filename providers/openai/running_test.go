package openai_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/providers/openai"
	"loci/providers/protocol"
)

// pages serves fixed documents by path.
func pages(t *testing.T, q openai.Quirks, docs map[string]string) []protocol.Model {
	t.Helper()
	r := serveFunc(t, q, func(w http.ResponseWriter, req *http.Request) {
		doc, ok := docs[req.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, doc)
	})
	list, err := r.client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Models {
		list.Models[i].ToolsGuess = false // see TestWhetherAModelHasToolsIsAGuessUnlessTheServerSaysSo
	}
	return list.Models
}

func TestWhetherAModelHasToolsIsAGuessUnlessTheServerSaysSo(t *testing.T) {
	t.Parallel()
	r := serveFunc(t, openai.Quirks{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"silent"},{"id":"flags","capabilities":{"function_calling":true}},
			{"id":"parameters","supported_parameters":["tools"]},{"id":"without","supported_parameters":["top_p"]}]}`)
	})
	list, err := r.client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]bool{}
	for _, m := range list.Models {
		got[m.Name] = [2]bool{m.Tools, m.ToolsGuess}
	}
	want := map[string][2]bool{"silent": {true, true}, "flags": {true, false}, "parameters": {true, false}, "without": {false, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAServerRunsWithCountsMoreThanItsListing(t *testing.T) {
	t.Parallel()
	listing := `{"data":[{"id":"qwen","context_length":131072},{"id":"other","context_length":8192},{"id":"nomic-vectors"},` +
		`{"id":"tts-writer"}]}`
	got := pages(t, openai.Quirks{Running: openai.RunningProps}, map[string]string{
		"/v1/models": `{"data":[{"id":"qwen","meta":{"n_ctx_train":131072}}]}`, "/props": `{"default_generation_settings":{"n_ctx":4096}}`,
	})
	if diff := cmp.Diff([]protocol.Model{{Name: "qwen", Window: 4096, Tools: true, Forced: true}}, got); diff != "" {
		t.Error(diff)
	}
	got = pages(t, openai.Quirks{Running: openai.RunningLMStudio}, map[string]string{"/v1/models": listing, "/api/v1/models": `{"models":[
		{"key":"qwen","type":"llm","max_context_length":131072,"loaded_instances":[{"id":"qwen","config":{"context_length":4096}}],` +
		`"capabilities":{"trained_for_tool_use":true}},
		{"key":"other","type":"llm","max_context_length":8192,"loaded_instances":[],"capabilities":{"trained_for_tool_use":false}},
		{"key":"nomic-vectors","type":"embedding","loaded_instances":[]},{"key":"tts-writer","type":"llm"}]}`})
	want := []protocol.Model{
		{Name: "qwen", Window: 4096, Tools: true, Forced: true},
		{Name: "other"},
		{Name: "nomic-vectors", Tools: true, Forced: true, Embeds: true, Hidden: "it is listed as embedding"},
		{Name: "tts-writer", Tools: true, Forced: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = pages(
		t,
		openai.Quirks{Running: openai.RunningLMStudio},
		map[string]string{"/v1/models": `{"data":[{"id":"qwen","context_length":9}]}`},
	)
	if diff := cmp.Diff([]protocol.Model{{Name: "qwen", Window: 9, Tools: true, Forced: true}}, got); diff != "" {
		t.Errorf("an older server: %s", diff)
	}
}

func TestOpenAIsOwnListingIsReadByName(t *testing.T) {
	t.Parallel()
	list := pages(
		t,
		openai.Quirks{OwnHost: true},
		map[string]string{"/v1/models": `{"data":[{"id":"gpt-5-mini"},{"id":"o3"},{"id":"gpt-4o"},{"id":"chatgpt-4o-latest"},
		{"id":"gpt-4o-realtime-preview"},{"id":"gpt-4o-transcribe"},{"id":"gpt-3.5-turbo-instruct"},{"id":"gpt-image-1"},{"id":"sora-2"},` +
			`{"id":"babbage-002"},{"id":"omni-moderation-latest"},{"id":"gpt-4o-search-preview"},{"id":"computer-use-preview"}]}`},
	)
	var chat []string
	for _, m := range list {
		if m.Hidden == "" {
			chat = append(chat, m.Name)
		}
	}
	if diff := cmp.Diff([]string{"gpt-5-mini", "o3", "gpt-4o", "chatgpt-4o-latest"}, chat); diff != "" {
		t.Error(diff)
	}
}

func TestFamiliesThatReason(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{
		"o1": true, "o3-mini": true, "o4-mini": true, "gpt-5": true, "gpt-5.6-terra": true, "gpt-6-sol": true, "openai/gpt-5-mini": true,
		"gpt-5-chat-latest": false, "gpt-4o": false, "gpt-oss-120b": false, "o3x": false, "gpt-50": false, "olmo": false,
	} {
		if got := openai.Reasons(model); got != want {
			t.Errorf("%s: %v", model, got)
		}
	}
}
