package offline

import (
	"maps"
	"slices"
	"strings"
)

// conflicts reports whether a new fact replaces a known one.
func conflicts(f fact, n, e *entry) bool {
	if same(n.text) == same(e.text) {
		return false
	}
	subject := n.subject == e.subject || e.called(n)
	switch {
	case n.slot != "" && n.slot == e.slot && subject && (n.single || f.correct):
		return true
	case n.single && e.single && n.thing() != "" && n.thing() == e.thing():
		return true
	case f.left != "" && subject && e.livesIn(f.left):
		return true
	case f.old != "" && subject && covers(e.terms, newEntry(f.old).core(true)):
		return true
	case (f.gone || n.ending()) && ends(n, e):
		return true
	}
	return n.negated != e.negated && subject && len(n.core(false)) > 0 && covers(e.terms, n.core(true)) && covers(n.terms, e.core(true))
}

// ends reports whether a fact saying that something is over ends another: "no longer has the dog" ends everything about
// it.
func ends(n, e *entry) bool {
	core := n.core(false)
	if n.ending() {
		core = slices.DeleteFunc(core, func(s string) bool { return listed(endings, s) })
	}
	if len(core) == 0 || !covers(e.terms, core) {
		return false
	}
	if slices.Contains(core, e.subject) {
		return true
	}
	if n.subject != e.subject {
		return false
	}
	owns := func(x *entry) bool {
		return x.terms["have"] || x.terms["own"] || x.terms["adopt"] || x.terms["get"] || x.terms["buy"]
	}
	return !owns(n) || owns(e)
}

// thing returns what a fact gives the time, place or value of: the deadline, whether or not it is called the user's.
func (e *entry) thing() string {
	attr, ok := strings.CutPrefix(e.slot, "attr:")
	switch {
	case ok && e.subject == "user" && attr != "name":
		return stem(attr)
	case listed(" when where value ", e.slot) && e.subject != "user":
		return e.subject
	}
	return ""
}

// called reports whether a fact is about somebody whom another fact names: "the user's dog Rex is five", and "Rex is
// six".
func (e *entry) called(by *entry) bool {
	const near = 6 // words of the subject
	if len(by.ws) == 0 || !by.ws[0].proper() || by.ws[0].is("the") {
		return false
	}
	return slices.ContainsFunc(e.ws[:min(len(e.ws), near)], func(w word) bool { return w.proper() && w.low == by.ws[0].low })
}

// endings are the stems of verbs that end something: "sold the car" ends "drives a car".
const endings = ` sell sold cancel return stop drop divorc `

// ending reports whether a fact's verb says that something of the user's is over.
func (e *entry) ending() bool {
	const near = 5 // words: the user has finally sold
	return e.subject == "user" && !e.negated &&
		slices.ContainsFunc(e.ws[:min(len(e.ws), near)], func(w word) bool { return listed(endings, stem(w.low)) && !w.is("the", "user") })
}

// core returns the stems that carry a fact's meaning; all includes the light ones. Tags are left out.
func (e *entry) core(all bool) []string {
	var out []string
	for _, w := range e.ws {
		if w.punct() || listed(stopwords, w.low) || w.low == "name" || !all && (listed(light, w.low) || listed(light, infinite(w.low))) {
			continue
		}
		if s := stem(w.low); s != "have" || all {
			out = append(out, s)
		}
	}
	return out
}

// covers reports whether all stems are among the terms; false for no stems.
func covers(terms map[string]bool, stems []string) bool {
	for _, s := range stems {
		if !terms[s] {
			return false
		}
	}
	return len(stems) > 0
}

// knows reports whether a known fact already says what a new one says.
func knows(e, n *entry) bool {
	if same(e.text) == same(n.text) {
		return true
	}
	if e.negated != n.negated {
		return false
	}
	core := n.core(false)
	if n.subject == "user" && n.terms["have"] && len(core) == 1 && e.subject == core[0] {
		return true
	}
	if n.subject != e.subject || n.slot != e.slot {
		return false
	}
	if strings.HasPrefix(n.slot, "feel:") && n.terms["@like"] != e.terms["@like"] {
		return false
	}
	if n.slot != "" {
		return covers(e.lasting(), core) && n.slot != "attr:name"
	}
	return covers(e.lasting(), n.core(true))
}

// lasting returns a fact's terms without what it says was left: "from Vim" in "switched from Vim to Helix".
func (e *entry) lasting() map[string]bool {
	left := outdated(e.ws)
	if left == "" {
		return e.terms
	}
	terms := maps.Clone(e.terms)
	for _, s := range newEntry(left).core(true) {
		delete(terms, s)
	}
	return terms
}

// related finds the fact that a correction without a known attribute most likely means.
func related(n *entry, facts []*entry) *entry {
	var best *entry
	most := 0.3
	for _, e := range facts {
		if e.subject != n.subject {
			continue
		}
		a, b := n.core(true), e.core(true)
		shared, heavy := 0, false
		for _, s := range a {
			if slices.Contains(b, s) {
				shared++
				heavy = heavy || slices.Contains(n.core(false), s)
			}
		}
		if heavy && a[0] == b[0] && a[0] == n.core(false)[0] && best == nil { // the same verb of the same subject
			best = e
		}
		if total := len(a) + len(b) - shared; heavy && total > 0 && float64(shared)/float64(total) >= most {
			best, most = e, float64(shared)/float64(total)
		}
	}
	return best
}

// leftPlace returns what a fact says the user left, in lower case; empty: nothing. Only what is known says whether it is a
// place, because many people write names in lower case.
func leftPlace(e *entry) string {
	ws := e.predicate()
	if n := leads(ws, "left|moved out of|moved away from"); n > 0 {
		return plain(ws[n:])
	}
	return ""
}

// predicate returns what a fact says about the user, without auxiliaries, adverbs, punctuation and "now".
func (e *entry) predicate() []word {
	if len(e.ws) < 3 || !e.ws[0].is("the") || !e.ws[1].is("user") {
		return nil
	}
	return slices.DeleteFunc(
		slices.Clone(perfect(e.ws[2:])),
		func(w word) bool { return w.punct() || w.is("now", "already", "recently", "finally") },
	)
}

// livesIn reports whether a fact says that the user lives or is in a place.
func (e *entry) livesIn(place string) bool {
	ws := e.predicate()
	return (e.slot == "home" || len(ws) > 2 && ws[0].is("is") && ws[1].is("in")) && indexWord(plain(ws), place) >= 0 && !e.negated
}

// settles reports whether a fact says that the user lives or is anywhere other than in the place they left.
func (e *entry) settles(left string) bool {
	ws := e.predicate()
	if len(ws) < 3 || indexWord(plain(ws), left) >= 0 {
		return false
	}
	if e.slot != "home" && (!ws[0].is("is") || !ws[1].is("in")) {
		return false
	}
	return ws[2].proper() || !listed(functionWords, ws[2].low) && !listed(conditions, ws[2].low)
}

// conditions are what somebody can be "in" that is no place to live in.
const conditions = ` bed love trouble class school college hospital therapy training treatment quarantine town transit meetings prison jail
 charge need pain shock tears shape debt doubt `
