package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"loci/tui/transcript"
)

// The rules of output: standard output carries the answer and nothing else; everything else goes to standard error.
// With --json the answer is one JSON value. Text from a model or a person is made safe before it reaches a
// terminal; a pipe gets it unchanged.

// writeJSON writes a value, indented, without escaping HTML.
func writeJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// writeLine writes a value on one line.
func writeLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := b.Bytes()
	if isTerminal(w) {
		text = escaped(text)
	}
	_, err := w.Write(text)
	return err
}

// escaped rewrites JSON without characters that could drive a terminal or reverse its text. The value stays the
// same: such characters only occur in strings, where each has an escape.
func escaped(text []byte) []byte {
	if bytes.IndexFunc(text, transcript.Hostile) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if transcript.Hostile(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}

// table is rows of cells under a header.
type table struct {
	head []string
	rows [][]string
	more bool // the header was already written with earlier rows

	single bool     // a record takes one row
	spare  []string // … even without these columns, the first one first
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write aligns the columns and doesn't pad the last; in a terminal they fit its width. An empty table writes nothing: silence
// is an answer too.
func (t *table) write(w io.Writer) error { return t.writeAt(w, columnsOf(w), time.Now()) }

// writeAt writes for a width, and what time it is.
func (t *table) writeAt(w io.Writer, width int, now time.Time) error {
	if len(t.rows) == 0 {
		return nil
	}
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
	}
	head, rows, widths := t.head, t.rows, columnWidths(t.head, t.rows)
	l := fit(head, widths, width)
	if t.single && width > 0 && total(widths) > width {
		if narrow, widths, ok := t.narrowed(width, now); ok {
			head, rows = narrow.head, narrow.rows
			l = layout{widths: widths, folds: make([]bool, len(widths))}
		}
	}
	var b strings.Builder
	if !t.more {
		l.write(&b, head)
	}
	for _, row := range rows {
		l.write(&b, row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// columnWidths are as wide as what they hold.
func columnWidths(head []string, rows [][]string) []int {
	widths := make([]int, len(head))
	for _, row := range slices.Insert(slices.Clone(rows), 0, head) {
		for i, cell := range row {
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	return widths
}

// cellWidth counts terminal columns well enough for alignment: none for combining marks, two for East Asian wide
// characters and emoji.
func cellWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd)
}

// oneLine fits a text into a table cell: line ends become spaces, and control characters are removed.
func oneLine(s string) string {
	return safe(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " "))
}

// safe removes the characters that could drive a terminal or reverse its text, but keeps line ends and tabs.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if transcript.Hostile(r) {
			return -1
		}
		return r
	}, s)
}

// cut shortens a text to n columns.
func cut(s string, n int) string {
	if cellWidth(s) <= n {
		return s
	}
	for cellWidth(s) > n-1 {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + "…"
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// isTerminal says whether a stream is a terminal, going by its mode alone: the null device counts as one, which
// does no harm.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const listedTime = "2006-01-02 15:04"

// local formats a time in this machine's zone.
func local(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(listedTime)
}

// size formats a number of bytes for a person.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	}
}
