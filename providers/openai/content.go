package openai

import (
	"encoding/json"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// chatContent is the content of a message on Chat: a text, or, if there are pictures, the pieces.
type chatContent []chatPiece

var _ json.Marshaler = chatContent(nil)

// chatPiece is one of the parts of a content.
type chatPiece struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *chatImage `json:"image_url,omitempty"`
}

type chatImage struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

func plainText(s string) chatContent { return chatContent{{Text: s}} }

// contentOf returns what a user says with its pictures in their places.
func contentOf(m *core.ChatMessage) chatContent {
	if len(m.Pictures) == 0 {
		return plainText(m.Text)
	}
	var out chatContent
	for _, piece := range m.Pieces() {
		if p := piece.Picture; p != nil {
			out = append(out, chatPiece{Image: &chatImage{URL: wire.DataURI(p), Detail: wire.Detail(p)}})
			continue
		}
		out = append(out, chatPiece{Text: piece.Text})
	}
	return out
}

// MarshalJSON writes a content without pictures as one text, which every server reads.
func (c chatContent) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	pictures := false
	out := make([]chatPiece, len(c))
	for i, p := range c {
		p.Type = "text"
		if p.Image != nil {
			p.Type, pictures = "image_url", true
		}
		out[i] = p
		b.WriteString(p.Text)
	}
	if pictures {
		return wire.Encode(out)
	}
	return wire.Encode(b.String())
}

// responsePiece is a part of a content on Responses.
type responsePiece struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	URL    string `json:"image_url,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func responseImage(p *core.Picture) responsePiece {
	return responsePiece{Type: "input_image", URL: wire.DataURI(p), Detail: wire.Detail(p)}
}

// responseContent returns what a user says: a text, or, if there are pictures, the pieces.
func responseContent(m *core.ChatMessage) any {
	if len(m.Pictures) == 0 {
		return m.Text
	}
	var out []responsePiece
	for _, piece := range m.Pieces() {
		if piece.Picture != nil {
			out = append(out, responseImage(piece.Picture))
			continue
		}
		out = append(out, responsePiece{Type: "input_text", Text: piece.Text})
	}
	return out
}

// responseOutput returns what a tool returned: a text, or, if there are pictures, the pieces.
func responseOutput(r *core.ChatReturn) any {
	if len(r.Pictures) == 0 {
		return r.Text
	}
	out := []responsePiece{{Type: "input_text", Text: r.Text}}
	for i := range r.Pictures {
		out = append(out, responseImage(&r.Pictures[i]))
	}
	return out
}
