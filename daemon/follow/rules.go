package follow

import (
	"regexp"
	"strings"
)

// Limits on a .gitignore file. Anything beyond them is ignored.
const (
	maxRulesBytes = 1 << 20
	maxRules      = 5000
	maxRuleBytes  = 1000
)

// rules are the patterns of one .gitignore file.
type rules struct {
	under string // the file applies to names starting with this: "" or "a/b/"
	above string // … or, if the file is above the followed directory, this is prepended to names
	list  []rule
}

// rule is one pattern. If several match, the last one wins.
type rule struct {
	keep  bool // it starts with an exclamation mark: its matches are not ignored
	dirs  bool // it ends with a slash: it matches only directories
	whole bool // it contains another slash: it matches the whole name, not just the last part
	match func(string) bool
}

// parseRules parses a .gitignore file.
func parseRules(data []byte) []rule {
	text := strings.TrimPrefix(string(data), "\ufeff")
	var out []rule
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			out = append(out, r)
		}
		if len(out) == maxRules {
			break
		}
	}
	return out
}

func parseRule(line string) (rule, bool) {
	var r rule
	line = trimBlanks(line)
	if line == "" || line[0] == '#' || len(line) > maxRuleBytes {
		return r, false
	}
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	r.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return r, false
	}
	r.match = matcher(line)
	return r, r.match != nil
}

// trimBlanks removes trailing blanks that aren't escaped by a backslash.
func trimBlanks(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
			end = min(i+1, len(s))
		case s[i] != ' ':
			end = i + 1
		}
	}
	return s[:end]
}

// matcher turns a pattern into a function; nil: nothing matches it. Most patterns are a name or an extension, which
// need no regular expression.
func matcher(pattern string) func(string) bool {
	const special = `*?[\`
	if !strings.ContainsAny(pattern, special) {
		return func(s string) bool { return s == pattern }
	}
	if end, ok := strings.CutPrefix(pattern, "*"); ok && !strings.ContainsAny(end, special+"/") {
		return func(s string) bool { return strings.HasSuffix(s, end) && !strings.Contains(s, "/") }
	}
	expr, ok := expression(pattern)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(`(?s)\A` + expr + `\z`)
	if err != nil {
		return nil
	}
	return re.MatchString
}

// expression translates a pattern into a regular expression, which matches in linear time whatever the pattern.
func expression(p string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(p); {
		switch p[i] {
		case '*':
			end := i
			for end < len(p) && p[end] == '*' {
				end++
			}
			first, last := i == 0 || p[i-1] == '/', end == len(p)
			switch {
			case end-i >= 2 && first && last:
				b.WriteString(`.*`)
			case end-i >= 2 && first && p[end] == '/':
				b.WriteString(`(?:.*/)?`)
				end++
			default:
				b.WriteString(`[^/]*`)
			}
			i = end
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			class, n := class(p[i:])
			if n == 0 {
				return "", false
			}
			b.WriteString(class)
			i += n
		case '\\':
			if i+1 == len(p) {
				return "", false
			}
			r, n := firstRune(p[i+1:])
			b.WriteString(regexp.QuoteMeta(r))
			i += 1 + n
		default:
			r, n := firstRune(p[i:])
			b.WriteString(regexp.QuoteMeta(r))
			i += n
		}
	}
	return b.String(), true
}

func firstRune(s string) (string, int) {
	for i := range s {
		if i > 0 {
			return s[:i], i
		}
	}
	return s, len(s)
}

// class translates a character class in brackets and returns its length; 0: it isn't closed. It never contains a
// slash.
func class(p string) (string, int) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	var set strings.Builder
	for start := i; ; {
		if i >= len(p) {
			return "", 0
		}
		if p[i] == ']' && i > start {
			i++
			break
		}
		if name, n := namedClass(p[i:]); n > 0 {
			set.WriteString(name)
			i += n
			continue
		}
		low, n := member(p[i:])
		if n == 0 {
			return "", 0
		}
		i += n
		high := low
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			if high, n = member(p[i+1:]); n == 0 {
				return "", 0
			}
			i += 1 + n
		}
		addRange(&set, low, high, negated)
	}
	switch {
	case negated:
		return `[^/` + set.String() + `]`, i
	case set.Len() == 0:
		return `[^\x00-\x{10FFFF}]`, i
	}
	return `[` + set.String() + `]`, i
}

// member reads one character of a class.
func member(p string) (rune, int) {
	skip := 0
	if p[0] == '\\' {
		skip = 1
	}
	for _, r := range p[skip:] {
		return r, skip + len(string(r))
	}
	return 0, 0
}

// addRange adds characters to a class, except the slash.
func addRange(set *strings.Builder, low, high rune, negated bool) {
	if !negated && low <= '/' && '/' <= high {
		addRange(set, low, '/'-1, true)
		addRange(set, '/'+1, high, true)
		return
	}
	if low > high {
		return
	}
	for i, r := range []rune{low, high} {
		if i == 1 {
			set.WriteByte('-')
		}
		if r < 0x80 {
			set.WriteByte('\\')
			if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r < ' ' {
				const hex = "0123456789abcdef"
				set.WriteString(`x` + string(hex[r>>4]) + string(hex[r&15]))
				continue
			}
		}
		set.WriteRune(r)
	}
}

var classNames = []string{
	"[:alnum:]",
	"[:alpha:]",
	"[:blank:]",
	"[:cntrl:]",
	"[:digit:]",
	"[:graph:]",
	"[:lower:]",
	"[:print:]",
	"[:punct:]",
	"[:space:]",
	"[:upper:]",
	"[:xdigit:]",
}

func namedClass(p string) (string, int) {
	for _, name := range classNames {
		if strings.HasPrefix(p, name) {
			return name, len(name)
		}
	}
	return "", 0
}

// ignored reports whether the rules ignore a name. The most deeply nested file decides.
func ignored(stack []*rules, name string, dir bool) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		if r, ok := stack[i].last(name, dir); ok {
			return !r.keep
		}
	}
	return false
}

// last returns the rule in a file that applies to a name.
func (rs *rules) last(name string, dir bool) (rule, bool) {
	whole := rs.above + strings.TrimPrefix(name, rs.under)
	base := name[strings.LastIndexByte(name, '/')+1:]
	for i := len(rs.list) - 1; i >= 0; i-- {
		r := rs.list[i]
		if r.dirs && !dir {
			continue
		}
		said := base
		if r.whole {
			said = whole
		}
		if r.match(said) {
			return r, true
		}
	}
	return rule{}, false
}
