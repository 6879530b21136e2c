package search

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxTerms limits how many words of a query are looked up: for a pasted file, the rarest ones.
const MaxTerms = 64

// maxQueryWords limits how much of a query is read at all.
const maxQueryWords = 2000

// term is a distinct word of a query.
type term struct {
	word    string // normalised
	written string // as in the query
	surface string // the same in lower case
	capital bool   // it is capitalised somewhere
	proper  bool   // … and within a sentence, as names are
	times   int    // how often the query has it
	name    []string
	near    []near // the relatives that it is widened by
}

// queryTime is a time that a query asks for.
type queryTime struct {
	Span
	month time.Month // if set: this month, or day of it, in every year
	day   int
}

func (a queryTime) days() int {
	switch {
	case a.month == 0:
		return a.Span.days()
	case a.day != 0:
		return 1
	}
	return 31
}

// matches reports whether a span fits the time asked for: it overlaps, and isn't much vaguer than the question.
func (a queryTime) matches(s Span) bool {
	if s.days() > max(31, a.days()) {
		return false
	}
	if a.month == 0 {
		return a.overlaps(s)
	}
	for year := dateOf(s.From).Year(); year <= dateOf(s.To).Year(); year++ {
		span := wholeMonth(year, a.month)
		if a.day != 0 {
			if !validDate(year, int(a.month), a.day) {
				continue
			}
			day := dayOf(year, a.month, a.day)
			span = Span{day, day}
		}
		if span.overlaps(s) {
			return true
		}
	}
	return false
}

// Query is an analysed search query.
type Query struct {
	terms      []term
	pairs      [][2]string // consecutive terms
	times      []queryTime
	phrases    [][]string // set if the query is nothing but quoted phrases: each must occur in a text
	wantDate   bool
	wantNumber bool
	known      func(word string) bool    // nil: every word is
	common     func(word string) float64 // nil: no word is
	related    func(word string) []Relative
}

// Analyse reads a query made on a given day; with NoDay relative days are not read.
func Analyse(text string, today int) Query {
	q := Query{}
	words := q.read(cutRunes(strings.ToValidUTF8(text, " "), 40*maxQueryWords), today)
	seen := map[[2]string]bool{}
	for i := 1; i < len(words); i++ {
		if p := [2]string{words[i-1], words[i]}; p[0] != "" && p[1] != "" && !seen[p] {
			seen[p] = true
			q.pairs = append(q.pairs, p)
		}
	}
	return q
}

// read fills in everything but the pairs and returns the words in order, with an empty one for each that isn't a term.
func (q *Query) read(text string, today int) []string {
	c := &calendar{t: tokens(text), ref: today}
	months := map[string]bool{}
	for _, m := range c.mentions() {
		q.times = append(q.times, queryTime{m.span, m.month, m.day})
		for _, t := range c.t[m.first:m.next] {
			if month, _ := monthOf(t.text); month != 0 {
				months[t.text] = true
			}
		}
	}
	capital, proper := capitals(text)
	var words []string
	at := map[string]int{} // where each term is, plus one
	scan(text, func(written, surface, word string) bool {
		if months[surface] {
			word = ""
		}
		words = append(words, word)
		switch i := at[word]; {
		case word == "":
		case i > 0:
			q.terms[i-1].times++
		default:
			q.terms = append(q.terms, term{
				word: word, surface: surface, written: written, capital: capital[surface], proper: proper[surface], times: 1,
			})
			at[word] = len(q.terms)
		}
		return len(words) < maxQueryWords
	})
	lower := " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !wordRune(r) }), " ") + " "
	holds := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(lower, " "+p+" ") })
	}
	q.wantDate = holds(
		"when",
		"what date",
		"which date",
		"what day",
		"which day",
		"which year",
		"what year",
		"which month",
		"what month",
		"how long",
	)
	q.wantNumber = holds("how many", "how often", "how much", "how long")
	q.phrases = phrasesOnly(text)
	return words
}

// capitals returns the words, in lower case, that a text writes with a capital, and those that do so within a sentence.
func capitals(text string) (all, within map[string]bool) {
	all, within = map[string]bool{}, map[string]bool{}
	begins := true // a sentence
	for text != "" {
		start := strings.IndexFunc(text, wordRune)
		if start < 0 {
			break
		}
		begins = begins || strings.ContainsAny(text[:start], ".?!:\n")
		text = text[start:]
		end := strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) })
		if end < 0 {
			end = len(text)
		}
		if first, _ := utf8.DecodeRuneInString(text); unicode.IsUpper(first) {
			w := strings.ToLower(text[:end])
			all[w], within[w] = true, within[w] || !begins
		}
		text, begins = text[end:], false
	}
	return all, within
}

// phrasesOnly returns the words of each phrase if a query is nothing but phrases in quotation marks.
func phrasesOnly(text string) [][]string {
	var out [][]string
	rest := strings.TrimSpace(text)
	for rest != "" {
		if rest[0] != '"' {
			return nil
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return nil
		}
		if words := Words(rest[1 : end+1]); len(words) > 0 {
			out = append(out, words)
		}
		rest = strings.TrimSpace(rest[end+2:])
	}
	return out
}

// Empty reports whether a query names nothing to look for, neither words nor days.
func (q *Query) Empty() bool { return len(q.terms) == 0 && len(q.times) == 0 }

// Terms returns the distinct words of the query, in order.
func (q *Query) Terms() []string { return words(q.terms) }

func words(terms []term) []string {
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = t.word
	}
	return out
}

// Weigh tells a query how common a word is in general, 0 to 1: a common one says little of what a query is about, even
// where few texts have it. It is asked only about words that the ranking weighs: a paste has thousands.
func (q Query) Weigh(common func(word string) float64) Query {
	q.common = common
	return q
}

// ordinary returns how common a word of the query is.
func (q *Query) ordinary(t *term) float64 {
	if q.common == nil {
		return 0
	}
	return q.common(t.surface)
}

// Narrow keeps the rarest terms, at most MaxTerms, which limits the cost of a pasted file.
func (q Query) Narrow(df map[string]int) Query {
	if len(q.terms) <= MaxTerms {
		return q
	}
	rarest := slices.Clone(q.terms)
	slices.SortStableFunc(rarest, func(a, b term) int { return cmp.Compare(rank(df[a.word]), rank(df[b.word])) })
	keep := map[string]bool{}
	for _, t := range rarest[:MaxTerms] {
		keep[t.word] = true
	}
	q.terms = slices.DeleteFunc(slices.Clone(q.terms), func(t term) bool { return !keep[t.word] })
	q.pairs = slices.DeleteFunc(slices.Clone(q.pairs), func(p [2]string) bool { return !keep[p[0]] || !keep[p[1]] })
	return q
}

// rank sorts words that occur nowhere last.
func rank(df int) int {
	if df == 0 {
		return 1 << 40
	}
	return df
}

// shortestForm is the fewest letters that a shortened name may have.
const shortestForm = 3

// Resolve determines which terms name a speaker: a whole part of a name, or the beginning of one, written with a
// capital, if the texts use that short form. speakers are the parts of names with how many texts those people said.
func (q Query) Resolve(speakers map[string]int, df map[string]int) Query {
	q.terms = slices.Clone(q.terms)
	for i := range q.terms {
		t := &q.terms[i]
		t.name = nil
		plain := fold(t.surface)
		if speakers[plain] > 0 {
			t.name = []string{plain}
			continue
		}
		if !t.capital || len(plain) < shortestForm || df[t.word] == 0 {
			continue
		}
		for part, n := range speakers {
			if n > 0 && strings.HasPrefix(part, plain) {
				t.name = append(t.name, part)
			}
		}
		slices.Sort(t.name)
	}
	return q
}

// Surfaces returns the terms as written, but without accents; some may be names.
func (q *Query) Surfaces() []string {
	out := make([]string, len(q.terms))
	for i, t := range q.terms {
		out[i] = fold(t.surface)
	}
	return out
}

// Names returns the parts of speakers' names that the query names.
func (q *Query) Names() []string {
	var out []string
	for _, t := range q.terms {
		for _, n := range t.name {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// Rarest returns the terms to select candidates by: those that occur somewhere and name nobody, rarest first, as long as
// they occur in at most budget texts in total; it always returns the rarest. Names are used only if there is nothing
// else.
func (q *Query) Rarest(df map[string]int, budget int) []string {
	known := slices.DeleteFunc(slices.Clone(q.terms), func(t term) bool { return df[t.word] == 0 || len(t.name) > 0 })
	if len(known) == 0 {
		known = slices.DeleteFunc(slices.Clone(q.terms), func(t term) bool { return df[t.word] == 0 })
	}
	slices.SortStableFunc(known, func(a, b term) int { return cmp.Compare(df[a.word], df[b.word]) })
	var out []string
	sum := 0
	for i, t := range known {
		if sum += df[t.word]; sum > budget && i > 0 {
			break
		}
		out = append(out, t.word)
	}
	return out
}

// longestAsked is how many days a time may span for candidates to be selected by it.
const longestAsked = 8

// Days returns the spans that are short enough to select candidates by.
func (q *Query) Days() []Span {
	var out []Span
	for _, a := range q.times {
		if a.month == 0 && a.days() <= longestAsked {
			out = append(out, a.Span)
		}
	}
	return out
}
