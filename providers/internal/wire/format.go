package wire

import (
	"cmp"
	"maps"
	"slices"

	"loci/core"
)

// answerName is the name of a schema that nobody named; servers demand one.
const answerName = "answer"

// FormatOf returns the form that a request wants its answer to have, with a name.
func FormatOf(req *core.ChatRequest) core.AnswerFormat {
	f := core.AnswerFormatOf(req.Settings.ResponseFormat)
	f.Name = cmp.Or(f.Name, answerName)
	return f
}

// Worded asks for the form of the answer in words at the end of the request, and by no parameter.
func Worded(req core.ChatRequest) core.ChatRequest {
	words := formWords(&req)
	req.Settings.ResponseFormat = nil
	return withWords(req, words)
}

// withWords adds a reminder at the end of a request, unless there is nothing to say.
func withWords(req core.ChatRequest, words string) core.ChatRequest {
	if words != "" {
		req.Messages = append(slices.Clip(req.Messages), core.ChatMessage{Role: core.ChatReminder, Text: words})
	}
	return req
}

// AlsoWorded asks for the form of the answer both by a parameter and in words, as servers demand for an object of any kind.
func AlsoWorded(req core.ChatRequest) core.ChatRequest { return withWords(req, formWords(&req)) }

func formWords(req *core.ChatRequest) string {
	begin := "Your answer is "
	if len(req.Tools) > 0 && req.Choice.Mode != core.ChoiceNone {
		begin = "Your last answer, after all calls of tools, is "
	}
	switch f := FormatOf(req); {
	case f.Kind == core.AnswerObject:
		return begin + "one JSON object and nothing else."
	case f.Kind == core.AnswerText:
		return ""
	case f.Schema == nil:
		return begin + "JSON and nothing else."
	default:
		schema, err := Encode(f.Schema)
		if err != nil {
			return begin + "JSON and nothing else."
		}
		return begin + "JSON by this schema and nothing else:\n" + string(schema)
	}
}

// unclosed are the keywords that servers which enforce a schema don't have.
var unclosed = []string{
	"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas",
	"unevaluatedProperties", "unevaluatedItems", "contains", "prefixItems", "minProperties", "maxProperties", "uniqueItems",
}

// Enforceable reports whether a schema is of the kind that servers enforce to the letter: each object names all its members, demands
// them and allows no others.
func Enforceable(schema any) bool {
	root, ok := schema.(map[string]any)
	return ok && root["type"] == "object" && enforceable(root, 0)
}

func enforceable(node any, depth int) bool {
	m, ok := node.(map[string]any)
	if !ok || depth > DeepestSchema || slices.ContainsFunc(unclosed, func(word string) bool { return m[word] != nil }) {
		return false
	}
	properties, _ := m["properties"].(map[string]any)
	if m["type"] == "object" || properties != nil {
		required, _ := m["required"].([]any)
		for name := range properties {
			if !slices.Contains(required, any(name)) {
				return false
			}
		}
		if m["additionalProperties"] != false || properties == nil {
			return false
		}
	}
	inner := slices.Collect(maps.Values(properties))
	for _, word := range []string{"$defs", "definitions"} {
		defined, _ := m[word].(map[string]any)
		inner = slices.AppendSeq(inner, maps.Values(defined))
	}
	branches, _ := m["anyOf"].([]any)
	inner = append(inner, branches...)
	if m["items"] != nil {
		inner = append(inner, m["items"])
	}
	return !slices.ContainsFunc(inner, func(each any) bool { return !enforceable(each, depth+1) })
}

// measured are the keywords that servers which enforce a schema don't judge by.
var measured = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "pattern",
}

// Closed returns a schema in which objects allow no members but those that they name, with what has no keyword there said in the
// description. What fits it, fits the schema. It reports false for one that can't be put so.
func Closed(schema any) (any, bool) { return closed(schema, 0) }

func closed(node any, depth int) (any, bool) {
	m, ok := node.(map[string]any)
	if !ok || depth > DeepestSchema || slices.ContainsFunc(unclosed, func(word string) bool { return m[word] != nil }) {
		return nil, false
	}
	out := maps.Clone(m)
	if properties, named := m["properties"].(map[string]any); named || m["type"] == "object" {
		if more, said := m["additionalProperties"]; len(properties) == 0 || said && more != false {
			return nil, false
		}
		out["additionalProperties"] = false
	}
	for _, word := range []string{"properties", "$defs", "definitions"} {
		members, _ := m[word].(map[string]any)
		all := make(map[string]any, len(members))
		for name, member := range members {
			if all[name], ok = closed(member, depth+1); !ok {
				return nil, false
			}
		}
		if members != nil {
			out[word] = all
		}
	}
	if branches, _ := m["anyOf"].([]any); branches != nil {
		all := make([]any, len(branches))
		for i, branch := range branches {
			if all[i], ok = closed(branch, depth+1); !ok {
				return nil, false
			}
		}
		out["anyOf"] = all
	}
	if m["items"] != nil {
		if out["items"], ok = closed(m["items"], depth+1); !ok {
			return nil, false
		}
	}
	Describe(out, measured)
	return out, true
}
