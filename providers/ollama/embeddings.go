package ollama

import (
	"context"
	"net/http"

	"loci/core"
	"loci/providers/internal/wire"
)

// Embed requests one vector per text. The answer's numbers are as the server sent them; the caller must check them. The
// server truncates texts that are longer than the model's window.
func (c *Client) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	body, err := wire.Encode(map[string]any{"model": model, "input": texts, "truncate": true})
	if err != nil {
		return nil, c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	var answer struct {
		Embeddings [][]*float32 `json:"embeddings"`
	}
	if err := c.fetch(ctx, http.MethodPost, "/api/embed", body, &answer); err != nil {
		return nil, err
	}
	return c.who.Vectors(answer.Embeddings, len(texts))
}
