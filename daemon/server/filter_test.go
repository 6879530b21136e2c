package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
)

func TestAFilterOfTypesLeavesExactlyThoseTypes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ context.Context, n int, req core.ChatRequest) []any {
		if strings.HasSuffix(req.CacheKey, "-summary") {
			return []any{strings.Repeat("They spoke of tea and of Ada. ", 20)}
		}
		if n == 0 {
			return append([]any{core.Delta{Reasoning: "hm"}}, calls("conversation_search", `{"query":"tea"}`)...)
		}
		return []any{core.Delta{Reasoning: "so"}, "ok"}
	})
	a := f.agent(nil)
	own := "/v1/agents/" + a.ID
	for range 8 {
		f.call("POST", own+"/messages", text(strings.Repeat("We like tea. ", 200))).want(http.StatusOK)
	}
	f.call("POST", own+"/summarize", nil).want(http.StatusOK)
	for _, list := range []string{own + "/messages?", "/v1/messages?", "/v1/conversations/" + a.ID + "/messages?"} {
		all := as[[]api.Message](f.call("GET", list+"limit=1000", nil))
		seen := map[api.MessageType]bool{}
		for _, kind := range api.ListTypes() {
			var want []api.Message
			for _, m := range all {
				if m.MessageType == kind {
					seen[kind] = true
					want = append(want, m)
				}
			}
			got := as[[]api.Message](f.call("GET", list+"limit=1000&include_return_message_types="+string(kind), nil))
			if !slices.Equal(identities(got), identities(want)) {
				t.Errorf("%s of %s: %v, want %v", list, kind, identities(got), identities(want))
			}
		}
		if len(seen) < 6 {
			t.Errorf("%s has messages of %d types only: %v", list, len(seen), seen)
		}
	}
}
