package pysource

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// opening splits what a string begins with: its prefix in lower case and its quotes.
func opening(s string) (prefix, quotes string) {
	i := strings.IndexAny(s, `"'`)
	prefix, quotes = strings.ToLower(s[:i]), s[i:i+1]
	if strings.HasPrefix(s[i:], strings.Repeat(quotes, 3)) {
		quotes = s[i : i+3]
	}
	return prefix, quotes
}

// stringEnd returns where the string ends that begins at a position.
func (s *scanner) stringEnd(start, depth int) (int, error) {
	prefix, quotes := opening(s.src[start:])
	formatted, raw := strings.ContainsAny(prefix, "ft"), strings.Contains(prefix, "r")
	for i := start + len(prefix) + len(quotes); i < len(s.src); {
		rest := s.src[i:]
		switch {
		case strings.HasPrefix(rest, quotes):
			return i + len(quotes), nil
		case formatted && !raw && strings.HasPrefix(rest, `\N{`):
			close := strings.IndexByte(rest, '}')
			if close < 0 {
				return 0, s.endless(start)
			}
			i += close + 1
		case rest[0] == '\\':
			if formatted && len(rest) > 1 && rest[1] == '{' {
				i++
			} else {
				i += 2
			}
		case rest[0] == '\n' && len(quotes) == 1:
			return 0, s.endless(start)
		case formatted && strings.HasPrefix(rest, "{{"):
			i += 2
		case formatted && rest[0] == '{':
			next, err := s.fieldEnd(i+1, quotes, depth+1)
			if err != nil {
				return 0, err
			}
			i = next
		default:
			i++
		}
	}
	return 0, s.endless(start)
}

func (s *scanner) endless(start int) error {
	line := s.line
	if start > s.pos {
		line += strings.Count(s.src[s.pos:start], "\n")
	}
	return at(line, "a string does not end")
}

// fieldEnd returns where a replacement field of an f-string ends, behind its brace.
func (s *scanner) fieldEnd(i int, quotes string, depth int) (int, error) {
	if depth > maxBrackets {
		return 0, at(s.line, "more than %d brackets within each other", maxBrackets)
	}
	start, open := i, 0
	for i < len(s.src) {
		c := s.src[i]
		switch {
		case c == '"' || c == '\'':
			next, err := s.stringEnd(s.prefixed(start, i), depth)
			if err != nil {
				return 0, err
			}
			i = next
			continue
		case c == '(' || c == '[' || c == '{':
			open++
		case c == '}' && open == 0:
			return i + 1, nil
		case c == ')' || c == ']' || c == '}':
			open--
		case c == ':' && open == 0:
			return s.formatEnd(i+1, quotes, depth)
		case c == '#':
			for i < len(s.src) && s.src[i] != '\n' {
				i++
			}
			continue
		}
		i++
	}
	return 0, s.endless(start)
}

// prefixed returns where the prefix begins of a string whose quotes stand at a position.
func (s *scanner) prefixed(start, quotes int) int {
	i := quotes
	for i > start && quotes-i < 2 && strings.IndexByte("rubftRUBFT", s.src[i-1]) >= 0 {
		i--
	}
	if i > start && isName(rune(s.src[i-1]), false) {
		return quotes // they belong to a longer word
	}
	return i
}

// formatEnd returns where a field ends from its format on.
func (s *scanner) formatEnd(i int, quotes string, depth int) (int, error) {
	start := i
	for i < len(s.src) {
		switch c := s.src[i]; {
		case c == '{':
			next, err := s.fieldEnd(i+1, quotes, depth+1)
			if err != nil {
				return 0, err
			}
			i = next
			continue
		case c == '}':
			return i + 1, nil
		case strings.HasPrefix(s.src[i:], quotes), c == '\n' && len(quotes) == 1:
			return 0, s.endless(start)
		}
		i++
	}
	return 0, s.endless(start)
}

// unquote returns the value of a string token; false: it is none of constant text.
func unquote(word string) (string, bool) {
	prefix, quotes := opening(word)
	if strings.ContainsAny(prefix, "bft") {
		return "", false
	}
	body := word[len(prefix)+len(quotes) : len(word)-len(quotes)]
	if strings.Contains(prefix, "r") || !strings.Contains(body, `\`) {
		return body, true
	}
	var b strings.Builder
	for len(body) > 0 {
		i := strings.IndexByte(body, '\\')
		if i < 0 {
			b.WriteString(body)
			break
		}
		b.WriteString(body[:i])
		value, size := escape(body[i:])
		b.WriteString(value)
		body = body[i+size:]
	}
	return b.String(), true
}

// simple are escapes of one character.
var simple = sync.OnceValue(func() map[byte]string {
	return map[byte]string{
		'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
	}
})

// escape reads one escape. One that is unknown, or has a name, stays as it is written.
func escape(s string) (value string, size int) {
	if len(s) < 2 {
		return s, len(s)
	}
	if v, ok := simple()[s[1]]; ok {
		return v, 2
	}
	digits, base, from := 0, 16, 2
	switch s[1] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0', '1', '2', '3', '4', '5', '6', '7':
		base, from = 8, 1
		for digits < 3 && from+digits < len(s) && s[from+digits] >= '0' && s[from+digits] <= '7' {
			digits++
		}
	default:
		return s[:1], 1
	}
	if len(s) < from+digits {
		return s[:1], 1
	}
	n, err := strconv.ParseUint(s[from:from+digits], base, 32)
	if err != nil {
		return s[:1], 1
	}
	if r := rune(n); n <= utf8.MaxRune && utf8.ValidRune(r) {
		return string(r), from + digits
	}
	return "\ufffd", from + digits // half of a pair is no text
}
