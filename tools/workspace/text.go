package workspace

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"loci/core"
)

// encoding is how the text of a file is written as bytes.
type encoding struct {
	bom   string    // what it begins with
	order byteOrder // of UTF-16; nil: UTF-8
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func utf8Encoding() encoding { return encoding{} }

// encodings are those with a mark at the beginning.
func encodings() []encoding {
	return []encoding{
		{bom: "\xef\xbb\xbf"},
		{bom: "\xff\xfe", order: binary.LittleEndian},
		{bom: "\xfe\xff", order: binary.BigEndian},
	}
}

// sniffed is how much of a file tells whether it is text.
const sniffed = 8 << 10

// binaryKind says what a file is that holds no text; empty where it does.
func binaryKind(content []byte) string {
	head := content[:min(len(content), sniffed)]
	kind := http.DetectContentType(head)
	zero := bytes.IndexByte(head, 0) >= 0
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return "text in UTF-32"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return ""
	case zero && strings.HasPrefix(kind, "image/"): // "BM" begins texts too
		return "an image (" + strings.TrimPrefix(kind, "image/") + ")"
	case zero:
		return "binary"
	case strings.HasPrefix(kind, "application/pdf"):
		return "a PDF"
	default:
		return ""
	}
}

// decode reads the text of a file. It refuses what could not be written back as it was.
func decode(content []byte) (string, encoding, error) {
	if kind := binaryKind(content); kind != "" {
		return "", encoding{}, core.E(core.Invalid, "the file is %s, not text", kind)
	}
	for _, e := range encodings() {
		rest, ok := bytes.CutPrefix(content, []byte(e.bom))
		if !ok {
			continue
		}
		text := string(rest)
		if e.order != nil {
			text = decode16(rest, e.order)
		}
		if !bytes.Equal(e.encode(text), content) || !utf8.ValidString(text) {
			return "", e, core.E(core.Invalid, "the file's text is damaged: it is not all in the encoding that its beginning names")
		}
		return text, e, nil
	}
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return "", encoding{}, core.E(core.Invalid, "the file is neither in UTF-8 nor in UTF-16 with a mark at its beginning, and only "+
			"these can be changed without damage")
	}
	return string(content), utf8Encoding(), nil
}

func decode16(b []byte, order byteOrder) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) > 1; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units))
}

// encode writes a text as the file had it.
func (e encoding) encode(text string) []byte {
	out := []byte(e.bom)
	if e.order == nil {
		return append(out, text...)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = e.order.AppendUint16(out, unit)
	}
	return out
}

// lines is a text with its line ends as \n, and where they were \r\n.
type lines struct {
	text string
	crlf []int // offsets of those \n in text
}

func linesOf(raw string) lines {
	if !strings.Contains(raw, "\r\n") {
		return lines{text: raw}
	}
	l := lines{}
	var b strings.Builder
	for {
		at := strings.Index(raw, "\r\n")
		if at < 0 {
			break
		}
		b.WriteString(raw[:at])
		l.crlf = append(l.crlf, b.Len())
		b.WriteByte('\n')
		raw = raw[at+2:]
	}
	b.WriteString(raw)
	l.text = b.String()
	return l
}

// mostlyCRLF reports whether most lines end in \r\n.
func (l *lines) mostlyCRLF() bool { return 2*len(l.crlf) > strings.Count(l.text, "\n") }

// replace puts a text in place of another; its lines end as those that it replaces, else as most of the file's.
func (l *lines) replace(from, to int, with string) {
	first, _ := slices.BinarySearch(l.crlf, from)
	behind, _ := slices.BinarySearch(l.crlf, to)
	windows := l.mostlyCRLF()
	if n := strings.Count(l.text[from:to], "\n"); n > 0 {
		windows = behind > first
	}
	with = strings.ReplaceAll(with, "\r\n", "\n")
	var added []int
	if windows {
		for i := range len(with) {
			if with[i] == '\n' {
				added = append(added, from+i)
			}
		}
	}
	rest := slices.Clone(l.crlf[behind:])
	for i := range rest {
		rest[i] += len(with) - (to - from)
	}
	l.crlf = slices.Concat(l.crlf[:first], added, rest)
	l.text = l.text[:from] + with + l.text[to:]
}

// raw is the text with its line ends as they were.
func (l *lines) raw() string {
	if len(l.crlf) == 0 {
		return l.text
	}
	var b strings.Builder
	from := 0
	for _, at := range l.crlf {
		b.WriteString(l.text[from:at] + "\r")
		from = at
	}
	b.WriteString(l.text[from:])
	return b.String()
}
