package openai

import (
	openai "github.com/sashabaranov/go-openai"

	"loci/core"
	"loci/providers/internal/wire"
)

// enforced reports whether a server is asked to enforce a schema: where nobody said, if it is of the kind that can be.
func enforced(f core.AnswerFormat) bool {
	if f.Strict != nil {
		return *f.Strict
	}
	return wire.Enforceable(f.Schema)
}

// schemaFormat is a schema on Chat.
type schemaFormat struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schema      any    `json:"schema,omitempty"`
	Strict      bool   `json:"strict"`
}

// answerFormat is the form of an answer on Chat; nil: text.
func answerFormat(f core.AnswerFormat) map[string]any {
	switch f.Kind {
	case core.AnswerText:
		return nil
	case core.AnswerObject:
		return map[string]any{"type": f.Kind}
	case core.AnswerSchema:
	}
	return map[string]any{"type": f.Kind, "json_schema": schemaFormat{
		Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: enforced(f),
	}}
}

// textConfig is the form of an answer on Responses; nil: text.
func textConfig(f core.AnswerFormat) *openai.ResponseTextConfig {
	switch f.Kind {
	case core.AnswerText:
		return nil
	case core.AnswerObject:
		return &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{Type: string(f.Kind)}}
	case core.AnswerSchema:
	}
	return &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{
		Type: string(f.Kind), Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: enforced(f),
	}}
}
