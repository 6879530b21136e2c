package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// ranking holds what all passes share.
type ranking struct {
	q     Query
	st    Stats
	docs  []Doc
	texts *Texts
	k1    float64   // of BM25
	norm  []float64 // … and what a text's length makes of it
	link  []bool    // the doc and the previous one are consecutive turns of a session
	sess  []int     // the session of a turn, -1: none
	said  []bool    // the query names the speaker
	dated []bool    // matches the query's time
	own   []bool    // the doc matches something of the query: words (inherited ones too), speaker, time or meaning
	parts map[speaker][]string
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
		said: make([]bool, n), dated: make([]bool, n), own: make([]bool, n), parts: map[speaker][]string{},
	}
	k1, b := BM25(st.AvgLen)
	r.k1 = k1
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

// turn reports whether a doc is a turn of a conversation: it is stored as one, it states its time and speaker, or it
// states a speaker who speaks again within two texts while another one also speaks, as in a transcript without times. A
// part of a file is never a turn.
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

func (r *ranking) idf(df int) float64 { return idf(r.st.Docs, df) }

func idf(docs, df int) float64 {
	return math.Log(1 + (float64(docs-min(df, docs))+.5)/(float64(df)+.5))
}

// bonuses adds what isn't inherited: who said it, when, and whether it has the kind of answer asked for.
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
			for _, part := range r.speakerParts(i) {
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

// sessions returns the scores plus the bonus of their sessions.
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

// speaker is what decides on the parts of a speaker's name.
type speaker struct {
	voice string
	flags Flags
}

func (d *Doc) speaker() speaker { return speaker{d.Who, d.Flags & (Turn | Dated | Named)} }

// speakerParts splits each name once.
func (r *ranking) speakerParts(i int) []string {
	s := r.docs[i].speaker()
	parts, ok := r.parts[s]
	if !ok {
		parts = SpeakerParts(s.voice, s.flags)
		r.parts[s] = parts
	}
	return parts
}

// join adds the cosines that stand out; the fewer words match, the more they count.
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

// z returns by how many standard deviations a text's cosine stands out, 0 if it has none.
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

// holdsPhrases reports whether a doc contains every phrase of the query.
func (r *ranking) holdsPhrases(i int) bool {
	for _, p := range r.q.phrases {
		if !r.texts.holds(i, p) {
			return false
		}
	}
	return true
}
