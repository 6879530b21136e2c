package picture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"loci/core"
	"loci/core/picture"
)

// painted is an image whose left half is red and whose right half is blue.
func painted(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{R: 255, A: 255}
			if x >= w/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			img.Set(x, y, c)
		}
	}
	return img
}

func asPNG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(tb testing.TB, img image.Image) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// held puts into a JPEG how its camera was held.
func held(data []byte, how byte) []byte {
	tiff := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00" + string(how) + "\x00\x00\x00\x00\x00\x00\x00")
	body := append([]byte("Exif\x00\x00"), tiff...)
	segment := append([]byte{0xff, 0xe1, 0, byte(len(body) + 2)}, body...)
	return append(append([]byte{0xff, 0xd8}, segment...), data[2:]...)
}

func read(t *testing.T, data []byte) core.Picture {
	t.Helper()
	p, err := picture.New().Read(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if p.Hash != core.ContentHash(p.Data) || p.Bytes != len(p.Data) {
		t.Errorf("the description %+v is not of the bytes", p.Image)
	}
	return p
}

func TestAnImageWithinTheBoundsIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"image/png": asPNG(t, painted(64, 48)), "image/jpeg": asJPEG(t, painted(64, 48))} {
		p := read(t, data)
		if !bytes.Equal(p.Data, data) || p.Type != name || p.Width != 64 || p.Height != 48 {
			t.Errorf("%s: got %+v", name, p.Image)
		}
	}
}

func TestALargeImageIsScaledDown(t *testing.T) {
	t.Parallel()
	p := read(t, asPNG(t, painted(3000, 1500)))
	if p.Width != core.MaxImageSide || p.Height != core.MaxImageSide/2 || p.Type != "image/png" {
		t.Errorf("got %+v", p.Image)
	}
	img, err := png.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	if r, _, b, _ := img.At(10, 10).RGBA(); r < 0xf000 || b > 0x1000 {
		t.Errorf("the left side is %x, %x", r, b)
	}
}

func TestNoiseThatIsTooLargeAsAPNGBecomesAJPEG(t *testing.T) {
	t.Parallel()
	img := image.NewNRGBA(image.Rect(0, 0, 1600, 1200))
	seed := uint32(1)
	for i := range img.Pix {
		seed = seed*1664525 + 1013904223
		img.Pix[i] = byte(seed >> 24)
	}
	p := read(t, asPNG(t, img))
	if p.Type != "image/jpeg" || p.Bytes > core.MaxKeptImage {
		t.Errorf("got %+v", p.Image)
	}
}

func TestAGIFBecomesAPNGOfItsFirstPicture(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := gif.Encode(&b, painted(20, 10), nil); err != nil {
		t.Fatal(err)
	}
	if p := read(t, b.Bytes()); p.Type != "image/png" || p.Width != 20 || p.Height != 10 {
		t.Errorf("got %+v", p.Image)
	}
}

func TestWhatACameraWroteIsTakenOutAndTheImageStandsUpright(t *testing.T) {
	t.Parallel()
	for how, want := range map[byte][2]int{1: {40, 20}, 3: {40, 20}, 6: {20, 40}, 8: {20, 40}} {
		p := read(t, held(asJPEG(t, painted(40, 20)), how))
		if bytes.Contains(p.Data, []byte("Exif")) || p.Width != want[0] || p.Height != want[1] {
			t.Errorf("held as %d: %+v", how, p.Image)
		}
		img, err := jpeg.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		r, _, _, _ := img.At(2, 2).RGBA()
		if red := r > 0x8000; red != (how == 1 || how == 6) { // the red side is left, right, above, below
			t.Errorf("held as %d: the corner is red: %v", how, red)
		}
	}
}

func TestAPNGWithTextsIsWrittenAnew(t *testing.T) {
	t.Parallel()
	data := asPNG(t, painted(8, 8))
	chunk := []byte("tEXtAuthor\x00Somebody")
	var text []byte
	text = binary.BigEndian.AppendUint32(text, uint32(len(chunk)-4))
	text = append(text, chunk...)
	text = binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(chunk))
	const header = 33 // of the file and its first chunk
	marked := append(append(bytes.Clone(data[:header]), text...), data[header:]...)
	if p := read(t, marked); bytes.Contains(p.Data, []byte("Somebody")) {
		t.Error("the author is still in it")
	}
}

func TestWhatIsNoImageOrTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	whole := asPNG(t, painted(64, 64))
	bomb := bytes.Clone(whole)
	binary.BigEndian.PutUint32(bomb[16:], 29_000)
	binary.BigEndian.PutUint32(bomb[20:], 29_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	for name, c := range map[string]struct {
		data []byte
		kind core.Kind
		says string
	}{
		"empty":          {nil, core.Invalid, "no PNG"},
		"a text":         {[]byte("hello"), core.Invalid, "no PNG"},
		"an SVG":         {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), core.Invalid, "no PNG"},
		"cut off":        {whole[:len(whole)/2], core.Invalid, "damaged"},
		"only the mark":  {whole[:8], core.Invalid, "damaged"},
		"huge pixels":    {bomb, core.TooLarge, "29000 x 29000"},
		"too many bytes": {make([]byte, core.MaxImageBytes+1), core.TooLarge, "MB"},
	} {
		_, err := picture.New().Read(t.Context(), c.data)
		if core.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := picture.New().Read(gone, whole); err == nil {
		t.Error("read for somebody who left")
	}
}

// FuzzRead reads whatever bytes: what comes out is an image within the bounds, which reads as itself.
func FuzzRead(f *testing.F) {
	f.Add(asPNG(f, painted(9, 7)))
	f.Add(asJPEG(f, painted(9, 7)))
	f.Add(held(asJPEG(f, painted(9, 7)), 6))
	var b bytes.Buffer
	if err := gif.Encode(&b, painted(5, 5), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := picture.New()
		p, err := r.Read(t.Context(), data)
		if err != nil {
			if kind := core.KindOf(err); kind != core.Invalid && kind != core.TooLarge {
				t.Fatalf("%s: %v", kind, err)
			}
			return
		}
		if max(p.Width, p.Height) > core.MaxImageSide || p.Bytes > core.MaxKeptImage || p.Bytes != len(p.Data) {
			t.Fatalf("out of bounds: %+v", p.Image)
		}
		if _, err := r.Read(t.Context(), p.Data); err != nil {
			t.Fatalf("what was made cannot be read: %v", err)
		}
	})
}

// TestALargeFlatImageTakesLittleMoreThanItsPixels counts all that is allocated, so nothing runs beside it.
func TestALargeFlatImageTakesLittleMoreThanItsPixels(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	const side, most = 7900, 420 << 20
	flat := image.NewGray(image.Rect(0, 0, side, side))
	flat.SetGray(0, 0, color.Gray{Y: 255})
	var data bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&data, flat); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := picture.New().Read(t.Context(), data.Bytes())
	runtime.ReadMemStats(&after)
	if err != nil || p.Width != core.MaxImageSide || p.Height != core.MaxImageSide {
		t.Fatalf("%s, %v", p.String(), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("an image of %d MB of pixels took %d MB", side*side>>20, took>>20)
	}
	runtime.KeepAlive(flat)
}
