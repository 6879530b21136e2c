package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ollama/ollama/api"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

// Up implements protocol.Prober.
func (c *Client) Up(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodGet, "/api/version", nil)
	return err
}

// List implements protocol.Server.
func (c *Client) List(ctx context.Context) (protocol.Listing, error) {
	var tags struct {
		Models []json.RawMessage `json:"models"`
	}
	raw, err := c.call(ctx, http.MethodGet, "/api/tags", nil)
	if err == nil {
		err = c.read("/api/tags", raw, &tags)
	}
	if err == nil && len(tags.Models) == 0 {
		err = c.who.NoListing(raw)
	}
	if err != nil {
		return protocol.Listing{}, err
	}
	running := c.running(ctx)
	out := make([]protocol.Model, len(tags.Models))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, raw := range tags.Models {
		row := rowOf(raw)
		if row.Name == "" {
			out[i] = protocol.Unnamed(i)
			out[i].Window = DefaultWindow
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = c.describe(ctx, &row, running)
		})
	}
	wg.Wait()
	return protocol.Listing{Models: out, Live: true}, nil
}

// Describe implements protocol.Server.
func (c *Client) Describe(ctx context.Context, name string) (protocol.Model, error) {
	show, err := c.show(ctx, name)
	if kind := core.KindOf(err); !errors.Is(err, wire.ErrPlain) && (kind == core.Invalid || kind == core.NotFound) {
		return protocol.Model{}, core.E(core.NotFound, "%s has no model %q", c.opts.Provider, name).
			WithHint("download it: loci models pull %s/%s; or see `loci models`", c.opts.Provider, name)
	}
	if err != nil {
		return assumed(name), err
	}
	return c.modelOf(name, &show, c.running(ctx)), nil
}

// row is what the list of models says of one; newer servers say what it can do.
type row struct {
	Name         string   `json:"name"`
	Model        string   `json:"model"`
	Capabilities []string `json:"capabilities"`
}

// rowOf reads a row; what has no name can't be asked for.
func rowOf(raw json.RawMessage) row {
	var r row
	if json.Unmarshal(raw, &r) != nil {
		r = row{}
		var named struct {
			Name  string `json:"name"`
			Model string `json:"model"`
		}
		_ = json.Unmarshal(raw, &named) // what it says besides has a form that we don't know
		r.Name, r.Model = named.Name, named.Model
	}
	if r.Name == "" {
		r.Name = r.Model
	}
	return r
}

// describe never fails: a model whose description can't be fetched is assumed to chat with tools, unless the list says what it
// can do, or the server that it has no description.
func (c *Client) describe(ctx context.Context, r *row, running map[string]int) protocol.Model {
	show, err := c.show(ctx, r.Name)
	if err == nil {
		if len(show.Capabilities) == 0 {
			show.Capabilities = r.Capabilities
		}
		return c.modelOf(r.Name, &show, running)
	}
	m := assumed(r.Name)
	if len(r.Capabilities) > 0 {
		m = c.modelOf(r.Name, &description{Capabilities: r.Capabilities}, running)
	}
	if kind := core.KindOf(err); m.Hidden == "" && (kind == core.Invalid || kind == core.NotFound) {
		m.Hidden = "the server does not describe it: " + strings.TrimPrefix(err.Error(), c.opts.Provider+": ")
	}
	return m
}

// assumed returns the model for a name that the server hasn't described.
func assumed(name string) protocol.Model {
	return protocol.Model{Name: name, Window: DefaultWindow, Tools: true}
}

// description is the part of a model's description that we use. The whole lists every tensor.
type description struct {
	Parameters   string                     `json:"parameters"`
	ModelInfo    map[string]json.RawMessage `json:"model_info"`
	Capabilities []string                   `json:"capabilities"`
	Remote       string                     `json:"remote_host"`
	Details      struct {
		Quantization string `json:"quantization_level"`
	} `json:"details"`
}

func (c *Client) show(ctx context.Context, name string) (description, error) {
	body, err := wire.Encode(api.ShowRequest{Model: name})
	if err != nil {
		return description{}, err
	}
	var show description
	err = c.fetch(ctx, http.MethodPost, "/api/show", body, &show)
	return show, err
}

func (c *Client) modelOf(name string, show *description, running map[string]int) protocol.Model {
	can := func(what string) bool { return slices.Contains(show.Capabilities, what) }
	m := protocol.Model{Name: name, Tools: can("tools"), Reasoning: can("thinking"), Embeds: can("embedding")}
	switch {
	case len(show.Capabilities) == 0: // the server is too old to say
		m.Tools = true
	case !can("completion"):
		m.Hidden = "its capabilities are " + strings.Join(show.Capabilities, ", ") + ", not completion"
	}
	if len(show.Capabilities) > 0 {
		m.Images = core.ImagesIf(can("vision"))
	}
	room := memory{bytes: c.opts.Memory, unified: c.opts.Unified}.carries(show.ModelInfo, show.Details.Quantization)
	if model := trained(show.ModelInfo); show.Remote != "" && model > 0 { // it takes no memory here
		room = model
	}
	m.Window = window(running[trimTag(name)], numCtx(show.Parameters), trained(show.ModelInfo), room)
	return m
}

// window chooses the size to request: the running one, the Modelfile's, else what there is room for or what the model has, if less.
func window(running, modelfile, model, room int) int {
	switch {
	case running >= smallest || running > 0 && running == model:
		return running
	case modelfile > 0:
		return modelfile
	case model > 0:
		return min(model, room)
	}
	return room
}

// numCtx finds the Modelfile's num_ctx in the text of its parameters.
func numCtx(parameters string) int {
	for line := range strings.Lines(parameters) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "num_ctx" {
			n, _ := strconv.Atoi(fields[1])
			return n
		}
	}
	return 0
}

// trained finds the window that the model was trained for.
func trained(info map[string]json.RawMessage) int {
	var family string
	var window wire.Size
	if json.Unmarshal(info["general.architecture"], &family) != nil || json.Unmarshal(info[family+".context_length"], &window) != nil {
		return 0
	}
	return int(window)
}

func trimTag(name string) string { return strings.TrimSuffix(name, ":latest") }

// running returns the windows of loaded models; none if the server doesn't say.
func (c *Client) running(ctx context.Context) map[string]int {
	var ps struct {
		Models []struct {
			Name   string    `json:"name"`
			Window wire.Size `json:"context_length"`
		} `json:"models"`
	}
	out := map[string]int{}
	if c.fetch(ctx, http.MethodGet, "/api/ps", nil, &ps) == nil {
		for _, m := range ps.Models {
			out[trimTag(m.Name)] = int(m.Window)
		}
	}
	return out
}

func (c *Client) fetch(ctx context.Context, method, path string, body []byte, into any) error {
	raw, err := c.call(ctx, method, path, body)
	if err != nil {
		return err
	}
	return c.read(path, raw, into)
}

func (c *Client) read(path string, raw []byte, into any) error {
	if json.Unmarshal(raw, into) != nil {
		const why = "%s answers %s in a form that cannot be read (is it Ollama?): %w"
		return c.who.E(core.Unavailable, why, c.opts.BaseURL, path, wire.ErrListing)
	}
	return nil
}

func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	return c.calls.Exchange(ctx, method, path, nil, body)
}
