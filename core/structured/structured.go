// Package structured judges answers that are to be JSON: any object, or what fits a schema.
//
// Promises: pure. A schema that can't be judged by within the bounds of core/arguments is refused before anything is sent.
//
// Layer 1: it imports core and core/arguments.
package structured

import (
	"encoding/json"
	"strings"

	"loci/core"
	"loci/core/arguments"
)

// Form is the form that an answer is to have.
type Form struct {
	object bool              // a JSON object
	schema *arguments.Schema // nil: any JSON
}

// Of returns the form that a response_format asks for; nil is text. One with a schema that nobody can judge by is an error.
func Of(responseFormat any) (*Form, error) {
	format := core.AnswerFormatOf(responseFormat)
	switch {
	case format.Kind == core.AnswerText:
		return nil, nil //nolint:nilnil // text has no form
	case format.Kind == core.AnswerObject:
		return &Form{object: true}, nil
	case format.Schema == nil:
		return &Form{}, nil
	}
	if _, ok := format.Schema.(map[string]any); !ok {
		return nil, core.E(core.Invalid, "the schema of the answer is not a JSON object")
	}
	text, err := json.Marshal(format.Schema)
	if err != nil {
		return nil, core.E(core.Invalid, "the schema of the answer is not JSON: %w", err)
	}
	schema, err := arguments.Compile(text)
	if err != nil {
		return nil, core.E(core.KindOf(err), "the answer can't be judged by its schema: %w", err)
	}
	return &Form{schema: schema}, nil
}

// Value returns the JSON value that an answer is, without a fence around it, or what is wrong with it.
func (f *Form) Value(answer string) (string, error) {
	value := bare(answer)
	switch {
	case value == "":
		return "", core.E(core.SchemaMismatch, "it is empty")
	case !json.Valid([]byte(value)):
		return "", core.E(core.SchemaMismatch, "it is not JSON")
	case f.object && value[0] != '{':
		return "", core.E(core.SchemaMismatch, "it is not a JSON object")
	case f.schema == nil:
		return value, nil
	}
	if err := f.schema.CheckAnswer(value); err != nil {
		return "", core.E(core.SchemaMismatch, "%w", err)
	}
	return value, nil
}

// fence is what Markdown has around code. Many models put it around JSON, whatever they were told.
const fence = "```"

func bare(answer string) string {
	text := strings.TrimSpace(answer)
	inner, fenced := strings.CutPrefix(text, fence)
	inner, closed := strings.CutSuffix(inner, fence)
	if !fenced || !closed {
		return text
	}
	name, code, ok := strings.Cut(inner, "\n")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "json") && strings.TrimSpace(name) != "" {
		return text
	}
	return strings.TrimSpace(code)
}
