package redact

import (
	"encoding/json"
	"slices"
	"strings"

	"loci/core/memory"
	"loci/core/recall"
	"loci/core/search"
)

// Where a search, a call or a recall record lists a record, it includes more than the record's text: its tags, and the
// words it was found by. Those are removed with it.

// listing is a document that may list a record, or hold a forgotten text.
type listing struct {
	r     *Redactor
	in    string
	dec   *json.Decoder
	items []object
	spans []span
	texts []string        // what the objects show
	shown map[string]bool // the words of that; nil until it is needed
}

// object is an object in a document.
type object struct {
	around int    // index of the enclosing object; -1: none
	key    string // it is stored under
	id     string // of the record it lists, if given
	holds  bool   // it holds a forgotten text
}

// span is a value that describes what its object, or the enclosing one, lists.
type span struct {
	item, start, end int
	key              string
	elements         []string // of a list, as written
}

// Bare returns a text without what it says about the record besides the record's text or, when a text is being
// forgotten, without those of its words that are listed as having found it.
func (r *Redactor) Bare(s string) string {
	if len(r.Tags) > 0 {
		s = memory.WithoutTags(s, r.Tags)
	}
	switch {
	case s != "" && strings.IndexByte("{[", s[0]) >= 0 && json.Valid([]byte(s)):
		l := listing{r: r, in: s, dec: json.NewDecoder(strings.NewReader(s))}
		l.value(-1, "")
		return l.without()
	case r.Record == "":
		return s
	}
	return recall.Bare(s, func(entry string) int {
		start, _ := r.next(entry, 0)
		return start
	})
}

// at returns where the next value begins.
func (l *listing) at() int {
	start := int(l.dec.InputOffset())
	for strings.IndexByte(" \t\r\n:,", l.in[start]) >= 0 {
		start++
	}
	return start
}

// value reads a value stored under a key of an object.
func (l *listing) value(item int, key string) {
	start := l.at()
	token, _ := l.dec.Token() // the document is valid
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			l.object(item, key)
			return
		}
		said := item >= 0 && (key == "tags" || key == "words" || key == "context")
		var elements []string
		for l.dec.More() {
			from := l.at()
			l.value(-1, "")
			if said {
				elements = append(elements, l.in[from:l.dec.InputOffset()])
			}
		}
		_, _ = l.dec.Token()
		if said {
			l.spans = append(l.spans, span{item, start, int(l.dec.InputOffset()), key, elements})
		}
	case string:
		if item < 0 {
			return
		}
		l.items[item].holds = l.items[item].holds || l.r.Finds(t)
		l.texts = append(l.texts, t)
		if key == "id" {
			l.items[item].id = t
		}
		if key == "content" && l.r.Record != "" {
			l.spans = append(l.spans, span{item, start, int(l.dec.InputOffset()), key, nil})
		}
	}
}

func (l *listing) object(around int, key string) {
	item := len(l.items)
	l.items = append(l.items, object{around: around, key: key})
	for l.dec.More() {
		token, _ := l.dec.Token()
		key, _ := token.(string)
		l.value(item, key)
	}
	_, _ = l.dec.Token()
}

// without returns the document without what must go.
func (l *listing) without() string {
	lists := slices.ContainsFunc(l.items, l.about)
	var b strings.Builder
	from := 0
	for _, s := range l.spans {
		if s.start < from {
			continue
		}
		left, ok := l.left(s, lists)
		if !ok {
			continue
		}
		b.WriteString(l.in[from:s.start])
		b.WriteString(left)
		from = s.end
	}
	return b.String() + l.in[from:]
}

// left returns what replaces a value that goes in whole or in part; false: it stays. For a record, everything said about
// it goes; for a text, its words. A neighbour found by what the text says keeps its other words. A search that doesn't
// list the text keeps those that it shows; older ones also quoted texts that they didn't show.
func (l *listing) left(s span, lists bool) (string, bool) {
	i := l.items[s.item]
	quotes := s.key == "context" && (lists || i.key == "relevance")
	if s.key != "content" && i.id == "" && !i.holds && i.around >= 0 {
		i = l.items[i.around]
	}
	about := l.about(i)
	switch {
	case s.key == "content":
		return `"` + plainJSON(l.r.Mark) + `"`, i.id == l.r.Record
	case about && l.r.Record != "":
		return "[]", true
	case quotes || s.key == "words" && about:
		kept := slices.DeleteFunc(slices.Clone(s.elements), func(word string) bool {
			return l.r.spells(word) && (lists || about || !l.shows(word))
		})
		return "[" + strings.Join(kept, ",") + "]", len(kept) < len(s.elements)
	}
	return "", false
}

// about reports whether an object is about the record, or about what holds the text.
func (l *listing) about(i object) bool {
	if l.r.Record != "" && i.id != "" {
		return i.id == l.r.Record
	}
	return i.holds
}

// shows reports whether a JSON string is a word of a text in the document.
func (l *listing) shows(quoted string) bool {
	if l.shown == nil {
		l.shown = map[string]bool{}
		for _, t := range l.texts {
			for _, w := range search.Words(t) {
				l.shown[w] = true
			}
		}
	}
	return slices.ContainsFunc(wordsOf(quoted), func(w string) bool { return l.shown[w] })
}

// spells reports whether a JSON string is a word of what is being forgotten.
func (r *Redactor) spells(quoted string) bool {
	return slices.ContainsFunc(wordsOf(quoted), func(w string) bool { return r.words[w] })
}

func wordsOf(quoted string) []string {
	var s string
	_ = json.Unmarshal([]byte(quoted), &s) // anything but a string isn't a word
	return search.Words(s)
}

// quoting is in every search that says which words were found around a text.
const quoting = `"context"`

// lists reports whether a text may list the record, however short it is, or quote its words, or is a prompt with its tags.
func (r *Redactor) lists(s string) bool {
	return r.Record != "" && strings.Contains(s, r.Record) || len(r.Tags) > 0 && strings.Contains(s, memory.TagsLine) ||
		len(r.words) > 0 && strings.Contains(s, quoting)
}
