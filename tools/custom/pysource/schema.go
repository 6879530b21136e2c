package pysource

import (
	"bytes"
	"encoding/json"
)

// Schema is a JSON Schema of what Python's types need, whose properties keep their order.
type Schema struct {
	Type                 string     `json:"type,omitempty"`
	Format               string     `json:"format,omitempty"`
	Enum                 []any      `json:"enum,omitempty"`
	AnyOf                []*Schema  `json:"anyOf,omitempty"`
	Items                *Schema    `json:"items,omitempty"`
	MinItems             int        `json:"minItems,omitempty"`
	MaxItems             int        `json:"maxItems,omitempty"`
	Properties           Properties `json:"properties,omitzero"`
	AdditionalProperties *Schema    `json:"additionalProperties,omitempty"`
	Required             []string   `json:"required,omitzero"` // of an object with properties it is there even if empty
	Description          string     `json:"description,omitempty"`
}

// Property is a named part of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are those of an object, in their order.
type Properties []Property

// MarshalJSON writes an object.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{one.Name, one.Schema} {
			if j > 0 {
				b.WriteByte(':')
			}
			text, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// object is one with properties.
func object() *Schema {
	return &Schema{Type: "object", Properties: Properties{}, Required: []string{}}
}

// add puts a property at its end.
func (s *Schema) add(name string, p *Schema, required bool) {
	s.Properties = append(s.Properties, Property{name, p})
	if required {
		s.Required = append(s.Required, name)
	}
}
