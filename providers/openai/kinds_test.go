package openai_test

import (
	"fmt"
	"testing"

	"loci/providers/openai"
)

func TestNamesThatSayTwoThingsAreListedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]struct {
		chats, embeds bool
	}{
		`{"id":"text-embedding-chat"}`:                                   {false, true},
		`{"id":"chat-embed-v2"}`:                                         {false, true},
		`{"id":"bge-m3"}`:                                                {false, true},
		`{"id":"bge-reranker-v2-m3"}`:                                    {false, false},
		`{"id":"tts-chat-8b"}`:                                           {true, false},
		`{"id":"embedded-systems-tutor"}`:                                {true, false},
		`{"id":"text-embedding-chat","mode":"chat"}`:                     {true, false},
		`{"id":"e","type":"embedding-text"}`:                             {false, true},
		`{"id":"e","capabilities":["chat","embedding"]}`:                 {true, true},
		`{"id":"e","architecture":{"output_modalities":["embeddings"]}}`: {false, true},
	} {
		got, err := serve(t, openai.Quirks{}, fmt.Sprintf(`{"data":[%s]}`, row)).client.List(t.Context())
		if err != nil || len(got.Models) != 1 {
			t.Fatalf("%s: %+v, %v", row, got, err)
		}
		if m := got.Models[0]; (m.Hidden == "") != want.chats || m.Embeds != want.embeds {
			t.Errorf("%s: hidden %q, embeds %v, want %+v", row, m.Hidden, m.Embeds, want)
		}
	}
	own, err := serve(t, openai.Quirks{OwnHost: true}, `{"data":[{"id":"text-embedding-chat"}]}`).client.List(t.Context())
	if err != nil || !own.Models[0].Embeds || own.Models[0].Hidden == "" {
		t.Errorf("of the vendor itself: %+v, %v", own, err)
	}
}
