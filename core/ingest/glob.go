package ingest

import (
	"path"
	"regexp"
	"strings"

	"loci/core"
)

// Include decides which files a search looks at: a glob (*, ?, [a-z], {a,b}, ** for any number of folders), a plain part
// of the name, or a regular expression. A pattern without a slash is tried on the last part of the name too.
func Include(pattern string) (func(name string) bool, error) {
	pattern = strings.TrimSpace(pattern)
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	if len(pattern) > MaxPattern {
		return nil, core.E(core.Invalid, "the include pattern has %d characters, more than the %d allowed", len(pattern), MaxPattern)
	}
	if !strings.ContainsAny(pattern, `*?[]{}\^$|()+`) {
		part := strings.ToLower(pattern)
		return func(name string) bool { return strings.Contains(strings.ToLower(name), part) }, nil
	}
	expr := "^(?:" + globExpr(pattern) + ")$"
	if strings.ContainsAny(pattern, `\^$|()+`) || strings.Contains(pattern, ".*") {
		expr = pattern
	}
	re, err := compile(expr)
	if err != nil {
		return nil, core.E(core.Invalid, "the include pattern %q is neither a glob nor a regular expression", pattern)
	}
	return func(name string) bool {
		return re.MatchString(name) || !strings.Contains(pattern, "/") && re.MatchString(path.Base(name))
	}, nil
}

// globExpr writes a glob as a regular expression.
func globExpr(glob string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			if !strings.HasPrefix(glob[i:], "**") {
				b.WriteString("[^/]*")
				continue
			}
			i++
			if i+1 < len(glob) && glob[i+1] == '/' {
				i++
				b.WriteString("(?:.*/)?")
			} else {
				b.WriteString(".*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end <= 0 {
				b.WriteString(`\[`)
				continue
			}
			class := glob[i+1 : i+1+end]
			if class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(class, "[", `\[`) + "]")
			i += end + 1
		case '{':
			depth++
			b.WriteString("(?:")
		case '}':
			if depth > 0 {
				depth--
				b.WriteString(")")
			} else {
				b.WriteString(`\}`)
			}
		case ',':
			if depth > 0 {
				b.WriteString("|")
			} else {
				b.WriteByte(c)
			}
		default:
			b.WriteString(quoteByte(c))
		}
	}
	return b.String()
}

// quoteByte quotes one byte of a glob; bytes of multi-byte characters pass unchanged.
func quoteByte(c byte) string {
	if c >= 0x80 {
		return string([]byte{c})
	}
	return regexp.QuoteMeta(string(rune(c)))
}
