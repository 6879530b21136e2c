package providers

import (
	"strings"
	"testing"

	"loci/core"
	"loci/providers/protocol"
)

func TestTheFormOfCallsInTextIsTheFamilysOrTheUsers(t *testing.T) {
	t.Parallel()
	rows, err := Configure(Rows(), map[string]map[string]string{
		"my-box": {
			"protocol": "openai", "base_url": "http://192.168.1.20:8000/v1",
			"models.my-finetune.text_calls": "hermes", "models.Qwen/Qwen3-32B.text_calls": "off",
		},
		"groq":   {"models.qwen/qwen3-32b.text_calls": "hermes"},
		"ollama": {"text_calls": "mistral"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Rows: rows})
	t.Cleanup(p.Close)
	for handle, want := range map[string]string{
		"my-box/my-finetune": "hermes", "my-box/Qwen/Qwen3-32B": "off", "my-box/Qwen/Qwen3-8B": "hermes", "my-box/other": "",
		"my-box/qwen3-coder:30b": "qwen3-coder", "my-box/openai/gpt-oss-20b": "gpt-oss", "my-box/Llama-3.1-8B": "llama",
		"my-box/Hermes-3-Llama-3.1-8B": "hermes", "my-box/Devstral-Small": "mistral", "my-box/zai-org/GLM-4.6": "glm",
		"my-box/DeepSeek-V3.1": "deepseek", "ollama/anything": "mistral", "vllm/mistral-small": "mistral",
		"groq/qwen/qwen3-32b": "hermes", "groq/llama-3.3-70b-versatile": "", "openai/gpt-5": "off", "anthropic/claude-opus-5": "off",
	} {
		provider, model, _ := core.Handle(handle).Split()
		row, _ := p.find(provider)
		e, err := p.endpoint(row, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.info(protocol.Model{Name: model}).TextCalls; got != want {
			t.Errorf("%s: %q, want %q", handle, got, want)
		}
	}
	_, err = Configure(Rows(), map[string]map[string]string{"ollama": {"text_calls": "xml"}})
	if core.KindOf(err) != core.Invalid || !strings.Contains(core.HintOf(err), "qwen3-coder") {
		t.Errorf("got %v (%s)", err, core.HintOf(err))
	}
}
