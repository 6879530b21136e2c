package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSignature bounds the declaration that stands in the path of a chunk of code, in characters.
const maxSignature = 100

// codePieces cuts at top-level declarations: an unindented line begins one behind a blank line, and behind an indented or
// closing one, where code is written without blank lines; so does one that begins with the same word as the line before,
// but that is no better place to end a chunk than another. Comments and decorators stay with what follows them.
func (c *chunker) codePieces() []piece {
	var out []piece
	next := piece{fresh: true}
	put := func(end int, fresh bool) {
		if next.end = end; end > next.start {
			next.path = signature(c.text[next.start:end])
			out = c.refine(out, next, blankCuts, lineCuts)
			next = piece{start: end, fresh: fresh}
		}
	}
	blank, ended, word := false, false, ""
	var quoted openQuote
	for l := range physical(c.text) {
		line := c.text[l.start:l.end]
		if strings.TrimSpace(line) == "" {
			blank, word = true, ""
			continue
		}
		indented := line[0] == ' ' || line[0] == '\t'
		begins := !indented && !closes(line)
		first := strings.Fields(line)[0]
		switch {
		case begins && blank:
			put(l.start, true)
			quoted = ""
		case begins && quoted == "" && ended && !directive(line):
			put(l.start, true)
		case begins && quoted == "" && first == word && signature(line) != nil:
			put(l.start, false)
		}
		quoted = quoted.after(line)
		blank, ended, word = false, !begins, ""
		if begins {
			word = first
		}
	}
	put(len(c.text), true)
	return out
}

// closes reports a line that ends a block of code, or goes on with one.
func closes(line string) bool {
	word := strings.Fields(line)[0]
	switch word {
	case "public:", "private:", "protected:", "default:":
		return true
	}
	switch word = strings.TrimRight(word, ";,:)"); word {
	case "end", "fi", "done", "esac", "else", "elif", "except", "finally", "catch", "rescue", "ensure":
		return true
	default:
		return strings.Trim(word, "()[]{}") == ""
	}
}

// directive reports a line for a preprocessor, which stands unindented wherever it is.
func directive(line string) bool {
	return len(line) > 1 && line[0] == '#' && unicode.IsLetter(rune(line[1]))
}

// openQuote is what a string of several lines was opened with, which it ends with.
type openQuote string

// after returns the quote that is open behind a line.
func (q openQuote) after(line string) openQuote {
	for line != "" {
		if q != "" {
			_, rest, found := strings.Cut(line, string(q))
			if !found {
				return q
			}
			q, line = "", rest
			continue
		}
		at := -1
		for _, mark := range []openQuote{"`", `"""`, "'''"} {
			if i := strings.Index(line, string(mark)); i >= 0 && (at < 0 || i < at) {
				at, q = i, mark
			}
		}
		if at < 0 {
			return ""
		}
		line = line[at+len(q):]
	}
	return q
}

// signature returns the first line of a declaration that is no comment.
func signature(code string) []string {
	for line := range strings.SplitSeq(code, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "/*") ||
			strings.HasPrefix(line, "*") ||
			strings.HasPrefix(line, "--") ||
			strings.HasPrefix(line, "@") {
			continue
		}
		return []string{firstRunes(strings.TrimRight(line, " {:"), maxSignature)}
	}
	return nil
}

// csvPieces cuts between records; a newline inside quotes is none. The first record heads every chunk behind the first.
func (c *chunker) csvPieces() []piece {
	cuts := recordCuts(c.text)
	first := len(c.text)
	if len(cuts) > 0 {
		first = cuts[0]
	}
	if header := strings.TrimRight(c.text[:first], "\r\n"); weight(header)*3 <= c.budget {
		c.header = header
		c.budget -= weight(header)
	}
	return c.refine(nil, piece{end: len(c.text)}, recordCuts, lineCuts)
}

func recordCuts(s string) []int {
	var out []int
	quoted := false
	for i := range len(s) {
		switch s[i] {
		case '"':
			quoted = !quoted
		case '\n':
			if !quoted && i+1 < len(s) {
				out = append(out, i+1)
			}
		}
	}
	if quoted { // a stray quote: rows are lines after all
		return lineCuts(s)
	}
	return out
}

// jsonPieces cuts between the members of the outermost object or array, or between the lines of JSON lines, and large
// members between theirs.
func (c *chunker) jsonPieces() []piece {
	cuts := append(memberCuts(c.text), len(c.text))
	var out []piece
	at := 0
	for _, end := range cuts {
		if end > at {
			out = c.refine(
				out,
				piece{start: at, end: end, path: memberKey(c.text[at:end]), fresh: true},
				memberCuts,
				memberCuts,
				memberCuts,
				memberCuts,
				lineCuts,
			)
			at = end
		}
	}
	return out
}

// memberCuts cuts at the lowest nesting at which s has members to part: between values, or behind commas.
func memberCuts(s string) []int {
	const deepest = 12
	var at [deepest][]int
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case quoted:
			switch ch {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case ch == '"':
			quoted = true
		case ch == '{' || ch == '[':
			depth++
		case ch == '}' || ch == ']':
			depth = max(depth-1, 0)
		case ch == ',' || ch == '\n' && depth == 0:
			if depth < deepest {
				if next := i + 1 + blanks(s[i+1:]); next < len(s) {
					at[depth] = append(at[depth], next)
				}
			}
		}
	}
	for _, cuts := range at {
		if len(cuts) > 0 {
			return cuts
		}
	}
	return nil
}

// blanks counts the blanks up to and with the first newline.
func blanks(s string) int {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\r':
		case '\n':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// memberKey returns the key that a member begins with.
func memberKey(s string) []string {
	s = strings.TrimLeft(s, " \t\r\n{[")
	if !strings.HasPrefix(s, `"`) {
		return nil
	}
	end := strings.IndexByte(s[1:], '"') + 1
	if end <= 1 || !strings.HasPrefix(strings.TrimLeft(s[end+1:], " "), ":") || utf8.RuneCountInString(s[1:end]) > maxSignature {
		return nil
	}
	return []string{s[1:end]}
}
