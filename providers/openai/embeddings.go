package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"loci/core"
)

// Embed requests one vector per text. The answer's numbers are as the server sent them; the caller must check them.
func (c *Client) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	raw, err := c.post(ctx, c.opts.BaseURL+"/embeddings", body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data []struct {
			Index     *int       `json:"index"`
			Embedding []*float32 `json:"embedding"`
		} `json:"data"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return nil, c.who.E(core.Unavailable, "%s answers with vectors in a form that cannot be read", c.opts.Provider)
	}
	if len(answer.Data) != len(texts) {
		return nil, c.who.E(core.Unavailable, "%s answers %d texts with %d vectors", c.opts.Provider, len(texts), len(answer.Data))
	}
	vectors := make([][]*float32, len(texts))
	for i, d := range answer.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			return nil, c.who.E(core.Unavailable, "%s numbers its vectors wrongly", c.opts.Provider)
		}
		vectors[at] = append([]*float32{}, d.Embedding...)
	}
	return c.who.Vectors(vectors, len(texts))
}

// post sends a JSON document and returns the whole answer.
func (c *Client) post(ctx context.Context, url string, body []byte) ([]byte, error) {
	return c.exchange(ctx, http.MethodPost, url, body)
}
