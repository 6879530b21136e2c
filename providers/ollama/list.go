package ollama

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ollama/ollama/api"

	"loci/core"
	"loci/providers/internal/wire"
)

// DefaultWindow is asked for where neither the person nor the server has said a size. Memory for the window is taken
// when a model is loaded: about 2 GB at 16,384 tokens for a model of the 8B class, twice that at 32,768, which would
// push part of the model out of a common 8 GB card. A Modelfile's num_ctx, what the model already runs with, or the
// agent's context window raise it.
const DefaultWindow = 16_384

// smallest is the least running window that is kept: below, Ollama's own small default is all it says, and a prompt
// with tools would fill it.
const smallest = 8_192

// Listed is a model as the server knows it.
type Listed struct {
	Name     string
	Window   int
	Tools    bool
	Thinking bool
	Chat     bool
}

// Up reports whether a server answers at all. The caller bounds the time.
func (c *Client) Up(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodGet, "/api/version", nil)
	return err
}

// List returns the models that the server has. The caller bounds the time.
func (c *Client) List(ctx context.Context) ([]Listed, error) {
	var tags struct {
		Models []api.ListModelResponse `json:"models"`
	}
	if err := c.fetch(ctx, http.MethodGet, "/api/tags", nil, &tags); err != nil {
		return nil, err
	}
	running := c.running(ctx)
	out := make([]Listed, len(tags.Models))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, m := range tags.Models {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = c.describe(ctx, m.Name, running)
		})
	}
	wg.Wait()
	return out, nil
}

// Show returns what the server knows of one model, or not_found.
func (c *Client) Show(ctx context.Context, name string) (Listed, error) {
	show, err := c.show(ctx, name)
	if core.KindOf(err) == core.Invalid {
		return Listed{}, core.E(core.NotFound, "%s has no model %q", c.opts.Provider, name).WithHint("get it with `ollama pull %s`, or see `loci models`", name)
	}
	if err != nil {
		return Listed{}, err
	}
	return listed(name, show, c.running(ctx)), nil
}

// describe never fails: a model whose description does not come is taken to chat with tools.
func (c *Client) describe(ctx context.Context, name string, running map[string]int) Listed {
	show, err := c.show(ctx, name)
	if err != nil {
		return Listed{Name: name, Window: DefaultWindow, Tools: true, Chat: true}
	}
	return listed(name, show, running)
}

// description is the part of a model's description that counts. The whole has lists of every tensor.
type description struct {
	Parameters   string         `json:"parameters"`
	ModelInfo    map[string]any `json:"model_info"`
	Capabilities []string       `json:"capabilities"`
}

func (c *Client) show(ctx context.Context, name string) (description, error) {
	body, err := encode(api.ShowRequest{Model: name})
	if err != nil {
		return description{}, err
	}
	var show description
	err = c.fetch(ctx, http.MethodPost, "/api/show", body, &show)
	return show, err
}

func listed(name string, show description, running map[string]int) Listed {
	can := func(what string) bool { return slices.Contains(show.Capabilities, what) }
	l := Listed{Name: name, Tools: can("tools"), Thinking: can("thinking"), Chat: can("completion")}
	if len(show.Capabilities) == 0 { // a server too old to say
		l.Tools, l.Chat = true, true
	}
	l.Window = window(running[trimTag(name)], numCtx(show.Parameters), trained(show.ModelInfo))
	return l
}

// window chooses the size to ask for: what runs, what the Modelfile says, else the default, never more than the model has.
func window(running, modelfile, model int) int {
	switch {
	case running >= smallest || running > 0 && running == model:
		return running
	case modelfile > 0:
		return modelfile
	case model > 0:
		return min(model, DefaultWindow)
	}
	return DefaultWindow
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

// trained finds the size that the model was made for.
func trained(info map[string]any) int {
	family, _ := info["general.architecture"].(string)
	if n, ok := info[family+".context_length"].(float64); ok {
		return int(n)
	}
	return 0
}

func trimTag(name string) string { return strings.TrimSuffix(name, ":latest") }

// running returns the windows that loaded models run with; none where the server does not say.
func (c *Client) running(ctx context.Context) map[string]int {
	var ps struct {
		Models []api.ProcessModelResponse `json:"models"`
	}
	out := map[string]int{}
	if c.fetch(ctx, http.MethodGet, "/api/ps", nil, &ps) == nil {
		for _, m := range ps.Models {
			out[trimTag(m.Name)] = m.ContextLength
		}
	}
	return out
}

func (c *Client) fetch(ctx context.Context, method, path string, body []byte, into any) error {
	raw, err := c.call(ctx, method, path, body)
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, into) != nil {
		return c.who.E(core.Unavailable, "%s answers %s in a form that cannot be read: is it Ollama?", c.opts.BaseURL, path)
	}
	return nil
}

func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	resp, err := c.send(watch, method, path, body)
	if err != nil {
		return nil, c.who.Network(ctx, watch, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(watch.Reader(resp.Body), wire.MaxBody))
	if err != nil {
		return nil, c.who.Network(ctx, watch, err)
	}
	return raw, nil
}
