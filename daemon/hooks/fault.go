package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"loci/core"
)

// unknownField begins the error of the decoder for a name that it doesn't know, which has no type of its own.
const unknownField = "json: unknown field "

// broken says what is wrong with a file of hooks: where, in a person's words, and what to do.
func broken(name string, text []byte, d *json.Decoder, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at, why := d.InputOffset(), "it is no JSON"
	field, unknown := strings.CutPrefix(err.Error(), unknownField)
	switch {
	case unknown:
		at = int64(max(bytes.Index(text, []byte(field)), 0))
		why = field + " is not known here; known are hooks, in it the events, then matcher and hooks, then type, command and timeout"
	case errors.As(err, &kind):
		at = kind.Offset
		why = fmt.Sprintf("%s must stand there%s, not %s", wanted(kind.Type.Kind().String()), within(kind.Field), worded(kind.Value))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		at = int64(len(bytes.TrimRight(text, " \t\r\n")))
		why = "it ends too early: a quote, a bracket or a brace is not closed"
	case errors.As(err, &syntax):
		at = max(syntax.Offset-1, 0)
		why = misplaced(text, at)
	}
	return core.E(core.Invalid, "line %d of %s can't be read: %s", lineAt(text, at), name, why).
		WithHint("mend the file; it is read anew each time")
}

// lineAt is the line of an offset.
func lineAt(text []byte, at int64) int {
	return 1 + bytes.Count(text[:min(max(int(at), 0), len(text))], []byte("\n"))
}

// misplaced says what is wrong where JSON has something that can't stand there.
func misplaced(text []byte, at int64) string {
	if at >= int64(len(text)) {
		return "it ends too early: a quote, a bracket or a brace is not closed"
	}
	c := text[at]
	before := bytes.TrimRight(text[:at], " \t\r\n")
	switch {
	case (c == '}' || c == ']') && bytes.HasSuffix(before, []byte(",")):
		return fmt.Sprintf("a comma stands before the %q that closes; take it out", c)
	case c == '/' || c == '#':
		return "JSON has no comments; take it out"
	case c == '\'':
		return "JSON has its texts in double quotes"
	case c == '\n':
		return "a text is not closed by a double quote"
	case c == '"' || c == '{' || c == '[':
		return fmt.Sprintf("a comma or a colon is missing before %q", c)
	}
	return fmt.Sprintf("%q can't stand there", c)
}

// within says in which field something stands.
func within(field string) string {
	if field == "" {
		return ""
	}
	return " in " + field
}

// wanted is what a field has to be, by what Go has for it.
func wanted(kind string) string {
	switch kind {
	case "slice":
		return "a list"
	case "string":
		return "a text"
	case "float64":
		return "a number"
	}
	return "an object"
}

// worded is what stands there instead, by the decoder's word for it.
func worded(value string) string {
	switch value {
	case "array":
		return "a list"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "object":
		return "an object"
	}
	return "a number"
}
