package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core/memory"
	"loci/core/search"
)

// Redactor replaces texts by a mark.
type Redactor struct {
	Mark   string   // used in texts
	Record string   // id of the record being forgotten; "" if it is a text
	Tags   []string // the record's tags that nothing else has

	Tools    map[string]bool // names of the tools that were sent
	Declared map[string]bool // their parameters: kept as names of arguments

	heads  map[string][]pattern // texts by their first bytes
	first  [256]uint64          // by first byte, a bit for each possible second byte
	re     *regexp.Regexp       // replaces heads if case is ignored
	most   int                  // length of the longest text in bytes; if case is ignored, a letter's other case may take more
	plain  string               // the mark in names, labels and tags, which don't allow brackets
	hints  []string             // for each text, the longest part that is the same in all its forms
	quotes *quotes              // for longer texts; nil if only whole ones are searched for
	words  map[string]bool      // of the texts, as the index stores them
}

// headBytes is the length of a text's head; no text is shorter.
const headBytes = 3

// New returns a Redactor for the texts. Each is searched for as it is and as it appears in JSON that is embedded in a
// text: the arguments of a call, or what a tool returned. fold ignores case.
func New(texts []string, fold bool) *Redactor {
	r := &Redactor{heads: map[string][]pattern{}, words: map[string]bool{}}
	var all []pattern
	size := 0
	for _, t := range texts {
		size += len(t)
		all = append(all, patterns(t, size <= maxMixed, fold)...)
		r.hints = append(r.hints, written(t, fold).hint())
		for _, w := range search.Words(t) {
			r.words[w] = true
		}
	}
	for _, p := range all {
		r.most = max(r.most, p.longest())
	}
	if fold {
		slices.SortStableFunc(all, func(a, b pattern) int { return b.longest() - a.longest() })
		quoted := make([]string, len(all))
		for i, p := range all {
			quoted[i] = p.expression(func(s string) string { return anyCase(regexp.QuoteMeta(s)) })
		}
		r.re = regexp.MustCompile("(?i)" + strings.Join(quoted, "|")) // longest first; quoted, so it always compiles
		r.most *= utf8.UTFMax
	} else {
		for _, p := range all {
			for _, h := range p.heads() {
				r.heads[h] = append(r.heads[h], p)
				r.first[h[0]] |= 1 << (h[1] & 63)
			}
		}
	}
	r.Mark = r.pick("[forgotten]", "[removed]", "[…]", "[#]", "")
	r.plain = r.pick("forgotten", "removed", "gone", "x", "")
	return r
}

// next finds the first of the texts in s from a position on; start is -1 if there is none.
func (r *Redactor) next(s string, from int) (start, end int) {
	if r.re != nil {
		if from == 0 && !r.likely(s) { // check once per string
			return -1, -1
		}
		if at := r.re.FindStringIndex(s[from:]); at != nil {
			return from + at[0], from + at[1]
		}
		return -1, -1
	}
	var h uint64
	for i := from; i+headBytes <= len(s); i++ {
		if r.quotes != nil && i+windowBytes <= len(s) {
			if i == from {
				h = hashOf(s[i : i+windowBytes])
			} else {
				h = r.quotes.moved(h, s[i-1], s[i-1+windowBytes])
			}
			if start, end, ok := r.quotes.part(s, h, i, from); ok {
				return r.joined(s, start, end)
			}
		}
		if n := r.headed(s[i:]); n > 0 {
			return r.joined(s, i, i+n)
		}
	}
	return -1, -1
}

// likely reports whether s may hold one of the texts in any case. It avoids the regular expression, which is slow.
func (r *Redactor) likely(s string) bool {
	if len(r.hints) > maxLikely {
		return true
	}
	s = strings.ToLower(s)
	return slices.ContainsFunc(r.hints, func(h string) bool { return strings.Contains(s, strings.ToLower(h)) })
}

// maxLikely is how many hints are searched for one by one.
const maxLikely = 8

// headed returns the length of the longest of the texts that s begins with.
func (r *Redactor) headed(s string) int {
	if len(s) < headBytes || r.first[s[0]]&(1<<(s[1]&63)) == 0 {
		return 0
	}
	n := 0
	for _, p := range r.heads[s[:headBytes]] {
		n = max(n, p.match(s))
	}
	return n
}

// joined extends a match over other matches that begin inside it.
func (r *Redactor) joined(s string, start, end int) (from, to int) {
	if r.quotes == nil {
		return start, end
	}
	for i := start + 1; i < end; i++ {
		end = max(end, i+r.headed(s[i:]))
		if i+windowBytes > len(s) || i+windowBytes <= end {
			continue
		}
		if _, to, ok := r.quotes.part(s, hashOf(s[i:i+windowBytes]), i, start); ok {
			end = max(end, to)
		}
	}
	return start, end
}

// Finds reports whether s contains any of the texts.
func (r *Redactor) Finds(s string) bool {
	start, _ := r.next(s, 0)
	return start >= 0
}

// swap replaces every text, in one pass.
func (r *Redactor) swap(s, mark string) string {
	var b strings.Builder
	from := 0
	for start, end := r.next(s, 0); start >= 0; start, end = r.next(s, from) {
		b.WriteString(s[from:start])
		b.WriteString(mark)
		from = end
	}
	b.WriteString(s[from:])
	return b.String()
}

// Quote makes the Redactor also find long parts of the texts.
func (r *Redactor) Quote(texts []string) {
	var all []string
	for _, t := range texts {
		all = append(all, variants(t)...)
	}
	r.quotes = newQuotes(all)
}

// Empty reports whether there is nothing to search for.
func (r *Redactor) Empty() bool { return len(r.hints) == 0 }

// pick returns the first mark that contains none of the texts.
func (r *Redactor) pick(marks ...string) string {
	for _, m := range marks {
		if !r.Finds(m) {
			return m
		}
	}
	return ""
}

// Text redacts a text. A mark next to what is left may form the text again; then that is removed too.
func (r *Redactor) Text(s string) string { return r.with(s, r.Mark) }

// Name redacts a name, a label or a tag.
func (r *Redactor) Name(s string) string { return r.with(s, r.plain) }

func (r *Redactor) with(s, mark string) string {
	const rounds = 4
	for range rounds {
		if !r.Finds(s) {
			return s
		}
		s = r.swap(s, mark)
	}
	for r.Finds(s) {
		s = r.swap(s, "")
	}
	return s
}

// Only reports whether nothing but marks is left of a text.
func (r *Redactor) Only(s string) bool {
	return r.Mark != "" && strings.Contains(s, r.Mark) && strings.Trim(strings.ReplaceAll(s, r.Mark, ""), " \t\r\n.,;:!?-\"'") == ""
}

// Line returns the first line that holds one of the texts, cut around it.
func (r *Redactor) Line(s string) string {
	first, _ := r.next(s, 0)
	if first < 0 {
		return ""
	}
	const before, most = 30, 100
	start := strings.LastIndexByte(s[:first], '\n') + 1
	if first-start > before {
		start = first - before
	}
	for start < first && !utf8.RuneStart(s[start]) {
		start++
	}
	line, _, _ := strings.Cut(s[start:], "\n")
	runes := []rune(line)
	if len(runes) > most {
		runes = append(runes[:most], '…')
	}
	return strings.TrimSpace(string(runes))
}

// Parts returns plain strings, at least one of which is in anything that holds one of the texts, so that a query can
// narrow what it reads; fold: compare them in either case. ok is false if no small set of them will do.
func (r *Redactor) Parts() (all []string, fold, ok bool) {
	all = slices.Clone(r.hints)
	if r.Record != "" {
		all = append(all, r.Record)
	}
	if len(r.Tags) > 0 {
		all = append(all, memory.TagsLine)
	}
	if len(r.words) > 0 {
		all = append(all, strings.Trim(quoting, `"`)) // its quotes are escaped where it is stored
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all, r.re != nil, r.quotes == nil && !slices.Contains(all, "")
}
