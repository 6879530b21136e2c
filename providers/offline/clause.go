package offline

import (
	"slices"
	"strings"
	"unicode"
)

// clause reads one clause; nil for anything that isn't about the user.
func (r *reader) clause(ws []word) []fact {
	ws, _ = strip(trim(ws))
	ws = trim(ws)
	if len(ws) > 3 && ws[0].is("you") && ws[2].is("call") && ws[3].is("me") { // you can call me Lex
		ws = ws[2:]
	}
	if n := leads(
		ws,
		"you are talking to|you are speaking to|you are talking with|you are speaking with|you are chatting with",
	); n > 0 && ws[n].proper() &&
		len(ws) <= n+3 {
		return []fact{r.keep(made("The user's name is"), ws[n:])}
	}
	if len(ws) > 2 && ws[0].is("there") && ws[1].is("is", "are") &&
		slices.ContainsFunc(ws, func(w word) bool { return w.is("my", "our") }) {
		return []fact{r.keep(third(r.clock.dated(ws)), nil)}
	}
	if len(ws) < 2 || chats(ws) || ws[0].is("if", "unless", "you", "your", "let", "there", "please") {
		return nil
	}
	ws = lead(ws)
	ws, gone := noLonger(ws)
	var fs []fact
	switch {
	case ws[0].is("i", "we"):
		fs = r.firstPerson(ws)
	case ws[0].is("call"):
		fs = nickname(ws)
	case ws[0].is("my", "our"):
		fs = r.possessive(ws)
	default:
		fs = r.others(ws)
	}
	for i := range fs {
		fs[i].gone = gone
		if fs[i].old == "" {
			fs[i].old = outdated(ws)
		}
		fs[i].correct = fs[i].correct || fs[i].old != "" || gone ||
			slices.ContainsFunc(ws, func(w word) bool { return w.is("now", "instead", "nowadays") })
	}
	return fs
}

// outdated finds what a change leaves behind: "from Vim to Helix".
func outdated(ws []word) string {
	if !slices.ContainsFunc(ws, func(w word) bool { return w.is("switched", "changed", "migrated", "went", "switch", "moved") }) {
		return ""
	}
	from := slices.IndexFunc(ws, func(w word) bool { return w.low == "from" })
	to := slices.IndexFunc(ws, func(w word) bool { return w.low == "to" })
	if from < 0 || to < from+2 {
		return ""
	}
	return text(trim(ws[from+1 : to]))
}

// lead moves what comes before the subject to the end of the clause: "in 2019 I moved" is "I moved in 2019".
func lead(ws []word) []word {
	if !ws[0].is(
		"in",
		"on",
		"at",
		"since",
		"for",
		"these",
		"nowadays",
		"currently",
		"last",
		"next",
		"this",
		"every",
		"during",
		"until",
		"from",
		"yesterday",
		"today",
		"tomorrow",
		"recently",
		"right",
		"as",
		"by",
		"lately",
		"sometimes",
		"usually",
		"normally",
		"once",
		"years",
		"two",
		"three",
		"a",
	) {
		return ws
	}
	for i := 1; i < len(ws)-1 && i <= 8; i++ {
		if !ws[i].is("i", "we", "my", "our") || ws[i-1].is("of", "to", "with", "for", "in", "at", "on", "and") {
			continue
		}
		front := trim(ws[:i])
		front = slices.Clone(front)
		if !front[0].proper() ||
			listed(" in on at since for these last next this every during until from right as by once a two three ", front[0].low) ||
			len(front) == 1 {
			front[0].text = front[0].low
		}
		front[0].gap = true
		return append(slices.Clone(ws[i:]), front...)
	}
	return ws
}

// noLonger turns "do not have … any more" into "no longer have …".
func noLonger(ws []word) ([]word, bool) {
	n := len(ws)
	gone := false
	switch {
	case n > 2 && ws[n-2].is("any") && ws[n-1].is("more", "longer"):
		ws, gone = ws[:n-2], true
	case n > 1 && ws[n-1].is("anymore"):
		ws, gone = ws[:n-1], true
	}
	for i := 0; i+1 < len(ws); i++ {
		if ws[i].is("no") && ws[i+1].is("longer") {
			return ws, true
		}
		if gone && ws[i+1].is("not") {
			out := slices.Clone(ws[:i])
			if !ws[i].is("do", "does", "did") {
				out = append(out, ws[i])
			}
			out = append(out, made("no longer")...)
			rest := slices.Clone(ws[i+2:])
			if ws[i].is("does") && len(rest) > 0 {
				rest[0].text = finite(rest[0].low)
				rest[0].low = rest[0].text
			}
			return append(out, rest...), true
		}
	}
	return ws, gone
}

func (r *reader) firstPerson(ws []word) []fact {
	i := 1
	for i < len(ws) && (listed(adverbs, ws[i].low) || ws[i].text == ",") {
		i++
	}
	if i >= len(ws) || ws[i].punct() {
		return nil
	}
	verb, rest := ws[i].low, ws[i+1:]
	switch {
	case verb == "am" && i == 1 || verb == "am" && !slices.ContainsFunc(ws[:i], func(w word) bool { return w.is("no", "never") }):
		if fs := r.introduced(rest); fs != nil {
			return fs
		}
		if leads(append(slices.Clone(rest), word{}), "called|named|known as") > 0 {
			name := rest[1:]
			if comma := slices.IndexFunc(name, func(w word) bool { return w.text == "," }); comma > 0 {
				name = name[:comma]
			}
			return []fact{r.keep(made("The user's name is"), named(trim(name)))}
		}
	case verb == "go" && leads(rest, "by") > 0:
		return nickname(append([]word{ws[i], ws[0]}, rest[1:]...))
	case verb == "have" && len(rest) > 1 && rest[0].is("got"):
		ws = slices.Delete(slices.Clone(ws), i+1, i+2)
		rest = ws[i+1:]
	}
	if fs := r.renewed(verb, rest); fs != nil {
		return fs
	}
	if fs := r.changed(verb, ws, rest); fs != nil {
		return fs
	}
	if len(rest) == 0 &&
		!listed(
			" smoke snore garden code climb run swim cook paint sing dance meditate ski skate surf sew knit fish hike draw write ",
			verb,
		) {
		return nil
	}
	if !verbal(verb) && !plausible(verb) || rest != nil && questioned(rest) {
		return nil
	}
	if k := slices.IndexFunc(rest, func(w word) bool { return w.is("living") }); verb == "am" && k > 1 && k+2 < len(rest) {
		// "a nurse living in Oslo" is two facts
		here := append([]word{ws[0], {"live", "live", true}}, rest[k+1:]...)
		return append(r.firstPerson(trim(ws[:i+1+k])), r.firstPerson(here)...)
	}
	if verb == "have" || verb == "own" || verb == "adopted" || verb == "got" {
		r.antecedent(rest)
	}
	return []fact{r.keep(third(r.clock.dated(ws)), nil)}
}

// renewed reads "I have a new number: 555-0100" as the current number.
func (r *reader) renewed(verb string, rest []word) []fact {
	colon := slices.IndexFunc(rest, func(w word) bool { return w.text == ":" })
	if !listed(" have got ", verb) || colon < 2 || colon+1 >= len(rest) || !rest[0].is("a", "an", "another") {
		return nil
	}
	said := slices.Concat(made("my"), rest[1:colon], made("is"), rest[colon+1:])
	said[1+colon].gap = true
	fs := r.possessive(said)
	for i := range fs {
		fs[i].correct = true
	}
	return fs
}

// changed reads "I changed my PIN to 3344" as the current PIN, and "I traded the Mini for a Golf" as what replaced the
// Mini.
func (r *reader) changed(verb string, ws, rest []word) []fact {
	to := slices.IndexFunc(rest, func(w word) bool { return w.is("to", "for", "with", "by") })
	if to < 2 || to+1 >= len(rest) {
		return nil
	}
	was, now := rest[:to], trim(rest[to+1:])
	switch {
	case listed(" changed updated reset renamed moved rescheduled ", verb) && rest[to].is("to") && was[0].is("my", "our", "the"):
		is := made("is")
		if day := kindOf(now[0]); day == kindDay || day == kindMonth {
			is = made("is on")
		}
		said := slices.Concat(was, is, now)
		var fs []fact
		if was[0].is("the") {
			fs = []fact{r.keep(third(r.clock.dated(said)), nil)}
		} else {
			fs = r.possessive(said)
		}
		for i := range fs {
			fs[i].correct = true
		}
		return fs
	case listed(" traded swapped exchanged replaced ", verb) && was[0].is("my", "our", "the") && !now[0].is("my", "our"):
		if now[0].is("a", "an", "the") {
			now = now[1:]
		}
		f := r.keep(third(r.clock.dated(ws)), nil)
		f.correct, f.old, f.swap = true, text(trim(was[1:])), text(now)
		return []fact{f}
	}
	return nil
}

// plausible reports whether a word on no list may be a verb.
func plausible(low string) bool {
	for _, c := range low {
		if !unicode.IsLetter(c) && c != '-' && c != '\'' {
			return false
		}
	}
	return len(low) > 1 && !listed(functionWords, low)
}

// questioned reports whether the rest of a clause asks something: "I want to know what …".
func questioned(ws []word) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return w.text == "?" })
}

func (r *reader) possessive(ws []word) []fact {
	v := -1
	for i := 2; i < len(ws) && v < 0; i++ {
		noun := listed(" work study play dance phone time dream cat ", ws[i].low) && i+1 < len(ws) && verbal3(ws[i+1].low)
		if verbal3(ws[i].low) && !ws[i-1].is("'s") && !noun {
			v = i
		}
	}
	if v < 0 || v+1 >= len(ws) && !ws[v].is("died", "quit", "retired", "left", "snores", "works") {
		return nil
	}
	subject := ws[1:v]
	renewed := len(subject) > 1 && subject[0].is("new", "current", "present") && listed(attributes+sole, subject[len(subject)-1].low)
	if len(subject) == 1 && subject[0].is("question", "point", "guess", "message", "answer") {
		return nil
	}
	r.last = text(trim(append(made("the user's"), subject...)))
	if subject[len(subject)-1].is("name") && ws[v].is("is") && v+1 < len(ws) && !ws[v+1].is("not") {
		name := trim(ws[v+1:])
		if and := slices.IndexFunc(
			name,
			func(w word) bool { return w.is("and") },
		); and > 0 && name[0].proper() && and+1 < len(name) &&
			name[and+1].is("this", "that", "it") {
			name = trim(name[:and]) // what follows is about the conversation
		}
		if len(subject) == 1 && len(name) <= 5 {
			return []fact{r.keep(made("The user's name is"), named(name))}
		}
	}
	f := r.keep(third(r.clock.dated(ws)), nil)
	f.correct = renewed
	return []fact{f}
}

// others reads clauses with another subject that are still about the user: "Zoë is my sister", "she lives in Berlin",
// "peanuts make me sick".
func (r *reader) others(ws []word) []fact {
	if r.last != "" && len(ws) > 2 && verbalAny(ws[1:]) {
		switch {
		case ws[0].is("he", "she", "it", "they") && r.refers(ws):
			return []fact{r.keep(third(r.clock.dated(append(made(r.last), ws[1:]...))), nil)}
		case ws[0].is("his", "her", "its") && verbalAny(ws[2:]) && r.refers(ws):
			return []fact{r.keep(third(r.clock.dated(append(made(r.last+"'s"), ws[1:]...))), nil)}
		}
	}
	if len(ws) > 2 &&
		(ws[0].is("people", "everyone", "everybody", "friends") && ws[1].is("call", "calls") || ws[0].is("you") && ws[2].is("call")) {
		return []fact{r.keep(third(ws), nil)}
	}
	if len(ws) > 3 && ws[0].is("the") && listed(people+animals, ws[1].low) && !ws[2].is("of", "in", "on") {
		return r.possessive(append([]word{{"my", "my", ws[0].gap}}, ws[1:]...)) // "the cat's name is …"
	}
	if ws[0].is("mom", "mum", "dad", "mother", "father", "grandma", "grandpa", "grandmother", "grandfather") {
		own := slices.Clone(ws)
		own[0].text, own[0].gap = own[0].low, true
		return r.possessive(append([]word{{"my", "my", true}}, own...))
	}
	if f, ok := r.presented(ws); ok {
		return []fact{f}
	}
	if doing(ws) { // "got a new puppy"
		ws = slices.Clone(ws)
		ws[0].text, ws[0].gap = ws[0].low, true
		return r.firstPerson(append(made("I"), ws...))
	}
	if ws[0].is("allergic", "born", "married", "based") && len(ws) > 2 && ws[1].is("to", "in", "on", "with") {
		verb := "I am"
		if ws[0].is("born") {
			verb = "I was"
		}
		first := slices.Clone(ws)
		first[0].text = first[0].low
		return []fact{r.keep(third(r.clock.dated(append(made(verb), first...))), nil)}
	}
	if v := subjectEnd(
		ws,
	); v > 0 && v+2 < len(ws) && ws[v+1].is("the", "my", "our") &&
		ws[0].is("they", "he", "she", "someone", "somebody") {
		r.last = text(third(ws[v+1:])) // "they changed the code, it is …"
	}
	if ws[0].is("he", "she", "they", "this", "that", "what", "who", "how", "why", "where") || command(ws) {
		return nil
	}
	mine := slices.IndexFunc(ws, func(w word) bool { return w.is("my", "our", "me", "i", "we", "us") })
	if mine > 0 && verbalAny(ws[:len(ws)-1]) {
		ws = slices.Clone(ws)
		if ws[0].is("it", "the", "a", "an", "when", "since", "because", "although") {
			ws[0].text = ws[0].low
		}
		if ws[0].is("it") && ws[1].is("is", "was") && mine == 2 { // it is my birthday on Friday
			return r.itIsMy(ws)
		}
		return []fact{r.keep(third(r.clock.dated(ws)), nil)}
	}
	return r.impersonal(ws)
}

// impersonal reads clauses that don't mention the user: about somebody known by name, or about the user's world.
func (r *reader) impersonal(ws []word) []fact {
	named := ws[0].proper() && len(ws) > 2 && len(ws[0].low) > 1 && !listed(functionWords, ws[0].low) && r.known != nil &&
		r.known(ws[0].text) &&
		verbal3(ws[1].low)
	if !named && !worldly(ws) {
		return nil
	}
	if v := subjectEnd(ws); v > 0 {
		subject := slices.Clone(ws[:v])
		if subject[0].is("the", "a") {
			subject[0].text = subject[0].low
		}
		r.last = text(subject)
	}
	return []fact{r.keep(r.clock.dated(ws), nil)}
}

// doing reports whether a clause tells what the user did, without "I".
func doing(ws []word) bool {
	if len(ws) < 3 || !listed(past, ws[0].low) && (base(ws[0].low) == ws[0].low || !strings.HasSuffix(ws[0].low, "ed")) ||
		listed(modals, ws[0].low) {
		return false
	}
	return !ws[0].is("lay", "found", "saw", "felt", "shot", "was", "were", "did", "used", "lent") &&
		ws[1].is(
			"a",
			"an",
			"the",
			"my",
			"our",
			"two",
			"three",
			"to",
			"into",
			"in",
			"at",
			"from",
			"for",
			"up",
			"some",
			"another",
			"engaged",
			"married",
		)
}

// antecedent remembers an object that the user said they have, so that the next sentence may call it "it".
func (r *reader) antecedent(object []word) {
	for _, w := range object {
		if listed(people, w.low) || listed(animals, w.low) {
			r.last = "the user's " + w.low
			return
		}
	}
}

// keep finishes a fact.
func (r *reader) keep(ws, more []word) fact {
	return fact{text: sentence(text(trim(append(slices.Clone(ws), more...))))}
}
