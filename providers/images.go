package providers

import (
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// noticeImages is the kind of the notice that a request is retried without images.
const noticeImages = "images"

func (l *refusalMemory) noImages(model, words string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.images == nil {
		l.images = map[string]refusedPart{}
	}
	l.images[model] = refusedPart{now, words}
}

// imageless reports whether a model has refused images, unless that is long ago.
func (l *refusalMemory) imageless(model string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.images[model]
	return ok && now.Sub(r.at) < wire.RefusalFresh
}

func hasImages(req core.ChatRequest) bool {
	return slices.ContainsFunc(req.Messages, func(m core.ChatMessage) bool {
		return len(m.Pictures) > 0 || slices.ContainsFunc(m.Returns, func(r core.ChatReturn) bool { return len(r.Pictures) > 0 })
	})
}

// withoutImages puts a line of text in the place of each image.
func withoutImages(req core.ChatRequest) core.ChatRequest {
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		m := &req.Messages[i]
		if len(m.Pictures) > 0 {
			var b strings.Builder
			for _, piece := range m.Pieces() {
				if piece.Picture != nil {
					piece.Text = piece.Picture.StandIn(core.ImageUnseen) + "\n"
				}
				b.WriteString(piece.Text)
			}
			m.Text, m.Pictures = b.String(), nil
		}
		m.Returns = slices.Clone(m.Returns)
		for j := range m.Returns {
			r := &m.Returns[j]
			for _, p := range r.Pictures {
				r.Text += "\n" + p.StandIn(core.ImageUnseen)
			}
			r.Pictures = nil
		}
	}
	return req
}

func withoutImagesWords(refusal string) string {
	return strings.TrimRight(refusal, ".") + ". It is asked without images for up to " + core.InWords(wire.RefusalFresh) +
		": a line of text tells it of each."
}
