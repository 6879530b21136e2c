package offline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"loci/core"
)

// similarity tells how close two words are in meaning, using the built-in word vectors. It is used only if no fact answers
// a question by its words and topics.
type similarity struct {
	ctx      context.Context //nolint:containedctx // lives only as long as one answer
	words    core.Embedder   // nil: no words are close to each other
	readings *readings
	seen     map[string][]float32
	pairs    map[[2]string]float64 // what near said: notes use the same words over and over
}

// Limits on what is compared for one question.
const (
	maxCompared = 400 // facts
	maxVectors  = 4000
)

// likeness is from where on two words are related; less happens by chance.
const likeness = 0.3

// near returns how well one word can stand for another, from 0 to 0.9: the very same word is better.
func (m *similarity) near(a, b string) float64 {
	if m == nil || m.words == nil {
		return 0
	}
	pair := [2]string{a, b}
	value, ok := m.pairs[pair]
	if !ok {
		if m.pairs == nil {
			m.pairs = map[[2]string]float64{}
		}
		value = m.compare(a, b)
		m.pairs[pair] = value
	}
	return value
}

func (m *similarity) compare(a, b string) float64 {
	if rivals(a, b) {
		return 0
	}
	va, vb := m.vector(a), m.vector(b)
	if va == nil || vb == nil {
		return 0
	}
	sum := 0.0
	for i := range va {
		sum += float64(va[i]) * float64(vb[i])
	}
	if sum < likeness {
		return 0
	}
	return min(0.9, 1.3*sum)
}

func (m *similarity) vector(w string) []float32 {
	if m == nil || m.words == nil {
		return nil
	}
	if v, ok := m.seen[w]; ok || len(m.seen) >= maxVectors {
		return v
	}
	if m.seen == nil {
		m.seen = map[string][]float32{}
	}
	var v []float32
	if vs, err := m.words.Embed(m.ctx, []string{w}); err == nil && len(vs) == 1 {
		v = vs[0]
	}
	m.seen[w] = v
	return v
}

// exclusive are the topics whose words name different things of one kind.
const exclusive = ` @herb @spice @vegetable @fruit @nut @seafood @meat @dairy @sweets @dish @alcohol @brew @drink @bird @plant @insect
 @family @pet @instrument @language @color @season @weather @field @faith @nation @country @vehicle @seat @hand @sport @game `

// rivals reports whether the lexicon distinguishes two words, however close in meaning: tea and coffee, sister and
// brother, a vegetable and coriander, which is a herb.
func rivals(asked, said string) bool {
	if stem(asked) == stem(said) {
		return false
	}
	kind, member, elsewhere, same := false, false, false, false
	for t := range everyTopic {
		if !listed(exclusive, t.tag) {
			continue
		}
		asks, has := listed(t.asks, asked), listed(t.facts, said)
		kind = kind || asks
		member = member || !asks && listed(t.facts, asked)
		elsewhere = elsewhere || has
		same = same || asks && has
	}
	return elsewhere && !same && (kind || member)
}

// guess is a fact with how well it fits a question in meaning.
type guess struct {
	e     *entry
	fits  float64
	grade grade
}

// grade is how far a fact answers a question.
type grade int

const (
	remote grade = iota // it is related
	apt                 // it has some of everything asked for
	direct              // it has everything asked for, in words that mean it
)

// What fits a question in meaning is told as an answer from sure on, as what is probably meant from likely on, and as
// the closest thing known from nearly on.
const (
	sure   = 0.62
	likely = 0.5
	nearly = 0.4
	meant  = 0.66 // for each word that is needed
	strong = 0.55 // for the word that is there best
	ahead  = 0.03 // how much worse another fact may be and still be told with the best
)

// closest returns the facts that fit a question best in meaning, and how well they answer it.
func (q question) closest(facts []*entry, m *similarity) (hits []*entry, answers grade) {
	if len(q.terms) == 0 {
		return nil, remote
	}
	q = q.named(facts)
	var guesses []guess
	for _, e := range facts[:min(len(facts), maxCompared)] {
		if f, g := q.fit(e, m); f >= nearly && !slices.ContainsFunc(guesses, func(g guess) bool { return same(g.e.text) == same(e.text) }) {
			guesses = append(guesses, guess{e, f, g})
		}
	}
	if len(guesses) == 0 {
		return nil, remote
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return cmp.Compare(b.fits, a.fits) })
	const most = 2 // with more, it would be guessing among them
	for _, g := range guesses {
		if g.fits >= guesses[0].fits-ahead {
			hits = append(hits, g.e)
		}
	}
	if len(hits) > most {
		return nil, remote
	}
	return hits, guesses[0].grade
}

// fit says how well a fact fits a question in meaning, from 0 to 1: how much of what the question says is in the fact,
// in whatever words.
func (q question) fit(e *entry, m *similarity) (float64, grade) {
	if q.when && !timed(e) || q.where && !placed(e) || q.other(e) {
		return 0, remote
	}
	sum, total, top, known := 0.0, 0.0, 0.0, 0.0
	about := e.subject == "user" || !living(people+animals, e.subject)
	needed, lacks, personal, named, called := false, false, false, false, false
	plain := true
	for _, t := range q.terms {
		b := t.in(e, m)
		if b.value < likeness && t.must(q) {
			return 0, remote
		}
		called = called || slices.ContainsFunc(t.alts, func(a alt) bool { return a.key == "@name" })
		about, named, personal = about || b.names, named || b.names, personal || t.personal
		weight := t.weight
		if t.manner && len(t.alts) == 1 {
			const aside = 0.5 // of the weight of a verb
			weight *= aside
		}
		if t.needed() {
			lacks = lacks || b.value < likeness || b.known < meant && (t.focus || t.being && !listed(animals, t.word))
			needed = true
			plain = plain && b.value >= meant
			known = max(known, b.known)
		}
		if t.weight >= 1 && !t.feeling() {
			top = max(top, b.value)
		}
		sum += weight * b.value
		total += weight
	}
	switch {
	case total == 0, top < strong:
		return 0, remote
	case called && lacks && e.subject == "user":
		return 0, remote // the user's own name isn't the boat's
	case q.own && e.subject != "user", !about && (q.self || q.mine && !q.others), personal && q.mine && e.subject != "user" && !named:
		return 0, remote
	}
	fits := sum / total
	switch {
	case fits >= sure && plain && !lacks && needed && known >= meant:
		return fits, direct
	case fits >= likely && !lacks && needed && known >= meant:
		return fits, apt
	}
	return fits, remote
}

// bearing is what a fact has of a term.
type bearing struct {
	value float64 // how well it has it
	known float64 // the same by the lexicon alone
	names bool    // it is who or what the fact is about
}

// in returns what a fact has of a term.
func (t term) in(e *entry, m *similarity) bearing {
	var b bearing
	for _, a := range t.alts {
		if e.terms[a.key] {
			b.value = max(b.value, a.value)
			b.names = b.names || a.key == e.subject || means(a.key, e.subject)
		}
	}
	if b.known = b.value; b.value > 0 || t.word == "" || listed(people, t.word) {
		return b
	}
	for _, w := range e.ws {
		if w.punct() || listed(stopwords, w.low) || w.is("user") || kindOf(w) == kindDay || kindOf(w) == kindMonth ||
			!t.manner && (listed(light, infinite(w.low)) || listed(light, stem(w.low))) {
			continue
		}
		n := m.near(t.word, w.low)
		// The lexicon knows what belongs to it; a name is hardly like another.
		if n < meant && (len(t.alts) > 1 || t.being && !listed(animals, t.word)) {
			continue
		}
		b.value = max(b.value, n)
		b.names = b.names || n >= meant && stem(w.low) == e.subject
	}
	return b
}

// needed reports whether a fact that lacks a term can't be an answer.
func (t term) needed() bool {
	if t.manner {
		return t.personal || t.being || len(t.alts) > 1
	}
	return t.weight >= 1
}

// must reports whether a fact that lacks a term isn't even close to an answer: it is about somebody else, or of another
// kind.
func (t term) must(q question) bool {
	switch {
	case t.being, t.word == "", strings.HasPrefix(stem(t.word), "favorit"):
		return true
	case listed(" city town country village ", t.word): // of those there are more than where the person lives
		return false
	}
	return t.personal && (q.first || !q.mine)
}

// feeling reports whether a term is about liking: people like many things, so that alone says little.
func (t term) feeling() bool {
	return slices.ContainsFunc(t.alts, func(a alt) bool { return a.key == "@like" || a.key == "@dislike" })
}

// timed reports whether a fact says when.
func timed(e *entry) bool {
	return timely(e.ws) || slices.ContainsFunc(e.ws, func(w word) bool {
		return w.is(
			"when",
			"whenever",
			"while",
			"after",
			"before",
			"every",
			"until",
			"till",
			"morning",
			"mornings",
			"evening",
			"evenings",
			"night",
			"nights",
			"afternoons",
			"weekend",
			"weekends",
		)
	})
}

// worded phrases facts according to how well they answer a question.
func (g grade) worded(facts string) string {
	if g == apt {
		return "If I understand you right: " + facts
	}
	return "I do not know exactly that. The closest that I was told: " + facts
}
