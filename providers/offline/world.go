package offline

import (
	"slices"
)

// chatted are the heads of sentences about the conversation or the day, not about anything of the user's.
const chatted = ` weather day sun sky world earth moon answer question point problem idea thing rest news last next other others same
 more first truth fact reason only best worst word words way result time internet model program chat conversation message joke test `

// subjectEnd finds the verb of a clause whose subject is a noun phrase; 0 if there is none near the start.
func subjectEnd(ws []word) int {
	const most = 9 // words of a subject
	for i := 1; i < len(ws)-1 && i <= most; i++ {
		if w := ws[i]; w.text == "," || w.text == ":" {
			return 0
		}
		if !verbal3(ws[i].low) || ws[i].is("'s") || ws[i-1].is("the", "a", "an", "to", "'s", "of") {
			continue
		}
		if listed(
			" work study play dance phone time dream cat book cook code key park water train iron drop plant ship light spare ",
			ws[i].low,
		) &&
			verbal3(ws[i+1].low) {
			continue
		}
		return i
	}
	return 0
}

// worldly reports whether a clause says something about the user's world without mentioning the user: "the spare key is
// under the mat", "rent is due on the first", "Carla likes tulips". Statements about nothing and nobody in particular
// don't count.
func worldly(ws []word) bool {
	v := subjectEnd(ws)
	if v == 0 || len(ws) < 3 || slices.ContainsFunc(ws, func(w word) bool { return w.is("you", "your", "?") }) {
		return false
	}
	head := ws[v-1]
	switch {
	case kindOf(ws[0]) == kindDay && ws[v].is("is", "are"):
		return true
	case ws[0].is("the"):
		return v > 1 && !listed(chatted, ws[1].low) && !listed(chatted, head.low) && !head.is("it", "that")
	case listed(" home work breakfast lunch dinner supper bedtime school church training practice rent ", ws[0].low) &&
		ws[1].is("is", "was", "are", "starts", "begins", "ends"):
		return true
	case acts(ws, v):
		return true
	case !listed(functionWords, ws[0].low) && !listed(commands, ws[0].low) && !ws[0].number():
		const short = 5 // words of a subject
		valued := func(w word) bool { return w.number() || coded(w) }
		return v <= short && (timely(ws) || slices.ContainsFunc(ws[v:], valued)) && !listed(chatted, ws[0].low)
	}
	return false
}

// acts reports whether a clause says what somebody with a name is or does: "Carla likes tulips", "Rex is six".
func acts(ws []word, v int) bool {
	first := ws[0]
	switch {
	case !first.proper(),
		len(first.low) < 2,
		verbal3(first.low),
		listed(functionWords, first.low),
		listed(demonyms, first.low),
		listed(times, first.low),
		v > 1 && !ws[v-1].proper():
		return false
	case !ws[v].is("is", "are", "was"):
		return !ws[v].is("can", "could", "would", "should", "may", "might", "must") && !plural(ws, v)
	}
	next := ws[v+1]
	return !next.is("the", "one") &&
		(next.counts() || next.is("allergic", "married", "born", "called", "at", "from", "away", "on", "vegan", "vegetarian") ||
			listed(people, ws[len(ws)-1].low) ||
			slices.ContainsFunc(ws[v+1:], func(w word) bool { return profession(w.low) }))
}

// plural reports whether a subject at the start of a sentence may be things in general: "Cats sleep", not "Carla
// sleeps".
func plural(ws []word, v int) bool {
	return v == 1 && len(ws[0].low) > 1 && ws[0].low[len(ws[0].low)-1] == 's' && infinite(ws[v].low) == ws[v].low
}
