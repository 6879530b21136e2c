package wire

import (
	"maps"
	"strings"
)

// DeepestSchema limits schemas that refer to themselves.
const DeepestSchema = 12

// Resolved replaces a node of a schema by its local reference, and joins it with the members of its allOf; the node's own
// keywords win.
func Resolved(m, root map[string]any) map[string]any {
	for range DeepestSchema {
		ref, refers := m["$ref"].(string)
		all, joins := m["allOf"].([]any)
		if !refers && !joins {
			return m
		}
		out := map[string]any{}
		if refers {
			target, _ := lookup(root, ref).(map[string]any)
			join(out, target)
		}
		for _, part := range all {
			member, _ := part.(map[string]any)
			join(out, member)
		}
		own := maps.Clone(m)
		delete(own, "$ref")
		delete(own, "allOf")
		join(out, own)
		m = out
	}
	return m
}

// join adds keywords to a node: properties and what is required add up, and so do the members of an allOf.
func join(to, from map[string]any) {
	for key, value := range from {
		switch key {
		case "properties":
			sum := map[string]any{}
			before, _ := to[key].(map[string]any)
			more, _ := value.(map[string]any)
			maps.Copy(sum, before)
			maps.Copy(sum, more)
			to[key] = sum
		case "required", "allOf", "propertyOrdering":
			before, _ := to[key].([]any)
			more, _ := value.([]any)
			to[key] = append(before[:len(before):len(before)], more...)
		default:
			to[key] = value
		}
	}
}

func lookup(root map[string]any, ref string) any {
	if ref == "#" {
		return root
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var node any = root
	for part := range strings.SplitSeq(path, "/") {
		m, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return node
}

// AnswerSchema returns the schema in OpenAI's response_format; nil if it has none.
func AnswerSchema(format any) any {
	m, ok := format.(map[string]any)
	if !ok || m["type"] != "json_schema" {
		return nil
	}
	if inner, ok := m["json_schema"].(map[string]any); ok {
		return inner["schema"]
	}
	return m["schema"]
}
