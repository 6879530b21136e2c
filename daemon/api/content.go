package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Content is text or an array of parts. If Parts is nil, it is text.
type Content struct {
	Text  string
	Parts []Part
}

// Text returns content that is only text.
func Text(s string) Content { return Content{Text: s} }

// String returns the text of the content without any other parts.
func (c Content) String() string {
	if c.Parts == nil {
		return c.Text
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Type == PartText || p.Type == "" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Shown returns what a person reads of the content: its text, and in the place of each image what it is.
func (c Content) Shown() string {
	var b strings.Builder
	b.WriteString(c.Text)
	for _, p := range c.Parts {
		switch p.Type {
		case PartText, "":
			b.WriteString(p.Text)
		case PartImage:
			about := "image"
			if p.Source != nil && p.Source.About != "" {
				about = p.Source.About
			}
			b.WriteString("[" + about + "]")
		}
	}
	return b.String()
}

// MarshalJSON writes a string or an array.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Parts != nil {
		return json.Marshal(c.Parts)
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON reads a string, an array or null.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = Content{}
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		c.Parts = []Part{}
		return json.Unmarshal(data, &c.Parts)
	}
	return json.Unmarshal(data, &c.Text)
}

// Schema is a string or an array of parts.
func (Content) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString},
		{Type: huma.TypeArray, Items: r.Schema(reflect.TypeFor[Part](), true, "Part")},
	}}
}

// The types of parts.
const (
	PartText                = "text"
	PartImage               = "image"
	PartToolCall            = "tool_call"
	PartToolReturn          = "tool_return"
	PartReasoning           = "reasoning"
	PartRedactedReasoning   = "redacted_reasoning"
	PartOmittedReasoning    = "omitted_reasoning"
	PartSummarizedReasoning = "summarized_reasoning"
)

// Part is one part of content. Type says which kind; each kind uses a few of the keys.
type Part struct {
	Type      string       `json:"type"`
	Text      string       `json:"text,omitempty"`
	Signature *string      `json:"signature,omitempty"`
	Source    *ImageSource `json:"source,omitempty"` // image

	ID         string `json:"id,omitempty"` // PartToolCall, PartSummarizedReasoning
	Name       string `json:"name,omitempty"`
	Input      Object `json:"input,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"` // tool_return
	Content    string `json:"content,omitempty"`
	IsError    *bool  `json:"is_error,omitempty"`

	Reasoning        string        `json:"reasoning,omitempty"`
	IsNative         *bool         `json:"is_native,omitempty"`
	Data             string        `json:"data,omitempty"` // redacted_reasoning
	Summary          []SummaryPart `json:"summary,omitempty"`
	EncryptedContent string        `json:"encrypted_content,omitempty"`
}

// MarshalJSON writes the text of a text part even if it is empty.
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	if p.Type != PartText {
		return json.Marshal(plain(p))
	}
	return json.Marshal(struct {
		plain
		Text string `json:"text"`
	}{plain(p), p.Text})
}

// SummaryPart is a piece of a reasoning summary.
type SummaryPart struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

// ImageSource says where an image is: at a URL, in the request, or in storage.
type ImageSource struct {
	Type      string  `json:"type" enum:"url,base64,letta"`
	URL       string  `json:"url,omitempty"`
	MediaType string  `json:"media_type,omitempty"`
	Data      string  `json:"data,omitempty"`
	Detail    *string `json:"detail,omitempty"`
	FileID    string  `json:"file_id,omitempty"`
	About     string  `json:"about,omitempty"` // ours: what it is, for a person: image 640x480 PNG, 23 KB
}

// TextPart returns a text part.
func TextPart(s string) Part { return Part{Type: PartText, Text: s} }
