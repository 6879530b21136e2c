// Package gitignore reads .gitignore files as git does and says which paths they ignore.
//
// Promises: the same verdicts as `git check-ignore`, except that git takes stars behind letters (a**/b) for folders where
// nothing but letters stands before them; matching takes no more than the length of the pattern times that of the
// path, whatever both are. Whoever asks does not look into an ignored folder: nothing in it can be taken back by a pattern.
//
// Layer 0: it imports nothing.
package gitignore

import (
	"slices"
	"strings"
)

// Bounds on one file of patterns; what is beyond them is not read.
const (
	MaxBytes    = 1 << 20
	maxPatterns = 5000
)

// Rules are the patterns of one file, for the folder it stands in and what is below.
type Rules struct{ rules []rule }

type rule struct {
	segments []string // between slashes; "**" is any number of folders
	negated  bool
	dirOnly  bool
	anywhere bool // one segment, matched with the last part of a path
}

// Parse reads the text of a .gitignore file.
func Parse(text string) *Rules {
	out := &Rules{}
	text = strings.TrimPrefix(text[:min(len(text), MaxBytes)], "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			out.rules = append(out.rules, r)
		}
		if len(out.rules) == maxPatterns {
			break
		}
	}
	return out
}

func parseRule(line string) (r rule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimSpaces(line)
	if rest, found := strings.CutPrefix(line, "!"); found {
		r.negated, line = true, rest
	}
	if rest, found := strings.CutSuffix(line, "/"); found {
		r.dirOnly, line = true, rest
	}
	r.anywhere = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	r.segments = split(line)
	for i, s := range r.segments {
		if len(s) > 2 && strings.Trim(s, "*") == "" {
			r.segments[i] = "**"
		}
	}
	return r, true
}

// split cuts a pattern at its slashes; one behind a backslash is a slash too.
func split(pattern string) (segments []string) {
	from := 0
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '/':
			segments, from = append(segments, pattern[from:i]), i+1
		case pattern[i] == '\\' && i+1 < len(pattern):
			if i++; pattern[i] == '/' {
				segments, from = append(segments, pattern[from:i-1]), i+1
			}
		}
	}
	return append(segments, pattern[from:])
}

// trimSpaces removes spaces at the end, but not one behind a backslash.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// Match says what the patterns decide of a path, given by its parts from the folder of the file on; the last pattern that
// matches decides.
func (r *Rules) Match(parts []string, dir bool) (ignored, decided bool) {
	for i := len(r.rules) - 1; i >= 0; i-- {
		rule := &r.rules[i]
		if rule.dirOnly && !dir {
			continue
		}
		if rule.matches(parts) {
			return !rule.negated, true
		}
	}
	return false, false
}

func (r *rule) matches(parts []string) bool {
	if r.anywhere {
		return len(parts) > 0 && matchSegment(r.segments[0], parts[len(parts)-1])
	}
	return matchParts(r.segments, parts)
}

// matchParts matches whole paths: at[i] says that the segments so far match the first i parts.
func matchParts(segments, parts []string) bool {
	at := make([]bool, len(parts)+1)
	at[0] = true
	for n, s := range segments {
		next := make([]bool, len(parts)+1)
		for i := range at {
			switch {
			case !at[i]:
			case s == "**" && n == len(segments)-1: // what is inside, but not the folder itself
				for k := i + 1; k < len(next); k++ {
					next[k] = true
				}
			case s == "**":
				for k := i; k < len(next); k++ {
					next[k] = true
				}
			case i < len(parts) && matchSegment(s, parts[i]):
				next[i+1] = true
			}
		}
		if at = next; !slices.Contains(at, true) {
			return false
		}
	}
	return at[len(parts)]
}

// matchSegment matches one part of a path by bytes. Behind a star that fails, the last star takes one byte more.
func matchSegment(pattern, name string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, n
			p++
			continue
		}
		if size, ok := matchByte(pattern[p:], name[n]); ok {
			p, n = p+size, n+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchByte matches one byte with the first element of a pattern, which is size bytes long.
func matchByte(pattern string, c byte) (size int, ok bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return matchClass(pattern, c)
	case pattern[0] == '\\' && len(pattern) == 1:
		return 1, false
	case pattern[0] == '\\':
		return 2, pattern[1] == c
	default:
		return 1, pattern[0] == c
	}
}

// matchClass matches a byte with a class in brackets. A class that does not end matches nothing.
func matchClass(pattern string, c byte) (size int, ok bool) {
	i, negated, found := 1, false, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negated = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(pattern) {
			return i, false
		}
		if pattern[i] == ']' && !first {
			return i + 1, found != negated
		}
		if name, end, named := className(pattern, i); named {
			in, known := inClass(name, c)
			if !known {
				return len(pattern), false
			}
			found, i = found || in, end
			continue
		}
		low, next, whole := classByte(pattern, i)
		if !whole {
			return len(pattern), false
		}
		high := low
		if i = next; i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			if high, i, whole = classByte(pattern, i+1); !whole {
				return len(pattern), false
			}
		}
		found = found || low <= c && c <= high
	}
}

// classByte reads one byte of a class, with the backslash before it.
func classByte(pattern string, i int) (c byte, next int, ok bool) {
	if pattern[i] == '\\' {
		i++
	}
	if i >= len(pattern) {
		return 0, i, false
	}
	return pattern[i], i + 1, true
}

// className reads a name such as [:alpha:] within a class.
func className(pattern string, i int) (name string, end int, ok bool) {
	rest, found := strings.CutPrefix(pattern[i:], "[:")
	if !found {
		return "", 0, false
	}
	close := strings.Index(rest, ":]")
	if bracket := strings.IndexByte(rest, ']'); close < 0 || bracket >= 0 && bracket < close {
		return "", 0, false
	}
	return rest[:close], i + 2 + close + 2, true
}

func inClass(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch name {
	case "alpha":
		return lower || upper, true
	case "digit":
		return digit, true
	case "alnum":
		return lower || upper || digit, true
	case "lower":
		return lower, true
	case "upper":
		return upper, true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "blank":
		return c == ' ' || c == '\t', true
	case "punct":
		return '!' <= c && c <= '~' && !lower && !upper && !digit, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	case "cntrl":
		return c < ' ' || c == 127, true
	case "graph":
		return '!' <= c && c <= '~', true
	case "print":
		return ' ' <= c && c <= '~', true
	}
	return false, false
}
