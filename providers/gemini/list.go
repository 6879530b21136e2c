package gemini

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// entry is a listed model.
type entry struct {
	Name     string    `json:"name"`
	Input    wire.Size `json:"inputTokenLimit"`
	Output   wire.Size `json:"outputTokenLimit"`
	Methods  []string  `json:"supportedGenerationMethods"`
	Thinking *bool     `json:"thinking"`
}

// mostPages limits how many pages of a listing are read.
const mostPages = 10

// List implements protocol.Server.
func (c *Client) List(ctx context.Context) (protocol.Listing, error) {
	var out protocol.Listing
	after := ""
	for range mostPages {
		query := url.Values{"pageSize": {"1000"}}
		if after != "" {
			query.Set("pageToken", after)
		}
		body, err := c.calls.Exchange(ctx, http.MethodGet, "/models?"+query.Encode(), nil, nil)
		if err != nil {
			return protocol.Listing{}, err
		}
		if failed := c.who.NoListing(body); failed != nil {
			return protocol.Listing{}, failed
		}
		var page struct {
			Models []json.RawMessage `json:"models"`
			Next   string            `json:"nextPageToken"`
		}
		if !wire.Decode(body, &page) || page.Models == nil {
			const why = "%s answered something that cannot be read: %w"
			return protocol.Listing{}, c.who.E(core.Unavailable, why, c.opts.Provider, wire.ErrListing)
		}
		for _, row := range page.Models {
			var e entry
			if wire.Decode(row, &e) && e.Name != "" {
				out.Models = append(out.Models, e.model())
			}
		}
		if page.Next == "" || page.Next == after {
			break
		}
		after = page.Next
	}
	return out, nil
}

func (e entry) model() protocol.Model {
	name := strings.TrimPrefix(e.Name, "models/")
	can := assumed(name)
	if e.Thinking != nil && can.Thinks != *e.Thinking && can.Hidden == "" {
		can.Thinks = *e.Thinking
	}
	m := protocol.Model{
		Name: name, Window: int(e.Input), MaxOutput: int(e.Output), Tools: !can.NoTools, Forced: !can.NoTools, Reasoning: can.Thinks,
		Hidden: can.Hidden, Embeds: can.Embeds, Own: can,
	}
	if strings.HasPrefix(name, "gemini") {
		m.Images = core.ImagesTaken
	}
	if len(e.Methods) > 0 {
		m.Embeds = slices.Contains(e.Methods, "embedContent")
		if !slices.Contains(e.Methods, "generateContent") && m.Hidden == "" {
			m.Hidden = "it is listed for " + strings.Join(e.Methods, ", ")
		}
	}
	return m
}

// Describe implements protocol.Server. A server's listing says more than a name, where it has one.
func (c *Client) Describe(_ context.Context, name string) (protocol.Model, error) {
	m := entry{Name: name}.model()
	m.Guess, m.Hidden = true, ""
	return m, nil
}

// vertex is a client of Vertex.
type vertex struct{ client *Client }

// Stream implements core.ChatModel.
func (v vertex) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return v.client.Stream(ctx, req)
}

// Describe implements protocol.Server.
func (v vertex) Describe(ctx context.Context, name string) (protocol.Model, error) {
	return v.client.Describe(ctx, name)
}

// List implements protocol.Server. The service has no listing of what a project may use: these are the models that it had
// on 25 November 2026.
func (v vertex) List(context.Context) (protocol.Listing, error) {
	var out protocol.Listing
	for _, name := range []string{
		"gemini-3.8-flash", "gemini-3.5-flash", "gemini-3.1-pro-preview", "gemini-3.1-flash-lite", "gemini-2.5-pro", "gemini-2.5-flash",
		"gemini-2.5-flash-lite",
	} {
		out.Models = append(out.Models, entry{Name: name, Input: 1_048_576, Output: 65_536}.model())
	}
	return out, nil
}

// Embed implements protocol.Embedder.
func (c *Client) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	type one struct {
		Model   string  `json:"model"`
		Content content `json:"content"`
	}
	var in struct {
		Requests []one `json:"requests"`
	}
	for _, text := range texts {
		in.Requests = append(in.Requests, one{"models/" + strings.TrimPrefix(model, "models/"), content{Parts: []part{textPart(text)}}})
	}
	body, err := wire.Encode(in)
	if err != nil {
		return nil, c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	raw, err := c.calls.Exchange(ctx, http.MethodPost, operation(model, "batchEmbedContents"), nil, body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Embeddings []struct {
			Values []*float32 `json:"values"`
		} `json:"embeddings"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return nil, c.who.E(core.Unavailable, "%s answers with vectors in a form that cannot be read", c.opts.Provider)
	}
	vectors := make([][]*float32, len(answer.Embeddings))
	for i, e := range answer.Embeddings {
		vectors[i] = e.Values
	}
	return c.who.Vectors(vectors, len(texts))
}
