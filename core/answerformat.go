package core

// AnswerFormat is the form that an answer is to have, as a response_format says it. The zero value is text.
type AnswerFormat struct {
	Kind        AnswerKind
	Name        string
	Description string
	Schema      any   // of AnswerSchema; nil: any JSON
	Strict      *bool // whether a server may rely on the schema being of the kind that it can enforce; nil: nobody said
}

// AnswerKind is one of the forms.
type AnswerKind string

// The forms of an answer.
const (
	AnswerText   AnswerKind = ""
	AnswerObject AnswerKind = "json_object" // any JSON object
	AnswerSchema AnswerKind = "json_schema" // JSON that fits a schema
)

// AnswerFormatOf reads a response_format, in the form of Chat Completions or in that of Responses. One that can't be read is text.
func AnswerFormatOf(responseFormat any) AnswerFormat {
	m, _ := responseFormat.(map[string]any)
	switch kind, _ := m["type"].(string); kind {
	case string(AnswerObject):
		return AnswerFormat{Kind: AnswerObject}
	case string(AnswerSchema):
	default:
		return AnswerFormat{}
	}
	if inner, ok := m["json_schema"].(map[string]any); ok {
		m = inner
	}
	out := AnswerFormat{Kind: AnswerSchema, Schema: m["schema"]}
	out.Name, _ = m["name"].(string)
	out.Description, _ = m["description"].(string)
	if strict, ok := m["strict"].(bool); ok {
		out.Strict = &strict
	}
	return out
}
