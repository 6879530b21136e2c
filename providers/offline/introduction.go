package offline

import (
	"slices"
	"strings"
)

// introduced reads what follows "I am" as a name: "Ada", "Ada Lovelace, a compiler engineer", "Ada from Porto".
func (r *reader) introduced(rest []word) []fact {
	for len(rest) > 0 && (listed(adverbs, rest[0].low) && !rest[0].is("no", "never") || rest[0].text == ",") {
		rest = rest[1:]
	}
	n := 0
	for n < len(rest) && n < 5 && (rest[n].proper() && !acronym(rest[n].text) || n > 0 &&
		rest[n].is("de", "van", "von", "der", "da", "al", "bin", "la", "di", "del") && n+1 < len(rest) && rest[n+1].proper()) {
		n++
	}
	if n == 0 || listed(demonyms, rest[0].low) || rest[0].is("i") || listed(times, rest[0].low) {
		return nil
	}
	after := rest[n:]
	if len(after) > 0 && after[0].text != "," && after[0].text != "(" && !after[0].is("and", "from", "by", "-", "–", "—") {
		return nil
	}
	out := []fact{r.keep(made("The user's name is"), rest[:n])}
	after = trim(after)
	if len(after) > 1 {
		if after[0].is("a", "an", "the", "from") {
			out = append(out, r.keep(third(r.clock.dated(append(made("I am"), after...))), nil))
		} else if !after[0].is("by") {
			more := r.clause(after)
			if len(more) == 0 {
				r.leave(after)
			}
			out = append(out, more...)
		}
	}
	return out
}

func acronym(s string) bool {
	return len(s) > 1 && strings.ToUpper(s) == s && strings.ToLower(s) != s
}

// nickname reads "call me Max".
func nickname(ws []word) []fact {
	name := trim(ws[2:])
	for len(name) > 1 && name[len(name)-1].is("please", "now", "instead", "btw") {
		name = trim(name[:len(name)-1])
	}
	if !ws[1].is("me", "i") || len(name) == 0 || len(name) > 4 ||
		name[0].is("back", "later", "when", "if", "a", "an", "the", "tomorrow", "at", "maybe", "again") {
		return nil
	}
	return []fact{{text: sentence("The user likes to be called " + text(named(name)))}}
}

// named capitalises a name that has no capitals at all.
func named(ws []word) []word {
	out := slices.Clone(ws)
	for _, w := range ws {
		if w.text != w.low {
			return out
		}
	}
	for i := range out {
		if len(out[i].text) > 0 && out[i].text[0] < 0x80 && !out[i].is("de", "van", "von", "der", "and", "the") {
			out[i].text = capital(out[i].text)
		}
	}
	return out
}

// presented reads how people introduce themselves: "the name is Ada", "this is Ada", "Ada here".
func (r *reader) presented(ws []word) (fact, bool) {
	if leads(ws, "the name is") > 0 {
		return r.keep(made("The user's name is"), named(ws[3:])), true
	}
	if comma := slices.IndexFunc(ws, func(w word) bool { return w.text == "," }); comma > 0 && leads(ws, "this is") > 0 {
		ws = ws[:comma]
	}
	if leads(ws, "this is") > 0 && len(ws) > 2 && len(ws) <= 5 && ws[2].proper() && !listed(demonyms, ws[2].low) &&
		!slices.ContainsFunc(ws, func(w word) bool { return w.is("my", "our") }) {
		return r.keep(made("The user's name is"), ws[2:]), true
	}
	if n := len(
		ws,
	) - 1; n <= 3 && ws[n].is("here", "speaking") &&
		!slices.ContainsFunc(ws[:n], func(w word) bool { return !w.proper() || listed(functionWords, w.low) }) {
		return r.keep(made("The user's name is"), made(text(ws[:n]))), true
	}
	return fact{}, false
}

// itIsMy reads "it is my birthday tomorrow" as a statement about the birthday.
func (r *reader) itIsMy(ws []word) []fact {
	for i := 4; i < len(ws); i++ {
		if _, n := r.clock.relative(ws[i:]); n > 0 || ws[i].is("on", "in", "at") {
			clause := append(slices.Clone(ws[2:i]), word{"is", "is", true})
			return []fact{r.keep(third(r.clock.dated(append(clause, ws[i:]...))), nil)}
		}
	}
	return nil
}
