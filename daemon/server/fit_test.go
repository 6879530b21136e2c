package server

import (
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestHowMuchOfAMessageFitsIsToldBeforeItIsSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	for text, whole := range map[string]bool{"short": true, strings.Repeat("long ", 200_000): false} {
		got := as[api.FitResult](f.call("POST", api.PathConversations+"/"+a.ID+"/fit", api.Fit{Text: text}))
		if got.Whole() != whole || got.Characters != len(text) || got.Sent < 1 || got.Window != 100_000 || got.Model != "test/model" {
			t.Errorf("of %d characters: %+v", len(text), got)
		}
	}
}
