package openai_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/openai"
	"loci/providers/providertest"
)

func TestIDsAndProbabilitiesOfTokensAreThoseThatTheServerGives(t *testing.T) {
	t.Parallel()
	const answer = `{"choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop","prompt_token_ids":[1,2],` +
		`"token_ids":[15,16],"logprobs":{"content":[` +
		`{"token":"H","bytes":[72],"logprob":-0.5,"top_logprobs":[{"token":"h","logprob":-2}]},` +
		`{"token":"i.","logprob":-0.1,"top_logprobs":[]}]}}],"usage":{"prompt_tokens":2,"completion_tokens":2}}`
	r := serve(t, openai.Quirks{TokenIDs: true}, answer)
	req := providertest.Ask("m", "hello")
	req.Tokens = &core.TokenWish{IDs: true, Top: 1}
	var last core.Delta
	for d, err := range r.client.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		last = d
	}
	want := &core.Tokens{IDs: []int{15, 16}, Logprobs: []core.TokenLogprob{
		{Token: "H", Bytes: []int{72}, Logprob: -0.5, Top: []core.TokenLogprob{{Token: "h", Logprob: -2}}},
		{Token: "i.", Logprob: -0.1, Top: []core.TokenLogprob{}},
	}}
	if diff := cmp.Diff(want, last.Tokens); diff != "" {
		t.Error(diff)
	}
	sent := r.sent(t)
	if sent["return_token_ids"] != true || sent["logprobs"] != true || sent["top_logprobs"] != 1.0 || sent["stream"] != false {
		t.Errorf("sent is %v", sent)
	}
}

func TestAServerThatGivesNoIDsIsNamed(t *testing.T) {
	t.Parallel()
	r := serve(t, openai.Quirks{TokenIDs: true}, whole)
	req := providertest.Ask("m", "hello")
	req.Tokens = &core.TokenWish{IDs: true}
	e := r.fails(t, req)
	if e.Kind != core.Invalid || !strings.Contains(core.HintOf(e), "SGLang") {
		t.Errorf("got %v (%s)", e, core.HintOf(e))
	}
	r.ask(t, providertest.Ask("m", "hello"))
	if sent := r.sent(t); sent["return_token_ids"] != nil || sent["logprobs"] != nil {
		t.Errorf("sent unasked is %v", sent)
	}
}
