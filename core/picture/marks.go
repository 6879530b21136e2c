package picture

import (
	"bytes"
	"encoding/binary"
	"image"

	"loci/core"
)

// What a camera writes into a file: where it was held, and how.
const (
	exifHead       = "Exif\x00\x00"
	tagOrientation = 0x0112
	maxTags        = 200
)

// plainPNG reports whether a PNG holds no chunk that tells of its origin.
func plainPNG(data []byte) bool {
	const header, frame = 8, 12 // of the file; of a chunk: its length, name and checksum
	for at := header; at+frame <= len(data); {
		size := int(binary.BigEndian.Uint32(data[at:]))
		switch string(data[at+4 : at+8]) {
		case "eXIf", "tEXt", "iTXt", "zTXt":
			return false
		case "IEND":
			return at+frame == len(data) // nothing hangs behind it
		}
		at += frame + size
	}
	return false
}

// plainJPEG reports whether a JPEG has no segment that tells of its origin.
func plainJPEG(data []byte) bool {
	plain := true
	segments(data, func(marker byte, body []byte) bool {
		switch marker {
		case 0xe1, 0xed, 0xfe: // EXIF and XMP, IPTC, a comment
			plain = false
		}
		return plain
	})
	return plain
}

// segments calls visit with each segment of a JPEG before its pixels, until that returns false.
func segments(data []byte, visit func(marker byte, body []byte) bool) {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff { // a filling byte
			at++
			continue
		}
		size := int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || size < 2 || at+2+size > len(data) || !visit(marker, data[at+4:at+2+size]) {
			return
		}
		at += 2 + size
	}
}

// orientation returns how the camera was held, 1 to 8 as EXIF counts; 1 where nothing says so.
func orientation(data []byte) int {
	if !bytes.HasPrefix(data, []byte("\xff\xd8")) {
		return 1
	}
	out := 1
	segments(data, func(marker byte, body []byte) bool {
		rest, ok := bytes.CutPrefix(body, []byte(exifHead))
		if marker != 0xe1 || !ok {
			return true
		}
		out = orientationTag(rest)
		return false
	})
	return out
}

// orientationTag reads the tag of a TIFF header.
func orientationTag(tiff []byte) int {
	const head, count, entry = 8, 2, 12 // bytes
	if len(tiff) < head {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+count > int64(len(tiff)) {
		return 1
	}
	n := int(order.Uint16(tiff[at:]))
	for i := range min(n, maxTags) {
		e := at + count + int64(i)*entry
		if e+entry > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[e:]) == tagOrientation {
			if v := int(order.Uint16(tiff[e+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}

// upright turns an image as its camera was held.
func upright(img image.Image, how int) image.Image {
	if how == 1 {
		return img
	}
	img = within(img, core.MaxImageSide)
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	ow, oh := w, h
	if how >= 5 {
		ow, oh = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, ow, oh))
	for y := range oh {
		for x := range ow {
			sx, sy := x, y
			switch how {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, h-1-x
			case 7:
				sx, sy = w-1-y, h-1-x
			case 8:
				sx, sy = w-1-y, x
			}
			out.Set(x, y, img.At(b.Min.X+sx, b.Min.Y+sy))
		}
	}
	return out
}
