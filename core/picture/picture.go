// Package picture makes of bytes that somebody calls an image one that every model server takes: a PNG or a JPEG of bounded
// size, upright, and without what a camera wrote about its owner.
//
// Promises: the bytes are hostile; they are measured before anything is decoded, and decoded within bounds of memory and
// time, one image after the other. An image within the bounds that holds nothing but itself is kept byte for byte. The same
// bytes give the same image.
//
// Layer 1: it imports core, and one library that scales.
package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"time"

	scale "golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"loci/core"
)

// Bounds of what is decoded.
const (
	maxDecoded  = 256 << 20 // bytes of all pixels
	maxSide     = 30_000    // pixels
	decodeTime  = 15 * time.Second
	jpegQuality = 88
	shrinkBy    = 0.75 // where the bytes are too many
)

// format is one of those that are read.
type format struct {
	mime   string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	plain  func(data []byte) bool // whether the file may be kept as it is; nil: never
}

func formats() []format {
	return []format{
		{"image/png", png.DecodeConfig, png.Decode, plainPNG},
		{"image/jpeg", jpeg.DecodeConfig, jpeg.Decode, plainJPEG},
		{"image/gif", gif.DecodeConfig, gif.Decode, nil}, // the first picture of several
		{"image/webp", webp.DecodeConfig, webp.Decode, nil},
	}
}

// Reader reads images. It is safe for concurrent use.
type Reader struct{ turn chan struct{} }

// New returns a reader.
func New() *Reader { return &Reader{turn: make(chan struct{}, 1)} }

var _ core.ImageReader = (*Reader)(nil)

// Read implements core.ImageReader.
func (r *Reader) Read(ctx context.Context, data []byte) (p core.Picture, err error) {
	if len(data) > core.MaxImageBytes {
		return p, core.E(core.TooLarge, "the image has %d MB, more than %d", len(data)>>20, core.MaxImageBytes>>20)
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
	defer func() {
		if v := recover(); v != nil { // of a decoder, over bytes that nobody wrote in good faith
			p, err = core.Picture{}, damaged(fmt.Errorf("%v", v))
		}
	}()
	return read(ctx, data)
}

func damaged(err error) error { return core.E(core.Invalid, "the image is damaged: %w", err) }

func read(ctx context.Context, data []byte) (core.Picture, error) {
	f, err := formatOf(data)
	if err != nil {
		return core.Picture{}, err
	}
	size, err := f.config(bytes.NewReader(data))
	if err != nil {
		return core.Picture{}, damaged(err)
	}
	if err := checkSize(size); err != nil {
		return core.Picture{}, err
	}
	img, err := f.decode(&bounded{ctx: ctx, in: bytes.NewReader(data), until: time.Now().Add(decodeTime)})
	if ctx.Err() != nil {
		return core.Picture{}, context.Cause(ctx)
	}
	if err != nil {
		return core.Picture{}, damaged(err)
	}
	fits := max(size.Width, size.Height) <= core.MaxImageSide && len(data) <= core.MaxKeptImage
	if fits && f.plain != nil && f.plain(data) && size.ColorModel != color.CMYKModel {
		return kept(data, f.mime, size.Width, size.Height), nil
	}
	return encode(upright(halved(img), orientation(data)), f.mime == "image/jpeg")
}

func formatOf(data []byte) (format, error) {
	mime := http.DetectContentType(data)
	for _, f := range formats() {
		if f.mime == mime {
			return f, nil
		}
	}
	return format{}, core.E(core.Invalid, "this is no PNG, JPEG, GIF or WebP image")
}

func checkSize(size image.Config) error {
	const perPixel = 4
	each := perPixel
	switch size.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		each = 2 * perPixel
	case color.GrayModel:
		each = 1
	}
	w, h := size.Width, size.Height
	if w <= 0 || h <= 0 {
		return core.E(core.Invalid, "the image has no size")
	}
	if w > maxSide || h > maxSide || w*h > maxDecoded/each {
		return core.E(core.TooLarge, "the image has %d x %d pixels, more than can be decoded here", w, h).
			WithHint("scale it down first")
	}
	return nil
}

// bounded ends reading when the time is over: a small file can take a decoder long.
type bounded struct {
	ctx   context.Context // lives for one image
	in    io.Reader
	until time.Time
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if time.Now().After(b.until) {
		return 0, core.E(core.Timeout, "it takes longer than %s to decode", decodeTime)
	}
	return b.in.Read(p)
}

func kept(data []byte, mime string, w, h int) core.Picture {
	return core.Picture{
		Image: core.Image{Hash: core.ContentHash(data), Type: mime, Width: w, Height: h, Bytes: len(data)},
		Data:  data,
	}
}

// encode scales an image down to what is kept, and further until its bytes fit. What was no photo stays free of loss where
// that fits.
func encode(img image.Image, photo bool) (core.Picture, error) {
	side := core.MaxImageSide
	for {
		img = within(img, side)
		w, h := img.Bounds().Dx(), img.Bounds().Dy()
		var out bytes.Buffer
		if !photo {
			if err := png.Encode(&out, img); err != nil {
				return core.Picture{}, core.E(core.Internal, "write the image: %w", err)
			}
			if out.Len() <= core.MaxKeptImage {
				return kept(out.Bytes(), "image/png", w, h), nil
			}
			out.Reset()
		}
		if err := jpeg.Encode(&out, opaque(img), &jpeg.Options{Quality: jpegQuality}); err != nil {
			return core.Picture{}, core.E(core.Internal, "write the image: %w", err)
		}
		if out.Len() <= core.MaxKeptImage {
			return kept(out.Bytes(), "image/jpeg", w, h), nil
		}
		side = int(float64(max(w, h)) * shrinkBy)
	}
}

// halved is an image of which every four pixels became one, again and again, until it is less than twice as long as what is kept.
// What scales exactly takes 32 bytes for each row of the image and column of the result: more than a gibibyte for what may come.
func halved(img image.Image) image.Image {
	for b := img.Bounds(); max(b.Dx(), b.Dy()) >= 2*core.MaxImageSide; b = img.Bounds() {
		out := image.NewRGBA(image.Rect(0, 0, max(b.Dx()/2, 1), max(b.Dy()/2, 1)))
		scale.ApproxBiLinear.Scale(out, out.Bounds(), img, b, draw.Src, nil)
		img = out
	}
	return img
}

// within scales an image down so that no side is longer.
func within(img image.Image, side int) image.Image {
	b := img.Bounds()
	longer := max(b.Dx(), b.Dy())
	if longer <= side {
		return img
	}
	w, h := max(b.Dx()*side/longer, 1), max(b.Dy()*side/longer, 1)
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	scale.CatmullRom.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	return out
}

// opaque puts an image on white: a JPEG shows nothing through.
func opaque(img image.Image) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Over)
	return out
}
