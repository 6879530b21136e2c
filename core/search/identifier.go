package search

import (
	"strings"
	"unicode/utf8"
)

// identifierParts returns the parts of a name in code, written as in parseManifest; nil for any other run of letters. Two
// parts with a capital each are more often the name of a product: they are taken apart only where code stands around them.
func identifierParts(text string, start, end int) []string {
	run := text[start:end]
	const shortest = 2
	var parts []string
	from := 0
	for i := range len(run) {
		if run[i] >= utf8.RuneSelf { // of another language
			return nil
		}
		if i == 0 || !beginsPart(run, i) {
			continue
		}
		if i-from < shortest {
			return nil
		}
		parts = append(parts, run[from:i])
		from = i
	}
	if len(parts) == 0 || len(run)-from < shortest {
		return nil
	}
	parts = append(parts, run[from:])
	if len(parts) == 2 && upper(run[0]) && !inCode(text, start, end) {
		return nil
	}
	return parts
}

// beginsPart reports a capital after a small letter or a digit, and the last one of several before a small letter.
func beginsPart(run string, i int) bool {
	return upper(run[i]) && (!upper(run[i-1]) || i+1 < len(run) && run[i+1] >= 'a' && run[i+1] <= 'z')
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// inCode reports whether a run is called, quoted as code, or joined to another name.
func inCode(text string, start, end int) bool {
	if start > 0 && strings.IndexByte("._`#", text[start-1]) >= 0 {
		return true
	}
	rest := text[end:]
	if rest == "" {
		return false
	}
	return strings.IndexByte("(_`[", rest[0]) >= 0 || strings.HasPrefix(rest, "::") ||
		rest[0] == '.' && len(rest) > 1 && rest[1] < utf8.RuneSelf && wordRune(rune(rest[1]))
}
