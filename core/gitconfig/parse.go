package gitconfig

import (
	"strings"
	"unicode/utf8"

	"loci/core"
)

// The bounds of a configuration.
const (
	MostBytes    = 1 << 20
	mostSettings = 10_000
)

// Setting is one line of a configuration.
type Setting struct {
	Name  string // section, subsection if there is one, and key, with dots between; only a subsection has capitals
	Key   string // the key as it was written
	Value string // of a key without a value: true
}

// File is a configuration that was read.
type File struct {
	text     string
	sections []section
	settings []setting
}

type section struct {
	name      string // with a dot at its end
	from, to  int    // the header
	end       int    // where the next one begins
	commented bool
}

type setting struct {
	Setting
	section  int
	from, to int // with its indentation and the end of its line, where it has the line to itself
}

// Settings are all settings, in order.
func (f *File) Settings() []Setting {
	out := make([]Setting, len(f.settings))
	for i, s := range f.settings {
		out[i] = s.Setting
	}
	return out
}

// Values are what a setting holds, in order.
func (f *File) Values(name string) []string {
	var out []string
	for _, s := range f.settings {
		if s.Name == name {
			out = append(out, s.Value)
		}
	}
	return out
}

// Value is the last value of a setting, which is the one that git goes by; empty: there is none.
func (f *File) Value(name string) string {
	values := f.Values(name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// Parse reads a configuration.
func Parse(text string) (*File, error) {
	p := &parser{text: text, row: 1}
	switch {
	case len(text) > MostBytes:
		return nil, core.E(core.TooLarge, "the git configuration has %d bytes; at most %d are read", len(text), MostBytes)
	case !utf8.ValidString(text):
		return nil, p.fault("it is no UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f }):
		return nil, p.fault("it holds control characters")
	}
	if strings.HasPrefix(text, "\ufeff") {
		p.at = len("\ufeff")
	}
	for p.at < len(text) {
		if err := p.item(); err != nil {
			return nil, err
		}
	}
	if n := len(p.file.sections); n > 0 {
		p.file.sections[n-1].end = len(text)
	}
	p.file.text = text
	return &p.file, nil
}

type parser struct {
	text string
	at   int
	row  int
	file File
}

func (p *parser) fault(why string) error {
	return core.E(core.Invalid, "line %d of the git configuration can't be read: %s", p.row, why)
}

// peek is the next character: the end of the text is the end of a line, and so are both characters of a Windows line.
func (p *parser) peek() byte {
	if p.at >= len(p.text) || strings.HasPrefix(p.text[p.at:], "\r\n") {
		return '\n'
	}
	return p.text[p.at]
}

func (p *parser) next() byte {
	c := p.peek()
	if c == '\n' {
		p.row++
		if p.at < len(p.text) && p.text[p.at] == '\r' {
			p.at++
		}
	}
	p.at++
	return c
}

func (p *parser) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.next()
	}
}

// line goes to the end of a line.
func (p *parser) line() {
	for p.peek() != '\n' {
		p.next()
	}
	p.next()
}

func (p *parser) item() error {
	switch c := p.peek(); {
	case c == '\n' || c == ' ' || c == '\t':
		p.next()
		return nil
	case c == '#' || c == ';':
		if n := len(p.file.sections); n > 0 {
			p.file.sections[n-1].commented = true
		}
		p.line()
		return nil
	case c == '[':
		return p.header()
	case letter(c):
		return p.setting()
	}
	return p.fault("a setting begins with a letter, and a section with a bracket")
}

func (p *parser) header() error {
	s := section{from: p.at}
	p.next()
	start := p.at
	for c := p.peek(); letter(c) || digit(c) || c == '-' || c == '.'; c = p.peek() {
		p.next()
	}
	name := p.text[start:p.at]
	if name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		return p.fault("a section has no name")
	}
	s.name = strings.ToLower(name) + "."
	if c := p.peek(); c == ' ' || c == '\t' {
		sub, err := p.subsection()
		if err != nil {
			return err
		}
		s.name += sub + "."
	}
	if p.next() != ']' {
		return p.fault("the name of a section doesn't end")
	}
	s.to = p.at
	if n := len(p.file.sections); n > 0 {
		p.file.sections[n-1].end = s.from
	}
	p.file.sections = append(p.file.sections, s)
	return nil
}

func (p *parser) subsection() (string, error) {
	p.blanks()
	if p.next() != '"' {
		return "", p.fault("a subsection stands in quotes")
	}
	var sub strings.Builder
	for {
		switch c := p.next(); c {
		case '"':
			return sub.String(), nil
		case '\\':
			if c = p.next(); c != '"' && c != '\\' {
				return "", p.fault("a subsection has an escape that is none")
			}
			sub.WriteByte(c)
		case '\n', '\r':
			return "", p.fault("a subsection doesn't end on its line")
		default:
			sub.WriteByte(c)
		}
	}
}

func (p *parser) setting() error {
	n := len(p.file.sections)
	switch {
	case n == 0:
		return p.fault("a setting stands before the first section")
	case len(p.file.settings) >= mostSettings:
		return core.E(core.TooLarge, "the git configuration has more than %d settings", mostSettings)
	}
	s := setting{section: n - 1, from: p.at}
	for s.from > 0 && (p.text[s.from-1] == ' ' || p.text[s.from-1] == '\t') && s.from > p.file.sections[n-1].to {
		s.from--
	}
	start := p.at
	for c := p.peek(); letter(c) || digit(c) || c == '-'; c = p.peek() {
		p.next()
	}
	s.Key = p.text[start:p.at]
	s.Name = p.file.sections[n-1].name + strings.ToLower(s.Key)
	p.blanks()
	switch p.peek() {
	case '\n':
		s.Value = "true"
		p.next()
	case '=':
		p.next()
		value, err := p.value()
		if err != nil {
			return err
		}
		s.Value = value
	default:
		return p.fault("after the key of a setting comes an equals sign")
	}
	s.to = min(p.at, len(p.text))
	p.file.settings = append(p.file.settings, s)
	return nil
}

// value reads what follows an equals sign, with the end of the line.
func (p *parser) value() (string, error) {
	var value strings.Builder
	quoted, full := false, 0 // full: without blanks at the end that no quotes keep
	p.blanks()
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", p.fault("a quoted value doesn't end on its line")
		case c == '\n':
			return value.String()[:full], nil
		case c == '\r':
			return "", p.fault("it holds a carriage return that ends no line")
		case (c == '#' || c == ';') && !quoted:
			p.line()
			return value.String()[:full], nil
		case c == '"':
			quoted = !quoted
			full = value.Len()
		case c == '\\':
			if err := p.escape(&value); err != nil {
				return "", err
			}
			full = max(full, value.Len())
		case quoted || c != ' ' && c != '\t':
			value.WriteByte(c)
			full = value.Len()
		case value.Len() > 0:
			value.WriteByte(c)
		}
	}
}

func (p *parser) escape(value *strings.Builder) error {
	switch p.next() {
	case '\n':
		if p.at > len(p.text) {
			return p.fault("the last line goes on in none")
		}
	case 't':
		value.WriteByte('\t')
	case 'n':
		value.WriteByte('\n')
	case 'b':
		value.WriteByte('\b')
	case '\\':
		value.WriteByte('\\')
	case '"':
		value.WriteByte('"')
	default:
		return p.fault("a value has an escape that is none")
	}
	return nil
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
