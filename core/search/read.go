package search

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Source is a text as stored, with what its columns say.
type Source struct {
	Text    string
	Speaker string    // who said it, empty if the columns do not say
	At      time.Time // when it was written
	Turn    bool      // a turn of a conversation, whatever its text looks like
	Part    bool      // part of a file: never a turn, and without a speaker
}

// Reading is everything search needs to know about a text, read once when it is written.
type Reading struct {
	Speaker string // as written; empty: unknown
	Minute  int64  // since 1970: in local clock time if Flags has Dated, else UTC
	Flags   Flags
	Words   []string // of the body: without a leading time and speaker
	Asked   []bool   // for each word, whether its sentence is a question
	Spans   []Span   // the days the body talks about
}

// Flags say what a text is and contains.
type Flags int

// The flags.
const (
	Turn     Flags = 1 << iota // a turn of a conversation
	Dated                      // the text states its time
	Named                      // the text states its speaker
	Numbered                   // it contains a number
	Part                       // a part of a file
)

// Read reads a text. Relative days in it are relative to its own day.
func Read(s Source) Reading {
	r := Reading{Speaker: s.Speaker, Minute: floorDiv(s.At.Unix(), 60)}
	body := s.Text
	if s.Turn {
		r.Flags |= Turn
	}
	if s.Part {
		r.Flags |= Part
	}
	if minute, rest, ok := leadingTime(body); ok {
		r.Minute, body = minute, body[rest:]
		r.Flags |= Dated
	}
	dated := r.Flags&Dated != 0
	if name, rest, ok := leadingName(body, dated); ok && !s.Part && (dated || !s.Turn) { // who said a turn is in its columns
		r.Speaker = name
		r.Flags |= Named
		if dated { // otherwise it may be the word that the text is about
			body = body[rest:]
		}
	}
	sentences(body, func(sentence string, asks bool) bool {
		scan(sentence, func(_, surface, word string) bool {
			r.Words = append(r.Words, word)
			r.Asked = append(r.Asked, asks)
			if c := surface[0]; c >= '0' && c <= '9' || numeral(surface) {
				r.Flags |= Numbered
			}
			return len(r.Words) < maxWords
		})
		return len(r.Words) < maxWords
	})
	c := &calendar{t: tokens(body), ref: int(floorDiv(r.Minute, 1440))}
	for _, m := range c.mentions() {
		r.Spans = append(r.Spans, m.span)
	}
	return r
}

func numeral(w string) bool {
	switch w {
	case "two",
		"three",
		"four",
		"five",
		"six",
		"seven",
		"eight",
		"nine",
		"ten",
		"eleven",
		"twelve",
		"dozen",
		"hundred",
		"thousand",
		"twice":
		return true
	}
	return false
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// leadingName reads "Name:" at the start of a text. After a time any short name will do; on its own it must look like a
// name, or "Milk: buy two" would be said by Milk. Whether such texts are a conversation depends on their neighbours.
func leadingName(text string, timed bool) (name string, rest int, ok bool) {
	trimmed := strings.TrimLeftFunc(text, unicode.IsSpace)
	const longest = 48
	end := strings.IndexByte(trimmed[:min(len(trimmed), longest)], ':')
	if end <= 0 || end+1 < len(trimmed) && trimmed[end+1] != ' ' && trimmed[end+1] != '\n' {
		return "", 0, false
	}
	name = strings.TrimSpace(trimmed[:end])
	parts := strings.Fields(name)
	if len(parts) == 0 || len(parts) > 3 || !timed && len(parts) > 2 {
		return "", 0, false
	}
	for _, part := range parts {
		first, _ := utf8.DecodeRuneInString(part)
		if !unicode.IsLetter(first) && !timed || !timed && unicode.IsLower(first) {
			return "", 0, false
		}
		for _, r := range part {
			if !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '-' && r != '.' && r != '_' &&
				(!timed || !unicode.IsDigit(r)) {
				return "", 0, false
			}
		}
	}
	return name, len(text) - len(trimmed) + end + 1, true
}

// unnamed begins the voice of a speaker known only by role.
const unnamed = "\x00"

// Voice returns how a speaker is stored: by name, in lower case, else by role. Two roles are two speakers, but no query
// can name them.
func Voice(name, role string) string {
	if name = strings.ToLower(strings.TrimSpace(name)); name != "" || role == "" {
		return name
	}
	return unnamed + role
}

// SpeakerParts returns the words of a text's speaker's name that a query may use, without accents. What only begins like
// "Name:" was said by nobody: that may be a title.
func SpeakerParts(voice string, f Flags) []string {
	if f&Turn == 0 && f&(Dated|Named) != Dated|Named || strings.HasPrefix(voice, unnamed) {
		return nil
	}
	return strings.FieldsFunc(fold(strings.ToLower(voice)), func(r rune) bool { return !wordRune(r) })
}

// sentences splits a text and says which sentences are questions.
func sentences(text string, emit func(sentence string, asks bool) bool) {
	start := 0
	for i, r := range text {
		end := false
		switch r {
		case '?', '!', '\n', '？', '！', '。', '؟':
			end = true
		case '.':
			end = i+1 >= len(text) || text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '"'
		}
		if !end {
			continue
		}
		if i > start && !emit(text[start:i], r == '?' || r == '？' || r == '؟') {
			return
		}
		start = i + utf8.RuneLen(r)
	}
	if start < len(text) {
		emit(text[start:], false)
	}
}

// asking marks a stored word of a question. No word contains it.
const asking = '?'

// Store writes the words for a column: separated by blanks, those of questions marked.
func (r *Reading) Store() string {
	var b strings.Builder
	for i, w := range r.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if r.Asked[i] {
			b.WriteByte(asking)
		}
		b.WriteString(w)
	}
	return b.String()
}

// StoreSpans writes spans for a column.
func StoreSpans(spans []Span) string {
	var b strings.Builder
	for i, s := range spans {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(s.From))
		if s.To != s.From {
			b.WriteByte('/')
			b.WriteString(strconv.Itoa(s.To))
		}
	}
	return b.String()
}

// LoadSpans reads what StoreSpans wrote, skipping what can't be read.
func LoadSpans(stored string) []Span {
	var out []Span
	for _, field := range strings.Fields(stored) {
		from, to, wide := strings.Cut(field, "/")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if wide {
			if b, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		out = append(out, Span{a, b})
	}
	return out
}

// LoadWords reads what Store wrote.
func LoadWords(stored string) []string {
	var out []string
	eachWord(stored, func(w string, _ bool) { out = append(out, w) })
	return out
}
