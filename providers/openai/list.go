package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// entry is a listed model in any of the common formats.
type entry struct {
	ID                  string          `json:"id"`
	Type                string          `json:"type"`
	Mode                string          `json:"mode"`
	Active              *bool           `json:"active"`
	ContextLength       wire.Size       `json:"context_length"`
	ContextWindow       wire.Size       `json:"context_window"`
	MaxContextLength    wire.Size       `json:"max_context_length"`
	MaxInputTokens      wire.Size       `json:"max_input_tokens"`
	MaxModelLen         wire.Size       `json:"max_model_len"`
	MaxCompletionTokens wire.Size       `json:"max_completion_tokens"`
	MaxOutputTokens     wire.Size       `json:"max_output_tokens"`
	Capabilities        json.RawMessage `json:"capabilities"`
	Supported           []string        `json:"supported_parameters"`
	TopProvider         *struct {
		ContextLength       wire.Size `json:"context_length"`
		MaxCompletionTokens wire.Size `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture *struct {
		Input  []string `json:"input_modalities"`
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
	TakesImages *bool `json:"supports_image_input"`
}

// List implements protocol.Server.
func (c *Client) List(ctx context.Context) (protocol.Listing, error) {
	body, err := c.get(ctx, c.opts.BaseURL+"/models")
	if err != nil {
		return protocol.Listing{}, err
	}
	rows, err := parseListing(body)
	if len(rows) == 0 {
		if failed := c.who.NoListing(body); failed != nil {
			return protocol.Listing{}, failed
		}
	}
	if err != nil {
		const why = "%s answered something that cannot be read: %w"
		return protocol.Listing{}, c.who.E(core.Unavailable, why, c.opts.Provider, wire.ErrListing)
	}
	out := make([]protocol.Model, 0, len(rows))
	for i, row := range rows {
		if e, ok := parseEntry(row); ok {
			out = append(out, c.model(e))
		} else {
			out = append(out, protocol.Unnamed(i))
		}
	}
	c.running(ctx, out)
	for i := range out {
		out[i].Forced = out[i].Tools && c.quirks.Force != ForceNot
	}
	return protocol.Listing{Models: out, Live: c.quirks.Running != ""}, nil
}

// Describe implements protocol.Server. On this wire, a server's listing is all it says.
func (c *Client) Describe(_ context.Context, name string) (protocol.Model, error) {
	return protocol.Model{
		Name: name, Tools: true, ToolsGuess: true, Forced: c.quirks.Force != ForceNot, Reasoning: Reasons(name), Guess: true,
	}, nil
}

// parseListing splits {"data":[…]}, {"models":[…]} or a bare array into rows.
func parseListing(body []byte) ([]json.RawMessage, error) {
	body = bytes.TrimSpace(body)
	var rows []json.RawMessage
	if len(body) > 0 && body[0] == '[' {
		err := json.Unmarshal(body, &rows)
		return rows, err
	}
	var wrapped struct {
		Data   []json.RawMessage `json:"data"`
		Models []json.RawMessage `json:"models"`
	}
	err := json.Unmarshal(body, &wrapped)
	if len(wrapped.Data) == 0 {
		return wrapped.Models, err
	}
	return wrapped.Data, err
}

// parseEntry reads one row. If a field has an unknown format, only the name is kept, so that an odd row doesn't hide its
// model.
func parseEntry(row json.RawMessage) (entry, bool) {
	var e entry
	if json.Unmarshal(row, &e) != nil {
		var named struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(row, &named) != nil {
			return entry{}, false
		}
		e = entry{ID: named.ID}
	}
	return e, e.ID != ""
}

// model converts a row.
func (c *Client) model(e entry) protocol.Model {
	m := protocol.Model{
		Name: e.ID, MaxOutput: int(max(e.MaxCompletionTokens, e.MaxOutputTokens)), Tools: true, ToolsGuess: true, Reasoning: Reasons(e.ID),
	}
	for _, n := range []wire.Size{e.MaxModelLen, e.ContextWindow, e.ContextLength, e.MaxContextLength, e.MaxInputTokens} {
		if n > 0 {
			m.Window = int(n)
			break
		}
	}
	if t := e.TopProvider; t != nil {
		if n := int(t.ContextLength); n > 0 && (m.Window == 0 || n < m.Window) {
			m.Window = n
		}
		m.MaxOutput = max(m.MaxOutput, int(t.MaxCompletionTokens))
	}
	if e.Supported != nil {
		m.Tools, m.ToolsGuess = slices.Contains(e.Supported, "tools"), false
		m.Reasoning = m.Reasoning || slices.Contains(e.Supported, "reasoning")
	}
	can := e.capabilities()
	if can.tools != nil {
		m.Tools, m.ToolsGuess = *can.tools, false
	}
	m.Reasoning = m.Reasoning || can.reasoning
	m.Images = e.images(can)
	m.Hidden, m.Embeds = e.hidden(can)
	if m.Hidden == "" && c.quirks.OwnHost && !ownChat(e.ID) {
		m.Hidden = "its name is of no family that chats"
	}
	return m
}

func lmStudio(body []byte, models []protocol.Model) {
	var listing struct {
		Models []struct {
			Key       string `json:"key"`
			Type      string `json:"type"`
			Instances []struct {
				ID     string `json:"id"`
				Config struct {
					Window wire.Size `json:"context_length"`
				} `json:"config"`
			} `json:"loaded_instances"`
			Capabilities struct {
				Tools  *bool `json:"trained_for_tool_use"`
				Vision *bool `json:"vision"`
			} `json:"capabilities"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &listing) != nil {
		return
	}
	for i := range models {
		for _, m := range listing.Models {
			loaded := 0
			for _, instance := range m.Instances {
				if instance.ID == models[i].Name || m.Key == models[i].Name {
					loaded = int(instance.Config.Window)
				}
			}
			if m.Key != models[i].Name && loaded == 0 {
				continue
			}
			models[i].Window = loaded // not loaded: unknown, since LM Studio chooses the size when it loads a model
			models[i].Tools, models[i].ToolsGuess = m.Capabilities.Tools == nil || *m.Capabilities.Tools, m.Capabilities.Tools == nil
			if v := m.Capabilities.Vision; v != nil {
				models[i].Images = core.ImagesIf(*v)
			}
			switch m.Type {
			case "embedding":
				models[i].Hidden, models[i].Embeds = "it is listed as embedding", true
			case "llm": // declared to chat: its name doesn't matter
				models[i].Hidden, models[i].Embeds = "", false
			}
		}
	}
}

// running replaces listed sizes by those the server actually runs with; if it doesn't say, they stay.
func (c *Client) running(ctx context.Context, models []protocol.Model) {
	root := strings.TrimSuffix(c.opts.BaseURL, "/v1")
	switch c.quirks.Running {
	case RunningProps:
		var props struct {
			Settings struct {
				Window wire.Size `json:"n_ctx"`
			} `json:"default_generation_settings"`
			Modalities struct {
				Vision *bool `json:"vision"`
			} `json:"modalities"`
		}
		body, err := c.get(ctx, root+"/props")
		if err != nil || json.Unmarshal(body, &props) != nil || props.Settings.Window == 0 {
			return
		}
		for i := range models {
			models[i].Window = int(props.Settings.Window)
			if v := props.Modalities.Vision; v != nil {
				models[i].Images = core.ImagesIf(*v)
			}
		}
	case RunningLMStudio:
		body, err := c.get(ctx, root+"/api/v1/models")
		if err != nil {
			return
		}
		lmStudio(body, models)
	}
}

// get fetches a small JSON document from the server.
func (c *Client) get(ctx context.Context, url string) ([]byte, error) {
	return c.exchange(ctx, http.MethodGet, url, nil)
}

// exchange makes one request of an address, with a JSON document unless body is nil, and returns the complete answer.
func (c *Client) exchange(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	calls := wire.NewCaller(c.opts)
	calls.Base = ""
	return calls.Exchange(ctx, method, url, nil, body)
}
