package storage

import (
	"encoding/json"
	"strings"

	"loci/core/memory"
	"loci/core/recall"
)

// Where a search, a call or a recall record lists a record, it says more of it than its text: its tags, and the words
// that it was found by. They go with it.

// listing is a document that may list a record.
type listing struct {
	r     *redactor
	in    string
	dec   *json.Decoder
	items []listed
	spans []span
}

// listed is an object of a document.
type listed struct {
	around int    // the object that it is in; -1: none
	id     string // of what it lists, where it says so
	holds  bool   // a text of the record
}

// span is a value that goes where the object that it is in, or the one around that, lists the record.
type span struct {
	item, start, end int
	own              bool // it is what the object lists: its id must say that this is the record
}

// bare is what is left of a text without what it says of the record besides the record's text.
func (r *redactor) bare(s string) string {
	if len(r.tags) > 0 {
		s = memory.WithoutTags(s, r.tags)
	}
	switch {
	case r.record == "":
		return s
	case s == "" || strings.IndexByte("{[", s[0]) < 0 || !json.Valid([]byte(s)):
		return recall.Bare(s, func(entry string) int {
			start, _ := r.next(entry, 0)
			return start
		})
	}
	l := listing{r: r, in: s, dec: json.NewDecoder(strings.NewReader(s))}
	l.value(-1, "")
	return l.without()
}

// value reads a value, which stands under a key of an object.
func (l *listing) value(item int, key string) {
	start := int(l.dec.InputOffset())
	for strings.IndexByte(" \t\r\n:,", l.in[start]) >= 0 {
		start++
	}
	token, _ := l.dec.Token() // the document is valid
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			l.object(item)
			return
		}
		for l.dec.More() {
			l.value(-1, "")
		}
		_, _ = l.dec.Token()
		if item >= 0 && (key == "tags" || key == "words" || key == "context") {
			l.spans = append(l.spans, span{item, start, int(l.dec.InputOffset()), false})
		}
	case string:
		if item < 0 {
			return
		}
		l.items[item].holds = l.items[item].holds || l.r.in(t)
		if key == "id" {
			l.items[item].id = t
		}
		if key == "content" {
			l.spans = append(l.spans, span{item, start, int(l.dec.InputOffset()), true})
		}
	}
}

func (l *listing) object(around int) {
	item := len(l.items)
	l.items = append(l.items, listed{around: around})
	for l.dec.More() {
		token, _ := l.dec.Token()
		key, _ := token.(string)
		l.value(item, key)
	}
	_, _ = l.dec.Token()
}

// without is the document without what goes.
func (l *listing) without() string {
	var b strings.Builder
	from := 0
	for _, s := range l.spans {
		if s.start < from || !l.goes(s) {
			continue
		}
		b.WriteString(l.in[from:s.start])
		if s.own {
			b.WriteString(`"` + plainJSON(l.r.mark) + `"`)
		} else {
			b.WriteString("[]")
		}
		from = s.end
	}
	return b.String() + l.in[from:]
}

func (l *listing) goes(s span) bool {
	i := l.items[s.item]
	if !s.own && i.id == "" && !i.holds && i.around >= 0 {
		i = l.items[i.around]
	}
	if i.id != "" || s.own {
		return i.id == l.r.record
	}
	return i.holds
}

// lists reports whether a text may list the record, however short that is, or is a prompt with its tags.
func (r *redactor) lists(s string) bool {
	return r.record != "" && strings.Contains(s, r.record) || len(r.tags) > 0 && strings.Contains(s, memory.TagsLine)
}
