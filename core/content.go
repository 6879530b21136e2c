package core

// ContentType is the type of a piece of content.
type ContentType string

// The content types.
const (
	ContentText      ContentType = "text"
	ContentReasoning ContentType = "reasoning"
	ContentCall      ContentType = "call"
	ContentImage     ContentType = "image"
)

// Content is one piece of a message, in order of appearance.
type Content struct {
	Type      ContentType `json:"type"`
	Text      string      `json:"text,omitempty"`      // of text and reasoning
	Signature string      `json:"signature,omitempty"` // of reasoning
	Prompted  bool        `json:"prompted,omitempty"`  // reasoning passed as an argument (inner thoughts), not the model's own
	Call      *ToolCall   `json:"call,omitempty"`
	Image     *Image      `json:"image,omitempty"`
}

// Text makes a piece of text content.
func Text(s string) Content { return Content{Type: ContentText, Text: s} }
