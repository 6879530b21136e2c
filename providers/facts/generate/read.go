package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// clone is a catalogue as its repository has it.
type clone struct {
	commit, date string
	files        map[string][]byte
}

// openClone reads the files of a repository's last commit.
func openClone(dir string) (*clone, error) {
	head, err := git(dir, "log", "-1", "--format=%h %cs")
	if err != nil {
		return nil, err
	}
	c := &clone{files: map[string][]byte{}}
	c.commit, c.date, _ = strings.Cut(strings.TrimSpace(string(head)), " ")
	packed, err := git(dir, "archive", "--format=tar", "HEAD")
	if err != nil {
		return nil, err
	}
	links := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			links[h.Name] = path.Join(path.Dir(h.Name), h.Linkname) //nolint:gosec // a key of a map: nothing is extracted
		case tar.TypeReg:
			if c.files[h.Name], err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
	}
	for name, to := range links {
		if text, ok := c.files[to]; ok {
			c.files[name] = text
		}
	}
	return c, nil
}

func git(dir string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(context.Background(), "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git in %q: %w", dir, err)
	}
	return out, nil
}

// modelsDev reads a provider's models from models.dev. A file may name another whose values it adds to.
func (c *clone) modelsDev(provider string) (map[string]model, error) {
	prefix := "providers/" + provider + "/models/"
	out := map[string]model{}
	for file := range c.files {
		name, ok := strings.CutPrefix(file, prefix)
		if !ok || path.Ext(name) != ".toml" {
			continue
		}
		values, err := c.merged(file)
		if err != nil {
			return nil, err
		}
		if m, ok := modelsDevRow(values); ok {
			out[strings.TrimSuffix(name, ".toml")] = m
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("models.dev has no models of %q", provider)
	}
	return out, nil
}

func (c *clone) merged(file string) (map[string]any, error) {
	var values map[string]any
	if err := toml.Unmarshal(c.files[file], &values); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	base, _ := values["base_model"].(string)
	if base == "" {
		return values, nil
	}
	var under map[string]any
	if err := toml.Unmarshal(c.files["models/"+base+".toml"], &under); err != nil {
		return nil, fmt.Errorf("models/%s.toml: %w", base, err)
	}
	lay(under, values)
	omit, _ := values["base_model_omit"].([]any)
	for _, of := range omit {
		at, _ := of.(string)
		table, key, nested := strings.Cut(at, ".")
		if !nested {
			delete(under, table)
		} else if t, ok := under[table].(map[string]any); ok {
			delete(t, key)
		}
	}
	return under, nil
}

// lay puts values over others, table by table.
func lay(under, over map[string]any) {
	for key, v := range over {
		table, ok := v.(map[string]any)
		below, ok2 := under[key].(map[string]any)
		if ok && ok2 {
			lay(below, table)
			continue
		}
		under[key] = v
	}
}

// modelsDevRow reads what we keep of a model. One that answers with no text is none of ours.
func modelsDevRow(values map[string]any) (model, bool) {
	var m struct {
		Reasoning   bool
		Tools       bool `toml:"tool_call"`
		Temperature *bool
		Schema      bool `toml:"structured_output"`
		Open        bool `toml:"open_weights"`
		Status      string
		Options     []struct {
			Type   string
			Values []string
		} `toml:"reasoning_options"`
		Limit      struct{ Context, Input, Output int }
		Modalities struct{ Input, Output []string }
		Cost       *struct {
			price
			Tiers []struct {
				price
				Tier struct{ Size int }
			}
		}
	}
	text, err := toml.Marshal(values)
	if err == nil {
		err = toml.Unmarshal(text, &m) //nolint:musttag // the others are called as in the file, but for their case
	}
	if err != nil || m.Status == "deprecated" || m.Limit.Context <= 0 ||
		len(m.Modalities.Output) > 0 && !slices.Contains(m.Modalities.Output, "text") {
		return model{}, false
	}
	out := model{
		window: m.Limit.Context, output: m.Limit.Output, tools: m.Tools, reasoning: m.Reasoning, schema: m.Schema, open: m.Open,
		sampling: m.Temperature == nil && !m.Reasoning || m.Temperature != nil && *m.Temperature, inputs: m.Modalities.Input,
	}
	for _, o := range m.Options {
		switch {
		case o.Type == "effort":
			out.efforts = append(out.efforts, o.Values...)
		case o.Type == "toggle" && !slices.Contains(out.efforts, "none"):
			out.efforts = append([]string{"none"}, out.efforts...)
		}
	}
	out.efforts = ordered(out.efforts)
	if m.Cost == nil {
		return out, true
	}
	out.prices = append(out.prices, m.Cost.prices(0))
	for _, t := range m.Cost.Tiers {
		out.prices = append(out.prices, t.prices(t.Tier.Size))
	}
	slices.SortFunc(out.prices, func(a, b prices) int { return a.over - b.over })
	return out, true
}

type price struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
}

func (p *price) prices(over int) prices {
	out := prices{over: over, input: p.Input, output: p.Output, cacheRead: p.CacheRead, cacheWrite: p.CacheWrite}
	if out.cacheRead != nil && *out.cacheRead == 0 { // it has no cache, or nobody knows
		out.cacheRead = nil
	}
	return out
}

// ordered are the efforts that we have, weakest first.
func ordered(efforts []string) []string {
	var out []string
	for _, e := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		if slices.Contains(efforts, e) {
			out = append(out, e)
		}
	}
	return out
}

// catwalk reads a provider's models from catwalk. Its two prices of cached tokens are what is written and what is read where the
// first is above that of tokens sent; where it is below, it is what is read.
func (c *clone) catwalk(provider string) (map[string]model, error) {
	out := map[string]model{}
	text, ok := c.files["internal/providers/configs/"+provider+".json"]
	if !ok {
		return out, nil
	}
	var of struct {
		Models []struct {
			ID        string   `json:"id"`
			In        *float64 `json:"cost_per_1m_in"`
			Out       *float64 `json:"cost_per_1m_out"`
			Written   float64  `json:"cost_per_1m_in_cached"`
			Read      float64  `json:"cost_per_1m_out_cached"`
			Window    int      `json:"context_window"`
			MaxOutput int      `json:"default_max_tokens"`
			Reasons   bool     `json:"can_reason"`
			Levels    []string `json:"reasoning_levels"`
			Images    bool     `json:"supports_attachments"`
		} `json:"models"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, fmt.Errorf("%s.json: %w", provider, err)
	}
	for _, m := range of.Models {
		row := model{
			window: m.Window, output: m.MaxOutput, tools: true, reasoning: m.Reasons, sampling: !m.Reasons, efforts: ordered(m.Levels),
		}
		if m.Images {
			row.inputs = []string{"image"}
		}
		if m.In != nil && m.Out != nil && *m.In+*m.Out > 0 {
			p := prices{input: m.In, output: m.Out}
			switch {
			case m.Written > *m.In && m.Read > 0 && m.Read < *m.In:
				p.cacheWrite, p.cacheRead = &m.Written, &m.Read
			case m.Written > 0 && m.Written < *m.In:
				p.cacheRead = &m.Written
			case m.Read > 0 && m.Read < *m.In:
				p.cacheRead = &m.Read
			}
			row.prices = []prices{p}
		}
		out[m.ID] = row
	}
	return out, nil
}
