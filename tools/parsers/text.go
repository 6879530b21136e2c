package parsers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"loci/core"
	"loci/core/ingest"
)

// longLine is the length from which JSON is taken to be minified and laid out anew, so that its lines mean something.
const longLine = 1000

func (j *parseTask) text(kind core.FileKind) (core.Document, error) {
	text := decodeText(j.data)
	if len(text) > j.limits.Text {
		return core.Document{}, j.tooMuchText()
	}
	doc := core.Document{Text: text, Sections: ingest.Sections(kind, text)}
	if kind == core.FileMarkdown {
		for _, s := range doc.Sections {
			if len(s.Path) == 1 {
				doc.Title = s.Path[0]
				break
			}
		}
	}
	return doc, nil
}

func (j *parseTask) json() (core.Document, error) {
	text := decodeText(j.data)
	if longestLine(text) > longLine {
		var b bytes.Buffer
		if nested([]byte(text)) > j.limits.Depth {
			return core.Document{}, j.tooDeep()
		}
		if err := json.Indent(&b, []byte(text), "", "  "); err == nil {
			text = b.String()
		}
	}
	if len(text) > j.limits.Text {
		return core.Document{}, j.tooMuchText()
	}
	return core.Document{Text: text, Sections: ingest.Sections(core.FileJSON, text)}, nil
}

// nested returns how deep brackets nest: laying out deep nesting would square its size.
func nested(data []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

func longestLine(s string) int {
	longest := 0
	for line := range strings.SplitSeq(s, "\n") {
		longest = max(longest, len(line))
	}
	return longest
}

// decodeText returns bytes as UTF-8 with plain newlines: UTF-16 by its mark, what is no UTF-8 as Windows-1252, which
// every other single-byte text of western Europe agrees with in nearly all it uses.
func decodeText(data []byte) string {
	var s string
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		s = decodeUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		s = decodeUTF16(data[2:], binary.BigEndian)
	case utf8.Valid(data):
		s = strings.TrimPrefix(string(data), "\ufeff")
	default:
		s = single(charmap.Windows1252, data)
	}
	return cleanText(s)
}

func decodeUTF16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// single decodes bytes of a single-byte encoding.
func single(m *charmap.Charmap, data []byte) string {
	var b strings.Builder
	b.Grow(len(data))
	for _, c := range data {
		b.WriteRune(m.DecodeByte(c))
	}
	return b.String()
}

// cleanText ends lines by a newline and drops what no reader sees: NULs, control characters, broken bytes. Lines are those
// that other programs count: where there are newlines, nothing else ends one.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.ContainsRune(s, '\r') {
		alone := "\n"
		if strings.ContainsRune(s, '\n') {
			alone = " "
		}
		s = strings.NewReplacer("\r\n", "\n", "\r", alone).Replace(s)
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\f' || r == '\v':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufeff':
			return -1
		}
		return r
	}, s)
}
