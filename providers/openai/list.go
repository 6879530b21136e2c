package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// Listed is a model as its server lists it; a zero size is unknown.
type Listed struct {
	ID        string
	Window    int
	MaxOutput int
	Tools     *bool // nil: not said
	Reasoning bool
	Chat      bool
}

// entry is a listed model in all the forms in use.
type entry struct {
	ID                  string          `json:"id"`
	Type                string          `json:"type"`
	Active              *bool           `json:"active"`
	ContextLength       int             `json:"context_length"`
	ContextWindow       int             `json:"context_window"`
	MaxContextLength    int             `json:"max_context_length"`
	MaxModelLen         int             `json:"max_model_len"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Capabilities        json.RawMessage `json:"capabilities"`
	Supported           []string        `json:"supported_parameters"`
	TopProvider         *struct {
		ContextLength       int `json:"context_length"`
		MaxCompletionTokens int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture *struct {
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
}

// List asks the server for its models, in its own order. The caller bounds the time.
func (c *Client) List(ctx context.Context) ([]Listed, error) {
	body, err := c.get(ctx, c.opts.BaseURL+"/models")
	if err != nil {
		return nil, err
	}
	entries, err := parseListing(body)
	if err != nil {
		return nil, c.who.E(core.Unavailable, "%s lists its models in a form that cannot be read", c.opts.Provider)
	}
	out := make([]Listed, 0, len(entries))
	for _, e := range entries {
		if e.ID == "" {
			continue
		}
		l := e.listed()
		l.Chat = l.Chat && (!c.opts.Quirks.OwnHost || ownChat(e.ID))
		out = append(out, l)
	}
	c.running(ctx, out)
	return out, nil
}

// parseListing reads {"data":[…]}, {"models":[…]} and a bare array.
func parseListing(body []byte) ([]entry, error) {
	body = bytes.TrimSpace(body)
	var entries []entry
	if len(body) > 0 && body[0] == '[' {
		err := json.Unmarshal(body, &entries)
		return entries, err
	}
	var wrapped struct {
		Data   []entry `json:"data"`
		Models []entry `json:"models"`
	}
	err := json.Unmarshal(body, &wrapped)
	if len(wrapped.Data) == 0 {
		return wrapped.Models, err
	}
	return wrapped.Data, err
}

func (e entry) listed() Listed {
	l := Listed{ID: e.ID, MaxOutput: e.MaxCompletionTokens, Chat: e.chat()}
	for _, size := range []int{e.MaxModelLen, e.ContextWindow, e.ContextLength, e.MaxContextLength} {
		if size > 0 {
			l.Window = size
			break
		}
	}
	if t := e.TopProvider; t != nil {
		if t.ContextLength > 0 && (l.Window == 0 || t.ContextLength < l.Window) {
			l.Window = t.ContextLength
		}
		l.MaxOutput = max(l.MaxOutput, t.MaxCompletionTokens)
	}
	if e.Supported != nil {
		l.Tools = new(slices.Contains(e.Supported, "tools"))
		l.Reasoning = slices.Contains(e.Supported, "reasoning")
	}
	var flags struct {
		Tools *bool `json:"function_calling"`
	}
	if json.Unmarshal(e.Capabilities, &flags) == nil && flags.Tools != nil {
		l.Tools = flags.Tools
	}
	return l
}

// otherKinds are parts of names of models that do not chat.
var otherKinds = []string{
	"embed", "whisper", "tts", "rerank", "moderation", "dall-e", "transcribe", "realtime", "audio",
	"-search", "image", "sora", "instruct-0914", "davinci", "babbage", "bge-", "guard", "ocr", "orpheus",
}

func (e entry) chat() bool {
	var flags struct {
		Chat *bool `json:"completion_chat"`
	}
	switch {
	case e.Active != nil && !*e.Active:
		return false
	case e.Type != "" && !slices.Contains([]string{"chat", "llm", "vlm", "model"}, e.Type):
		return false
	case e.Architecture != nil && len(e.Architecture.Output) > 0 && !slices.Contains(e.Architecture.Output, "text"):
		return false
	case json.Unmarshal(e.Capabilities, &flags) == nil && flags.Chat != nil && !*flags.Chat:
		return false
	}
	id := strings.ToLower(e.ID)
	return !slices.ContainsFunc(otherKinds, func(kind string) bool { return strings.Contains(id, kind) })
}

// running replaces listed sizes by those that the server really runs with; where it does not say, they stay.
func (c *Client) running(ctx context.Context, models []Listed) {
	root := strings.TrimSuffix(c.opts.BaseURL, "/v1")
	switch c.opts.Quirks.Running {
	case RunningProps:
		var props struct {
			Settings struct {
				Window int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		body, err := c.get(ctx, root+"/props")
		if err != nil || json.Unmarshal(body, &props) != nil || props.Settings.Window <= 0 {
			return
		}
		for i := range models {
			models[i].Window = props.Settings.Window
		}
	case RunningLMStudio:
		body, err := c.get(ctx, root+"/api/v1/models")
		if err != nil {
			return
		}
		lmStudio(body, models)
	}
}

func lmStudio(body []byte, models []Listed) {
	var listing struct {
		Models []struct {
			Key       string `json:"key"`
			Type      string `json:"type"`
			Max       int    `json:"max_context_length"`
			Instances []struct {
				ID     string `json:"id"`
				Config struct {
					Window int `json:"context_length"`
				} `json:"config"`
			} `json:"loaded_instances"`
			Capabilities struct {
				Tools *bool `json:"trained_for_tool_use"`
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
				if instance.ID == models[i].ID || m.Key == models[i].ID {
					loaded = instance.Config.Window
				}
			}
			if m.Key != models[i].ID && loaded == 0 {
				continue
			}
			models[i].Window = loaded // not loaded: unknown, since LM Studio loads with a size of its own
			models[i].Tools = m.Capabilities.Tools
			models[i].Chat = models[i].Chat && m.Type != "embedding"
		}
	}
}

// get fetches a small JSON document from the server.
func (c *Client) get(ctx context.Context, url string) ([]byte, error) {
	return c.exchange(ctx, http.MethodGet, url, nil)
}

// exchange makes one request, with a JSON document unless body is nil, and returns the whole answer.
func (c *Client) exchange(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	req, err := http.NewRequestWithContext(watch.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		return nil, c.who.E(core.Invalid, "the base URL of %s is not a URL", c.opts.Provider)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key := c.opts.Key.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range c.opts.Headers {
		req.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: c.opts.HTTP, CheckRedirect: wire.NoRedirect}).Do(req)
	if err != nil {
		return nil, c.who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(watch.Reader(resp.Body), wire.MaxBody))
	if err != nil {
		return nil, c.who.Network(ctx, watch, err)
	}
	if resp.StatusCode >= 300 {
		return nil, c.who.Status(resp.StatusCode, resp.Header, raw[:min(len(raw), wire.MaxError)])
	}
	return raw, nil
}

// ownChat reports whether a model of OpenAI's own listing chats: the listing says nothing but names.
func ownChat(id string) bool {
	return strings.HasPrefix(id, "gpt-") && !strings.Contains(id, "instruct") || strings.HasPrefix(id, "chatgpt-") || Reasons(id)
}
