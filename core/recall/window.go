package recall

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// Window is what a model already has in its context. The zero value is empty.
type Window struct {
	ids   map[string]bool
	texts []string
}

// IDs returns the ids of what the window holds, for searches that should skip them.
func (w *Window) IDs() map[string]bool { return maps.Clone(w.ids) }

// Add records a text, under its id if it has one.
func (w *Window) Add(id, text string) {
	if id != "" {
		if w.ids == nil {
			w.ids = map[string]bool{}
		}
		w.ids[id] = true
	}
	if text != "" {
		w.texts = append(w.texts, text)
	}
}

// Holds reports whether the window has a text: under its id, or within what a tool was given or returned.
func (w *Window) Holds(id, text string) bool {
	if w.ids[id] || text == "" {
		return true
	}
	forms := []string{text}
	if inside := jsonText(text); inside != text {
		forms = append(forms, inside)
	}
	for _, have := range w.texts {
		for _, form := range forms {
			if strings.Contains(have, form) {
				return true
			}
		}
	}
	return false
}

// jsonText returns a text as it appears inside a JSON string, in tool arguments and returns.
func jsonText(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}
