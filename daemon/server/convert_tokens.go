package server

import (
	"loci/core"
	"loci/daemon/api"
)

// runCollected is the type of runs that are answered at once, the only answer that has tokens in the contract.
const runCollected = "send_message"

// mostTop is how many alternatives of a token may be asked for.
const mostTop = 20

// coreTokens converts what a request wants to know of the tokens that are generated.
func coreTokens(in api.Request, kind string) (*core.TokenWish, error) {
	wish := core.TokenWish{IDs: api.Val(in.ReturnTokenIDs), Logprobs: api.Val(in.ReturnLogprobs), Top: api.Val(in.TopLogprobs)}
	switch {
	case wish == core.TokenWish{}:
		return nil, nil //nolint:nilnil // nothing is wanted
	case kind != runCollected:
		return nil, checkLogprobs(in.ReturnLogprobs, in.TopLogprobs, in.ReturnTokenIDs)
	case wish.Top < 0 || wish.Top > mostTop:
		return nil, unprocessable("body.top_logprobs", "top_logprobs is at most %d", mostTop)
	}
	return &wish, nil
}

// tokenTurns gathers what an answer says of the tokens of a run.
type tokenTurns struct {
	wish *core.TokenWish
	last *core.Tokens
	all  []api.TurnTokenData
}

func (t *tokenTurns) see(ev core.Event) {
	if t.wish == nil {
		return
	}
	switch body := ev.Body.(type) { //nolint:gochecksumtype // of the others nothing is told
	case core.Generated:
		t.last = &body.Tokens
		turn := api.TurnTokenData{Role: "assistant", Content: api.PtrTo(body.Text), OutputIDs: body.Tokens.IDs}
		if len(body.Tokens.IDs) == len(body.Tokens.Logprobs) {
			for i, p := range body.Tokens.Logprobs {
				turn.OutputTokenLogprobs = append(turn.OutputTokenLogprobs, []any{p.Logprob, body.Tokens.IDs[i], nil})
			}
		}
		t.all = append(t.all, turn)
	case core.ToolReturned:
		for _, r := range body.Returns {
			t.all = append(t.all, api.TurnTokenData{Role: "tool", Content: new(r.Text), ToolName: new(r.Name)})
		}
	}
}

// put adds what was asked for to an answer.
func (t *tokenTurns) put(out *api.Response) {
	if t.wish == nil {
		return
	}
	if t.wish.IDs {
		out.Turns = t.all
	}
	if t.last != nil && (t.wish.Logprobs || t.wish.Top > 0) {
		out.Logprobs = &api.ChoiceLogprobs{Content: wireLogprobs(t.last.Logprobs)}
	}
}

func wireLogprobs(in []core.TokenLogprob) []api.TokenLogprob {
	out := make([]api.TokenLogprob, 0, len(in))
	for _, p := range in {
		one := api.TokenLogprob{Token: p.Token, Bytes: p.Bytes, Logprob: p.Logprob, TopLogprobs: []api.TopLogprob{}}
		for _, top := range p.Top {
			one.TopLogprobs = append(one.TopLogprobs, api.TopLogprob{Token: top.Token, Bytes: top.Bytes, Logprob: top.Logprob})
		}
		out = append(out, one)
	}
	return out
}
