package providers

import (
	"strings"

	"loci/core"
	"loci/providers/internal/textcalls"
)

// textFamily is a family of open models and the form in which they write calls of tools where their server doesn't read them.
type textFamily struct {
	word string // in the names of its models
	form textcalls.Form
}

// textFamilies is searched in order: what was trained on another family's model carries that name, too.
func textFamilies() []textFamily {
	return []textFamily{
		{"hermes", textcalls.Hermes},
		{"gpt-oss", textcalls.GPTOSS},
		{"qwen3-coder", textcalls.Qwen3Coder},
		{"qwen3coder", textcalls.Qwen3Coder},
		{"qwen3.5", textcalls.Qwen3Coder},
		{"qwen3.6", textcalls.Qwen3Coder},
		{"qwen", textcalls.Hermes},
		{"qwq", textcalls.Hermes},
		{"granite", textcalls.Hermes},
		{"llama-3", textcalls.Llama},
		{"llama3", textcalls.Llama},
		{"llama-4", textcalls.Llama},
		{"llama4", textcalls.Llama},
		{"devstral", textcalls.Mistral},
		{"magistral", textcalls.Mistral},
		{"ministral", textcalls.Mistral},
		{"mistral", textcalls.Mistral},
		{"mixtral", textcalls.Mistral},
		{"glm-4.5", textcalls.GLM},
		{"glm-4.6", textcalls.GLM},
		{"glm-4.7", textcalls.GLM},
		{"glm-5", textcalls.GLM},
		{"glm4.5", textcalls.GLM},
		{"glm4.6", textcalls.GLM},
		{"glm4.7", textcalls.GLM},
		{"glm5", textcalls.GLM},
		{"deepseek", textcalls.DeepSeek},
	}
}

// textForm returns the form in which a model writes calls into its text: that of its family, on a server that the user chose. The
// vendors read the calls of their models themselves; there a person is told of those that are missed.
func (e endpoint) textForm(model string) string {
	own := e.local() || e.row.Named || e.foreign
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, f := range textFamilies() {
		switch {
		case !strings.Contains(name, f.word):
		case own:
			return string(f.form)
		default:
			return ""
		}
	}
	if own {
		return ""
	}
	return core.TextCallsOff
}

// readForm reads the setting of a model's form.
func readForm(name, text string) (string, error) {
	if text == core.TextCallsOff || textcalls.Known(text) {
		return text, nil
	}
	words := []string{core.TextCallsOff}
	for _, f := range textcalls.Forms() {
		words = append(words, string(f))
	}
	return "", core.E(core.Invalid, "%s cannot be %q", name, text).WithHint("it can be %s", strings.Join(words, ", "))
}
