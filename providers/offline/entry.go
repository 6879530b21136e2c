package offline

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// entry is a fact from memory, the thread or a search, prepared for comparison.
type entry struct {
	text    string // as a sentence in the third person
	raw     string // as written in the source
	block   *block // the block it is in; nil: none
	origin  origin
	ws      []word
	terms   map[string]bool // stems of the meaningful words, and tags
	subject string          // user, or the noun that the fact is about
	slot    string          // the attribute that it gives a value for; empty: none we know
	single  bool            // whether the slot holds only one value at a time
	negated bool
}

// origin says where a fact comes from; earlier ones count more.
type origin int

const (
	fromMemory origin = iota
	fromReminder
	fromThread
	fromSearch
)

const (
	maxEntries    = 2000
	maxEntryRunes = 4000
)

// entries reads the facts in a block's value. The persona is about the agent, not the user.
func (b *block) entries(known *readings) []*entry {
	if b.label == "persona" || strings.TrimSpace(b.value) == "" {
		return nil
	}
	var out []*entry
	for line := range strings.SplitSeq(b.value, "\n") {
		line = strings.TrimRight(line, " \t\r")
		content := strings.TrimLeft(line, " \t-*•#>")
		if content == "" {
			continue
		}
		pieces := sentences(content)
		if len(content) > maxInput && utf8.RuneCountInString(content) > maxInput {
			continue
		}
		for _, p := range pieces {
			if len(out) >= maxEntries {
				return out
			}
			e := known.entry(keyed(p))
			e.raw, e.block = p, b
			if len(pieces) == 1 {
				e.raw = line
			}
			out = append(out, &e)
		}
	}
	return out
}

// keyed reads "Name: Ada", as people write it by hand, as a sentence.
func keyed(s string) string {
	key, value, ok := strings.Cut(s, ": ")
	if !ok || len(strings.Fields(key)) > 3 || strings.ContainsAny(key, ".,") || value == "" {
		return s
	}
	low := strings.ToLower(strings.TrimSpace(key))
	low = strings.TrimPrefix(strings.TrimPrefix(low, "user "), "user's ")
	switch low {
	case "first name", "full name":
		low = "name"
	case "note", "todo", "remember", "fact":
		return s
	case "likes", "dislikes", "loves", "hates", "lives in", "works at", "works on", "uses":
		return "The user " + low + " " + value
	}
	return "The user's " + low + " is " + value
}

func newEntry(s string) *entry {
	e := &entry{text: s, raw: s, subject: "user", terms: map[string]bool{}}
	if len(s) > maxEntryRunes {
		r := []rune(s)
		s = string(r[:min(len(r), maxEntryRunes)])
	}
	e.ws = tokenise(s)
	stops := entryLists().stops
	for i := 0; i < len(e.ws); i++ {
		w := e.ws[i]
		if w.is("not", "never") || w.is("no") && i+1 < len(e.ws) && e.ws[i+1].is("longer") {
			e.negated = true
		}
		if w.punct() || stops[w.low] || w.is("name", "names", "user's") {
			continue
		}
		e.terms[stem(w.low)] = true
	}
	e.describe()
	e.tag()
	return e
}

// describe finds the subject and the slot.
func (e *entry) describe() {
	ws := e.ws
	if len(ws) > 0 && ws[0].is("user") {
		ws = append(made("the"), ws...)
	}
	if len(ws) > 2 && ws[0].is("the") && ws[1].is("user") {
		if ws[2].low == "'s" {
			e.describeNoun(ws[3:])
			return
		}
		e.slot, e.single = predicate(ws[2:])
		return
	}
	for i := 1; i+1 < len(ws); i++ { // Zoë is the user's sister; teal is the user's favourite colour
		if ws[i].is("is", "are") && i+4 < len(ws) && ws[i+1].is("the") && ws[i+2].is("user") && ws[i+3].is("'s") {
			nouns := headed(strings.Fields(plain(ws[i+4:])))
			if len(nouns) == 0 {
				return
			}
			noun, head := strings.Join(nouns, " "), nouns[len(nouns)-1]
			if strings.HasPrefix(stem(firstWord(noun)), "favorit") {
				e.slot, e.single = "attr:"+noun, true
			} else if listed(people, head) || listed(animals, head) {
				e.subject = stem(head)
				e.slot, e.single = "attr:name", listed(sole, head)
			} else if listed(attributes, head) {
				e.slot, e.single = "attr:"+noun, true
			}
			e.slot = spelled(e.slot)
			return
		}
	}
	if strings.HasPrefix(plain(ws), "people call the user") || strings.HasPrefix(plain(ws), "everyone calls the user") {
		e.slot, e.single = "nickname", true
		return
	}
	if v := subjectEnd(ws); v > 1 && ws[0].is("the") {
		subject := ws[1:v]
		if len(subject) > 1 && subject[0].is("new", "current", "present", "old") {
			subject = subject[1:]
		}
		e.subject = stem(plain(subject))
		e.slot = state(ws[v:])
		e.single = e.slot != ""
		return
	}
	if len(ws) > 0 && !ws[0].is("there") {
		e.subject = ws[0].low
		if len(ws) > 1 {
			e.slot, e.single = predicate(ws[1:])
			e.single = false
		}
	}
}

// describeNoun reads what follows "the user's": a noun phrase and its predicate.
func (e *entry) describeNoun(ws []word) {
	v := -1
	for i := 1; i < len(ws) && v < 0; i++ {
		noun := listed(" work study play dance phone time dream ", ws[i].low) && i+1 < len(ws)
		if verbal3(ws[i].low) && ws[i].low != "'s" && !noun {
			v = i
		}
	}
	if v < 0 {
		e.subject = ""
		return
	}
	var nouns []string
	for _, w := range ws[:v] {
		if !w.punct() && (!w.proper() || len(nouns) == 0 && v == 1) && w.low != "'s" {
			nouns = append(nouns, w.low)
		}
	}
	if len(nouns) == 0 {
		return
	}
	head := nouns[len(nouns)-1]
	copula := ws[v].is("is", "are", "was")
	preferred := -1
	for i, n := range nouns {
		if stem(n) == stem("favourite") {
			preferred = i
		}
	}
	switch {
	case preferred >= 0 && copula:
		e.slot, e.single = "attr:"+strings.Join(nouns[preferred:], " "), true
		nouns = nouns[:preferred]
	case copula && listed(attributes, head):
		attr := nouns
		nouns = nil
		for i := len(attr) - 2; i >= 0; i-- {
			if listed(people, attr[i]) || listed(animals, attr[i]) {
				nouns, attr = attr[:i+1], attr[i+1:]
				break
			}
		}
		if len(attr) > 1 && listed(" first full real new current present ", attr[0]) {
			attr = attr[1:]
		}
		e.slot, e.single = "attr:"+strings.Join(attr, " "), true
	default:
		e.slot, e.single = predicate(ws[v:])
		nouns = headed(nouns)
		switch head = nouns[len(nouns)-1]; {
		case e.slot == "" && copula && listed(people, head) && v+1 < len(ws) && ws[v+1].proper() && !listed(demonyms, ws[v+1].low):
			e.slot, e.single = "attr:name", listed(sole, head)
		case e.slot == "" && !living(people+animals, stem(head)):
			e.slot = state(ws[v:])
			e.single = e.slot != ""
			if e.slot == "where" && listed(" place home house flat apartment room ", head) {
				e.slot, nouns = "home", nil
			}
		}
	}
	e.slot = spelled(e.slot)
	if len(nouns) > 0 {
		e.subject = stem(nouns[len(nouns)-1])
	}
}

// sole are roles that only one person has at a time.
const sole = ` wife husband spouse fiance fiancee fiancé fiancée mother father mum mom dad boss manager landlord doctor gp dentist
 therapist physician supervisor `

// headed cuts a noun phrase where the rest only qualifies its head: "meeting with Carla".
func headed(nouns []string) []string {
	for i, n := range nouns {
		if i > 0 && listed(` with of in at for from to on about by who that which now since and `, n) {
			return nouns[:i]
		}
	}
	return nouns
}

// state returns the slot of what is said about a thing: when it is, where it is, or its value. A thing has one of each
// at a time.
func state(ws []word) string {
	if len(ws) < 2 ||
		!ws[0].is(
			"is",
			"are",
			"was",
			"will",
			"got",
			"has",
			"moved",
			"changed",
			"starts",
			"begins",
			"comes",
			"closes",
			"opens",
			"ends",
			"takes",
		) {
		return ""
	}
	moved := slices.ContainsFunc(
		ws[:min(len(ws), 4)],
		func(w word) bool { return w.is("moved", "changed", "postponed", "rescheduled", "shifted") },
	)
	copula := ws[0].is("is", "are", "was", "will") || moved
	switch next := ws[1]; {
	case ws[0].is("closes", "opens", "ends"):
		return ws[0].low
	case copula && !moved && len(ws) <= 4 && coded(next):
		return "value"
	case copula && next.is("under", "behind", "inside", "near"), copula && next.is("in", "at", "on", "with") && spot(ws[2:]):
		return "where"
	case timely(ws[1:]):
		return "when"
	case copula && next.is("in", "at", "on", "with"):
		return "where"
	}
	return ""
}

// spot reports whether what follows "in", "at" or "on" is a place, not a time.
func spot(ws []word) bool {
	const near = 2 // words
	if len(ws) == 0 || ws[0].is("the") || ws[0].number() {
		return false
	}
	return !slices.ContainsFunc(ws[:min(len(ws), near)], func(w word) bool { return kindOf(w) == kindDay || kindOf(w) == kindMonth })
}

// spelled maps spelling variants of a slot, and slots with the same meaning, to one.
func spelled(slot string) string {
	fields := strings.Fields(slot)
	for i, f := range fields {
		if !strings.HasPrefix(slot, "attr:") {
			break
		}
		attr, ok := strings.CutPrefix(f, "attr:")
		if s, found := lookup(respelled, attr); found {
			fields[i] = s
			if ok {
				fields[i] = "attr:" + s
			}
		}
	}
	switch slot = strings.Join(fields, " "); slot {
	case "attr:nickname":
		return "nickname"
	case "attr:home", "attr:city", "attr:hometown":
		return "home"
	case "attr:job", "attr:profession", "attr:occupation", "attr:job title", "attr:role":
		return "job.role"
	case "attr:employer", "attr:company":
		return "job.place"
	case "attr:age":
		return "age"
	case "attr:birthday":
		return "birthday"
	}
	return slot
}

func firstWord(s string) string { w, _, _ := strings.Cut(s, " "); return w }

// perfect drops the auxiliary of a perfect: "has just moved" is "moved".
func perfect(ws []word) []word {
	if len(ws) > 2 && ws[0].is("have", "has") { // "has just moved" is "moved"
		i := 1
		for i+1 < len(ws) && listed(adverbs, ws[i].low) {
			i++
		}
		if ws[i].is("worked") { // is still so
			ws = append(made("work"), ws[i+1:]...)
		} else if ws[i].is("been") || verbal(ws[i].low) && (listed(past, ws[i].low) || strings.HasSuffix(ws[i].low, "ed")) &&
			!ws[i].is("had", "got") {
			ws = ws[i:]
		}
	}
	return ws
}

// predicate finds the slot that a predicate gives a value for.
func predicate(ws []word) (slot string, single bool) {
	var kept []word
	ws = perfect(ws)
	for i, w := range ws {
		skip := w.punct() || w.is("not", "never", "does", "do") || w.is("no", "longer") ||
			listed(adverbs, w.low) && i < 4 && !w.is("once", "kind")
		if !skip {
			kept = append(kept, w)
		}
	}
	if len(kept) < 2 {
		return "", false
	}
	verb, next := infinite(kept[0].low), kept[1].low
	rest := kept[1:]
	switch {
	case kept[0].is("is", "are", "was", "were", "been"):
		return copula(kept)
	case kept[0].is("turned", "turns") && rest[0].counts():
		return "age", true
	case listed(" live reside move relocate settle moved relocated settled lived ", verb):
		if kept[0].is("lived") {
			return "", false
		}
		for _, w := range rest {
			if w.is("in", "to", "at", "near", "on") {
				return "home", true
			}
			if w.is("with", "alone", "out") {
				break
			}
		}
	case listed(" start started begin began join joined ", verb) &&
		(listed(" at with ", next) || listed(" join joined ", verb) && rest[0].proper()):
		return "job.place", true
	case kept[0].is("became") && next != "" &&
		slices.ContainsFunc(rest[:min(len(rest), 3)], func(w word) bool { return profession(w.low) }):
		return "job.role", true
	case verb == "come" && next == "from", verb == "grew":
		return "origin", false
	case verb == "work":
		switch next {
		case "as":
			return "job.role", true
		case "at", "for":
			return "job.place", true
		case "on", "in", "with":
			return "job.topic", false
		}
	case listed(" like want prefer ", verb) && plain(kept[1:min(len(kept), 4)]) == "to be called", verb == "go" && next == "by":
		return "nickname", true
	case feeling(verb):
		return "feel:" + object(rest), true
	case listed(" use switch switched prefer changed migrated ", verb):
		kind := ""
		for _, w := range rest {
			if k, ok := lookup(kinds, w.low); ok {
				kind = k
			}
		}
		if kind != "" {
			return "uses:" + kind, true
		}
	}
	return "", false
}

// copula finds the slot behind "is".
func copula(kept []word) (string, bool) {
	next := kept[1]
	last := kept[len(kept)-1]
	switch {
	case next.is("called", "named"):
		return "attr:name", true
	case next.is("born"):
		return "born", true
	case next.is("from"):
		return "origin", false
	case next.counts() && (len(kept) == 2 || kept[2].is("years", "year")):
		return "age", true
	case next.is("employed", "hired") && len(kept) > 2 && kept[2].is("by", "at", "with"):
		return "job.place", true
	case next.is("based", "living"):
		return "home", true
	case next.is("allergic"):
		return "allergy:" + object(kept[2:]), true
	case next.is("using"):
		for _, w := range kept {
			if k, ok := lookup(kinds, w.low); ok {
				return "uses:" + k, true
			}
		}
	case next.is("married", "single", "engaged", "divorced", "widowed") || len(kept) > 2 && kept[2].is("widow", "widower", "bachelor"):
		return "marital", true
	case next.is("a", "an", "the") || profession(next.low):
		for i, w := range kept[1:] {
			if i > 0 && w.is("at", "from", "in", "who", "with", "for", "of", "and") {
				break
			}
			if profession(w.low) || w.low == last.low && profession(last.low) {
				return "job.role", true
			}
		}
	}
	return "", false
}

// object names what a verb is about, up to a preposition of time or reason.
func object(ws []word) string {
	var out []string
	for _, w := range ws {
		if w.punct() || w.is("because", "since", "when", "but", "so") {
			break
		}
		if listed(stopwords, w.low) {
			continue
		}
		out = append(out, stem(w.low))
	}
	return strings.Join(out, " ")
}
