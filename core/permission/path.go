package permission

import (
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"loci/core"
)

// maxSegments bounds how deep a pattern goes.
const maxSegments = 64

// pathPattern is a pattern for absolute paths.
type pathPattern struct {
	segments []segment // nil stands for any number of them
	folded   []segment // the same, without case
	base     base
}

// base says what the segments of a pattern follow.
type base int

const (
	anywhere base = iota // a name alone, however deep
	inRoot               // from the workspace on
	inHome               // from the person's home on
	absolute
)

// segment matches one name: a text in which a star stands for anything and a question mark for one character.
type segment []token

// token is a character, or one of the two signs.
type token struct {
	r    rune
	sign bool
}

// parseSegment reads a pattern. A backslash takes its meaning from the sign behind it.
func parseSegment(text string) (segment, error) {
	var s segment
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			s, escaped = append(s, token{r: r}), false
		case r == '\\':
			escaped = true
		case r == '*' || r == '?':
			if n := len(s); r == '?' || n == 0 || s[n-1] != (token{'*', true}) {
				s = append(s, token{r, true})
			}
		default:
			s = append(s, token{r: r})
		}
	}
	if escaped {
		return nil, core.E(core.Invalid, "it ends in a backslash")
	}
	if len(s) == 0 {
		return nil, core.E(core.Invalid, "a part of it is empty")
	}
	return s, nil
}

// match walks the text once and goes back to the last star only.
func (s segment) match(text string) bool {
	runes := []rune(text)
	i, star, mark := 0, -1, 0
	for j := 0; j < len(runes); {
		switch {
		case i < len(s) && s[i] == token{'*', true}:
			star, mark = i, j
			i++
		case i < len(s) && (s[i] == token{'?', true} || s[i] == token{r: runes[j]}):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(s) && s[i] == (token{'*', true}) {
		i++
	}
	return i == len(s)
}

// fold returns the segment as names of files are compared where case doesn't count.
func (s segment) fold() segment {
	var out segment
	for _, t := range s {
		if t.sign {
			out = append(out, t)
			continue
		}
		for _, r := range fold(string(t.r)) {
			out = append(out, token{r: r})
		}
	}
	return out
}

// fold returns a name in the form that all its spellings share: composed, and without case.
func fold(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

// parsePath reads a pattern for paths.
func parsePath(text string) (pathPattern, error) {
	p := pathPattern{base: inRoot}
	switch rest, home := strings.CutPrefix(text, "~/"); {
	case home:
		p.base, text = inHome, rest
	case strings.HasPrefix(text, "/"):
		p.base, text = absolute, text[1:]
	case strings.HasPrefix(text, "~"):
		return p, core.E(core.Invalid, "only your own home has a short name: ~/")
	}
	pinned := p.base == inRoot && strings.HasPrefix(text, "./")
	if pinned {
		text = text[2:]
	}
	text = strings.TrimSuffix(text, "/")
	if text == "" && p.base != inRoot {
		return p, nil // all of the home, or the root itself
	}
	if !strings.Contains(text, "/") && p.base == inRoot && text != "**" && !pinned {
		p.base = anywhere
	}
	parts := strings.Split(norm.NFC.String(text), "/")
	if len(parts) > maxSegments {
		return p, core.E(core.TooLarge, "it is more than %d folders deep", maxSegments)
	}
	for _, part := range parts {
		switch part {
		case "..", ".":
			return p, core.E(core.Invalid, "it has the part %q; name the folder itself", part)
		case "**":
			p.segments, p.folded = append(p.segments, nil), append(p.folded, nil)
			continue
		}
		if strings.Contains(part, "**") {
			return p, core.E(core.Invalid, "two stars stand alone between slashes")
		}
		s, err := parseSegment(part)
		if err != nil {
			return p, err
		}
		p.segments, p.folded = append(p.segments, s), append(p.folded, s.fold())
	}
	return p, nil
}

// allows reports whether the pattern stands for exactly this path. A name alone stands for files in the workspace only.
func (p pathPattern) allows(path string, at Place) bool {
	parts, ok := p.below(path, at, func(name string) string { return name })
	if !ok {
		return false
	}
	segments := p.segments
	if p.base == anywhere {
		if _, inside := under(at.Root, path); !inside {
			return false
		}
		segments = append([]segment{nil}, segments...)
	}
	return matchAll(segments, parts)
}

// forbids reports whether the pattern stands for the path or a folder that it is in, however it is spelt.
func (p pathPattern) forbids(path string, at Place) bool {
	parts, ok := p.below(path, at, fold)
	if !ok {
		return false
	}
	for i := range parts {
		parts[i] = fold(parts[i])
	}
	var segments []segment
	if p.base == anywhere {
		segments = append(segments, nil)
	}
	return matchAll(append(append(segments, p.folded...), nil), parts)
}

// literal returns the pattern itself as a path, which other patterns can be asked about.
func (p pathPattern) literal() string {
	var b strings.Builder
	for _, s := range p.segments {
		b.WriteByte('/')
		if s == nil {
			b.WriteString("**")
		}
		for _, t := range s {
			b.WriteRune(t.r)
		}
	}
	return b.String()
}

// below splits what follows the pattern's base in a path.
func (p pathPattern) below(path string, at Place, spelt func(string) string) ([]string, bool) {
	root := ""
	switch p.base {
	case inRoot:
		root = at.Root
	case inHome:
		root = at.Home
	case anywhere, absolute:
		root = "/"
	}
	if root == "" {
		return nil, false
	}
	if _, inside := under(spelt(root), spelt(path)); !inside {
		return nil, false
	}
	parts := split(path)[len(split(root)):]
	return parts, true
}

func split(path string) []string {
	path = strings.Trim(filepath.ToSlash(path), "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// under returns what follows the root in a cleaned path.
func under(root, path string) (rest string, inside bool) {
	root = strings.TrimSuffix(filepath.ToSlash(root), "/")
	rest, inside = strings.CutPrefix(filepath.ToSlash(path), root)
	return strings.TrimPrefix(rest, "/"), inside && (rest == "" || rest[0] == '/')
}

// matchAll matches names with segments, of which a nil one stands for any number.
func matchAll(segments []segment, names []string) bool {
	reached := make([]bool, len(names)+1) // which names the segments so far can have used up
	reached[0] = true
	for _, s := range segments {
		next := make([]bool, len(names)+1)
		for i := range reached {
			if s == nil {
				next[i] = reached[i] || i > 0 && next[i-1]
			} else if i > 0 {
				next[i] = reached[i-1] && s.match(names[i-1])
			}
		}
		reached = next
	}
	return reached[len(names)]
}
