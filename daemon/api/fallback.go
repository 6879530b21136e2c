package api

// Fallback is the body and response of /loci/v1/agents/{id}/fallback: the model that answers where the agent's own refuses or cannot be
// reached; empty: none.
type Fallback struct {
	Model string `json:"model"`
}
