package engine

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// argScanner reads a JSON object while it comes and tells the text values at its top level piece by piece. It never
// fails: text that is not JSON tells nothing more.
type argScanner struct {
	depth   int
	inText  bool
	isKey   bool   // the text being read is a key of the top object
	key     []byte // the current key
	expect  bool   // a value of the current key comes next
	escape  []byte // a started escape sequence, or the first bytes of a rune
	high    rune   // the first half of a surrogate pair
	pending []byte // decoded bytes not told yet
}

// feed takes the next piece and calls tell for every decoded piece of a top-level text value.
func (s *argScanner) feed(piece string, tell func(key, text string)) {
	for i := range len(piece) {
		s.byte(piece[i], tell)
	}
	s.flush(tell)
}

func (s *argScanner) byte(c byte, tell func(key, text string)) {
	if s.inText {
		s.textByte(c, tell)
		return
	}
	switch c {
	case '{', '[':
		s.depth++
		s.expect = false
	case '}', ']':
		s.depth--
		s.expect = false
	case '"':
		s.inText = true
		s.isKey = s.depth == 1 && !s.expect
		if s.isKey {
			s.key = s.key[:0]
		}
	case ':':
		s.expect = s.depth == 1
	case ',':
		s.expect = false
	}
}

func (s *argScanner) textByte(c byte, tell func(key, text string)) {
	switch {
	case len(s.escape) > 0:
		s.escaped(c)
	case c == '\\':
		s.escape = append(s.escape, c)
	case c == '"':
		s.lone()
		s.flush(tell)
		s.inText = false
		if !s.isKey {
			s.expect = false
		}
	default:
		s.lone()
		s.put(c)
	}
}

// put adds a byte of the key or of a top-level value; texts deeper down are passed over.
func (s *argScanner) put(bytes ...byte) {
	switch {
	case s.isKey:
		s.key = append(s.key, bytes...)
	case s.depth == 1 && s.expect:
		s.pending = append(s.pending, bytes...)
	}
}

func (s *argScanner) escaped(c byte) {
	s.escape = append(s.escape, c)
	if s.escape[1] != 'u' {
		s.escape = s.escape[:0]
		s.lone()
		s.put(plainEscape(c))
		return
	}
	if len(s.escape) < 6 {
		return
	}
	n, err := strconv.ParseUint(string(s.escape[2:]), 16, 32)
	s.escape = s.escape[:0]
	if err != nil {
		n = utf8.RuneError
	}
	r := rune(n)
	switch {
	case s.high != 0 && utf16.IsSurrogate(r):
		pair := utf16.DecodeRune(s.high, r)
		s.high = 0
		s.put(utf8.AppendRune(nil, pair)...)
	case utf16.IsSurrogate(r):
		s.lone()
		s.high = r
	default:
		s.lone()
		s.put(utf8.AppendRune(nil, r)...)
	}
}

// lone writes the mark of half a surrogate pair that stayed alone.
func (s *argScanner) lone() {
	if s.high != 0 {
		s.high = 0
		s.put(utf8.AppendRune(nil, utf8.RuneError)...)
	}
}

func plainEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	default:
		return c
	}
}

// flush tells what is decoded, up to the last whole rune.
func (s *argScanner) flush(tell func(key, text string)) {
	n := len(s.pending)
	for back := 1; back <= min(utf8.UTFMax, n); back++ {
		if c := s.pending[n-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(s.pending[n-back:]) {
				n -= back
			}
			break
		}
	}
	if n == 0 {
		return
	}
	tell(string(s.key), string(s.pending[:n]))
	s.pending = append(s.pending[:0], s.pending[n:]...)
}
