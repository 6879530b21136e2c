package pysource

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"loci/core"
)

type kind uint8

const (
	end kind = iota
	name
	number
	text // a string, bytes or an f-string
	op
	newline
	indent
	dedent
)

// token is a word of the source.
type token struct {
	kind kind
	text string // as it is written; of a name, in NFKC
	line int
}

func (t token) is(s string) bool { return (t.kind == op || t.kind == name) && t.text == s }

// scanner splits a source into tokens. Comments and line breaks inside of brackets are none.
type scanner struct {
	src      string
	pos      int
	line     int
	tokens   []token
	brackets []byte
	indents  []int
}

// tokenize reads a whole source.
func tokenize(source []byte) ([]token, error) {
	src, err := decode(source)
	if err != nil {
		return nil, err
	}
	s := &scanner{src: src, line: 1, indents: []int{0}}
	for s.pos < len(s.src) {
		if len(s.brackets) == 0 && (len(s.tokens) == 0 || s.last().kind == newline || s.last().kind == dedent) {
			if blank, err := s.margin(); err != nil {
				return nil, err
			} else if blank {
				continue
			}
		}
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	if len(s.brackets) > 0 {
		return nil, at(s.line, "the source ends inside of a bracket %q", s.brackets[len(s.brackets)-1])
	}
	if len(s.tokens) > 0 && s.last().kind != newline {
		s.add(newline, "")
	}
	for range s.indents[1:] {
		s.add(dedent, "")
	}
	s.add(end, "")
	return s.tokens, nil
}

// cookie is how a source names its encoding, in one of its first two lines.
var cookie = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`) })

// decode returns a source with one kind of line end.
func decode(source []byte) (string, error) {
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	switch {
	case len(source) > MaxBytes:
		return "", core.E(core.TooLarge, "the source has %d bytes; at most %d are read", len(source), MaxBytes)
	case bytes.IndexByte(source, 0) >= 0:
		return "", core.E(core.Invalid, "the source holds a NUL byte")
	case !utf8.Valid(source):
		return "", core.E(core.Invalid, "the source is not valid UTF-8")
	}
	src := strings.ReplaceAll(strings.ReplaceAll(string(source), "\r\n", "\n"), "\r", "\n")
	for i, line := range strings.SplitN(src, "\n", 3) {
		found := cookie().FindStringSubmatch(line)
		if i == 2 || found == nil {
			continue
		}
		switch strings.ToLower(strings.ReplaceAll(found[1], "_", "-")) {
		case "utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii":
		default:
			return "", at(i+1, "the source calls itself %s; only UTF-8 is read", clip(found[1]))
		}
	}
	return src, nil
}

func (s *scanner) last() token { return s.tokens[len(s.tokens)-1] }

func (s *scanner) add(k kind, text string) { s.tokens = append(s.tokens, token{k, text, s.line}) }

// margin reads what a line begins with. A line without a word is blank, and has no margin.
func (s *scanner) margin() (blank bool, err error) {
	column := 0
	for ; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case ' ':
			column++
			continue
		case '\t':
			column += 8 - column%8
			continue
		case '\f':
			column = 0
			continue
		case '#':
			s.comment()
		}
		break
	}
	if s.pos == len(s.src) {
		return true, nil
	}
	if s.src[s.pos] == '\n' {
		s.pos++
		s.line++
		return true, nil
	}
	if column > s.indents[len(s.indents)-1] {
		if s.indents = append(s.indents, column); len(s.indents) > maxIndents {
			return false, at(s.line, "more than %d levels of indentation", maxIndents)
		}
		s.add(indent, "")
	}
	for column < s.indents[len(s.indents)-1] {
		s.indents = s.indents[:len(s.indents)-1]
		s.add(dedent, "")
	}
	if column != s.indents[len(s.indents)-1] {
		return false, at(s.line, "the indentation fits no line above")
	}
	return false, nil
}

func (s *scanner) comment() {
	for s.pos < len(s.src) && s.src[s.pos] != '\n' {
		s.pos++
	}
}

// next reads one token, or what is between tokens.
func (s *scanner) next() error {
	c := s.src[s.pos]
	switch {
	case c == '\n':
		if len(s.brackets) == 0 && s.last().kind != newline {
			s.add(newline, "")
		}
		s.pos++
		s.line++
	case c == ' ' || c == '\t' || c == '\f':
		s.pos++
	case c == '#':
		s.comment()
	case c == '\\' && strings.HasPrefix(s.src[s.pos:], "\\\n"):
		s.pos += 2
		s.line++
	case c == '"' || c == '\'':
		return s.quoted(s.pos)
	case c >= '0' && c <= '9', c == '.' && s.pos+1 < len(s.src) && s.src[s.pos+1] >= '0' && s.src[s.pos+1] <= '9':
		s.number()
	case isName(rune(c), true) || c >= utf8.RuneSelf:
		return s.name()
	default:
		return s.operator()
	}
	return nil
}

// isName reports whether a character may stand in a name, at its beginning or later.
func isName(r rune, first bool) bool {
	switch {
	case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return true
	case r >= '0' && r <= '9':
		return !first
	case r < utf8.RuneSelf:
		return false
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || !first && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}

// prefixes are what may stand before a string.
var prefixes = []string{"r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt"}

func (s *scanner) name() error {
	start := s.pos
	for s.pos < len(s.src) {
		r, size := utf8.DecodeRuneInString(s.src[s.pos:])
		if !isName(r, s.pos == start) {
			break
		}
		s.pos += size
	}
	word := s.src[start:s.pos]
	switch {
	case word == "":
		r, size := utf8.DecodeRuneInString(s.src[s.pos:])
		s.pos += size
		s.add(op, string(r)) // it is an error in Python, or newer than this
		return nil
	case s.pos < len(s.src) && (s.src[s.pos] == '"' || s.src[s.pos] == '\'') && slices.Contains(prefixes, strings.ToLower(word)):
		return s.quoted(start)
	}
	s.add(name, norm.NFKC.String(word)) // as Python compares them
	return nil
}

func (s *scanner) number() {
	start := s.pos
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		exponent := (c == '+' || c == '-') && (s.src[s.pos-1] == 'e' || s.src[s.pos-1] == 'E') &&
			!strings.HasPrefix(strings.ToLower(s.src[start:s.pos]), "0x")
		if c != '.' && !exponent && (c >= utf8.RuneSelf || !isName(rune(c), false)) {
			break
		}
		s.pos++
	}
	s.add(number, s.src[start:s.pos])
}

// operators of more than one character.
var operators = []string{
	"**=", "//=", ">>=", "<<=", "...", "->", ":=", "**", "//", ">>", "<<", "<=", ">=", "==", "!=",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=",
}

// closing returns the bracket that closes one; 0: it is none.
func closing(open byte) byte {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	}
	return 0
}

func (s *scanner) operator() error {
	for _, o := range operators {
		if strings.HasPrefix(s.src[s.pos:], o) {
			s.add(op, o)
			s.pos += len(o)
			return nil
		}
	}
	c := s.src[s.pos]
	switch c {
	case '(', '[', '{':
		if s.brackets = append(s.brackets, c); len(s.brackets) > maxBrackets {
			return at(s.line, "more than %d brackets within each other", maxBrackets)
		}
	case ')', ']', '}':
		last := len(s.brackets) - 1
		if last < 0 || closing(s.brackets[last]) != c {
			return at(s.line, "a bracket %q closes none", c)
		}
		s.brackets = s.brackets[:last]
	}
	s.add(op, string(rune(c)))
	s.pos++
	return nil
}

// quoted reads a string with its prefix.
func (s *scanner) quoted(start int) error {
	stop, err := s.stringEnd(start, 0)
	if err != nil {
		return err
	}
	word := s.src[start:stop]
	s.add(text, word)
	s.line += strings.Count(word, "\n")
	s.pos = stop
	return nil
}
