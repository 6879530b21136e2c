package parsers

import (
	"bytes"
	"strconv"
)

// The kinds of operands in a content stream.
const (
	opKeyword = iota
	opNumber
	opString
	opName
	opArray
	opOther
)

type operand struct {
	kind int
	num  float64
	str  string
	list []operand
}

// maxNesting bounds arrays within arrays in a content stream, where none are needed.
const maxNesting = 8

// lexer reads the tokens of a content stream or a character map. It never fails: what makes no sense is skipped.
type lexer struct {
	data []byte
	at   int
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

// next returns the next token; false at the end.
func (l *lexer) next(depth int) (operand, bool) {
	for l.at < len(l.data) {
		c := l.data[l.at]
		switch {
		case isBlank(c):
			l.at++
		case c == '%':
			if end := bytes.IndexAny(l.data[l.at:], "\r\n"); end >= 0 {
				l.at += end
			} else {
				l.at = len(l.data)
			}
		default:
			return l.token(c, depth), true
		}
	}
	return operand{}, false
}

func (l *lexer) token(c byte, depth int) operand {
	switch c {
	case '(':
		return operand{kind: opString, str: l.literal()}
	case '<':
		if l.at+1 < len(l.data) && l.data[l.at+1] == '<' {
			l.at += 2
			return operand{kind: opOther, str: "<<"}
		}
		return operand{kind: opString, str: l.hex()}
	case '[':
		l.at++
		if depth >= maxNesting { // too deep to mean anything
			return operand{kind: opOther, str: "["}
		}
		return l.array(depth)
	case '/':
		l.at++
		return operand{kind: opName, str: l.name()}
	case ']', '{', '}', ')', '>':
		l.at++
		return operand{kind: opOther, str: string(rune(c))}
	}
	word := l.word()
	if f, err := strconv.ParseFloat(word, 64); err == nil && (word[0] <= '9') {
		return operand{kind: opNumber, num: f}
	}
	if word == "ID" {
		l.skipImage()
	}
	return operand{kind: opKeyword, str: word}
}

func (l *lexer) word() string {
	start := l.at
	for l.at < len(l.data) && !isBlank(l.data[l.at]) && !isDelimiter(l.data[l.at]) {
		l.at++
	}
	return string(l.data[start:l.at])
}

// name reads a name behind its slash, with #xx undone.
func (l *lexer) name() string {
	word := l.word()
	if !bytes.Contains([]byte(word), []byte("#")) {
		return word
	}
	var out []byte
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if v, err := strconv.ParseUint(word[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, word[i])
	}
	return string(out)
}

func (l *lexer) array(depth int) operand {
	a := operand{kind: opArray}
	for {
		tok, ok := l.next(depth + 1)
		if !ok || tok.kind == opOther && tok.str == "]" {
			return a
		}
		if tok.kind == opNumber || tok.kind == opString || tok.kind == opArray {
			a.list = append(a.list, tok)
		}
	}
}

// literal reads (text) with its escapes and balanced parentheses.
func (l *lexer) literal() string {
	var out []byte
	depth := 0
	for ; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		switch c {
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				l.at++
				return string(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// escape reads what follows a backslash and leaves l.at on its last byte.
func (l *lexer) escape(out []byte) []byte {
	if l.at+1 >= len(l.data) {
		return out
	}
	l.at++
	switch c := l.data[l.at]; c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b', 'f':
		return append(out, ' ')
	case '\r':
		if l.at+1 < len(l.data) && l.data[l.at+1] == '\n' {
			l.at++
		}
		return out
	case '\n':
		return out
	case '0', '1', '2', '3', '4', '5', '6', '7':
		v := 0
		for n := 0; n < 3 && l.at < len(l.data) && l.data[l.at] >= '0' && l.data[l.at] <= '7'; n++ {
			v = v*8 + int(l.data[l.at]-'0')
			l.at++
		}
		l.at--
		return append(out, byte(v))
	default:
		return append(out, c)
	}
}

// hex reads <hex digits>.
func (l *lexer) hex() string {
	var out []byte
	high, half := byte(0), false
	for l.at++; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		var v byte
		switch {
		case c == '>':
			l.at++
			if half {
				out = append(out, high<<4)
			}
			return string(out)
		case c >= '0' && c <= '9':
			v = c - '0'
		case c >= 'a' && c <= 'f':
			v = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			v = c - 'A' + 10
		default:
			continue
		}
		if half {
			out = append(out, high<<4|v)
		}
		high, half = v, !half
	}
	return string(out)
}

// skipImage leaves the data of an inline image behind.
func (l *lexer) skipImage() {
	for i := l.at; ; {
		end := bytes.Index(l.data[i:], []byte("EI"))
		if end < 0 {
			l.at = len(l.data)
			return
		}
		i += end
		before := i == 0 || isBlank(l.data[i-1])
		after := i+2 >= len(l.data) || isBlank(l.data[i+2])
		if before && after {
			l.at = i + 2
			return
		}
		i += 2
	}
}
