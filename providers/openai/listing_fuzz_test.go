package openai_test

import (
	"testing"

	"loci/providers/openai"
	"loci/providers/protocol"
)

func FuzzListings(f *testing.F) {
	for _, s := range []string{
		`[{"id":"a","type":"chat","context_length":"32768"}]`, `{"data":[{"id":"b","capabilities":["embedding"]},{"id":7},null]}`,
		`{"models":[{"id":"c","max_model_len":1e300}]}`,
		`{"data":[{"id":"d","top_provider":{"context_length":-1},"architecture":{"output_modalities":["image"]}}]}`,
		`{"default_generation_settings":{"n_ctx":4096}}`,
		`{"data":[{"id":"e"}],"models":[{"key":"e","type":"embedding","loaded_instances":[{"id":"e","config":{"context_length":"9"}}]}]}`,
		"<html>", "[", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, q := range []openai.Quirks{
			{OwnHost: true}, {Running: openai.RunningProps}, {Running: openai.RunningLMStudio, Force: openai.ForceNot},
		} {
			c := openai.New(protocol.Options{Provider: "vendor", BaseURL: "http://127.0.0.1/v1", HTTP: canned(data)}, q)
			l, err := c.List(t.Context())
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			for _, m := range l.Models {
				if m.Name == "" || m.Window < 0 || m.MaxOutput < 0 || m.Forced && !m.Tools {
					t.Errorf("%q: %+v", data, m)
				}
			}
		}
	})
}
