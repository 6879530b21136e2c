package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"loci/core"
	"loci/core/recall"
)

// Pieces of a text that are searched for on their own.
const (
	MinPiece  = 8       // characters of a record's whole text; a shorter one is removed from the record only
	minLine   = 24      // characters of one of its lines
	maxPieces = 4 << 20 // total bytes
)

// Pieces returns what to search for: each text as a whole, and its longer lines, which may appear alone where it was
// cut, compared or numbered. A text that the user typed is searched for however short.
func Pieces(texts []string, own bool) []string {
	var all []string
	size := 0
	add := func(s string, least int) {
		if s = strings.TrimSpace(s); utf8.RuneCountInString(s) >= least && len(s) >= headBytes && size+len(s) <= maxPieces {
			size += len(s)
			all = append(all, s)
		}
	}
	least := MinPiece
	if own {
		least = core.MinForgetChars
	}
	for _, t := range texts {
		add(t, least)
	}
	for _, t := range texts {
		if strings.Contains(t, "\n") {
			for line := range strings.SplitSeq(t, "\n") {
				add(line, minLine)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Forms returns a record's texts as they also appear elsewhere: in what was recalled of it.
func Forms(texts []string) []string {
	out := slices.Clone(texts)
	for _, t := range texts {
		if worded := recall.Worded(strings.TrimSpace(t)); worded != t {
			out = append(out, worded)
		}
	}
	return out
}

// variants returns the forms of a text: as it is, and inside JSON strings, once and twice, as the common writers escape
// it.
func variants(text string) []string {
	all := []string{text}
	for _, write := range escapers() {
		once := write(text)
		all = append(all, once, write(once))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// escapers are the common writers of JSON.
func escapers() []func(string) string {
	return []func(string) string{goJSON, plainJSON, rawJSON, asciiJSON, upperJSON, slashJSON}
}

func goJSON(s string) string { return inJSON(s, true) }

func plainJSON(s string) string { return inJSON(s, false) }

// rawJSON leaves Unicode line separators unescaped.
func rawJSON(s string) string {
	return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(plainJSON(s))
}

// upperJSON is asciiJSON with upper-case hex digits.
func upperJSON(s string) string {
	return escapes().ReplaceAllStringFunc(asciiJSON(s), func(e string) string {
		if e[1] != 'u' {
			return e
		}
		return `\u` + strings.ToUpper(e[2:])
	})
}

// anyCase lets a quoted expression match escaped letters in either case, since hex digits don't show the case.
func anyCase(quoted string) string {
	return quotedEscapes().ReplaceAllStringFunc(quoted, func(e string) string {
		n, err := strconv.ParseUint(e[len(e)-4:], 16, 16)
		if err != nil {
			return e // can't happen: they are four digits
		}
		lower, upper := hexEscape(unicode.ToLower(rune(n))), hexEscape(unicode.ToUpper(rune(n)))
		return e[:len(e)-4] + "(?:" + lower[2:] + "|" + upper[2:] + ")"
	})
}

var quotedEscapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\\\u[0-9a-fA-F]{4}`) })

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(?:u[0-9a-f]{4}|.)`) })

func slashJSON(s string) string { return strings.ReplaceAll(asciiJSON(s), "/", `\/`) }

func inJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s // a string always has a JSON form
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

func asciiJSON(s string) string {
	var b strings.Builder
	for _, c := range plainJSON(s) {
		switch {
		case c < utf8.RuneSelf:
			b.WriteRune(c)
		case c > 0xffff:
			c -= 0x10000
			b.WriteString(hexEscape(0xd800+c>>10) + hexEscape(0xdc00+c&0x3ff))
		default:
			b.WriteString(hexEscape(c))
		}
	}
	return b.String()
}

func hexEscape(c rune) string {
	s := strconv.FormatInt(int64(c), 16)
	return `\u` + strings.Repeat("0", 4-len(s)) + s
}

// longestPlain returns the longest part of a text that is the same in all its forms.
func longestPlain(text string) string {
	best, start := "", 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && plainByte(text[i]) {
			continue
		}
		if i-start > len(best) {
			best = text[start:i]
		}
		start = i + 1
	}
	return best
}

func plainByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte(" _-.,:;!?()", c) >= 0
}
