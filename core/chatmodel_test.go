package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// listing is Models of which only the listing is asked for.
type listing struct {
	Models
	handles []Handle
	err     error
}

func (l listing) List(context.Context, Env) ([]ModelInfo, error) {
	var out []ModelInfo
	for _, h := range l.handles {
		out = append(out, ModelInfo{Handle: h})
	}
	return out, l.err
}

func TestAModelThatItsProviderDoesNotListIsNotFound(t *testing.T) {
	t.Parallel()
	known := listing{handles: []Handle{"openai/gpt-4o", "openrouter/a/b", "ollama/qwen3:latest", OfflineHandle}}
	for handle, want := range map[Handle]Kind{
		"openai/gpt-4o": "", "openai/nope": NotFound, "openrouter/a/b:nitro": "", "openrouter/a/c": NotFound,
		"ollama/qwen3": "", "vllm/listed-nowhere": "", OfflineHandle: "",
	} {
		err := CheckListed(t.Context(), known, handle, nil)
		if KindOf(err) != want || want != "" && !strings.Contains(HintOf(err), handle.Provider()+"/") {
			t.Errorf("%s: %v, hint %q, want kind %q", handle, err, HintOf(err), want)
		}
	}
	if err := CheckListed(t.Context(), listing{err: errors.New("down")}, "openai/nope", nil); err != nil {
		t.Errorf("without a listing: %v", err)
	}
	var many listing
	for i := range 30 {
		many.handles = append(many.handles, Handle(fmt.Sprintf("openai/m%02d", i)))
	}
	if hint := HintOf(CheckListed(t.Context(), many, "openai/nope", nil)); !strings.Contains(hint, "openai/m19") || strings.Contains(hint, "openai/m20") {
		t.Errorf("the hint of many models: %s", hint)
	}
}
