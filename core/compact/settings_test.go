package compact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

type set = map[string]any

func TestSettingsAreLaidOverThoseThatStand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stand, given, want set }{
		"on nothing": {nil, set{"clip_chars": 5}, set{"clip_chars": 5}},
		"the same mode": {
			set{"prompt": "Mine."}, set{"mode": "sliding_window"}, set{"mode": "sliding_window", "prompt": "Mine."},
		},
		"another mode":            {set{"prompt": "Mine.", "clip_chars": 5}, set{"mode": "all"}, set{"mode": "all", "clip_chars": 5}},
		"another mode and prompt": {set{"prompt": "Mine."}, set{"mode": "all", "prompt": "New."}, set{"mode": "all", "prompt": "New."}},
		"nothing":                 {set{"mode": "all", "prompt": "Mine."}, nil, set{"mode": "all", "prompt": "Mine."}},
	} {
		if diff := cmp.Diff(c.want, Lay(c.stand, c.given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []set{
		{"mode": "magic"},
		{"mode": 3},
		{"model": "noslash"},
		{"clip_chars": 0},
		{"clip_chars": "many"},
		{"sliding_window_percentage": 0.0},
		{"sliding_window_percentage": 1.01},
		{"prompt": string(make([]byte, maxPrompt+1))},
	} {
		if err := Check(bad); core.KindOf(err) != core.Invalid {
			t.Errorf("%.40v: %v", bad, err)
		}
	}
	for _, good := range []set{
		nil,
		{},
		{"mode": "self_compact_all", "model": "a/b", "clip_chars": 1, "sliding_window_percentage": 1.0, "prompt": ""},
		{"model": ""},
	} {
		if err := Check(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
}

func TestAnUnnamedSummariserIsTheVendorsLightModel(t *testing.T) {
	t.Parallel()
	info := func(h core.Handle, endpoint string) core.ModelInfo {
		return core.ModelInfo{Handle: h, Endpoint: endpoint}
	}
	vendor, other := info("openai/gpt-5", "https://api.openai.com/v1"), info("openai/llama", "http://127.0.0.1:8000/v1")
	light := set{"model": "openai/gpt-5-mini"}
	for name, c := range map[string]struct {
		given set
		own   core.ModelInfo
		want  set
	}{
		"the vendor itself":             {nil, vendor, light},
		"what speaks its wire":          {nil, other, set{}},
		"a vendor without a light one":  {nil, info("groq/x", "https://api.groq.com/openai/v1"), set{}},
		"a model of one's own choosing": {set{"model": "ollama/x"}, vendor, set{"model": "ollama/x"}},
		"moved away from the vendor":    {light, info("ollama/x", "http://127.0.0.1:11434"), set{}},
		"stayed with the vendor":        {light, vendor, light},
		"nothing known of the model":    {nil, core.ModelInfo{Handle: "openai/gpt-5"}, set{}},
	} {
		if diff := cmp.Diff(c.want, Settle(c.given, c.own)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
