package providers

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"loci/core"
	"loci/providers/protocol"
)

// most limits sizes in settings, in tokens.
const most = 100_000_000

// modelSettings is what the user says of a model, or of all models of a provider; zero values say nothing.
type modelSettings struct {
	window, output int
	tools, images  *bool
	textCalls      string
}

// modelSetting are the settings of models, and what each does.
func modelSetting(name string) func(*modelSettings, string) error {
	return map[string]func(*modelSettings, string) error{
		"context_window": func(m *modelSettings, v string) (err error) { m.window, err = tokens(name, v); return err },
		"max_output":     func(m *modelSettings, v string) (err error) { m.output, err = tokens(name, v); return err },
		"tools":          func(m *modelSettings, v string) (err error) { m.tools, err = switched(name, v); return err },
		"images":         func(m *modelSettings, v string) (err error) { m.images, err = switched(name, v); return err },
		"text_calls":     func(m *modelSettings, v string) (err error) { m.textCalls, err = readForm(name, v); return err },
	}[name]
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
					WithHint("there are context_window, images, max_output, text_calls, tools")
			}
			continue
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
	}
}
