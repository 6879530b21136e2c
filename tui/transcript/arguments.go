package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"loci/tui/term"
)

// Argument is one argument of a call. A person decides by it, so nothing of it
// is left out and nothing made invisible.
type Argument struct {
	Name  string // empty: the value is all there is
	Value string
}

// Arguments reads the arguments of a call in the order and as often as they
// stand there. What isn't a JSON object comes as it is.
func Arguments(raw string) []Argument {
	d := json.NewDecoder(strings.NewReader(raw))
	whole := []Argument{{Value: Reveal(raw)}}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return whole
	}
	var out []Argument
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return whole
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return whole
		}
		key, _ := name.(string) // the only kind of token there can be
		out = append(out, Argument{strings.ReplaceAll(Reveal(key), "\n", `\n`), argumentValue(v)})
	}
	if _, err := d.Token(); err != nil {
		return whole
	}
	if _, err := d.Token(); err != io.EOF {
		return whole
	}
	return out
}

// argumentValue is a string as its text, and anything else as JSON.
func argumentValue(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil && v[0] == '"' && text != "" {
		return Reveal(text)
	}
	if short := compact(v); len(short) <= shortValue {
		return Reveal(short)
	}
	return Pretty(string(v))
}

// shortValue is the size in bytes up to which JSON is easier to read on one
// line.
const shortValue = 60

func compact(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

// Pretty is JSON on indented lines, with escapes for what couldn't be seen. It
// is still the same value. A text that isn't JSON stays as it is.
func Pretty(raw string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(raw), "", "  ") != nil {
		return Reveal(raw)
	}
	return Reveal(b.String())
}

// Reveal shows the characters that a terminal would act on, or that nobody could
// see, as JSON escapes. Line ends and tabs stay, and so do the joiners that emoji
// and some scripts need.
func Reveal(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, unseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		switch high, low := utf16.EncodeRune(c); {
		case !unseen(c):
			b.WriteRune(c)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

func unseen(c rune) bool {
	const nonJoiner, joiner = 0x200C, 0x200D
	return c != nonJoiner && c != joiner && (Hostile(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp))
}

// Arguments draws arguments on rows of their own, of each value at most so many
// rows; 0: all. Only a name can stand two cells from the left: a value can't
// pretend to be another argument.
func (r *Renderer) Arguments(args []Argument, most int) []string {
	var rows []string
	for _, a := range args {
		head := "  " + r.Theme.Dim.Render(a.Name+":")
		if a.Name != "" && !strings.Contains(a.Value, "\n") && term.Width(head+" "+term.ExpandTabs(a.Value)) <= r.Width {
			rows = append(rows, head+" "+term.ExpandTabs(a.Value))
			continue
		}
		if a.Name != "" {
			rows = append(rows, strings.Split(hardwrap(head, r.Width), "\n")...)
		}
		value := strings.Split(hardwrap(a.Value, max(r.Width-4, 2)), "\n")
		for _, row := range r.firstRows(value, most) {
			rows = append(rows, "    "+row)
		}
	}
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return rows
}

// firstRows are at most so many rows of some, and how many more there are; 0: all.
func (r *Renderer) firstRows(rows []string, most int) []string {
	over := len(rows) - most
	if most <= 0 || over <= 0 {
		return rows
	}
	return append(rows[:most-1:most-1], r.Theme.Dim.Render(fmt.Sprintf("%s %d more", term.CutMark, over+1)))
}
