package api

// Health is the answer of GET /v1/health/.
type Health struct {
	Version string `json:"version" required:"true"`
	Status  string `json:"status" required:"true"`
}
