package providers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"loci/core"
	"loci/providers/facts"
	"loci/providers/protocol"
)

// most limits sizes in settings, in tokens.
const most = 100_000_000

// modelSettings is what the user says of a model, or of all models of a provider; zero values say nothing.
type modelSettings struct {
	window, output int
	tools, images  *bool
	textCalls      string
	temperature    *bool
	base           string // the model that it is
	efforts        []string
	prices         map[string]core.Money // by the setting's name
}

// modelSetting are the settings of models, and what each does.
func modelSetting(name string) func(*modelSettings, string) error {
	return map[string]func(*modelSettings, string) error{
		"context_window": func(m *modelSettings, v string) (err error) { m.window, err = tokens(name, v); return err },
		"max_output":     func(m *modelSettings, v string) (err error) { m.output, err = tokens(name, v); return err },
		"tools":          func(m *modelSettings, v string) (err error) { m.tools, err = switched(name, v); return err },
		"images":         func(m *modelSettings, v string) (err error) { m.images, err = switched(name, v); return err },
		"text_calls":     func(m *modelSettings, v string) (err error) { m.textCalls, err = readForm(name, v); return err },
		"temperature":    func(m *modelSettings, v string) (err error) { m.temperature, err = switched(name, v); return err },
		"base_model":     func(m *modelSettings, v string) (err error) { m.base, err = baseModel(v); return err },
		"efforts":        func(m *modelSettings, v string) (err error) { m.efforts, err = efforts(v); return err },
		"input_price":    func(m *modelSettings, v string) error { return m.price(name, v) },
		"output_price":   func(m *modelSettings, v string) error { return m.price(name, v) },
		"read_price":     func(m *modelSettings, v string) error { return m.price(name, v) },
		"write_price":    func(m *modelSettings, v string) error { return m.price(name, v) },
	}[name]
}

// price reads dollars for a million tokens.
func (m *modelSettings) price(name, text string) error {
	v, err := facts.PerMillion(text)
	if err != nil {
		return core.E(core.Invalid, "%s cannot be %q", name, text).WithHint("it is dollars for a million tokens, like 2.50")
	}
	m.prices = maps.Clone(m.prices)
	if m.prices == nil {
		m.prices = map[string]core.Money{}
	}
	m.prices[name] = v
	return nil
}

// priced lays the prices that are set over what is known. Without that of input, and of output if the model answers, no sum could be
// told.
func (m *modelSettings) priced(known *core.Price, answers bool) *core.Price {
	if len(m.prices) == 0 {
		return known
	}
	in, ok := m.prices["input_price"]
	out, ok2 := m.prices["output_price"]
	if known == nil && (!ok || answers && !ok2) {
		return nil
	}
	p := core.Price{Input: in, Output: out, CacheRead: in, CacheWrite: in}
	if known != nil && !ok { // what of it is set replaces that part; what is said of all sizes counts for all
		p.Input, p.CacheRead, p.CacheWrite = known.Input, known.CacheRead, known.CacheWrite
	}
	if known != nil && !ok2 {
		p.Output = known.Output
	}
	if v, ok := m.prices["read_price"]; ok {
		p.CacheRead = v
	}
	if v, ok := m.prices["write_price"]; ok {
		p.CacheWrite = v
	}
	return &p
}

// baseModel reads the name of a model.
func baseModel(name string) (string, error) {
	if name == "" || len(name) > 200 || strings.IndexFunc(name, unicode.IsControl) >= 0 {
		return "", core.E(core.Invalid, "base_model cannot be %q", name).WithHint("it is the vendor's name of a model, like gpt-5.4")
	}
	return name, nil
}

// efforts reads the reasoning efforts of a model, like "low, medium, high".
func efforts(text string) ([]string, error) {
	var out []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); !core.KnownEffort(word) {
			return nil, core.E(core.Invalid, "efforts cannot be %q", text).
				WithHint("it is a list of %s", strings.Join(core.Efforts(), ", "))
		}
		out = append(out, word)
	}
	return out, nil
}

func tokens(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > most {
		return 0, core.E(core.Invalid, "%s cannot be %q", name, text).WithHint("it is a number of tokens, like 32768")
	}
	return n, nil
}

func switched(name, text string) (*bool, error) {
	on := text == "on"
	if !on && text != "off" {
		return nil, core.E(core.Invalid, "%s cannot be %q", name, text).WithHint("it can be on, off")
	}
	return &on, nil
}

// readModels takes what settings say of models out of them: of all by "context_window", of one by "models.NAME.context_window".
func (r *Row) readModels(settings map[string]string) error {
	r.models = map[string]modelSettings{}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		model, name := "", key
		if of, ok := strings.CutPrefix(key, "models."); ok {
			at := strings.LastIndexByte(of, '.')
			if at <= 0 {
				continue
			}
			model, name = of[:at], of[at+1:]
		}
		set := modelSetting(name)
		if set == nil {
			if model != "" {
				return core.E(core.Invalid, "there is no setting %q of a model", name).
					WithHint("there are base_model, %s", strings.Join(protocol.ModelSettings(), ", "))
			}
			continue
		}
		if name == "base_model" && model == "" {
			return core.E(core.Invalid, "base_model is of one model").
				WithHint("write it in a table like [providers.%s.models.NAME]", r.Name)
		}
		m := r.models[model]
		if err := set(&m, settings[key]); err != nil {
			return err
		}
		r.models[model] = m
		delete(settings, key)
	}
	return nil
}

// declared are the models that the settings name.
func (r *Row) declared() []protocol.Model {
	var out []protocol.Model
	for _, name := range slices.Sorted(maps.Keys(r.models)) {
		if name != "" {
			out = append(out, protocol.Model{Name: name, Tools: true, Forced: true})
		}
	}
	return out
}

// overrule puts what the settings say of a model in place of what the server or the catalogue does.
func (r *Row) overrule(info *core.ModelInfo) {
	for _, of := range []string{"", info.Name} {
		m := r.models[of]
		if m.window > 0 {
			info.ContextWindow = m.window
		}
		if m.output > 0 {
			info.MaxOutput = m.output
		}
		if m.tools != nil {
			info.Tools, info.ForcedTools = *m.tools, *m.tools && info.ForcedTools
		}
		if m.images != nil {
			info.Images = core.ImagesIf(*m.images)
		}
		if m.textCalls != "" {
			info.TextCalls = m.textCalls
		}
		if m.temperature != nil {
			info.NoTemperature = !*m.temperature
		}
		if m.efforts != nil {
			info.Efforts = m.efforts
		}
		info.Price = m.priced(info.Price, true)
	}
}

// embeddingPrice lays the prices that the settings say over what is known of an embedding model.
func (r *Row) embeddingPrice(model string, known *core.Price) *core.Price {
	for _, of := range []string{"", model} {
		m := r.models[of]
		known = m.priced(known, false)
	}
	return known
}
