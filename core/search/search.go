// Package search ranks what the store found: it reads texts once, when they are written, and turns a query and texts
// near its words into scores, with a reason for each hit. It is pure: no I/O, no state, no language model. The store
// restricts candidates to scope, tags, dates and roles before they come here, so that ranking never decides what may be seen.
//
// A text is scored by the query's words in it (BM25), by what it inherits from its neighbours in a conversation (an
// answer has the words of its question), by who said it and by the days it talks about; then once more by the words of
// the best hits, and joined with the cosines of an embedding where there are some. Texts that are no conversation inherit
// nothing.
//
// Words and Reading are the one vocabulary of index and query: whoever changes them raises Version, and every index is rebuilt.
package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Version changes with every change of what Read returns.
const Version = "3"

// StandsOut is the standard deviations above the mean from which a cosine counts.
const StandsOut = 2.0

// The parameters of the ranking, found on one half of a data set of conversations and rounded.
const (
	k1            = 0.6
	b             = 0.3
	nameWeight    = 0.25 // of a word that names a speaker
	pairWeight    = 0.35 // of two query words that follow each other
	answers       = 1.5  // what a text inherits of its neighbour's question
	fromBefore    = 0.15 // … and of any other word of the one before
	fromNear      = 0.3  // … and of the one after and those two away
	shareExp      = 0.8  // how strongly the matched share of the query counts
	speakerBonus  = 2.0
	calendarBonus = 2.0
	kindBonus     = 1.0
	sessionShare  = 0.1 // of a session's best score for all in it
	sessionBreak  = 180 // minutes
	feedbackDocs  = 5
	feedbackNear  = 0.25 // the weight of their neighbours
	feedbackTerms = 30
	feedbackWeigh = 0.1
	standsOut     = StandsOut
	vectorScale   = 4.0
)

// Doc is a text to be scored.
type Doc struct {
	ID      string
	Seq     int64  // the order of texts
	Lane    int64  // what it follows others in: a conversation, an archive
	Gap     bool   // texts may be missing between it and the one before
	Who     string // the speaker, lower case
	Minute  int64
	Day     int // its own
	Flags   Flags
	Len     int    // how many words
	Words   string // as Reading.Store wrote them
	Spans   []Span
	Allowed bool // may be returned
}

// Stats are what the index knows of all texts in reach.
type Stats struct {
	Docs     int            // how many texts
	AvgLen   float64        // their average number of words
	DF       map[string]int // in how many of them a word stands
	Speakers map[string]int // parts of speakers' names, with how many texts they said
	// OnDays counts the texts whose own day is within a span; nil: counted among the docs.
	OnDays func(Span) int
	// More looks up further words in DF's way; nil: DF has all.
	More func(words []string) map[string]int
}

// Vectors are the cosines of the texts that are nearest to the query by an embedding, by id, with mean and standard
// deviation over all texts in reach. Weight is how much the embedding counts, Gate how much less where words match.
type Vectors struct {
	Cos          map[string]float64
	Mean, SD     float64
	Weight, Gate float64
}

// Hit is a text found, with its score and why.
type Hit struct {
	ID    string
	Score float64
	Why   Why
}

// Why says what made a hit.
type Why struct {
	Terms     []string    // the query's words in the text itself, normalised
	Inherited []Inherited // from neighbours, the strongest first
	Speaker   bool        // the query names who said it
	Date      bool        // the query asks for a time that it is of or talks about
	Vector    float64     // by how many standard deviations its cosine stands out; 0: it does not
	Share     float64     // how much of the query it matches, with what it inherits: 0 to 1
}

// Inherited are words of the query that a neighbour says, as the query writes them.
type Inherited struct {
	From  string
	Words []string
}

// Rank scores texts and returns those with something of the query, best first; equal scores keep the order of Seq.
// Reasons are given for the first explain of them.
func Rank(q Query, st Stats, texts *Texts, v Vectors, explain int) []Hit {
	r := newRanking(q, st, texts)
	first := r.scorer(r.queryTerms())
	first.weighMatter()
	scores := r.bonuses(first.all())
	best := r.sessions(scores)
	if words := r.feedback(best); len(words) > 0 {
		for i, s := range r.scorer(words).all() {
			scores[i] += s
		}
	}
	scores = r.join(scores, v, first.bestShare)
	scores = r.sessions(scores)
	return r.hits(scores, first, v, explain)
}

// ranking holds what all passes share.
type ranking struct {
	q     Query
	st    Stats
	docs  []Doc
	texts *Texts
	norm  []float64 // of BM25, by length
	link  []bool    // the doc and the one before are turns that follow each other in a session
	sess  []int     // the session of a turn, -1: none
	said  []bool    // the query names the speaker
	dated []bool    // the query's time
	own   []bool    // the doc has something of the query: words, inherited ones too, the speaker, the time or the meaning
	parts map[string][]string
}

func newRanking(q Query, st Stats, texts *Texts) *ranking {
	docs := texts.docs
	if st.AvgLen <= 0 {
		st.AvgLen = 1
	}
	st.Docs = max(st.Docs, len(docs))
	n := len(docs)
	r := &ranking{
		q: q, st: st, docs: docs, texts: texts, norm: make([]float64, n), link: make([]bool, n), sess: make([]int, n),
		said: make([]bool, n), dated: make([]bool, n), own: make([]bool, n), parts: map[string][]string{},
	}
	turns := make([]bool, n)
	for i := range docs {
		r.norm[i] = k1 * (1 - b + b*float64(docs[i].Len)/st.AvgLen)
		turns[i] = r.turn(i)
	}
	session := -1
	for i := range docs {
		r.sess[i] = -1
		if !turns[i] {
			continue
		}
		follows := i > 0 && turns[i-1] && docs[i].Lane == docs[i-1].Lane && abs(docs[i].Minute-docs[i-1].Minute) <= sessionBreak
		r.link[i] = follows && !docs[i].Gap
		if !follows {
			session++
		}
		r.sess[i] = session
	}
	return r
}

func abs(n int64) int64 { return max(n, -n) }

// turn reports whether a doc is a turn of a conversation: it is stored as one, it names its time and speaker, or it names
// a speaker who speaks again within two texts while another one does too, as in a transcript without times. A part of a file
// is none.
func (r *ranking) turn(i int) bool {
	d := &r.docs[i]
	if d.Flags&Part != 0 {
		return false
	}
	if d.Flags&Turn != 0 || d.Flags&(Dated|Named) == Dated|Named {
		return true
	}
	if d.Flags&Named == 0 {
		return false
	}
	again, other := false, false
	for j := max(0, i-2); j <= min(len(r.docs)-1, i+2); j++ {
		if n := &r.docs[j]; j != i && n.Lane == d.Lane && n.Flags&Named != 0 {
			again = again || n.Who == d.Who
			other = other || n.Who != d.Who
		}
	}
	return again && other
}

// weighted is a word or a pair of words to score by.
type weighted struct {
	word, next string // next: of a pair
	weight     float64
	value      float64 // weight · idf
}

func (r *ranking) idf(df int) float64 { return idf(r.st.Docs, df) }

func idf(docs, df int) float64 {
	return math.Log(1 + (float64(docs-min(df, docs))+.5)/(float64(df)+.5))
}

func (r *ranking) queryTerms() []weighted {
	out := make([]weighted, 0, len(r.q.terms)+len(r.q.pairs))
	for _, t := range r.q.terms {
		w := 1.0
		if len(t.name) > 0 {
			w = nameWeight
		}
		out = append(out, weighted{word: t.word, weight: w, value: w * r.idf(r.st.DF[t.word])})
	}
	out = slices.DeleteFunc(out, func(t weighted) bool { return r.st.DF[t.word] == 0 })
	for i, df := range r.pairsFound() {
		if df > 0 {
			out = append(out, weighted{word: r.q.pairs[i][0], next: r.q.pairs[i][1], weight: pairWeight, value: pairWeight * r.idf(df)})
		}
	}
	return out
}

// pairsFound counts among the docs, since no index does.
func (r *ranking) pairsFound() []int {
	found := make([]int, len(r.q.pairs))
	if len(found) == 0 {
		return found
	}
	terms := make([]weighted, len(found))
	for i, p := range r.q.pairs {
		terms[i] = weighted{word: p[0], next: p[1]}
	}
	f := r.texts.finder(terms)
	last := make([]int, len(found))
	for i := range r.docs {
		f.each(r.texts.of(i), func(p int32, _ bool) {
			if last[p] != i+1 {
				last[p] = i + 1
				found[p]++
			}
		})
	}
	return found
}

// occurrence is a term in a doc.
type occurrence struct {
	term  int
	value float64 // what it is worth here, BM25
	asked bool    // it stands in a sentence that asks
}

// scorer scores docs by terms.
type scorer struct {
	r         *ranking
	terms     []weighted
	possible  float64      // of a text that says all of them literally
	matters   []float64    // how much each term counts for what the query is about; nil: none do
	about     float64      // … and all that it is about
	matched   []float64    // … and of that each text
	occ       []occurrence // of all texts, one behind the other
	ends      []int        // where a text's occurrences end
	bestShare float64
}

// in returns the terms in a text.
func (s *scorer) in(i int) []occurrence {
	if i == 0 {
		return s.occ[:s.ends[0]]
	}
	return s.occ[s.ends[i-1]:s.ends[i]]
}

func (r *ranking) scorer(terms []weighted) *scorer {
	s := &scorer{r: r, terms: terms, occ: make([]occurrence, 0, 2*len(r.docs)), ends: make([]int, len(r.docs))}
	for _, t := range terms {
		s.possible += t.value
	}
	f := r.texts.finder(terms)
	tf, asked := make([]int, len(terms)), make([]bool, len(terms))
	var touched []int32
	for i := range r.docs {
		f.each(r.texts.of(i), func(t int32, q bool) {
			if tf[t] == 0 {
				touched = append(touched, t)
			}
			tf[t]++
			asked[t] = asked[t] || q
		})
		for _, t := range touched {
			v := terms[t].value * float64(tf[t]) * (k1 + 1) / (float64(tf[t]) + r.norm[i])
			s.occ = append(s.occ, occurrence{int(t), v, asked[t]})
			tf[t], asked[t] = 0, false
		}
		s.ends[i] = len(s.occ)
		touched = touched[:0]
	}
	return s
}

// neighbour is a doc that another inherits from.
type neighbour struct {
	doc    int
	share  float64 // of its words
	answer float64 // of its words in sentences that ask; 0: as any other
}

// neighbours returns whom a doc inherits from.
func (r *ranking) neighbours(i int, buf []neighbour) []neighbour {
	buf = buf[:0]
	if r.link[i] {
		n := neighbour{doc: i - 1, share: fromBefore}
		if r.docs[i].Who != r.docs[i-1].Who || r.docs[i].Who == "" {
			n.answer = answers
		}
		buf = append(buf, n)
		if r.link[i-1] {
			buf = append(buf, neighbour{doc: i - 2, share: fromNear})
		}
	}
	if i+1 < len(r.docs) && r.link[i+1] {
		buf = append(buf, neighbour{doc: i + 1, share: fromNear})
		if i+2 < len(r.docs) && r.link[i+2] {
			buf = append(buf, neighbour{doc: i + 2, share: fromNear})
		}
	}
	return buf
}

func (s *scorer) inherits(n neighbour, o occurrence) float64 {
	switch {
	case s.terms[o.term].next != "" && n.share == fromBefore:
		return fromBefore * o.value
	case o.asked && n.answer > 0:
		return n.answer * o.value
	}
	return n.share * o.value
}

// all returns the score of each doc: the sum over terms, its own and inherited, times the matched share.
func (s *scorer) all() []float64 {
	out := make([]float64, len(s.r.docs))
	s.matched = make([]float64, len(out))
	if s.possible <= 0 {
		return out
	}
	sum := make([]float64, len(s.terms))
	var touched []int
	var buf []neighbour
	add := func(t int, v float64) {
		if sum[t] == 0 {
			touched = append(touched, t)
		}
		sum[t] += v
	}
	for i := range out {
		for _, o := range s.in(i) {
			add(o.term, o.value)
		}
		buf = s.r.neighbours(i, buf)
		for _, n := range buf {
			for _, o := range s.in(n.doc) {
				add(o.term, s.inherits(n, o))
			}
		}
		if len(touched) == 0 {
			continue
		}
		total, share := 0.0, 0.0
		slices.Sort(touched) // sums in one order, whatever the order of words
		for _, t := range touched {
			total += sum[t]
			share += min(sum[t], s.terms[t].value)
			if s.matters != nil && s.terms[t].value > 0 {
				s.matched[i] += s.matters[t] * min(1, sum[t]/s.terms[t].value)
			}
			sum[t] = 0
		}
		touched = touched[:0]
		share /= s.possible
		s.bestShare = max(s.bestShare, share)
		out[i] = total * math.Pow(share, shareExp)
	}
	return out
}

// bonuses adds what is not inherited: who said it, when, and whether it has the kind of answer asked for.
func (r *ranking) bonuses(scores []float64) []float64 {
	for i, s := range scores {
		r.own[i] = s > 0
	}
	if names := r.q.Names(); len(names) > 0 {
		value := map[string]float64{}
		count := 0
		for _, t := range r.q.terms {
			if len(t.name) > 0 {
				count++
			}
		}
		for _, n := range names {
			value[n] = speakerBonus * r.idf(r.st.Speakers[n]) / float64(count)
		}
		for i := range r.docs {
			bonus := 0.0
			for _, part := range r.nameParts(r.docs[i].Who) {
				bonus = max(bonus, value[part])
			}
			if bonus > 0 {
				r.said[i], r.own[i] = true, true
				scores[i] += bonus
			}
		}
	}
	r.calendar(scores)
	for i := range r.docs {
		d := &r.docs[i]
		if r.q.wantDate && len(d.Spans) > 0 {
			scores[i] += kindBonus
		}
		if r.q.wantNumber && d.Flags&Numbered != 0 {
			scores[i] += kindBonus
		}
	}
	return scores
}

func (r *ranking) calendar(scores []float64) {
	if len(r.q.times) == 0 {
		return
	}
	matching := 0
	for i := range r.docs {
		d := &r.docs[i]
		own := Span{d.Day, d.Day}
		for _, a := range r.q.times {
			if a.matches(own) || slices.ContainsFunc(d.Spans, a.matches) {
				r.dated[i] = true
			}
		}
		if r.dated[i] {
			matching++
		}
	}
	if r.st.OnDays != nil {
		counted := 0
		for _, a := range r.q.times {
			if a.month == 0 {
				counted += r.st.OnDays(a.Span)
			}
		}
		matching = max(matching, counted)
	}
	bonus := calendarBonus * r.idf(matching)
	for i := range scores {
		if r.dated[i] {
			scores[i] += bonus
			r.own[i] = true
		}
	}
}

// sessions returns the scores with the bonus of their sessions.
func (r *ranking) sessions(scores []float64) []float64 {
	best := map[int]float64{}
	for i, s := range scores {
		if r.sess[i] >= 0 {
			best[r.sess[i]] = max(best[r.sess[i]], s)
		}
	}
	out := make([]float64, len(scores))
	for i, s := range scores {
		out[i] = s
		if r.sess[i] >= 0 {
			out[i] += sessionShare * best[r.sess[i]]
		}
	}
	return out
}

// feedback returns the words of the best texts and their neighbours as terms, weighted by how special they are to them.
func (r *ranking) feedback(scores []float64) []weighted {
	weights := r.examples(scores)
	if len(weights) == 0 {
		return nil
	}
	mass := map[string]float64{}
	var order []string
	for _, i := range sortedKeys(weights) {
		length := float64(max(r.docs[i].Len, 1))
		for _, token := range r.texts.of(i) {
			w := r.texts.words[token>>1]
			if mass[w] == 0 {
				order = append(order, w)
			}
			mass[w] += weights[i] / length
		}
	}
	names := r.names()
	order = slices.DeleteFunc(order, func(w string) bool { return names[w] })
	df := r.st.DF
	if r.st.More != nil {
		df = r.st.More(order)
	}
	out := make([]weighted, 0, len(order))
	for _, w := range order {
		v := r.idf(max(df[w], 1))
		out = append(out, weighted{word: w, weight: v * mass[w], value: v})
	}
	slices.SortStableFunc(out, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	out = out[:min(len(out), feedbackTerms)]
	if len(out) == 0 || out[0].weight <= 0 {
		return nil
	}
	top := out[0].weight
	for i := range out {
		out[i].weight = feedbackWeigh * out[i].weight / top
		out[i].value *= out[i].weight
	}
	return out
}

// examples weighs the best docs and, less, their neighbours.
func (r *ranking) examples(scores []float64) map[int]float64 {
	order := make([]int, 0, len(scores))
	for i, s := range scores {
		if s > 0 && r.own[i] && r.docs[i].Allowed {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.compare(scores, a, b) })
	order = order[:min(len(order), feedbackDocs)]
	sum := 0.0
	for _, i := range order {
		sum += scores[i]
	}
	weights := map[int]float64{}
	for _, i := range order {
		w := scores[i] / sum
		weights[i] += w
		if r.link[i] {
			weights[i-1] += feedbackNear * w
		}
		if i+1 < len(r.docs) && r.link[i+1] {
			weights[i+1] += feedbackNear * w
		}
	}
	return weights
}

func sortedKeys(m map[int]float64) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// nameParts splits each name once.
func (r *ranking) nameParts(who string) []string {
	parts, ok := r.parts[who]
	if !ok {
		parts = NameParts(who)
		r.parts[who] = parts
	}
	return parts
}

// names are the words that name speakers, or are used for them by the query.
func (r *ranking) names() map[string]bool {
	names := map[string]bool{}
	seen := map[string]bool{}
	for i := range r.docs {
		if who := r.docs[i].Who; !seen[who] {
			seen[who] = true
			for _, part := range r.nameParts(who) {
				names[indexed(part)] = true
			}
		}
	}
	for _, t := range r.q.terms {
		if len(t.name) > 0 {
			names[t.word] = true
		}
	}
	return names
}

// join adds the cosines that stand out, the more the less the words match.
func (r *ranking) join(scores []float64, v Vectors, share float64) []float64 {
	top := 0.0
	for _, s := range scores {
		top = max(top, s)
	}
	if top > 0 {
		for i := range scores {
			scores[i] /= top
		}
	}
	if v.SD <= 0 || len(v.Cos) == 0 || v.Weight <= 0 {
		return scores
	}
	weight := v.Weight * math.Pow(max(0, 1-share), v.Gate)
	for i := range r.docs {
		if z := v.z(r.docs[i].ID); z > standsOut {
			scores[i] += weight * (z - standsOut) / vectorScale
			r.own[i] = true
		}
	}
	return scores
}

// z is by how many standard deviations a text's cosine stands out, 0 for one that has none.
func (v *Vectors) z(id string) float64 {
	c, ok := v.Cos[id]
	if !ok || v.SD <= 0 {
		return 0
	}
	z := (c - v.Mean) / v.SD
	if math.IsNaN(z) || math.IsInf(z, 0) {
		return 0
	}
	return z
}

func (r *ranking) compare(scores []float64, a, b int) int {
	return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(r.docs[a].Seq, r.docs[b].Seq), strings.Compare(r.docs[a].ID, r.docs[b].ID))
}

func (r *ranking) hits(scores []float64, s *scorer, v Vectors, explain int) []Hit {
	order := make([]int, 0, len(scores))
	for i, score := range scores {
		if r.docs[i].Allowed && score > 0 && r.own[i] && r.holdsPhrases(i) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return r.compare(scores, a, b) })
	hits := make([]Hit, len(order))
	for n, i := range order {
		hits[n] = Hit{ID: r.docs[i].ID, Score: scores[i]}
		if n < explain {
			hits[n].Why = s.why(i)
			if z := v.z(r.docs[i].ID); z > standsOut {
				hits[n].Why.Vector = z
			}
		}
	}
	return hits
}

// holdsPhrases reports whether each phrase of the query stands in a doc.
func (r *ranking) holdsPhrases(i int) bool {
	for _, p := range r.q.phrases {
		if !r.texts.holds(i, p) {
			return false
		}
	}
	return true
}

func (s *scorer) why(i int) Why {
	r := s.r
	w := Why{Speaker: r.said[i], Date: r.dated[i], Share: s.shareOf(i)}
	for _, o := range s.in(i) {
		if s.terms[o.term].next == "" {
			w.Terms = append(w.Terms, s.terms[o.term].word)
		}
	}
	type source struct {
		Inherited
		value float64
	}
	var sources []source
	for _, n := range r.neighbours(i, nil) {
		from := source{Inherited: Inherited{From: r.docs[n.doc].ID}}
		for _, o := range s.in(n.doc) {
			from.value += s.inherits(n, o)
			if s.terms[o.term].next == "" {
				from.Words = append(from.Words, r.written(s.terms[o.term].word))
			}
		}
		if len(from.Words) > 0 {
			sources = append(sources, from)
		}
	}
	slices.SortStableFunc(sources, func(a, b source) int { return cmp.Compare(b.value, a.value) })
	for _, from := range sources {
		w.Inherited = append(w.Inherited, from.Inherited)
	}
	return w
}

const (
	// aboutWords is how many words make up what a query is about: a long message is about several things, and who says
	// something of one of them matches it.
	aboutWords = 8
	// leastDocs are assumed where there are fewer texts: among three notes no word is rare.
	leastDocs = 1000
)

// weighMatter finds what the query is about: its weightiest words, those that stand nowhere too.
func (s *scorer) weighMatter() {
	of := func(t term) float64 {
		w := 1.0
		if len(t.name) > 0 {
			w = nameWeight
		}
		return w * idf(max(s.r.st.Docs, leastDocs), s.r.st.DF[t.word])
	}
	all, words := make([]float64, 0, len(s.r.q.terms)), map[string]float64{}
	for _, t := range s.r.q.terms {
		all, words[t.word] = append(all, of(t)), of(t)
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, v := range all[:min(len(all), aboutWords)] {
		s.about += v
	}
	s.matters = make([]float64, len(s.terms))
	for i, t := range s.terms {
		if t.next == "" {
			s.matters[i] = words[t.word]
		}
	}
}

// shareOf is how much of what the query is about a text matches.
func (s *scorer) shareOf(i int) float64 {
	if s.about <= 0 {
		return 0
	}
	return min(1, s.matched[i]/s.about)
}

// written is how the query writes a word: never another spelling, which would outlive the query where that is forgotten.
func (r *ranking) written(word string) string {
	for _, t := range r.q.terms {
		if t.word == word && utf8.ValidString(t.written) {
			return t.written
		}
	}
	return word
}
