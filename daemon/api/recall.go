package api

// DefaultRecall is what recall takes where it is merely switched on, in tokens a turn.
const DefaultRecall = 800

// Recall is the body and answer of /loci/v1/agents/{id}/recall: up to how many tokens of memories join each turn by
// themselves; 0: none.
type Recall struct {
	Tokens int `json:"tokens"`
}
