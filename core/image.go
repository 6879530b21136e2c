package core

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Limits of images.
const (
	MaxImages      = 20       // of one message or return
	MaxImageBytes  = 20 << 20 // of one image as it comes in
	MaxImageSide   = 2000     // pixels of the longer side as it is kept and sent
	MaxKeptImage   = 3 << 20  // bytes of one image as it is kept and sent: every service takes that much
	imageIDPrefix  = "image-"
	imagePatch     = 28 // pixels of a side: what one token stands for at several providers
	maxImageTokens = 4784
)

// Image describes a picture in a message. Its bytes are kept once, under their hash.
type Image struct {
	Hash   string `json:"hash"` // hex SHA-256 of the bytes
	Type   string `json:"media_type"`
	Width  int    `json:"width"` // pixels
	Height int    `json:"height"`
	Bytes  int    `json:"bytes"`
	Detail string `json:"detail,omitempty"` // how closely a model should look, in the client's word: low, high or auto
}

// Picture is an image with its bytes.
type Picture struct {
	Image
	Data []byte
}

// PictureAt is a picture in a text, and before which of its bytes it stands.
type PictureAt struct {
	Picture
	At int
}

// ID is the image's name for clients.
func (i *Image) ID() string { return imageIDPrefix + i.Hash }

var imageID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + imageIDPrefix + `[0-9a-f]{64}$`) })

// ImageHash returns the hash in the name of an image.
func ImageHash(id string) (string, bool) {
	if !imageID().MatchString(id) {
		return "", false
	}
	return strings.TrimPrefix(id, imageIDPrefix), true
}

// String says what the image is: image 640x480 PNG, 23 KB.
func (i *Image) String() string {
	format := strings.ToUpper(strings.TrimPrefix(i.Type, "image/"))
	return fmt.Sprintf("image %dx%d %s, %d KB", i.Width, i.Height, format, (i.Bytes+1023)>>10)
}

// Why an image is not before a model.
const (
	ImageUnseen  = "not shown: this model takes no images"
	ImageNoRoom  = "not shown: there is no room for so many"
	ImageNotKept = "it is not kept any more"
)

// StandIn is the line of text that takes the image's place where a model is not shown it.
func (i *Image) StandIn(why string) string {
	return "[" + i.String() + "; " + why + "]"
}

// Tokens estimates what the image takes of a context window. Providers count in different ways; this is what the more
// expensive of them do, so that a request fits.
func (i *Image) Tokens() int {
	patches := ((i.Width + imagePatch - 1) / imagePatch) * ((i.Height + imagePatch - 1) / imagePatch)
	return min(max(patches, 1), maxImageTokens)
}

// ImageStore keeps the bytes of images, each once. An image that no message and no run names is removed after a while.
type ImageStore interface {
	Put(ctx context.Context, p Picture) error
	// Get returns an image, without a Detail; not_found where it is not kept, or not any more.
	Get(ctx context.Context, hash string) (Picture, error)
}

// ImageReader makes an image that every server takes of bytes that claim to be one. What is none, or is too large, is invalid
// or too_large.
type ImageReader interface {
	Read(ctx context.Context, data []byte) (Picture, error)
}

// ImageFetcher fetches the bytes at an address of the public internet.
type ImageFetcher interface {
	Fetch(ctx context.Context, address string) ([]byte, error)
}

// ImageInput says whether a model takes images.
type ImageInput string

// What is known of a model's eyes. Where nothing is known images are sent, and the server's refusal is remembered.
const (
	ImagesUnknown ImageInput = ""
	ImagesTaken   ImageInput = "yes"
	ImagesRefused ImageInput = "no"
)

// ImagesIf is what is known where a listing says it.
func ImagesIf(taken bool) ImageInput {
	if taken {
		return ImagesTaken
	}
	return ImagesRefused
}

// Images returns the images of the message in order: those of its content, then those of its returns.
func (m *Message) Images() []Image {
	var all []Image
	for _, c := range m.Content {
		if c.Image != nil {
			all = append(all, *c.Image)
		}
	}
	for _, r := range m.Returns {
		all = append(all, r.Images...)
	}
	if m.Approval != nil {
		for _, d := range m.Approval.Decisions {
			if d.Return != nil {
				all = append(all, d.Return.Images...)
			}
		}
	}
	return all
}

// Piece is a stretch of a user message: a text or a picture.
type Piece struct {
	Text    string
	Picture *Picture
}

// Pieces returns what a message says with its pictures where they stand, and no empty texts.
func (m *ChatMessage) Pieces() []Piece {
	var out []Piece
	from := 0
	text := func(to int) {
		if to = min(max(to, from), len(m.Text)); to > from {
			out = append(out, Piece{Text: m.Text[from:to]})
			from = to
		}
	}
	for i := range m.Pictures {
		text(m.Pictures[i].At)
		out = append(out, Piece{Picture: &m.Pictures[i].Picture})
	}
	text(len(m.Text))
	return out
}
