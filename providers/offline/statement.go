package offline

import (
	"slices"
	"strings"
)

// fact is what a statement says about the user, in the third person.
type fact struct {
	text    string
	correct bool   // stated as a correction
	gone    bool   // says that something is no longer so
	old     string // what is named as outdated ("from Vim to …", "…, not Ada")
	left    string // the place where somebody no longer lives if they are where the fact says
	swap    string // with old: the text that replaces it inside a known fact; text is empty
}

// reader finds facts in sentences. last is what "he", "she" or "it" refers to.
type reader struct {
	clock clock
	known func(name string) bool // whether a name occurs in memory
	last  string
	left  []string // clauses that state something but weren't understood

	prior   []string // facts of the previous message
	carried string   // equals last while that comes from an earlier message
}

// facts returns what a declarative sentence states about the user; nothing for chatter.
func (r *reader) facts(s string) []fact {
	ws := tokenise(bare(s))
	if len(ws) == 0 || len(ws) > maxWords {
		return nil
	}
	ws, correct := strip(ws)
	if before := len(ws); before > 0 {
		ws = slices.DeleteFunc(ws, func(w word) bool { return w.is("actually") })
		correct = correct || len(ws) < before
	}
	ws = announcedBy(dropTail(trim(ws)))
	ws, old := notTail(ws)
	if old == "" {
		ws, old = notHead(ws)
	}
	ws, correct = trim(ws), correct || old != ""
	if f, ok := swapped(ws, old); ok {
		return []fact{f}
	}
	if f, ok := r.amended(ws, correct || leads(ws, "make that|make it") > 0); ok {
		return []fact{f}
	}
	var out []fact
	for _, clause := range clauses(ws) {
		fs := r.clause(clause)
		if len(fs) == 0 {
			r.leave(clause)
		}
		for _, f := range fs {
			f.correct = f.correct || correct
			if f.old == "" {
				f.old = old
			}
			out = append(out, f)
		}
	}
	return replacedNegations(out)
}

// leave records a clause that wasn't kept, unless it is chatter.
func (r *reader) leave(ws []word) {
	ws, _ = strip(trim(ws))
	if ws = trim(ws); len(ws) > 1 && !chats(ws) && !command(ws) && !asks(ws) {
		r.left = append(r.left, text(ws))
	}
}

// replacedNegations drops "my name is not Ada" if the next fact says what it is instead.
func replacedNegations(fs []fact) []fact {
	var out []fact
	for i, f := range fs {
		if i+1 < len(fs) && strings.Contains(f.text, " is not ") {
			head, _, _ := strings.Cut(f.text, " is not ")
			if strings.HasPrefix(fs[i+1].text, head+" is ") {
				fs[i+1].correct = true
				continue
			}
		}
		out = append(out, f)
	}
	return out
}

// strip removes introductory phrases from a statement, and reports whether they announce a correction.
func strip(ws []word) ([]word, bool) {
	correct := false
	for len(ws) > 0 {
		n, c := opener(ws)
		if n == 0 {
			break
		}
		correct = correct || c
		ws = ws[n:]
	}
	return ws, correct
}

// openers introduce a statement; those after the bar announce a correction.
const openers = "by the way|for your information|for the record|just so you know|so you know|as you know|to be honest|" +
	"i have to be honest|i have to admit|i must admit|i must confess|i confess|to be clear|did you know that|did you know|" +
	"you should know that|you should know|you know|i should mention that|i want you to know that|let me tell you that|" +
	"i forgot to say that|i would like you to know that|it turns out that|it turns out|turns out that|turns out|i have to say|" +
	"i must say|i guess|i mean|as i said|good news|bad news|fun fact|one more thing|i told you that|i told you|remember|" +
	"nice to meet you|pleased to meet you|good morning|good evening|good afternoon"

const corrections = "actually|no|nope|wait|sorry|correction|my mistake|i was wrong|i would rather say|i got that wrong|i got it wrong|" +
	"i made a mistake|i was mistaken|i misspoke|that was wrong|i should say|that is wrong|that is not right|that is not true|" +
	"not any more|in fact|i meant|i meant to say|" +
	"let me correct that|let me correct myself|wrong|update|scratch that|oops|rather|not quite"

func opener(ws []word) (n int, correct bool) {
	if ws[0].punct() {
		return 1, false
	}
	if n := leads(ws, corrections); n > 0 {
		// "no longer" and "no one" aren't corrections, and "sorry" before its preposition isn't an opener.
		if ws[0].low == "no" && len(ws) > 1 && !ws[1].punct() &&
			!listed(" i we my our it he she they the that actually wait sorry ", ws[1].low) {
			return 0, false
		}
		return n, true
	}
	if n := leads(ws, openers); n > 0 {
		return n, false
	}
	if len(ws) > 1 &&
		listed(
			" btw also and oh well so hi hello hey ok okay fyi hmm um yes yeah yep right lol haha ah anyway but then look listen ps "+
				"today-i-learned thanks great cool ",
			ws[0].low,
		) {
		return 1, false
	}
	return 0, false
}

// leads returns how many words the longest matching phrase takes at the start.
func leads(ws []word, phrases string) int {
	best := 0
	for p := range strings.SplitSeq(phrases, "|") {
		fields := strings.Fields(p)
		if len(fields) <= best || len(fields) >= len(ws) {
			continue
		}
		if slices.EqualFunc(fields, ws[:len(fields)], func(f string, w word) bool { return f == w.low }) {
			best = len(fields)
		}
	}
	return best
}

// trim removes punctuation at both ends.
func trim(ws []word) []word {
	for len(ws) > 0 && ws[0].punct() && ws[0].text != "(" {
		ws = ws[1:]
	}
	opened := slices.ContainsFunc(ws, func(w word) bool { return w.text == "(" })
	for len(ws) > 0 && ws[len(ws)-1].punct() && (ws[len(ws)-1].text != ")" || !opened) && ws[len(ws)-1].low != "'s" {
		ws = ws[:len(ws)-1]
	}
	return ws
}

// tails end a statement without adding anything to it.
const tails = "by the way|btw|actually|though|lol|haha|you know|too|as well|just so you know|fyi|for your information|thanks|thank you|" +
	"please remember that|please remember|remember that"

func dropTail(ws []word) []word {
	for p := range strings.SplitSeq(tails, "|") {
		fields := strings.Fields(p)
		if at := len(ws) - len(fields); at > 1 && slices.EqualFunc(fields, ws[at:], func(f string, w word) bool { return f == w.low }) {
			return trim(ws[:at])
		}
	}
	return ws
}

// notTail removes a trailing ", not Ada".
func notTail(ws []word) ([]word, string) {
	for i := len(ws) - 2; i > 0 && i >= len(ws)-5; i-- {
		if ws[i].low == "not" && ws[i-1].text == "," {
			return ws[:i-1], text(trim(ws[i+1:]))
		}
	}
	return ws, ""
}

// notHead removes a leading "not Acme,".
func notHead(ws []word) ([]word, string) {
	if n := leads(ws, "it is not|that is not|it was not"); n > 0 {
		for i := n + 1; i < len(ws)-2 && i <= n+4; i++ {
			if ws[i].text == "," && starts(ws[i+1:]) {
				return ws[i+1:], text(trim(ws[n:i]))
			}
		}
	}
	for i := 2; i < len(ws)-2 && i <= 5 && ws[0].is("not"); i++ {
		if ws[i].text == "," && starts(ws[i+1:]) {
			return ws[i+1:], text(trim(ws[1:i]))
		}
	}
	return ws, ""
}

// announcedBy drops a heading like "Quick one:" before a statement.
func announcedBy(ws []word) []word {
	for i := 1; i < len(ws)-2 && i <= 4; i++ {
		if ws[i].text == ":" && !verbalAny(ws[:i]) && starts(ws[i+1:]) {
			return ws[i+1:]
		}
	}
	return ws
}

// swapped reads "it's Grace" (not Ada): a word inside a known fact that must be replaced.
func swapped(ws []word, old string) (fact, bool) {
	if old == "" || len(ws) == 0 {
		return fact{}, false
	}
	rest := ws
	for _, lead := range []string{"it is", "that is", "i said", "i meant", "it was", "it should be"} {
		if n := leads(ws, lead); n > 0 {
			rest = ws[n:]
		}
	}
	if len(rest) > 3 || (len(rest) == len(ws) && verbalAny(ws)) {
		return fact{}, false
	}
	return fact{correct: true, old: old, swap: text(rest)}, true
}

func verbalAny(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return verbal3(w.low) })
}

// clauses splits a sentence where a conjunction or comma is followed by a new subject, or a new verb of the same
// subject.
func clauses(ws []word) [][]word {
	ws = trim(ws)
	if len(ws) == 0 {
		return nil
	}
	if ws[0].is("when", "while", "if", "because", "although", "though", "since", "before", "after", "as", "unless", "once", "whenever") {
		return [][]word{ws}
	}
	for i := 1; i < len(ws)-1; i++ {
		if !ws[i].is("and", "but", ",", "-", "–", "—", ":", "plus") || !verbalAny(ws[1:i]) && !ws[i-1].is("here", "speaking") {
			continue
		}
		j := i + 1
		for j < len(ws)-1 && (ws[j].punct() || ws[j].is("and", "but", "also", "then", "so", "now", "yes", "that")) {
			j++
		}
		rest := ws[j:]
		switch {
		case ws[i-1].is("here", "speaking") && i <= 4 && starts(rest):
			return append([][]word{trim(ws[:i])}, clauses(rest)...)
		case starts(rest):
			return append([][]word{trim(ws[:i])}, clauses(rest)...)
		case ws[0].is("i", "we") && sharesSubject(rest):
			return append([][]word{trim(ws[:i])}, clauses(append([]word{ws[0]}, rest...))...)
		case ws[0].is("i", "we") && ws[i].is("and", "but") && listed(" have has got own ", firstVerb(ws)) &&
			rest[0].is("a", "an", "two", "three", "four", "one") && len(rest) > 1 && !verbalAny(rest[1:2]):
			return append([][]word{trim(ws[:i])}, clauses(append([]word{ws[0], {"have", "have", true}}, rest...))...)
		}
	}
	return [][]word{ws}
}

// starts reports whether words begin a new clause.
func starts(ws []word) bool {
	if len(ws) < 2 {
		return false
	}
	switch {
	case ws[0].is("i", "we", "he", "she", "they"):
		return verbalAny(ws[1:min(len(ws), 5)]) || len(ws) > 2 && listed(adverbs, ws[1].low)
	case ws[0].is("it"):
		return ws[1].is("is", "was", "has")
	case ws[0].is("my", "our", "his", "her", "their"):
		return len(ws) > 2 && verbalAny(ws[2:])
	case ws[0].is("call"):
		return ws[1].is("me")
	}
	return false
}

// sharesSubject reports whether words continue with a verb of the previous subject: "and work at a bakery", "but hate
// mornings".
func sharesSubject(ws []word) bool {
	i := 0
	for i < len(ws) && listed(adverbs, ws[i].low) {
		i++
	}
	if i+1 >= len(ws) || ws[i].is("pleased", "delighted") || ws[i+1].is("it", "them", "that", "this") && i+2 == len(ws) {
		return false
	}
	return verbal(ws[i].low) && !listed(" like code study fish box bike camp play help ", ws[i].low) ||
		ws[i].is("like", "study", "play") && !ws[i+1].is("and", "or")
}

func firstVerb(ws []word) string {
	for _, w := range ws[1:] {
		if !listed(adverbs, w.low) {
			return w.low
		}
	}
	return ""
}
