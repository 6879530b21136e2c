package offline

import (
	"slices"
	"strings"
	"unicode"
)

// shapes returns the topics that a fact belongs to because of how its values are written: an amount of money, a phone
// number, a dose, an age, a code. Questions about such a value name its kind; the facts often don't.
func shapes(ws []word) []string {
	var tags []string
	for i, w := range ws {
		next := word{}
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		switch {
		case listed(" $ € £ ¥ ", w.text) && next.number(),
			w.number() && listed(currencies, next.low),
			w.number() && listed(" $ € £ ¥ ", next.text):
			tags = append(tags, "@cost")
		case w.number() && listed(doses, next.low), listed(" mg ml mcg ", strings.TrimLeft(w.low, "0123456789.,")) && w.number():
			tags = append(tags, "@medicine")
		case strings.Contains(w.low, "@") && !w.punct():
			tags = append(tags, "@contact", "@mail")
		case w.is("is", "are", "am", "turned", "turns", "turning", "aged", "be", "just") && next.counts() &&
			(i+2 >= len(ws) || ws[i+2].punct() || ws[i+2].is("years", "year", "months", "now", "and", "next", "on", "in")):
			tags = append(tags, "@age")
		case coded(w):
			tags = append(tags, "@secret")
		}
		if digits(ws[i:]) >= 7 {
			tags = append(tags, "@dial")
		}
	}
	return tags
}

const (
	currencies = ` dollar dollars euro euros pound pounds quid bucks francs franc yen kroner kronor krona rupees usd eur gbp chf cents k `
	doses      = ` mg ml mcg milligrams milligram tablets tablet pills pill units drops puffs capsules capsule `
)

// counts reports whether a word is a number, in digits or letters; articles aren't.
func (w word) counts() bool {
	if w.number() {
		return true
	}
	v, ok := lookup(numerals, w.low)
	return ok && !w.is("a", "an", "one") && v != ""
}

// coded reports whether a word looks like a password or code: letters with digits, groups of digits, marks.
func coded(w word) bool {
	number, letter, other, n := 0, 0, 0, 0
	for _, r := range w.text {
		n++
		switch {
		case unicode.IsDigit(r):
			number++
		case unicode.IsLetter(r):
			letter++
		default:
			other++
		}
	}
	const least = 4
	ordinal := number > 0 && letter == 2 && other == 0 && strings.ContainsAny(w.low[:1], "0123456789")
	clock := strings.Contains(w.text, ":")
	return n >= least && number > 0 && (letter > 0 || other > 0 || number >= least) && !ordinal && !clock && !dateLike(w.text)
}

func dateLike(s string) bool { return len(s) == len("2026-11-23") && strings.Count(s, "-") == 2 }

// digits counts the digits of a number written in groups: 0470 11 22 33.
func digits(ws []word) int {
	n := 0
	for i, w := range ws {
		here := 0
		for _, r := range w.text {
			switch {
			case unicode.IsDigit(r):
				here++
			case unicode.IsLetter(r) || strings.ContainsRune(":@", r):
				return n
			}
		}
		const most = 8 // groups
		if grouping := here > 0 || listed(" + - ( ) / ", w.text); !grouping || dateLike(w.text) || i > most {
			return n
		}
		n += here
	}
	return n
}

// trades reports whether a fact says what the user does for a living, the way people describe their work: "teaches
// physics at a school", "runs a bakery", "drives a taxi".
func trades(ws []word) bool {
	const verb, object = 2, 3 // the user teaches physics
	for at := verb; at < min(len(ws)-1, verb+3); at++ {
		if len(ws) < object || !ws[0].is("the") || !ws[1].is("user") {
			return false
		}
		if listed(adverbs, ws[at].low) || ws[at].is("is") {
			continue
		}
		switch v := stem(ws[at].low); {
		case listed(" teach manag design sell repair fix develop translat research treat maintain instal lectur edit "+
			"produc engin supervis consult ", v):
			return true
		case v == "run":
			return ws[at+1].is("a", "an", "the", "my", "our", "their") && !slices.ContainsFunc(ws[at+1:], func(w word) bool {
				return listed(
					" marathon marathons race races mile miles kilometres lap laps risk fever bath errand errands test tests half blog ",
					w.low,
				)
			})
		case v == "drive":
			return slices.ContainsFunc(ws[at+1:], func(w word) bool {
				return w.is("taxi", "cab", "bus", "buses", "truck", "trucks", "lorry", "lorries", "tram", "ambulance", "trains")
			})
		case v == "write", v == "make", v == "build", v == "clean", v == "cook", v == "bake", v == "paint", v == "grow":
			return slices.ContainsFunc(ws[at+1:], func(w word) bool { return w.is("for", "firmware", "software", "code") })
		}
		return false
	}
	return false
}
