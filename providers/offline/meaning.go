package offline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"loci/core"
)

// meaning tells how near the meanings of two words are, by the built-in word vectors. It is asked only when no fact
// answers a question by its words and topics.
type meaning struct {
	ctx   context.Context //nolint:containedctx // lives as long as one answer
	words core.Embedder   // nil: no two words are near
	seen  map[string][]float32
}

// The bounds of what is compared for one question.
const (
	maxCompared = 400 // facts
	maxVectors  = 4000
)

// likeness from which two words have to do with each other; below it chance does as well.
const likeness = 0.3

// near returns how well one word stands for another, from 0 to 0.9: the very word is better.
func (m *meaning) near(a, b string) float64 {
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

func (m *meaning) vector(w string) []float32 {
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
const exclusive = ` @herb @spice @vegetable @fruit @nut @seafood @meat @dairy @sweets @dish @alcohol @brew @drink @bird @plant @insect @family @pet @instrument @language @color
 @season @weather @field @faith @nation @country @vehicle @seat @hand @sport @game `

// rivals reports whether two words are told apart by the lexicon, however near in meaning: tea and coffee, sister and
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
	plain bool // all that is needed is there in words that mean it
}

// What fits a question in meaning is told as an answer from sure on, as the closest thing known from nearly on.
const (
	sure   = 0.62
	nearly = 0.5
	meant  = 0.7  // for each word that is needed
	asked  = 0.8  // for the word that says what is asked for
	ahead  = 0.06 // how much worse another fact may be and still be told with the best
)

// closest returns the facts that fit a question best in meaning, and whether they answer it.
func (q question) closest(facts []*entry, m *meaning) (hits []*entry, answers bool) {
	if len(q.terms) == 0 {
		return nil, false
	}
	q = q.named(facts)
	var guesses []guess
	for _, e := range facts[:min(len(facts), maxCompared)] {
		if f, plain := q.fit(e, m); f >= nearly && !slices.ContainsFunc(guesses, func(g guess) bool { return same(g.e.text) == same(e.text) }) {
			guesses = append(guesses, guess{e, f, plain})
		}
	}
	if len(guesses) == 0 {
		return nil, false
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return cmp.Compare(b.fits, a.fits) })
	const most = 2 // more of them are no answer but a guess at one
	for _, g := range guesses {
		if g.fits >= guesses[0].fits-ahead {
			hits = append(hits, g.e)
		}
	}
	if len(hits) > most {
		return nil, false
	}
	return hits, guesses[0].fits >= sure && guesses[0].plain
}

// fit says how well a fact fits a question in meaning, from 0 to 1. What the question names must be in the fact, in
// whatever words; what it says of it may be missing.
func (q question) fit(e *entry, m *meaning) (fits float64, plain bool) {
	if q.when && !timely(e.ws) || q.where && !placed(e) {
		return 0, false
	}
	sum, total := 0.0, 0.0
	plain = true
	about := e.subject == "user" || !living(people+animals, e.subject)
	for _, t := range q.terms {
		best := 0.0
		for _, a := range t.alts {
			if e.terms[a.key] {
				best = max(best, a.value)
				about = about || a.key == e.subject || means(a.key, e.subject)
			}
		}
		if best == 0 && t.word != "" {
			for _, w := range e.ws {
				if !w.punct() && !listed(stopwords, w.low) && !listed(light, infinite(w.low)) {
					best = max(best, m.near(t.word, w.low))
				}
			}
			about = about || best > 0 && t.being
		}
		const aside = 0.5 // of the weight of a verb
		weight := t.weight
		if t.manner {
			weight *= aside
		}
		if best < likeness && t.needed() {
			return 0, false
		}
		plain = plain && (best >= meant || !t.needed()) && (best >= asked || !t.focus)
		sum += weight * best
		total += weight
	}
	if total == 0 || !about && q.mine {
		return 0, false
	}
	return sum / total, plain
}

// needed reports whether a fact that has nothing of a term is no answer.
func (t term) needed() bool {
	if t.manner {
		return t.personal || t.being || len(t.alts) > 1
	}
	return t.weight >= 1
}

// likely words facts that may or may not be what was asked for.
func likely(s string) string {
	return "I do not know exactly that. The closest that I was told: " + strings.TrimSpace(s)
}
