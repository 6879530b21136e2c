package core

import (
	"slices"
	"strings"
	"unicode"
)

// Untagged keeps a text from opening or closing tags of these names: it replaces their < with ‹, so that every other
// character stays in place and reads as before.
func Untagged(text string, tags ...string) string {
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name := strings.TrimLeftFunc(after, func(r rune) bool { return r == '/' || !unicode.IsGraphic(r) || unicode.IsSpace(r) })
		end := strings.IndexFunc(name, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if end >= 0 {
			name = name[:end]
		}
		if slices.ContainsFunc(tags, func(tag string) bool { return strings.EqualFold(tag, name) }) {
			b.WriteString("‹")
		} else {
			b.WriteString("<")
		}
		rest = after
	}
}
