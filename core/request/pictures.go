package request

import (
	"context"
	"slices"

	"loci/core"
)

// Bounds of the images of one request: services take no more.
const (
	maxSent      = 50
	maxSentBytes = 14 << 20 // the wire makes a third more of them
	sentShare    = 2        // half of the window
	sentSteps    = 10       // they leave ten at a time: whatever leaves changes what a provider has cached
)

// sight decides which images of a window are sent: those that the model takes, from the newest on while there is room.
type sight struct {
	info core.ModelInfo
	skip int // how many of the oldest are not sent
	seen int // how many have been come by
}

func newSight(p *Parts) *sight {
	s := &sight{info: p.Info}
	if p.Info.Images == core.ImagesRefused {
		return s
	}
	var all []core.Image
	for i := range p.Rows {
		if !p.Rows[i].Message.Answers() {
			all = append(all, p.Rows[i].Message.Images()...)
		}
	}
	sent, bytes, tokens := 0, 0, 0
	for _, img := range slices.Backward(all) {
		bytes, tokens = bytes+img.Bytes, tokens+img.Tokens()
		if sent == maxSent || bytes > maxSentBytes || p.Window > 0 && tokens > p.Window/sentShare {
			break
		}
		sent++
	}
	if skip := len(all) - sent; skip > 0 {
		s.skip = min((skip+sentSteps-1)/sentSteps*sentSteps, max(len(all)-1, skip))
	}
	return s
}

// shows reports whether an image is sent; else why not. It is asked of each image once, in order.
func (s *sight) shows(core.Image) (why string, ok bool) {
	s.seen++
	switch {
	case s.info.Images == core.ImagesRefused:
		return core.ImageUnseen, false
	case s.seen <= s.skip:
		return core.ImageNoRoom, false
	}
	return "", true
}

// told returns the text of a message and its images: each stands before a byte of the text, or as a line in it.
func (s *sight) told(m *core.Message) (text string, shown []core.PictureAt) {
	for _, c := range m.Content {
		switch c.Type {
		case core.ContentText:
			text += c.Text
		case core.ContentImage:
			why, ok := s.shows(*c.Image)
			if ok {
				shown = append(shown, core.PictureAt{Picture: core.Picture{Image: *c.Image}, At: len(text)})
				continue
			}
			if text != "" && text[len(text)-1] != '\n' {
				text += "\n"
			}
			text += c.Image.StandIn(why) + "\n"
		case core.ContentReasoning, core.ContentCall:
		}
	}
	return text, shown
}

// returned adds the images of a return.
func (s *sight) returned(r *core.ChatReturn, images []core.Image) {
	for _, img := range images {
		if why, ok := s.shows(img); !ok {
			r.Text += "\n" + img.StandIn(why)
			continue
		}
		r.Pictures = append(r.Pictures, core.Picture{Image: img})
	}
}

// Fill reads what the pictures of a request hold. One that is not kept any more becomes a line of text.
func Fill(ctx context.Context, images core.ImageStore, req *core.ChatRequest) error {
	for i := range req.Messages {
		m := &req.Messages[i]
		var kept []core.PictureAt
		for _, p := range m.Pictures {
			whole, ok, err := filled(ctx, images, p.Image)
			if err != nil {
				return err
			}
			if ok {
				kept = append(kept, core.PictureAt{Picture: whole, At: p.At})
				continue
			}
			if m.Text != "" {
				m.Text += "\n"
			}
			m.Text += p.StandIn(core.ImageNotKept)
		}
		m.Pictures = kept
		for j := range m.Returns {
			r := &m.Returns[j]
			var kept []core.Picture
			for _, p := range r.Pictures {
				whole, ok, err := filled(ctx, images, p.Image)
				if err != nil {
					return err
				}
				if ok {
					kept = append(kept, whole)
					continue
				}
				r.Text += "\n" + p.StandIn(core.ImageNotKept)
			}
			r.Pictures = kept
		}
	}
	return nil
}

// filled returns a picture with its bytes; false: they are not kept.
func filled(ctx context.Context, images core.ImageStore, img core.Image) (core.Picture, bool, error) {
	p, err := images.Get(ctx, img.Hash)
	if core.Absent(err) {
		return p, false, nil
	}
	p.Detail = img.Detail
	return p, err == nil, err
}
