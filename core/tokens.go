package core

// TokenWish is what a caller wants to know of the tokens that a model generates, to train on them.
type TokenWish struct {
	IDs      bool `json:"ids,omitempty"`
	Logprobs bool `json:"logprobs,omitempty"`
	Top      int  `json:"top,omitempty"` // how many alternatives of each
}

// Tokens are the tokens of an answer as its server generated them. They are never made from its text: the same text may have come of
// other tokens.
type Tokens struct {
	IDs      []int          `json:"ids,omitempty"`
	Logprobs []TokenLogprob `json:"logprobs,omitempty"` // one for each id, if there are both
}

// TokenLogprob is how likely a token was.
type TokenLogprob struct {
	Token   string         `json:"token"`
	Bytes   []int          `json:"bytes,omitempty"`
	Logprob float64        `json:"logprob"`
	Top     []TokenLogprob `json:"top_logprobs,omitempty"`
}
