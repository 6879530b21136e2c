package offline

import "strings"

// Facts are kept in the third person ("The user works on compilers.") and told in the second ("You work on compilers.").

const adverbs = ` also always already actually really still just usually often sometimes never now currently recently mostly mainly
 only even probably basically generally normally typically rarely seldom hardly absolutely totally truly genuinely definitely certainly
 kind sort finally soon once twice quite very both all honestly secretly strongly deeply simply nearly almost first then nowadays no
 longer `

// modals and auxiliaries take no ending of their own.
const modals = " can could will would shall should may might must did had was ought "

const past = ` went bought got had made met left began broke built came drove ate fell felt found flew forgot gave grew heard knew led
 lost paid
 ran said saw sold sent sang sat slept spoke spent stood stole swam took taught told thought wore won wrote became chose did drank rode
 rose
 kept lent held understood woke dealt meant dreamt learnt quit hurt burnt caught fought froze hid hung lay shot threw tore blew drew dug
 brought sought swore bit bent laid spilt was were used `

const endEd = " need feed speed bleed breed exceed proceed succeed embed wed shed heed "

// finite gives the form of a verb after "the user".
func finite(verb string) string {
	switch verb {
	case "am", "are", "'m", "'re":
		return "is"
	case "were":
		return "was"
	case "have", "'ve":
		return "has"
	case "do":
		return "does"
	}
	if listed(modals, verb) || listed(past, verb) || strings.HasSuffix(verb, "ed") && !listed(endEd, verb) {
		return verb
	}
	switch {
	case strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "sh") || strings.HasSuffix(verb, "ch") ||
		strings.HasSuffix(verb, "x") || strings.HasSuffix(verb, "z") || verb == "go" || verb == "undergo":
		return verb + "es"
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !vowel(verb[len(verb)-2]):
		return verb[:len(verb)-1] + "ies"
	}
	return verb + "s"
}

// infinite does the reverse: the form after "you".
func infinite(verb string) string {
	switch verb {
	case "is":
		return "are"
	case "was":
		return "were"
	case "has":
		return "have"
	case "does":
		return "do"
	case "goes":
		return "go"
	case "dies", "lies", "ties":
		return verb[:len(verb)-1]
	}
	if listed(past, verb) || listed(modals, verb) || !strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "ss") {
		return verb
	}
	switch {
	case strings.HasSuffix(verb, "ies") && len(verb) > 4:
		return verb[:len(verb)-3] + "y"
	case strings.HasSuffix(verb, "sses") || strings.HasSuffix(verb, "shes") || strings.HasSuffix(verb, "ches") ||
		strings.HasSuffix(verb, "xes") || strings.HasSuffix(verb, "zzes"):
		return verb[:len(verb)-2]
	}
	return verb[:len(verb)-1]
}

// base is infinite that also handles regular past forms of known verbs.
func base(low string) string {
	stripped, ok := strings.CutSuffix(low, "ed")
	if !ok || listed(endEd, low) {
		return infinite(low)
	}
	for _, b := range []string{stripped, stripped + "e", strings.TrimSuffix(stripped, "i") + "y", stripped[:max(0, len(stripped)-1)]} {
		if listed(verbs, b) {
			return b
		}
	}
	return low
}

func vowel(b byte) bool { return strings.IndexByte("aeiou", b) >= 0 }

// third rewrites a first-person clause in the third person. Once the user was the subject, later mentions become "they"
// and "their".
func third(ws []word) []word {
	var out []word
	mentioned := false
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		put := func(first, later string) {
			s := first
			if mentioned {
				s = later
			}
			words := made(s)
			words[0].gap = w.gap
			out = append(out, words...)
		}
		switch w.low {
		case "i", "we":
			subject := !mentioned
			joint := len(out) > 0 && out[len(out)-1].is("and", "or") // "my wife and I are": the verb is a plural
			put("the user", "they")
			mentioned = true
			if subject && !joint {
				i = conjugate(ws, i+1, &out)
			} else if i+1 < len(ws) && ws[i+1].is("am", "was") {
				i++
				out = append(out, made(map[bool]string{true: "are", false: "were"}[ws[i].low == "am"])...)
			}
		case "me", "us":
			put("the user", "the user")
		case "my", "our":
			put("the user's", "their")
		case "mine", "ours":
			put("the user's", "theirs")
		case "myself", "ourselves":
			put("the user", "themselves")
		default:
			out = append(out, w)
		}
	}
	return out
}

// conjugate writes the verb after the subject, skipping adverbs, and returns the index of the last token it used.
func conjugate(ws []word, i int, out *[]word) int {
	for i < len(ws) && (listed(adverbs, ws[i].low) || ws[i].low == ",") {
		if !ws[i].is("both", "all") { // "we both" is one user here
			*out = append(*out, ws[i])
		}
		i++
	}
	if i >= len(ws) {
		return i
	}
	w := ws[i]
	w.text = finite(w.low)
	w.low = w.text
	*out = append(*out, w)
	// A second verb of the same subject: "I live and work in Oslo".
	if i+2 < len(ws) && ws[i+1].is("and", "or", "but") && verbal(ws[i+2].low) && !listed(past, ws[i+2].low) && listed(verbs, ws[i].low) {
		next := ws[i+2]
		next.text = finite(next.low)
		next.low = next.text
		*out = append(*out, ws[i+1], next)
		i += 2
	}
	return i
}

// sentence ends a text like a sentence.
func sentence(s string) string {
	s = capital(strings.TrimSpace(strings.TrimRight(strings.TrimSpace(s), ".,;:!")))
	s = strings.ReplaceAll(s, " can not ", " cannot ")
	if s == "" {
		return ""
	}
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// second turns a fact in the third person into what the user is told.
func second(fact string) string {
	ws := tokenise(fact)
	var out []word
	told := false
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		if w.low == "the" && i+1 < len(ws) && ws[i+1].low == "user" {
			gap := w.gap
			if i+2 < len(ws) && ws[i+2].low == "'s" {
				out = append(out, word{"your", "your", gap})
				i += 2
			} else {
				told = told || len(out) == 0
				out = append(out, word{"you", "you", gap})
				i++
				aside := len(out) > 1 && out[len(out)-2].is("for", "to", "with", "of", "from", "by") // "breakfast for you is …"
				v := i + 1
				for v+1 < len(ws) && listed(adverbs, ws[v].low) {
					v++
				}
				verb := v < len(ws) &&
					(ws[v].is("is", "was", "has", "does") || listed(verbs, infinite(ws[v].low)) && strings.HasSuffix(ws[v].low, "s"))
				if len(out) == 1 || verb && !aside {
					i = unconjugate(ws, i+1, &out)
				}
			}
			continue
		}
		if told {
			switch w.low {
			case "they":
				w.text = "you"
			case "their":
				w.text = "your"
			case "themselves":
				w.text = "yourself"
			case "theirs":
				w.text = "yours"
			}
		}
		out = append(out, w)
	}
	return capital(text(out))
}

func unconjugate(ws []word, i int, out *[]word) int {
	for i < len(ws) && (listed(adverbs, ws[i].low) || ws[i].low == ",") {
		*out = append(*out, ws[i])
		i++
	}
	if i >= len(ws) {
		return i
	}
	w := ws[i]
	w.text = infinite(w.low)
	*out = append(*out, w)
	if i+2 < len(ws) && ws[i+1].is("and", "or", "but") && strings.HasSuffix(ws[i+2].low, "s") && listed(verbs, infinite(ws[i+2].low)) {
		*out = append(*out, ws[i+1], word{infinite(ws[i+2].low), infinite(ws[i+2].low), true})
		i += 2
	}
	return i
}
