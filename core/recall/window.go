package recall

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// Window is what a model has before it already. The zero value holds nothing.
type Window struct {
	ids   map[string]bool
	texts []string
}

// IDs are the ids of what the window holds, for who searches and has no need of it.
func (w *Window) IDs() map[string]bool { return maps.Clone(w.ids) }

// Add notes a text, under its id where it has one.
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

// Holds reports whether a text stands in the window: under its id, or as a part of what a tool was given or gave back.
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

// jsonText is a text as it stands inside of a string of JSON, in arguments and returns of tools.
func jsonText(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}
