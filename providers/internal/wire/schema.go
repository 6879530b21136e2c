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

// Describe moves keywords for which there is no field into the description.
func Describe(m map[string]any, keywords []string) {
	var said []string
	for _, word := range keywords {
		value, ok := m[word]
		if !ok {
			continue
		}
		delete(m, word)
		if raw, err := Encode(value); err == nil && value != nil {
			said = append(said, word+": "+string(raw))
		}
	}
	if len(said) == 0 {
		return
	}
	text, _ := m["description"].(string)
	m["description"] = strings.TrimSpace(text + " (" + strings.Join(said, ", ") + ")")
}
