package api

// DefaultRecall is the recall budget, in tokens per turn, if recall is turned on without a number.
const DefaultRecall = 800

// Recall is the body and response of /loci/v1/agents/{id}/recall: the maximum number of tokens of memories that join
// each turn automatically; 0: none.
type Recall struct {
	Tokens int `json:"tokens"`
}

// Renew is the body of /loci/v1/agents/{id}/renew, which gives an agent the prompt and the tools of the terminal's new
// agents. Replace allows that for a prompt that somebody wrote.
type Renew struct {
	Replace bool `json:"replace,omitempty"`
}
