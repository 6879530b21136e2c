package core

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The shortest value, and the shortest line of a value of several, that is taken out of texts: shorter ones stand in them by
// chance.
const (
	leastVeiled     = 6
	leastVeiledLine = 8
)

// Veil takes secret values out of texts. The zero value and nil take out nothing.
type Veil struct {
	replacer *strings.Replacer
	values   []string // what is replaced, the longest first
}

// NewVeil returns what puts the names of values in their place: the values as they are, as JSON and addresses write them, and the
// lines of those with several. What a program makes of a value otherwise is not recognised.
func NewVeil(values map[string]Secret) *Veil {
	named := map[string]string{}
	for name, value := range values {
		for _, form := range forms(value.Reveal()) {
			if was, known := named[form]; !known || name < was {
				named[form] = name
			}
		}
	}
	v := &Veil{}
	for form := range named {
		v.values = append(v.values, form)
	}
	slices.SortFunc(v.values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, form := range v.values {
		pairs = append(pairs, form, "[secret "+named[form]+"]")
	}
	v.replacer = strings.NewReplacer(pairs...)
	return v
}

// forms are the ways in which a value is written.
func forms(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < leastVeiled {
		return nil
	}
	out := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if text, err := json.Marshal(value); err == nil {
		plain := string(text[1 : len(text)-1])
		out = append(out, plain, ascii(plain))
	}
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		out = append(out, strings.Join(strings.Fields(value), " ")) // as a shell writes it that was not told to keep lines
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= leastVeiledLine {
				out = append(out, line)
			}
		}
	}
	return out
}

// ascii is a JSON text as programs write it that escape all other letters.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Text returns a text without the values.
func (v *Veil) Text(text string) string {
	if v == nil || v.replacer == nil {
		return text
	}
	return v.replacer.Replace(text)
}

// Cut returns how many bytes at the end of a text may be the beginning of a value, or at its beginning the end of one: a text that
// was cut there must lose them.
func (v *Veil) Cut(text string) (head, tail int) {
	if v == nil {
		return 0, 0
	}
	for _, value := range v.values {
		for n := min(len(value)-1, len(text)); n >= leastVeiled/2; n-- {
			if n > tail && strings.HasSuffix(text, value[:n]) {
				tail = n
			}
			if n > head && strings.HasPrefix(text, value[len(value)-n:]) {
				head = n
			}
		}
	}
	return head, tail
}
