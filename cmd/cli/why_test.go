package cli

import (
	"testing"

	"loci/daemon/api"
)

func TestWhyAResultWasFoundIsSaidInWords(t *testing.T) {
	t.Parallel()
	for want, metadata := range map[string]api.Object{
		"says: green tea":                     {"words": []any{"green", "tea"}},
		"beside: green; who said it; the day": {"inherited": []any{map[string]any{"words": []any{"green"}}}, "speaker": true, "date": true},
		"says: tea; like in meaning":          {"words": []any{"tea"}, "vector": 0.8},
		"says: Ada; beside: tea": {
			"words": []any{"Ada", "ada"}, "inherited": []any{map[string]any{"words": []any{"ada", "tea"}}},
		},
		"also: purchase":        {"also": []any{"purchase"}},
		"says: car; also: sold": {"words": []any{"car"}, "also": []any{"car", "sold"}},
		"says: Ada":             {"words": []any{"Ada"}, "inherited": []any{map[string]any{"words": []any{"Ada"}}}},
		"":                      {},
	} {
		if got := why(metadata); got != want {
			t.Errorf("%v: %q, want %q", metadata, got, want)
		}
	}
}
