package arguments

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"loci/core"
)

// The bounds of arguments.
const (
	maxText  = 8 << 20
	maxDepth = 64
)

// Text is the text of a call's arguments, as it can be used.
type Text struct {
	JSON   string // an object
	Mended string // how it was broken, in words; empty: it wasn't
}

// Read returns the arguments of a call. Text that is broken in one of the known ways is mended; one that is broken in any
// other way, or that could be mended in two, is invalid.
func Read(text string) (Text, error) {
	if len(text) > maxText {
		return Text{}, core.E(core.TooLarge, "the arguments have more than %d characters", maxText)
	}
	if depth(text) > maxDepth {
		return Text{}, core.E(core.Invalid, "the arguments are nested more than %d deep", maxDepth)
	}
	_, err := core.ParseArguments(text)
	if err == nil {
		return Text{JSON: text}, nil
	}
	var found []Text
	for _, m := range menders {
		mended, ok := m.mend(text)
		if !ok || !isObject(mended) {
			continue
		}
		found = append(found, Text{JSON: mended, Mended: m.fault})
	}
	if len(found) != 1 {
		return Text{}, err
	}
	return found[0], nil
}

// depth returns how deep brackets open within each other, whatever else the text is.
func depth(text string) int {
	open, most, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			open++
			most = max(most, open)
		case !quoted && (c == '}' || c == ']'):
			open--
		}
	}
	return most
}

func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// mender mends one kind of fault. It returns ok only if the text has that fault, once.
type mender struct {
	fault string
	mend  func(text string) (mended string, ok bool)
}

var menders = []mender{
	{"a comma stood before a closing bracket", withoutTrailingComma},
	{"the last closing bracket was missing", withLastBracket},
	{"it stood in a Markdown fence", withoutFence},
	{"its texts stood in single quotes", withDoubleQuotes},
}

// withoutTrailingComma takes out the one comma that stands before a closing bracket.
func withoutTrailingComma(text string) (string, bool) {
	comma, last, quoted := -1, -1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			last = i
		case quoted || c == ' ' || c == '\t' || c == '\n' || c == '\r':
		default:
			if (c == '}' || c == ']') && last >= 0 && text[last] == ',' {
				if comma >= 0 {
					return "", false
				}
				comma = last
			}
			last = i
		}
	}
	if comma < 0 {
		return "", false
	}
	return text[:comma] + text[comma+1:], true
}

// withLastBracket adds the one bracket that closes the text. After a number it doesn't: the number may have been cut, too.
func withLastBracket(text string) (string, bool) {
	trimmed := strings.TrimRight(text, " \t\r\n")
	if trimmed == "" || strings.IndexByte("0123456789.-+eE", trimmed[len(trimmed)-1]) >= 0 {
		return "", false
	}
	switch trimmed[len(trimmed)-1] {
	case '{', ',', ':':
		return "", false // what would follow is missing as well
	}
	return trimmed + "}", true
}

// withoutFence takes the text out of a fence of backquotes.
func withoutFence(text string) (string, bool) {
	trimmed := strings.TrimSpace(text)
	inner, fenced := strings.CutPrefix(trimmed, "```")
	if !fenced || len(inner) < 3 || !strings.HasSuffix(inner, "```") {
		return "", false
	}
	inner = strings.TrimSuffix(inner, "```")
	for _, language := range []string{"json5", "jsonc", "json", "JSON"} {
		if rest, ok := strings.CutPrefix(inner, language); ok {
			inner = rest
			break
		}
	}
	return strings.TrimSpace(inner), true
}

// withDoubleQuotes rewrites a text that has single quotes throughout and no double quote at all.
func withDoubleQuotes(text string) (string, bool) {
	if strings.Contains(text, `"`) || !strings.Contains(text, "'") {
		return "", false
	}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\'' {
				b.WriteByte('\\')
			}
			b.WriteByte(text[i])
		case c == '\'':
			quoted = !quoted
			b.WriteByte('"')
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// decode reads JSON with its numbers as they stand.
func decode(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, core.E(core.Invalid, "more follows after the value")
	}
	return value, nil
}
