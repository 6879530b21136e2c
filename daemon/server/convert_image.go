package server

import (
	"context"
	"encoding/base64"
	"iter"
	"strings"

	"loci/core"
	"loci/daemon/api"
)

// takes takes the image that a request holds or names.
type takes func(location string, src *api.ImageSource) (core.Image, error)

// The types of the sources of images.
const (
	sourceURL    = "url"
	sourceBase64 = "base64"
	sourceKept   = "letta"
)

// maxDetail bounds the word for how closely a model should look.
const maxDetail = 20

// takesImages returns what takes the images of a request.
func (s *Server) takesImages(ctx context.Context) takes {
	images := s.services().Images
	return func(location string, src *api.ImageSource) (core.Image, error) {
		if src == nil {
			return core.Image{}, unprocessable(location+".source", "an image has a source")
		}
		detail := api.Val(src.Detail)
		if len(detail) > maxDetail {
			return core.Image{}, unprocessable(location+".source.detail", "detail is low, high or auto")
		}
		inline, data, _ := strings.Cut(src.URL, ";base64,")
		switch {
		case src.Type == sourceKept:
			hash, ok := core.ImageHash(src.FileID)
			if !ok {
				return core.Image{}, unprocessable(location+".source.file_id",
					"%q is no image of this server: send its bytes, or the file_id of an image in one of its messages", clipped(src.FileID))
			}
			return images.Again(ctx, hash, detail)
		case src.Type == sourceURL && strings.HasPrefix(inline, "data:"):
			return takeBase64(ctx, images.Take, location+".source.url", data, detail)
		case src.Type == sourceURL:
			return images.Fetch(ctx, src.URL, detail)
		case src.Type == sourceBase64:
			return takeBase64(ctx, images.Take, location+".source.data", src.Data, detail)
		}
		return core.Image{}, unprocessable(location+".source.type", "an image is given as base64, url or letta")
	}
}

func takeBase64(
	ctx context.Context, take func(context.Context, []byte, string) (core.Image, error), location, data, detail string,
) (core.Image, error) {
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(data)
	}
	if err != nil {
		return core.Image{}, unprocessable(location, "the data of an image is base64: %s", err.Error())
	}
	return take(ctx, raw, detail)
}

// coreContent returns the text of a content, and where it holds images, all of it in order. Other parts are rejected rather
// than dropped.
func coreContent(location string, c *api.Content, take takes) (text string, content []core.Content, err error) {
	images := 0
	for _, p := range c.Parts {
		switch p.Type {
		case api.PartText, "":
			content = append(content, core.Text(p.Text))
		case api.PartImage:
			if images++; images > core.MaxImages {
				return "", nil, core.E(core.TooLarge, "a message holds at most %d images", core.MaxImages)
			}
			image, err := take(location, p.Source)
			if err != nil {
				return "", nil, err
			}
			content = append(content, core.Content{Type: core.ContentImage, Image: &image})
		default:
			return "", nil, unprocessable(location, "a part of type %q is not an input", p.Type)
		}
	}
	if images == 0 {
		content = nil
	}
	return c.String(), content, nil
}

// coreImages returns the images of a content.
func coreImages(content []core.Content) []core.Image {
	m := core.Message{Content: content}
	return m.Images()
}

// wireContent converts a content with images.
func wireContent(in []core.Content) api.Content {
	out := api.Content{Parts: []api.Part{}}
	for _, c := range in {
		switch c.Type {
		case core.ContentText:
			out.Parts = append(out.Parts, api.TextPart(c.Text))
		case core.ContentImage:
			out.Parts = append(out.Parts, wireImage(*c.Image))
		case core.ContentReasoning, core.ContentCall:
		}
	}
	return out
}

// wireImage names an image. Its bytes are added for clients of the contract, see fill.
func wireImage(i core.Image) api.Part {
	return api.Part{Type: api.PartImage, Source: &api.ImageSource{
		Type: sourceKept, FileID: i.ID(), MediaType: i.Type, Detail: api.PtrTo(i.Detail), About: i.String(),
	}}
}

// wireReturned is the content of a tool's return.
func wireReturned(r *core.ToolReturn) api.Content {
	if len(r.Images) == 0 {
		return api.Text(r.Text)
	}
	out := api.Content{Parts: []api.Part{}}
	if r.Text != "" {
		out.Parts = append(out.Parts, api.TextPart(r.Text))
	}
	for _, i := range r.Images {
		out.Parts = append(out.Parts, wireImage(i))
	}
	return out
}

// maxFilled bounds the bytes of images in one response: of what is beyond it, clients get the names.
const maxFilled = 32 << 20

// filler adds the bytes of images to messages.
type filler struct {
	get  func(ctx context.Context, hash string) (core.Picture, error)
	left int
}

// newFiller returns what adds the bytes for a client of the contract; our own read no bytes, and for them it is nil.
func (s *Server) newFiller(ctx context.Context) *filler {
	if callOf(ctx).client.ID != "" {
		return nil
	}
	return &filler{get: s.services().Images.Get, left: maxFilled}
}

// fill adds the bytes of a message's images. One that is not kept any more stays a name.
func (f *filler) fill(ctx context.Context, m *api.Message) error {
	if f == nil {
		return nil
	}
	all := []*[]api.Part{&m.Content.Parts}
	for i := range m.ToolReturns {
		all = append(all, &m.ToolReturns[i].ToolReturn.Parts)
	}
	for i := range m.Approvals {
		if r := m.Approvals[i].ToolReturn; r != nil {
			all = append(all, &r.Parts)
		}
	}
	for _, parts := range all {
		for i := range *parts {
			if p := &(*parts)[i]; p.Type == api.PartImage && p.Source != nil {
				if err := f.source(ctx, p.Source); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *filler) source(ctx context.Context, src *api.ImageSource) error {
	src.About = ""
	hash, ok := core.ImageHash(src.FileID)
	if !ok || f.left <= 0 {
		return nil
	}
	p, err := f.get(ctx, hash)
	if core.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.left -= len(p.Data); f.left >= 0 {
		src.Data = base64.StdEncoding.EncodeToString(p.Data)
	}
	return nil
}

// listed answers with a list of messages.
func (s *Server) listed(ctx context.Context, msgs []core.Message, show shows) (*body[[]api.Message], error) {
	out := wireMessages(msgs, show)
	f := s.newFiller(ctx)
	for i := range out {
		if err := f.fill(ctx, &out[i]); err != nil {
			return nil, err
		}
	}
	return answer(out, nil)
}

// filled adds the bytes of images to the messages of a stream.
func (s *Server) filled(ctx context.Context, frames iter.Seq2[frame, error]) iter.Seq2[frame, error] {
	f := s.newFiller(ctx)
	if f == nil {
		return frames
	}
	return func(yield func(frame, error) bool) {
		for fr, err := range frames {
			if err == nil {
				err = f.fill(ctx, &fr.msg)
			}
			if !yield(fr, err) || err != nil {
				return
			}
		}
	}
}
