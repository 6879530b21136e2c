package textcalls

import (
	"bytes"
	"encoding/json"
	"strings"
)

// value finds the JSON object or array at the beginning of a text.
func value(text string) (n int, v verdict) {
	if text == "" {
		return 0, more
	}
	if text[0] != '{' && text[0] != '[' {
		return 0, no
	}
	if first := strings.TrimLeft(text[1:], blank); first != "" && !strings.ContainsRune(`"{}[]`, rune(first[0])) {
		return 0, no
	}
	depth, quoted, escaped := 0, false, false
	for i := range len(text) {
		switch b := text[i]; {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = b == '\\', b != '"'
		case b == '"':
			quoted = true
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			if depth--; depth == 0 {
				return i + 1, done
			}
		}
	}
	return 0, more
}

// mended returns a JSON text, with the line breaks inside of its strings written as JSON wants them.
func mended(text string) (json.RawMessage, bool) {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), true
	}
	var b bytes.Buffer
	quoted, escaped := false, false
	for i := range len(text) {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\n':
			b.WriteString(`\n`)
			continue
		case quoted && c == '\r':
			b.WriteString(`\r`)
			continue
		case quoted && c == '\t':
			b.WriteString(`\t`)
			continue
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		}
		b.WriteByte(c)
	}
	return b.Bytes(), json.Valid(b.Bytes())
}

// plainFields are all that an object has which is a call without a mark.
const plainFields = " name arguments parameters type id function "

// callsIn reads the calls in an object, or in an array of objects; none if it has anything else. If plain, it has nothing but
// what calls consist of, and each has arguments.
func callsIn(text string, plain bool, tools []Tool) ([]Call, bool) {
	raw, ok := mended(text)
	if !ok {
		return nil, false
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' && json.Unmarshal(raw, &list) != nil || len(list) == 0 || len(list) > mostCalls {
		return nil, false
	}
	var calls []Call
	for _, one := range list {
		call, ok := callIn(one, plain, tools)
		if !ok {
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, true
}

func callIn(raw json.RawMessage, plain bool, tools []Tool) (Call, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return Call{}, false
	}
	if plain {
		for name := range fields {
			if !strings.Contains(plainFields, " "+name+" ") {
				return Call{}, false
			}
		}
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(fields["function"], &inner) == nil && inner != nil {
		fields = inner
	}
	var name string
	for _, field := range []string{"name", "function"} {
		if name == "" {
			_ = json.Unmarshal(fields[field], &name)
		}
	}
	given, has := fields["arguments"]
	if !has {
		given, has = fields["parameters"]
	}
	if _, offered := find(tools, name); !offered || plain && !has {
		return Call{}, false
	}
	arguments, ok := object(given)
	return Call{Name: name, Arguments: arguments}, ok
}

// object returns arguments that were written as an object, or as the text of one; nothing means none.
func object(raw json.RawMessage) (string, bool) {
	text := strings.TrimSpace(string(raw))
	var inner string
	if strings.HasPrefix(text, `"`) && json.Unmarshal(raw, &inner) == nil {
		text = strings.TrimSpace(inner)
	}
	if text == "" || text == "null" {
		return "{}", true
	}
	if text[0] != '{' {
		return "", false
	}
	fixed, ok := mended(text)
	return string(fixed), ok
}

// words are what a fence says of the calls in it.
const words = " json tool_call tool_calls tool_code "

// bareJSON reads an answer that is nothing but calls, in a fence or bare.
func bareJSON(text string, final bool, tools []Tool) ([]Call, verdict) {
	const fence = "```"
	fenced := strings.HasPrefix(text, fence)
	if !fenced && strings.HasPrefix(fence, text) {
		return nil, wait(final)
	}
	if fenced {
		word, rest, ended := strings.Cut(text[len(fence):], "\n")
		if word = strings.TrimSpace(word); !ended {
			if len(word) > len(words) || !strings.Contains(words, " "+word) {
				return nil, no
			}
			return nil, wait(final)
		}
		if word != "" && !strings.Contains(words, " "+word+" ") {
			return nil, no
		}
		text = strings.TrimLeft(rest, blank)
	}
	n, v := value(text)
	if v == no || otherwise(text, tools) {
		return nil, no
	}
	if v == more {
		return nil, wait(final)
	}
	calls, ok := callsIn(text[:n], true, tools)
	if !ok {
		return nil, no
	}
	text = strings.TrimLeft(text[n:], blank)
	if fenced {
		if !strings.HasPrefix(text, fence) {
			if strings.HasPrefix(fence, text) {
				return nil, wait(final)
			}
			return nil, no
		}
		text = text[len(fence):]
	}
	switch text = afterEnds(text); {
	case text == "" && final:
		return calls, done
	case text == "" || beginsEnd(text):
		return nil, wait(final)
	}
	return nil, no
}

// otherwise reports whether the beginning of a JSON text already says that it is no call.
func otherwise(text string, tools []Tool) bool {
	inner := strings.TrimLeft(strings.TrimLeft(text, "["+blank), "{"+blank)
	key, rest, whole := quotedText(inner)
	if !whole {
		return false
	}
	if !strings.Contains(plainFields, " "+key+" ") {
		return true
	}
	if key != "name" {
		return false
	}
	rest = strings.TrimLeft(rest, blank+":")
	name, _, whole := quotedText(rest)
	if !whole {
		return false
	}
	_, offered := find(tools, name)
	return !offered
}

// quotedText reads the string at the beginning of a JSON text.
func quotedText(text string) (s, rest string, whole bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return s, text[i+1:], json.Unmarshal([]byte(text[:i+1]), &s) == nil
		}
	}
	return "", "", false
}
