package memory

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// hasLineNumber reports whether a line of the text begins with digits and an arrow, as in a prompt with line numbers.
func hasLineNumber(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t")
		digits := strings.TrimLeft(line, "0123456789")
		if len(digits) < len(line) && strings.HasPrefix(digits, "→") {
			return true
		}
	}
	return false
}

// Append joins a value and a new text with a newline.
func Append(value, content string) string {
	if value == "" || strings.HasSuffix(value, "\n") {
		return value + content
	}
	return value + "\n" + content
}

// Replace replaces every occurrence of an exact text.
func Replace(value, old, replacement string) (string, error) {
	if old == "" {
		return "", core.E(core.Invalid, "the old content is empty: give the exact text to replace")
	}
	if !strings.Contains(value, old) {
		return "", core.E(core.Invalid, "the old content %s does not occur in the block: copy it exactly as the block has it", Excerpt(old))
	}
	return strings.ReplaceAll(value, old, replacement), nil
}

// ReplaceUnique replaces the only occurrence of an exact text; tabs become spaces.
func ReplaceUnique(value, old, replacement string) (string, error) {
	if old == "" {
		return "", core.E(core.Invalid, "old_string is empty: give the exact text to replace")
	}
	if err := CheckNumbers("old_string", old); err != nil {
		return "", err
	}
	if err := CheckNumbers("new_string", replacement); err != nil {
		return "", err
	}
	// A text taken from the middle of a line may expand its tabs differently on its own, so try it with tabs first.
	if strings.Count(value, old) != 1 {
		value, old = expandTabs(value), expandTabs(old)
	}
	switch lines := occurrences(value, old); len(lines) {
	case 0:
		return "", core.E(
			core.Invalid,
			"no replacement was made: old_string %s does not occur in the block. Copy it exactly as the block has it",
			Excerpt(old),
		)
	case 1:
		return expandTabs(strings.Replace(value, old, replacement, 1)), nil
	default:
		return "", core.E(
			core.Invalid,
			"no replacement was made: old_string %s occurs %d times, in lines %s. Add the text around it so that it is unique",
			Excerpt(old),
			len(lines),
			numbers(lines),
		)
	}
}

// Insert inserts a text after a line, counted from 1; 0 is the top and -1 the end.
func Insert(value, text string, line int) (string, error) {
	if err := CheckNumbers("new_string", text); err != nil {
		return "", err
	}
	var lines []string
	if value != "" {
		lines = strings.Split(value, "\n")
	}
	switch {
	case line == -1:
		return Append(value, text), nil
	case line < -1 || line > len(lines):
		return "", core.E(
			core.Invalid,
			"insert_line %d is out of range: give 0 (the top) to %d (after the last line), or -1 for the end",
			line,
			len(lines),
		)
	default:
		return strings.Join(slices.Insert(lines, line, text), "\n"), nil
	}
}

// CheckLimit refuses an edit that makes a value longer than its limit. An edit that makes a value shorter is allowed
// even if it stays above the limit.
func CheckLimit(before, after string, limit int) error {
	n := utf8.RuneCountInString(after)
	if n <= limit || n < utf8.RuneCountInString(before) {
		return nil
	}
	return core.E(
		core.Invalid,
		"the block would have %d characters, %d more than its limit of %d. Nothing was changed: shorten what is there, or "+
			"keep this in archival memory",
		n,
		n-limit,
		limit,
	)
}

// CheckNumbers refuses a text whose lines begin as in a prompt with line numbers: the numbers are not part of a value.
func CheckNumbers(argument, text string) error {
	if hasLineNumber(text) {
		return core.E(
			core.Invalid,
			"%s has a line number before a line. The numbers are for display only: give the text without them",
			argument,
		)
	}
	if strings.Contains(text, lineWarning) {
		return core.E(core.Invalid, "%s contains the note about line numbers, which is no part of the value: leave it out", argument)
	}
	return nil
}

// occurrences returns the line of each occurrence, counted from 1; overlapping ones count once.
func occurrences(value, old string) []int {
	var lines []int
	for at := 0; ; {
		i := strings.Index(value[at:], old)
		if i < 0 {
			return lines
		}
		lines = append(lines, 1+strings.Count(value[:at+i], "\n"))
		at += i + len(old)
	}
}

func numbers(lines []int) string {
	const most = 20
	var parts []string
	for i, n := range lines {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ", ")
}

// expandTabs replaces tabs with spaces up to the next column divisible by eight.
func expandTabs(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch r {
		case '\t':
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case '\n', '\r':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// Excerpt quotes the beginning of a text.
func Excerpt(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
