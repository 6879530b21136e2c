package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// generating is a model that calls a tool and then answers, and says what its tokens were.
func generating(_ context.Context, n int, req core.ChatRequest) []any {
	end := core.Delta{End: true, Finish: core.FinishStop}
	if req.Tokens != nil {
		end.Tokens = &core.Tokens{IDs: []int{7, 8}, Logprobs: []core.TokenLogprob{
			{Token: "a", Logprob: -0.5, Top: []core.TokenLogprob{{Token: "b", Logprob: -1}}}, {Token: "c", Logprob: -0.25},
		}}
	}
	if n == 0 {
		return []any{
			core.Delta{Text: "Wait."},
			core.Delta{Call: &core.CallDelta{ID: "c1", Name: "conversation_search", Arguments: `{"query":"tea"}`}},
			end,
		}
	}
	return []any{"Done.", end}
}

func TestTheTokensOfEachTurnAreInTheAnswerThatAsksForThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t, generating)
	f.model.tokens.Store(true)
	a := f.agent(nil)
	ask := with(text("hi"), "return_token_ids", true, "return_logprobs", true, "top_logprobs", 1)
	got := as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", ask).want(http.StatusOK))
	if len(got.Turns) != 3 {
		t.Fatalf("%+v", got.Turns)
	}
	probabilities := [][]any{{-0.5, 7.0, nil}, {-0.25, 8.0, nil}}
	for i, want := range []api.TurnTokenData{
		{Role: "assistant", Content: new("Wait."), OutputIDs: []int{7, 8}, OutputTokenLogprobs: probabilities},
		{Role: "tool", ToolName: new("conversation_search"), Content: got.Turns[1].Content},
		{Role: "assistant", Content: new("Done."), OutputIDs: []int{7, 8}, OutputTokenLogprobs: probabilities},
	} {
		if diff := cmp.Diff(want, got.Turns[i]); diff != "" {
			t.Error(diff)
		}
	}
	if api.Val(got.Turns[1].Content) == "" {
		t.Error("the tool returned nothing")
	}
	if got.Logprobs == nil || len(got.Logprobs.Content) != 2 || got.Logprobs.Content[0].TopLogprobs[0].Token != "b" {
		t.Errorf("%+v", got.Logprobs)
	}
	f.model.mu.Lock()
	wish := f.model.requests[0].Tokens
	f.model.mu.Unlock()
	if diff := cmp.Diff(&core.TokenWish{IDs: true, Logprobs: true, Top: 1}, wish); diff != "" {
		t.Error(diff)
	}
}

func TestTokensAreInNoOtherAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, generating)
	f.model.tokens.Store(true)
	a := f.agent(nil)
	r := f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")).want(http.StatusOK)
	if strings.Contains(string(r.body), `"turns"`) || strings.Contains(string(r.body), `"logprobs"`) {
		t.Errorf("%s", r.body)
	}
	f.call("POST", "/v1/agents/"+a.ID+"/messages", with(text("hi"), "top_logprobs", 21, "return_logprobs", true)).
		want(http.StatusUnprocessableEntity)
	f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("hi"), "return_token_ids", true)).want(http.StatusNotImplemented)
}
