package parsers

import (
	"iter"
	"strings"
	"unicode/utf16"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
	"golang.org/x/text/encoding/charmap"
)

// pdfFont says what the bytes of a string mean and how wide they are.
type pdfFont struct {
	wide     bool // codes have two bytes
	unicode  bool // codes are UTF-16 themselves
	toText   map[uint16]string
	encoding *[256]string
	widths   map[uint16]float64 // in thousandths of the size
	width    float64            // of what widths does not name; negative: guess
}

// font returns the font that an entry of the resources names; a broken one decodes to nothing.
func (r *pdfReader) font(o types.Object) *pdfFont {
	number := -1
	if ref, ok := o.(types.IndirectRef); ok {
		number = ref.ObjectNumber.Value()
		if f := r.fonts[number]; f != nil {
			return f
		}
	}
	d := r.dict(o)
	if d == nil {
		return nil
	}
	f := r.readFont(d)
	if number >= 0 {
		r.fonts[number] = f
	}
	return f
}

func (r *pdfReader) readFont(d types.Dict) *pdfFont {
	f := &pdfFont{widths: map[uint16]float64{}, width: -1}
	sub := r.name(d["Subtype"])
	if sub == "Type0" {
		f.wide = true
		name := r.name(d["Encoding"])
		f.unicode = strings.HasPrefix(name, "Uni") && (strings.Contains(name, "UCS2") || strings.Contains(name, "UTF16"))
		if below := r.array(d["DescendantFonts"]); len(below) > 0 {
			r.cidWidths(f, r.dict(below[0]))
		}
	} else {
		f.encoding = r.encoding(d, sub)
		r.simpleWidths(f, d, sub)
	}
	if _, ok := r.get(d["ToUnicode"]).(types.StreamDict); ok {
		// A map that cannot be read leaves the encoding to speak.
		if data, err := r.stream(d["ToUnicode"]); err == nil {
			f.toText = readCMap(data)
		}
	}
	return f
}

func (r *pdfReader) simpleWidths(f *pdfFont, d types.Dict, sub string) {
	scale := 1.0
	if sub == "Type3" {
		if m := r.array(d["FontMatrix"]); len(m) == 6 {
			scale = r.number(m[0], 0.001) * 1000
		}
	}
	first := int(r.number(d["FirstChar"], 0))
	for i, w := range r.array(d["Widths"]) {
		if code := first + i; code >= 0 && code < 256 {
			f.widths[uint16(code)] = r.number(w, 0) * scale
		}
	}
	if strings.Contains(r.name(d["BaseFont"]), "Courier") {
		f.width = 600
	}
	if desc := r.dict(d["FontDescriptor"]); desc != nil && len(f.widths) > 0 {
		f.width = r.number(desc["MissingWidth"], 0)
	}
}

// cidWidths reads [first [w w w] first last w …].
func (r *pdfReader) cidWidths(f *pdfFont, d types.Dict) {
	f.width = r.number(d["DW"], 1000)
	w := r.array(d["W"])
	for i := 0; i+1 < len(w); {
		first := int(r.number(w[i], -1))
		if list := r.array(w[i+1]); list != nil {
			for k, v := range list {
				if code := first + k; code >= 0 && code < 1<<16 {
					f.widths[uint16(code)] = r.number(v, 0)
				}
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			return
		}
		last, v := int(r.number(w[i+1], -1)), r.number(w[i+2], 0)
		for code := max(first, 0); code <= min(last, 1<<16-1); code++ {
			f.widths[uint16(code)] = v
		}
		i += 3
	}
}

// encoding builds the table of a simple font: what its base says, changed by its differences.
func (r *pdfReader) encoding(d types.Dict, sub string) *[256]string {
	base := ""
	var differences types.Array
	switch e := r.get(d["Encoding"]).(type) {
	case types.Name:
		base = string(e)
	case types.Dict:
		base = r.name(e["BaseEncoding"])
		differences = r.array(e["Differences"])
	}
	table := baseEncoding(base, sub == "TrueType")
	code := 0
	for _, o := range differences {
		switch v := r.get(o).(type) {
		case types.Integer:
			code = int(v)
		case types.Name:
			if code >= 0 && code < 256 {
				table[code] = glyphText(string(v))
			}
			code++
		}
	}
	return table
}

func baseEncoding(name string, trueType bool) *[256]string {
	var t [256]string
	m := charmap.Windows1252
	if name == "MacRomanEncoding" {
		m = charmap.Macintosh
	}
	for i := 32; i < 256; i++ {
		if r := m.DecodeByte(byte(i)); r != '\ufffd' && (r < 0x7f || r >= 0xa0) {
			t[i] = string(r)
		}
	}
	if name == "" && !trueType || name == "StandardEncoding" {
		for i := 0x80; i < 256; i++ {
			t[i] = ""
		}
		t['\''], t['`'] = "’", "‘"
		for code, text := range standardHigh() {
			t[code] = text
		}
	}
	return &t
}

// glyph is what one code of a string stands for.
type glyph struct {
	text    string
	width   float64 // its own, as a share of the font's size
	widened bool    // by word spacing
}

// blank reports a space of any kind.
func (g glyph) blank() bool { return g.text != "" && strings.TrimSpace(g.text) == "" }

// glyphs yields the glyphs of a string.
func (f *pdfFont) glyphs(s string) iter.Seq[glyph] {
	step := 1
	if f.wide {
		step = 2
	}
	return func(yield func(glyph) bool) {
		for i := 0; i+step <= len(s); i += step {
			code := uint16(s[i])
			if f.wide {
				code = code<<8 | uint16(s[i+1])
			}
			text := f.textOf(code)
			if f.unicode && utf16.IsSurrogate(rune(code)) && i+4 <= len(s) {
				low := uint16(s[i+2])<<8 | uint16(s[i+3])
				if r := utf16.DecodeRune(rune(code), rune(low)); r != '\ufffd' {
					text = string(r)
					i += 2
				}
			}
			if !yield(glyph{text: text, width: f.widthOf(code, text) / 1000, widened: !f.wide && code == ' '}) {
				return
			}
		}
	}
}

func (f *pdfFont) textOf(code uint16) string {
	if t, ok := f.toText[code]; ok {
		return t
	}
	switch {
	case f.unicode && !utf16.IsSurrogate(rune(code)):
		return string(rune(code))
	case f.encoding != nil && code < 256:
		return f.encoding[code]
	}
	return ""
}

func (f *pdfFont) widthOf(code uint16, text string) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	if f.width >= 0 {
		return f.width
	}
	// One of the fonts that every reader has, and whose widths a file need not give: close to Helvetica's.
	switch {
	case text == "":
		return 0
	case strings.ContainsAny(text, " iljtfrI.,:;'|!()[]/-"):
		return 280
	case strings.ContainsAny(text, "mwMW@%"):
		return 850
	case text[0] >= 'A' && text[0] <= 'Z':
		return 690
	}
	return 550
}

// The bounds of a character map.
const (
	maxCMapEntries = 1 << 17
	maxCMapText    = 64 // bytes that one code stands for
)

// readCMap reads the map from codes to text. Longer codes than two bytes are not used for text.
func readCMap(data []byte) map[uint16]string {
	m := map[uint16]string{}
	lex := lexer{data: data}
	var args []operand
	for {
		tok, ok := lex.next(0)
		if !ok {
			return m
		}
		if tok.kind != opKeyword {
			if len(args) < 3*256 {
				args = append(args, tok)
			}
			continue
		}
		switch tok.str {
		case "endbfchar":
			for i := 0; i+1 < len(args) && len(m) < maxCMapEntries; i += 2 {
				m[codeOf(args[i].str)] = utf16Text(args[i+1].str)
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				cmapRange(m, codeOf(args[i].str), codeOf(args[i+1].str), args[i+2])
			}
		}
		args = args[:0]
	}
}

func cmapRange(m map[uint16]string, first, last uint16, to operand) {
	if to.kind == opArray {
		for k, t := range to.list {
			if code := int(first) + k; code <= int(last) && len(m) < maxCMapEntries {
				m[uint16(code)] = utf16Text(t.str)
			}
		}
		return
	}
	units := []rune(utf16Text(to.str))
	if len(units) == 0 {
		return
	}
	for code := int(first); code <= int(last) && len(m) < maxCMapEntries; code++ {
		m[uint16(code)] = string(units)
		units[len(units)-1]++
	}
}

func codeOf(s string) uint16 {
	var v uint16
	for i := range len(s) {
		v = v<<8 | uint16(s[i])
	}
	return v
}

func utf16Text(s string) string {
	s = s[:min(len(s), maxCMapText)]
	units := make([]uint16, 0, len(s)/2)
	for ; len(s) >= 2; s = s[2:] {
		units = append(units, uint16(s[0])<<8|uint16(s[1]))
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}
