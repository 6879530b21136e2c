package api

// TurnTokenData says of one turn of a run what its tokens were, to train on them: of the model's own turns the ids and
// probabilities that its server gave, of a tool's return only the text.
type TurnTokenData struct {
	Role                string  `json:"role" enum:"assistant,tool" required:"true"`
	OutputIDs           []int   `json:"output_ids"`
	OutputTokenLogprobs [][]any `json:"output_token_logprobs"` // [logprob, id, null] each
	Content             *string `json:"content"`
	ToolName            *string `json:"tool_name"`
}

// ChoiceLogprobs are the probabilities of the tokens of the last answer of a run.
type ChoiceLogprobs struct {
	Content []TokenLogprob `json:"content"`
	Refusal []TokenLogprob `json:"refusal"`
}

// TokenLogprob is how likely a token was, and which others were.
type TokenLogprob struct {
	Token       string       `json:"token" required:"true"`
	Bytes       []int        `json:"bytes"`
	Logprob     float64      `json:"logprob" required:"true"`
	TopLogprobs []TopLogprob `json:"top_logprobs" required:"true"`
}

// TopLogprob is a token that might have been chosen.
type TopLogprob struct {
	Token   string  `json:"token" required:"true"`
	Bytes   []int   `json:"bytes"`
	Logprob float64 `json:"logprob" required:"true"`
}
