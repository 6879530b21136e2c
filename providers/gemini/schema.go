package gemini

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// function is a tool as the service reads it: its parameters in a part of OpenAPI's schemas or, where those can't say what
// is meant, in a part of JSON Schema.
type function struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
	JSONSchema  any    `json:"parametersJsonSchema,omitempty"`
}

func functionOf(spec core.ToolSpec) function {
	out := function{Name: spec.Name, Description: spec.Description}
	root := ordered(spec.Parameters)
	s := shaper{root: root}
	whole := s.shape(root, 0)
	switch properties, _ := whole["properties"].(map[string]any); {
	case len(root) == 0, root["type"] != nil && root["type"] != "object":
	case s.loose && !s.bare(root):
		s = shaper{root: root, json: true}
		out.JSONSchema = s.shape(root, 0)
	case len(properties) > 0:
		out.Parameters = whole
	}
	return out
}

// answerSchema shapes the schema of an answer.
func answerSchema(schema any) any {
	raw, err := wire.Encode(schema)
	if err != nil {
		return schema
	}
	root := ordered(raw)
	s := shaper{root: root, json: true}
	return s.shape(root, 0)
}

// ordered decodes a schema and notes the order of its properties, which the service would sort otherwise.
func ordered(raw json.RawMessage) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, _, err := decode(dec, true)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return map[string]any{}
	}
	return m
}

// decode reads a value and, of an object, the order of its keys. schema says that an object is a schema, and not a map of
// them by name.
func decode(dec *json.Decoder, schema bool) (v any, keys []string, err error) {
	token, err := dec.Token()
	if err != nil {
		return nil, nil, err
	}
	switch token {
	case json.Delim('['):
		items := []any{}
		for dec.More() {
			item, _, err := decode(dec, true)
			if err != nil {
				return nil, nil, err
			}
			items = append(items, item)
		}
		_, err = dec.Token()
		return items, nil, err
	case json.Delim('{'):
		m := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, nil, err
			}
			key, _ := name.(string) // a key is one
			inner, order, err := decode(dec, !schema || key != "properties" && key != "$defs" && key != "definitions")
			if err != nil {
				return nil, nil, err
			}
			m[key] = inner
			keys = append(keys, key)
			if schema && key == "properties" && len(order) > 1 {
				m["propertyOrdering"] = list(order)
			}
		}
		_, err = dec.Token()
		return m, keys, err
	}
	return token, nil, nil
}

func list(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// Limits of a schema, which may refer to itself in several places.
const (
	deepest   = 8
	mostNodes = 1000
)

// shaper turns a schema into what the service reads. Nothing that is meant is lost: what has no keyword is said in the
// description.
type shaper struct {
	root  map[string]any
	json  bool // in JSON Schema's words
	loose bool // something can be anything, which has no form in OpenAPI's words
	nodes int
}

// bare reports whether a schema is that of a tool without parameters.
func (s *shaper) bare(root map[string]any) bool {
	more, said := root["additionalProperties"]
	properties, _ := root["properties"].(map[string]any)
	return len(properties) == 0 && (!said || more == false) && root["$ref"] == nil && root["allOf"] == nil && root["anyOf"] == nil &&
		root["oneOf"] == nil
}

// What becomes of the keywords that nothing else is done about.
var (
	// keptOpen and keptJSON go on as they are, in OpenAPI's words and in those of JSON Schema.
	keptOpen = []string{
		"title", "description", "pattern", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minimum",
		"maximum",
	}
	keptJSON = []string{"title", "description", "minItems", "maxItems", "minimum", "maximum"}
	// dropped say nothing about the values.
	dropped = []string{
		"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "readOnly", "writeOnly", "deprecated", "nullable", "type", "enum",
		"const", "format", "items", "properties", "required", "propertyOrdering", "additionalProperties", "anyOf", "oneOf", "$ref", "allOf",
	}
)

func (s *shaper) shape(v any, depth int) map[string]any {
	m, _ := v.(map[string]any)
	if s.nodes++; depth > deepest || s.nodes > mostNodes {
		s.loose = true
		return map[string]any{"description": "what the schema says of itself once more"}
	}
	m = wire.Resolved(m, s.root)
	if branches, null := branches(m); branches != nil {
		return s.either(m, branches, null, depth)
	}
	out := map[string]any{}
	var said []string
	goesOn := keptOpen
	if s.json {
		goesOn = keptJSON
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch {
		case slices.Contains(goesOn, key):
			out[key] = m[key]
		case key == "exclusiveMinimum" && m["type"] == "integer" && m["minimum"] == nil && next(m[key], 1) != nil:
			out["minimum"] = next(m[key], 1)
		case key == "exclusiveMaximum" && m["type"] == "integer" && m["maximum"] == nil && next(m[key], -1) != nil:
			out["maximum"] = next(m[key], -1)
		case !slices.Contains(dropped, key):
			said = append(said, words(key, m[key]))
		}
	}
	kind := s.kind(m, out)
	said = append(said, s.values(m, kind, out)...)
	said = append(said, s.inside(m, kind, out, depth)...)
	describe(out, said)
	return out
}

// branches returns the schemas of which one must hold: those of anyOf and oneOf, or one for each of several types. null says
// that nothing is also a value.
func branches(m map[string]any) (out []any, null bool) {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := m[key].([]any)
		for _, branch := range list {
			if b, ok := branch.(map[string]any); ok && b["type"] == "null" {
				null = true
			} else {
				out = append(out, branch)
			}
		}
	}
	if types, ok := m["type"].([]any); ok && out == nil {
		for _, t := range types {
			if t == "null" {
				null = true
			} else {
				out = append(out, map[string]any{"type": t})
			}
		}
	}
	return out, null
}

// either shapes a node of several branches, each of which is joined with what the node says itself: beside anyOf nothing
// else may stand.
func (s *shaper) either(m map[string]any, branches []any, null bool, depth int) map[string]any {
	own := maps.Clone(m)
	delete(own, "anyOf")
	delete(own, "oneOf")
	if _, several := own["type"].([]any); several {
		delete(own, "type")
	}
	shaped := make([]any, 0, len(branches))
	for _, branch := range branches {
		node := maps.Clone(own)
		if b, ok := branch.(map[string]any); ok {
			if mine, _ := own["description"].(string); mine != "" {
				theirs, _ := b["description"].(string)
				node["description"] = strings.TrimSpace(mine + " " + theirs)
			}
			node["allOf"] = []any{branch}
		}
		if null {
			node["nullable"] = true
		}
		shaped = append(shaped, s.shape(node, depth+1))
	}
	if len(shaped) == 1 {
		one, _ := shaped[0].(map[string]any)
		return one
	}
	return map[string]any{"anyOf": shaped}
}

// kind finds the type of a node, where it may go unsaid.
func (s *shaper) kind(m, out map[string]any) string {
	kind, _ := m["type"].(string)
	if kind == "" {
		value := m["const"]
		if list, ok := m["enum"].([]any); ok && len(list) > 0 {
			value = list[0]
		}
		switch value.(type) {
		case string:
			kind = "string"
		case json.Number:
			kind = "number"
		case bool:
			kind = "boolean"
		}
	}
	switch {
	case kind != "":
	case m["properties"] != nil:
		kind = "object"
	case m["items"] != nil:
		kind = "array"
	default:
		s.loose = true
	}
	null := m["nullable"] == true
	if list, ok := m["enum"].([]any); ok && slices.Contains(list, any(nil)) {
		null = true
	}
	switch {
	case kind == "":
	case null && s.json:
		out["type"] = []any{kind, "null"}
	default:
		out["type"] = kind
		if null {
			out["nullable"] = true
		}
	}
	return kind
}

// values shapes what says which values there are, and returns what can only be told.
func (s *shaper) values(m map[string]any, kind string, out map[string]any) (said []string) {
	list, _ := m["enum"].([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
	if value, ok := m["const"]; ok {
		list = []any{value}
	}
	plain := !slices.ContainsFunc(list, func(v any) bool { text, ok := v.(string); return !ok || text == "" })
	switch {
	case len(list) == 0:
	case plain && kind == "string", s.json && kind != "boolean":
		out["enum"] = list
	default:
		said = append(said, words("one of", list))
	}
	format, _ := m["format"].(string)
	known := map[string][]string{"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}
	switch {
	case format == "":
	case slices.Contains(known[kind], format):
		out["format"] = format
	default:
		said = append(said, words("format", format))
	}
	return said
}

// inside shapes what an object or an array holds, and returns what can only be told.
func (s *shaper) inside(m map[string]any, kind string, out map[string]any, depth int) (said []string) {
	if kind == "array" {
		if items, ok := m["items"].(map[string]any); ok {
			out["items"] = s.shape(items, depth+1)
		} else {
			s.loose = true
		}
		return nil
	}
	if kind != "object" {
		return nil
	}
	properties, _ := m["properties"].(map[string]any)
	shaped := map[string]any{}
	for name, property := range properties {
		shaped[name] = s.shape(property, depth+1)
	}
	defined := func(list any) []any {
		names, _ := list.([]any)
		var out []any
		for _, name := range names {
			if text, ok := name.(string); ok && shaped[text] != nil && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return out
	}
	if len(shaped) > 0 {
		out["properties"] = shaped
	}
	if required := defined(m["required"]); required != nil {
		out["required"] = required
	}
	if order := defined(m["propertyOrdering"]); len(order) == len(shaped) && len(order) > 1 {
		out["propertyOrdering"] = order
	}
	more, ok := m["additionalProperties"]
	if inner, isSchema := more.(map[string]any); isSchema && s.json {
		out["additionalProperties"] = s.shape(inner, depth+1)
	} else if ok && s.json {
		out["additionalProperties"] = more
	} else if ok && more != false {
		said = append(said, words("additionalProperties", more))
	}
	s.loose = s.loose || len(shaped) == 0
	return said
}

// next returns the whole number beside one.
func next(v any, by int64) any {
	number, ok := v.(json.Number)
	if !ok {
		return nil
	}
	n, err := number.Int64()
	if err != nil {
		return nil
	}
	return n + by
}

// longestSaid limits what a keyword adds to a description, in bytes.
const longestSaid = 300

func words(key string, value any) string {
	raw, err := wire.Encode(value)
	if err != nil || len(raw) > longestSaid {
		return ""
	}
	return key + ": " + string(raw)
}

// describe adds what has no keyword to the description.
func describe(out map[string]any, said []string) {
	said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
	if len(said) == 0 {
		return
	}
	text, _ := out["description"].(string)
	out["description"] = strings.TrimSpace(text + " (" + strings.Join(said, ", ") + ")")
}
