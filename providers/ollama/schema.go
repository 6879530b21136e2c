package ollama

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"

	"loci/core"
	"loci/providers/internal/wire"
)

// toolOf makes the wire form of a tool. Ollama supports only part of JSON Schema and silently drops the rest, so
// references are inlined, and constraints that would be lost are put into the description.
func toolOf(spec core.ToolSpec) api.Tool {
	out := api.Tool{Type: "function", Function: api.ToolFunction{Name: spec.Name, Description: spec.Description}}
	if json.Unmarshal(simplified(spec.Parameters), &out.Function.Parameters) != nil {
		out.Function.Parameters = api.ToolFunctionParameters{}
	}
	p := &out.Function.Parameters
	p.Type, p.Defs = "object", nil
	if p.Properties == nil {
		p.Properties = api.NewToolPropertiesMap()
	}
	return out
}

// lost are the keywords that Ollama's types have no field for and that a description can express.
var lost = []string{"default", "minimum", "maximum", "minLength", "maxLength", "pattern", "format", "const", "minItems", "maxItems"}

// simplified returns a schema that survives Ollama's types; if the original survives, it keeps its key order.
func simplified(schema json.RawMessage) json.RawMessage {
	text := string(schema)
	touched := strings.Contains(text, `"$ref"`) || strings.Contains(text, `"oneOf"`) || strings.Contains(text, `"allOf"`) ||
		slices.ContainsFunc(lost, func(word string) bool { return strings.Contains(text, `"`+word+`"`) })
	if !touched {
		return schema
	}
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return schema
	}
	raw, err := wire.Encode(simplify(root, root, 0))
	if err != nil {
		return schema
	}
	return raw
}

func simplify(node any, root map[string]any, depth int) any {
	m, ok := node.(map[string]any)
	if !ok {
		return node
	}
	if depth > wire.DeepestSchema {
		return map[string]any{"type": "object"}
	}
	m = wire.Resolved(m, root)
	out := map[string]any{}
	for key, value := range m {
		switch key {
		case "properties":
			inner := map[string]any{}
			if fields, ok := value.(map[string]any); ok {
				for name, field := range fields {
					inner[name] = simplify(field, root, depth+1)
				}
			}
			out[key] = inner
		case "items":
			out[key] = simplify(value, root, depth+1)
		case "anyOf", "oneOf":
			out["anyOf"] = simplifyAll(value, root, depth+1)
		case "$defs", "definitions", "allOf", "$schema":
		default:
			out[key] = value
		}
	}
	wire.Describe(out, lost)
	return out
}

func simplifyAll(value any, root map[string]any, depth int) []any {
	list, _ := value.([]any)
	out := make([]any, 0, len(list))
	for _, item := range list {
		out = append(out, simplify(item, root, depth))
	}
	return out
}
