package offline

import (
	"slices"
	"strings"
)

// term is one thing that a question asks for; any of the alternatives will do.
type term struct {
	word     string // the word asked for; empty: a phrase
	weight   float64
	alts     []alt
	personal bool
	focus    bool // what is asked for: "which breed"
	being    bool // a person or animal: an answer must be about them
	manner   bool // a verb or adverb, which a fact may phrase differently
}

type alt struct {
	key   string
	value float64
}

// question is what is being asked, as terms.
type question struct {
	raw    string
	terms  []term
	past   bool
	when   bool
	where  bool
	mine   bool   // names nobody but the user
	prized string // the kind of thing whose favourite is asked for
	own    bool   // asks for the user's own name
	self   bool   // asks what the user is or does
	first  bool   // mentions the user
	others bool   // asks about somebody in general words: the boys, the guy
	words  []string
}

func newQuestion(s string) question {
	q := question{raw: s, mine: true}
	ws, _ := strip(tokenise(bare(s)))
	low := " " + plain(ws) + " "
	q.past = strings.Contains(low, " did ") || strings.Contains(low, " used ") || strings.Contains(low, " was ") ||
		strings.Contains(low, " ever ")
	q.when = strings.HasPrefix(low, " when ") || strings.Contains(low, " when is ") || strings.Contains(low, " what day ") ||
		longest(
			low,
			"what date|which date|which day|which weekday|what weekday|by when|until when|since when|what time|"+
				"which month|which year|how soon",
		) != ""
	q.where = strings.HasPrefix(low, " where ") || strings.Contains(low, " where do i ")
	q.own = longest(low, "my name|my first name|my real name|my full name|my last name|my own name|my surname") != ""
	q.prized = prized(strings.Fields(low))
	q.others = strings.HasPrefix(low, " who ") && !strings.HasPrefix(low, " who am ")
	q.first = slices.ContainsFunc(ws, func(w word) bool { return w.is("i", "me", "my", "mine", "we", "us", "our", "ours", "myself") })
	q.self = slices.ContainsFunc(ws, func(w word) bool { return w.is("i") })
	copular := len(ws) > 3 && ws[0].is("what", "who", "which", "when", "where") && ws[1].is("is", "are", "was", "were", "'s") &&
		ws[2].is("my", "our", "the") // "what is my blood type": no verb
	skip := q.phrases(low)
	for i, w := range ws {
		if part := i > 0 && w.is("back") &&
			ws[i-1].is("my", "the", "his", "her", "'s"); w.punct() || listed(stopwords, w.low) && !part || skip[w.low] ||
			len(q.terms) > 24 {
			continue
		}
		t := q.term(ws, i, copular)
		if t.being {
			q.mine = false
		}
		q.terms = append(q.terms, t)
		q.words = append(q.words, w.text)
	}
	q.balance(low)
	for i, t := range q.terms { // with nothing but a name asked for, it is the user's own
		if len(q.terms) > 1 && !q.own && slices.ContainsFunc(t.alts, func(a alt) bool { return a.key == "@name" }) {
			q.terms[i].alts = append(t.alts, alt{"@called", 0.9})
		}
	}
	return q
}

// phrases adds a term for every topic that a phrase in the question means, and returns the words it covered.
func (q *question) phrases(low string) map[string]bool {
	skip := map[string]bool{}
	for t := range everyTopic {
		p := longest(low, t.phrases)
		vague := p == "do i do" && low != " what do i do " || p == "where am i" && len(strings.Fields(low)) > 3
		if p != "" && !vague {
			q.terms = append(q.terms, term{weight: 1, alts: t.means(), personal: t.personal})
			for f := range strings.FieldsSeq(p) {
				skip[f] = true
			}
			if t.tag == "@origin" { // "which city am I from" doesn't ask where home is
				skip["city"], skip["town"], skip["country"] = true, true, true
			}
		}
	}
	return skip
}

// term returns what a word of the question asks for.
func (q *question) term(ws []word, i int, copular bool) term {
	w := ws[i]
	t := term{word: w.low, weight: 1, alts: []alt{{stem(w.low), 1}}}
	if listed(light, w.low) || listed(light, infinite(w.low)) || listed(light, stem(w.low)) {
		t.weight = 0.35
		q.others = q.others || listed(someone, stem(w.low))
	}
	if listed(" have get go do make take give put come ", stem(w.low)) {
		t.weight = 0.2
	}
	for tp := range everyTopic {
		if listed(tp.asks, w.low) {
			if tp.personal {
				// "live" is better answered by where home is than by any fact containing the word
				t.personal, t.alts[0].value = true, bareWord
				if q.past {
					t.alts[0].value = pastWord
				}
				t.alts = append(t.alts, tp.means()...)
			} else {
				t.alts = append(t.alts, alt{tp.tag, 0.94}) // the same word is better than its topic
			}
		}
	}
	if k := "@" + w.low; slices.Contains([]string{"@editor", "@browser", "@os", "@shell", "@database", "@car", "@phone"}, k) {
		t.alts = append(t.alts, alt{k, 1})
	} else if w.low == "ide" {
		t.alts = append(t.alts, alt{"@editor", 1})
	}
	t.place(ws, i, copular)
	t.being = listed(people, w.low) || listed(animals, w.low) && !w.is("pet", "pets") || i > 0 && w.proper() && !listed(demonyms, w.low)
	if w.is("family", "kids", "children", "parents", "kid") {
		t.being = false
	}
	if t.being {
		if group, ok := lookup(kin, w.low); ok {
			t.alts = append(t.alts, alt{stem(group), 0.9})
		}
	}
	return t
}

// place finds the role of a word in the question: a verb or adverb, or what is asked for.
func (t *term) place(ws []word, i int, copular bool) {
	w := ws[i]
	t.manner = listed(verbs, w.low) || listed(manners, w.low) || listed(verbs, infinite(w.low)) ||
		len(w.low) > 4 && (strings.HasSuffix(w.low, "ly") || strings.HasSuffix(w.low, "ing")) && !listed(notParticiple, w.low)
	t.manner = t.manner && (!copular || strings.HasSuffix(w.low, "ing") || listed(manners, w.low))
	ends := i+1 == len(ws) || ws[i+1].punct() || listed(functionWords, ws[i+1].low) || verbal3(ws[i+1].low)
	t.focus = i > 0 && ends && (ws[i-1].is("what", "which") || i > 1 && ws[i-2].is("what", "which") && !listed(functionWords, ws[i-1].low))
	t.manner = t.manner && !t.focus || i > 0 && ws[i-1].is("i", "we", "he", "she", "they")
}

// kin are relatives whom facts may mention together.
const kin = ` mother=parents father=parents mum=parents mom=parents dad=parents son=children daughter=children brother=siblings
 sister=siblings grandmother=grandparents grandfather=grandparents grandma=grandparents grandpa=grandparents `

// someone are the stems of general words for people.
const someone = ` guy man woman girl boy folk ladi `

// prized returns the word after "favourite".
func prized(words []string) string {
	for i, w := range words {
		if i+1 < len(words) && strings.HasPrefix(stem(w), "favorit") {
			return words[i+1]
		}
	}
	return ""
}

// other reports whether a fact gives the favourite of a different kind than asked for.
func (q question) other(e *entry) bool {
	kind := prized(strings.Fields(strings.TrimPrefix(e.slot, "attr:")))
	if q.prized == "" || kind == "" || stem(kind) == stem(q.prized) {
		return false
	}
	for t := range everyTopic {
		if listed(t.asks, q.prized) && (listed(t.asks, kind) || listed(t.facts, kind)) {
			return false
		}
	}
	return true
}

// balance lets "do I like X" match dislikes too, but "what do I like" hardly.
func (q *question) balance(low string) {
	open := strings.HasPrefix(low, " what ") || strings.HasPrefix(low, " which ") || strings.HasPrefix(low, " who ")
	for i, t := range q.terms {
		for _, a := range t.alts {
			other := map[string]string{"@like": "@dislike", "@dislike": "@like"}[a.key]
			if other == "" {
				continue
			}
			value := 0.9
			if open {
				value = 0.1
			}
			q.terms[i].alts = append(q.terms[i].alts, alt{other, value})
			break
		}
	}
}

func longest(low, phrases string) string {
	best := ""
	for p := range strings.SplitSeq(phrases, "|") {
		if len(p) > len(best) && strings.Contains(low, " "+p+" ") {
			best = p
		}
	}
	return best
}

// bareWord is what the very word of a question counts where a topic is meant: "city", for where home is.
const (
	bareWord = 0.58
	pastWord = 0.85 // of what was, the topic knows less
)

// enough is the score from which a fact counts as an answer.
const enough = 0.6

// score says how well a fact answers a question, from 0 to 1.
func (q question) score(e *entry) float64 {
	if q.other(e) {
		return 0
	}
	sum, total, personal := 0.0, 0.0, false
	missing, named := false, e.subject == "user"
	for _, t := range q.terms {
		total += t.weight
		best := 0.0
		for _, a := range t.alts {
			named = named || a.key == e.subject
			if e.terms[a.key] && a.value > best {
				best = a.value
				personal = personal || t.personal
				named = named || means(a.key, e.subject)
			}
		}
		missing = missing || t.being && best == 0
		sum += t.weight * best
	}
	if total == 0 {
		return 0
	}
	s := sum / total
	if missing {
		s *= 0.6
	}
	if (personal && q.mine && !named) || q.own && e.subject != "user" {
		s *= 0.5
	} else if q.self && q.mine && !named && living(people+animals, e.subject) {
		s *= 0.5 // don't answer "what do I drive?" with what a sister drives
	}
	if !q.past && strings.Contains(e.text, " used to ") {
		s *= 0.7
	}
	if q.past && strings.Contains(e.text, " used to ") {
		s *= 1.2
	}
	if q.when && !timed(e) || q.where && !placed(e) {
		s *= 0.55
	}
	return s
}

// introduces reports whether a fact about a person or animal gives the name: a name after the noun, or after "is" and
// the like. A place or day elsewhere in the fact doesn't count.
func introduces(ws []word) bool {
	for i := 1; i < len(ws); i++ {
		if !ws[i].proper() || listed(times, ws[i].low) || listed(demonyms, ws[i].low) {
			continue
		}
		if before := ws[i-1].low; listed(people+animals, before) || listed(" is are called named name names ", before) {
			return true
		}
	}
	return false
}

// living reports whether the subject of a fact, a stem, is on a list of people or animals.
func living(list, subject string) bool {
	if listed(list, subject) {
		return true
	}
	const least = 4 // letters that a shortened stem has: grandmoth, puppi
	subject = strings.TrimSuffix(subject, "i")
	return len(subject) >= least && strings.Contains(list, " "+subject)
}

// named lets the name of a person or animal stand for what facts call them: Zoë for the sister of that name.
func (q question) named(facts []*entry) question {
	q.terms = slices.Clone(q.terms)
	for i, t := range q.terms {
		if !t.being {
			continue
		}
		for _, e := range facts {
			if e.terms["@name"] && e.terms[t.alts[0].key] && e.subject != "user" &&
				(listed(people+animals, e.subject) || e.slot == "attr:name") {
				q.terms[i].alts = append(slices.Clone(t.alts), alt{e.subject, 1})
				break
			}
		}
	}
	return q
}

// placed reports whether a fact mentions a place.
func placed(e *entry) bool {
	if e.slot == "home" || e.slot == "origin" || e.slot == "job.place" {
		return true
	}
	for i, w := range e.ws {
		if w.is("in", "at", "near", "to", "from", "on", "under", "behind", "inside", "with") && i+1 < len(e.ws) {
			return true
		}
	}
	return false
}

// equal is the fraction of the best score from which another answer is told too.
const equal = 0.95

// over reports whether a fact says that something is no longer so.
func (e *entry) over() bool {
	return e.negated && strings.Contains(e.text, " no longer ") || e.ending()
}

// find returns the facts that answer a question, best first.
func (q question) find(facts []*entry) []*entry {
	type hit struct {
		e     *entry
		score float64
		at    int
	}
	q = q.named(facts)
	var hits []hit
	for i, e := range facts {
		if s := q.score(e); s >= enough {
			hits = append(hits, hit{e, s, i})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score+0.001:
			return -1
		case b.score > a.score+0.001:
			return 1
		case a.e.origin != b.e.origin:
			return int(a.e.origin) - int(b.e.origin)
		}
		return a.at - b.at
	})
	// Tell what is so, not what is no longer so.
	if slices.ContainsFunc(hits, func(h hit) bool { return !h.e.over() && h.score >= hits[0].score*equal }) {
		hits = slices.DeleteFunc(hits, func(h hit) bool { return h.e.over() })
	}
	var out []*entry
	told := map[string]bool{}
	for _, h := range hits {
		if len(out) >= 6 || h.score < hits[0].score*equal || h.e.origin != hits[0].e.origin {
			break
		}
		if !told[same(h.e.text)] {
			told[same(h.e.text)] = true
			out = append(out, h.e)
		}
	}
	return out
}

// same returns the form in which facts are compared for equality.
func same(s string) string { return plain(tokenise(s)) }
