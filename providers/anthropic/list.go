package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// entry is a listed model. Other servers of this wire have sizes under other names, or none.
type entry struct {
	ID            string        `json:"id"`
	MaxInput      wire.Size     `json:"max_input_tokens"`
	MaxTokens     wire.Size     `json:"max_tokens"`
	ContextLength wire.Size     `json:"context_length"`
	MaxModelLen   wire.Size     `json:"max_model_len"`
	Capabilities  *capabilities `json:"capabilities"`
}

// mostPages limits how many pages of a listing are read.
const mostPages = 10

// List implements protocol.Server.
func (c *Client) List(ctx context.Context) (protocol.Listing, error) {
	var out protocol.Listing
	after := ""
	for range mostPages {
		query := url.Values{"limit": {"1000"}}
		if after != "" {
			query.Set("after_id", after)
		}
		var page struct {
			Data []json.RawMessage `json:"data"`
			More bool              `json:"has_more"`
			Last string            `json:"last_id"`
		}
		body, err := c.calls.Exchange(ctx, http.MethodGet, "/models?"+query.Encode(), inVersion(), nil)
		if err != nil {
			return protocol.Listing{}, err
		}
		if failed := c.who.NoListing(body); failed != nil {
			return protocol.Listing{}, failed
		}
		if !wire.Decode(body, &page) || page.Data == nil {
			const why = "%s answered something that cannot be read: %w"
			return protocol.Listing{}, c.who.E(core.Unavailable, why, c.opts.Provider, wire.ErrListing)
		}
		for _, row := range page.Data {
			var e entry
			if wire.Decode(row, &e) && e.ID != "" {
				out.Models = append(out.Models, e.model())
			}
		}
		if !page.More || page.Last == "" || page.Last == after {
			break
		}
		after = page.Last
	}
	return out, nil
}

func (e entry) model() protocol.Model {
	can := assumed(e.ID).listed(e.Capabilities, int(e.MaxTokens))
	m := protocol.Model{
		Name: e.ID, MaxOutput: int(e.MaxTokens), Tools: true, Forced: can.Forced, Reasoning: can.thinks(), Binds: can.Binds, Own: can,
	}
	if c := e.Capabilities; c != nil && c.Images != nil {
		m.Images = core.ImagesRefused
		if c.Images.Supported {
			m.Images = core.ImagesTaken
		}
	}
	for _, n := range []wire.Size{e.MaxInput, e.MaxModelLen, e.ContextLength} {
		if n > 0 {
			m.Window = int(n)
			break
		}
	}
	return m
}

// Describe implements protocol.Server. A server's listing says more than a name, where it has one.
func (c *Client) Describe(_ context.Context, name string) (protocol.Model, error) {
	m := entry{ID: name}.model()
	m.Guess = true
	return m, nil
}
