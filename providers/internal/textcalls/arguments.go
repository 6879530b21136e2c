package textcalls

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// mostArguments limits the arguments of a call that has them one by one.
const mostArguments = 200

// arguments are those of a call, in the order in which they were written.
type arguments struct {
	tool   Tool
	keys   []string
	values []json.RawMessage
}

func (a *arguments) has() bool { return len(a.keys) > 0 }

// add takes a value as it was written; its type is what the tool's schema says. A key that comes again counts.
func (a *arguments) add(key, text string) bool {
	return a.set(key, typed(a.tool.Parameters, key, text))
}

func (a *arguments) set(key string, value json.RawMessage) bool {
	if key == "" || len(key) > mostName || len(a.keys) >= mostArguments {
		return false
	}
	if at := slices.Index(a.keys, key); at >= 0 {
		a.values[at] = value
		return true
	}
	a.keys, a.values = append(a.keys, key), append(a.values, value)
	return true
}

// text returns the JSON object.
func (a *arguments) text() string {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range a.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(key))
		b.WriteByte(':')
		b.Write(a.values[i])
	}
	b.WriteByte('}')
	return b.String()
}

// encoded returns a text as JSON, with < and & as they are.
func encoded(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(b.Bytes())
}

// typed returns a value without quotes as JSON. It is a text if the schema says so, or if it is nothing else.
func typed(schema json.RawMessage, key, text string) json.RawMessage {
	kinds := kindsOf(schema, key)
	if slices.Contains(kinds, "string") {
		return encoded(text)
	}
	trimmed := strings.TrimSpace(text)
	switch trimmed {
	case "True":
		trimmed = "true"
	case "False":
		trimmed = "false"
	case "None":
		trimmed = "null"
	}
	if trimmed == "" || !json.Valid([]byte(trimmed)) {
		return encoded(text)
	}
	return json.RawMessage(trimmed)
}

// kindsOf returns the types that a schema gives a property; none if it doesn't say.
func kindsOf(schema json.RawMessage, key string) []string {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	return kinds(object.Properties[key], 0)
}

func kinds(schema json.RawMessage, depth int) []string {
	var property struct {
		Type  json.RawMessage   `json:"type"`
		Enum  []any             `json:"enum"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
	}
	const deepest = 4
	if depth > deepest || json.Unmarshal(schema, &property) != nil {
		return nil
	}
	var one string
	var out []string
	if json.Unmarshal(property.Type, &one) == nil && one != "" {
		out = append(out, one)
	} else {
		_ = json.Unmarshal(property.Type, &out)
	}
	for _, of := range append(property.AnyOf, property.OneOf...) {
		out = append(out, kinds(of, depth+1)...)
	}
	if len(out) == 0 && len(property.Enum) > 0 {
		if _, ok := property.Enum[0].(string); ok {
			out = append(out, "string")
		}
	}
	return out
}
