package providers_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

// infoOf is what is known of a model with settings of one provider.
func infoOf(t *testing.T, handle core.Handle, settings map[string]string, vars map[string]string) core.ModelInfo {
	t.Helper()
	p := providers.New(providers.Config{Rows: configured(t, handle.Provider(), settings)})
	t.Cleanup(p.Close)
	_, info, err := p.Chat(t.Context(), handle, env(vars))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestWhatIsKnownOfAModelIsOverruledByItsServerAndByThePerson(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "deepseek-chat", Window: 20_000}}
	key := map[string]string{"OPENAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
	known := infoOf(t, "openai/gpt-5.4", nil, key)
	if known.ContextWindow < 1_000_000 || known.MaxOutput != 128_000 || known.Price == nil || !known.NoTemperature ||
		!slices.Contains(known.Efforts, "xhigh") || known.Images != core.ImagesTaken {
		t.Errorf("by the table it is %+v", known)
	}
	said := infoOf(t, "deepseek/deepseek-chat", nil, map[string]string{"DEEPSEEK_API_KEY": "k", "DEEPSEEK_BASE_URL": s.URL})
	if said.ContextWindow != 20_000 || said.Price != nil {
		t.Errorf("by a server elsewhere it is %+v", said)
	}
	own := infoOf(t, "openai/gpt-5.4", map[string]string{
		"models.gpt-5.4.context_window": "5000", "models.gpt-5.4.input_price": "7", "models.gpt-5.4.temperature": "on",
		"models.gpt-5.4.efforts": "low, high", "models.gpt-5.4.images": "off",
	}, key)
	if own.ContextWindow != 5000 || own.Price.Input != 7_000_000 || own.Price.CacheRead != 7_000_000 || own.NoTemperature ||
		own.Price.Output != known.Price.Output || !slices.Equal(own.Efforts, []string{"low", "high"}) || own.Images != core.ImagesRefused {
		t.Errorf("by the person it is %+v, %+v", own, own.Price)
	}
	for name, value := range map[string]string{"input_price": "cheap", "efforts": "hard", "base_model": "x"} {
		_, err := providers.Configure(providers.Rows(), map[string]map[string]string{"openai": {name: value}})
		if core.KindOf(err) != core.Invalid || core.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatRunsOnOnesOwnMachineCostsNothing(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "qwen3"}, {Name: "big:cloud"}}
	free := infoOf(t, "vllm/qwen3", map[string]string{"base_url": s.URL}, nil)
	if free.Price == nil || free.Price.Of(core.Usage{Prompt: 1000, Completion: 1000}) != 0 {
		t.Errorf("its own costs %+v", free.Price)
	}
	hosted := infoOf(t, "ollama/big:cloud", map[string]string{"base_url": s.URL}, nil)
	if hosted.Price != nil {
		t.Errorf("what Ollama hosts costs %+v", hosted.Price)
	}
	box := infoOf(t, "box/m", map[string]string{"protocol": "openai", "base_url": s.URL}, nil)
	if box.Price != nil {
		t.Errorf("what a server under a name of one's own asks for is known: %+v", box.Price)
	}
	priced := infoOf(t, "box/m", map[string]string{
		"protocol": "openai", "base_url": s.URL, "input_price": "0", "output_price": "0.5",
	}, nil)
	if priced.Price == nil || priced.Price.Output != 500_000 {
		t.Errorf("and once it is said it is %+v", priced.Price)
	}
}

func TestTheEffortsThatAPersonSaysAServerHasAreAskedFor(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	rows := configured(t, "box", map[string]string{"protocol": "openai", "base_url": s.URL, "efforts": "low, high"})
	p := providers.New(providers.Config{Rows: rows})
	t.Cleanup(p.Close)
	chat, _, err := p.Chat(t.Context(), "box/test-model", nil)
	if err != nil {
		t.Fatal(err)
	}
	req := providertest.Ask("test-model", "SAY hi")
	req.Settings.ReasoningEffort = "max"
	if _, err := providertest.Collect(t.Context(), t, chat, req); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Last().Body); !strings.Contains(got, `"reasoning_effort":"high"`) {
		t.Errorf("max is asked for as %s", got)
	}
}

func TestAnEmbeddingModelCostsWhatThePersonSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings map[string]string
		want     *core.Price
	}{
		"of all":      {map[string]string{"input_price": "2"}, &core.Price{Input: 2_000_000}},
		"of one":      {map[string]string{"input_price": "2", "models.e.input_price": "0"}, &core.Price{}},
		"not said":    {nil, nil},
		"only output": {map[string]string{"output_price": "2"}, nil},
	} {
		settings := map[string]string{"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}
		maps.Copy(settings, c.settings)
		p := providers.New(providers.Config{Rows: configured(t, "box", settings)})
		t.Cleanup(p.Close)
		_, info, err := p.Embedder(t.Context(), "box/e", nil)
		if err != nil {
			t.Fatal(err)
		}
		if (info.Price == nil) != (c.want == nil) || c.want != nil && info.Price.Input != c.want.Input {
			t.Errorf("%s: it costs %+v, want %+v", name, info.Price, c.want)
		}
	}
}
