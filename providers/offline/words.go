package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// word is one token of a sentence; contractions are expanded ("I'm" is "I" and "am").
type word struct {
	text string
	low  string
	gap  bool // preceded by white space
}

func (w word) is(list ...string) bool {
	for _, s := range list {
		if w.low == s {
			return true
		}
	}
	return false
}

// punct reports whether the token is punctuation.
func (w word) punct() bool {
	for _, r := range w.text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || pictured(r) && w.low != "" {
			return false
		}
	}
	return true
}

// proper reports whether the token is written like a name: capitalised, or in a script without capitals.
func (w word) proper() bool {
	for _, r := range w.text {
		return unicode.IsLetter(r) && !unicode.IsLower(r)
	}
	return false
}

func (w word) number() bool {
	return w.text != "" && unicode.IsDigit([]rune(w.text)[0])
}

// straight turns typographic quotes and spaces into plain ones.
func straight(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u02bc', '`':
		return '\''
	case '\u201c', '\u201d':
		return '"'
	case '\u00a0':
		return ' '
	}
	return r
}

// tokenise splits a sentence into words and punctuation, and expands contractions.
func tokenise(s string) []word {
	runes := []rune(strings.Map(straight, s))
	var out []word
	gap := false
	for i := 0; i < len(runes); {
		r := runes[i]
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = true
			i++
			continue
		}
		j := i + 1
		if inWord(r) {
			for j < len(runes) && (inWord(runes[j]) || joins(runes, j)) {
				j++
			}
			for j < len(runes) && (runes[j] == '+' || runes[j] == '#') { // C++, C#
				j++
			}
		}
		if pictured(r) {
			j = picture(runes, i)
		}
		out = append(out, open(string(runes[i:j]), gap)...)
		gap = false
		i = j
	}
	return settlePictures(settlePossessives(out))
}

// pictured reports whether a character is an emoji.
func pictured(r rune) bool {
	return r >= 0x1f000 && unicode.Is(unicode.So, r) || r >= 0x2600 && r <= 0x26ff || r == 0x2764 || r == 0x2708
}

// picture returns where an emoji ends, including variants, skin tones and joined emoji.
func picture(runes []rune, i int) int {
	const joiner = 0x200d
	flag := func(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
	j := i + 1
	if flag(runes[i]) && j < len(runes) && flag(runes[j]) {
		j++
	}
	for j < len(runes) {
		switch r := runes[j]; {
		case unicode.IsMark(r) || r >= 0x1f3fb && r <= 0x1f3ff:
			j++
		case r == joiner && j+1 < len(runes) && pictured(runes[j+1]):
			j += 2
		default:
			return j
		}
	}
	return j
}

// beforeObject are words after which an emoji is an object; anywhere else it is decoration, treated as punctuation.
const beforeObject = ` like likes love loves enjoy enjoys adore adores prefer prefers hate hates dislike dislikes detest detests loathe
 loathes dread avoid avoids stand bear eat eats drink drinks have has want wants need needs play plays bake cook is are a an the some
 to of with for about on than no any more much your `

// settlePictures clears the lower form, by which words are compared, of emoji that aren't objects.
func settlePictures(ws []word) []word {
	object := false
	for i := range ws {
		switch {
		case ws[i].text != "" && pictured([]rune(ws[i].text)[0]):
			if object = object || i > 0 && listed(beforeObject, ws[i-1].low); !object {
				ws[i].low = ""
			}
		case object && ws[i].is("and", "or", ","): // the next emoji is another object
		default:
			object = false
		}
	}
	return ws
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// joins reports whether the character at j is part of a word: can't, 3.5, 10:30, user@example.org, well-known.
func joins(runes []rune, j int) bool {
	if j+1 >= len(runes) || !inWord(runes[j+1]) {
		return false
	}
	switch runes[j] {
	case '\'', '-', '.', ':', '@', '/', '&':
		return true
	case ',':
		return unicode.IsDigit(runes[j-1]) && unicode.IsDigit(runes[j+1])
	}
	return false
}

const contracted = ` can't=can,not cannot=can,not won't=will,not shan't=shall,not ain't=am,not cant=can,not dont=do,not doesnt=does,not
 didnt=did,not isnt=is,not arent=are,not wont=will,not im=I,am ive=I,have whats=what,is wheres=where,is whens=when,is whos=who,is
 let's=let,us lets=let,us gonna=going,to wanna=want,to gotta=have,to `

var clitics = []struct{ suffix, word string }{
	{"n't", "not"}, {"'re", "are"}, {"'ve", "have"}, {"'ll", "will"}, {"'d", "would"}, {"'m", "am"},
}

// wordlike are the words after which 's can only be "is".
const wordlike = " he she it that this there here what who where when how why which everyone everybody someone nobody "

func open(text string, gap bool) []word {
	low := strings.ToLower(text)
	if low == "i" {
		return []word{{"I", "i", gap}}
	}
	if opened, ok := lookup(contracted, low); ok {
		parts := strings.Split(opened, ",")
		out := make([]word, len(parts))
		for i, p := range parts {
			if i == 0 && p != "I" && unicode.IsUpper([]rune(text)[0]) {
				p = capital(p)
			}
			out[i] = word{p, strings.ToLower(p), i > 0 || gap}
		}
		return out
	}
	for _, c := range clitics {
		if head, ok := strings.CutSuffix(low, c.suffix); ok && head != "" {
			return append(open(text[:len(text)-len(c.suffix)], gap), word{c.word, c.word, true})
		}
	}
	if head, ok := strings.CutSuffix(low, "'s"); ok && head != "" && len(low) == len(text) {
		first := word{text[:len(text)-2], head, gap}
		if listed(wordlike, head) {
			return []word{first, {"is", "is", true}}
		}
		return []word{first, {"'s", "'s", false}}
	}
	return []word{{text, low, gap}}
}

// settlePossessives turns an 's before a participle, an article or a negation into "is": my sister's getting married.
func settlePossessives(ws []word) []word {
	for i := range ws {
		if past := i + 2; ws[i].is("is") && i > 0 && ws[i-1].is("he", "she", "it", "who", "that") &&
			past < len(ws) { // "she's just had" is "she has"
			if !listed(adverbs, ws[i+1].low) {
				past = i + 1
			}
			if ws[past].is("been", "had", "got", "become", "gotten") {
				ws[i].text, ws[i].low = "has", "has"
			}
		}
		if ws[i].low != "'s" || i+1 >= len(ws) || i > 0 && ws[i-1].is("user") { // "the user's driving licence"
			continue
		}
		next := ws[i+1].low
		if next == "a" || next == "an" || next == "the" || next == "not" || next == "called" || next == "named" || next == "allergic" ||
			i > 0 && listed(" name birthday deadline job ", ws[i-1].low) &&
				(next == "on" || ws[i+1].proper() || ws[i+1].number()) || next == "in" || next == "at" || next == "from" ||
			len(next) > 4 && strings.HasSuffix(next, "ing") && !listed(notParticiple, next) {
			ws[i] = word{"is", "is", true}
		}
	}
	return ws
}

const notParticiple = " wedding building meeting thing something anything everything nothing morning evening ring king string ceiling " +
	"wing spring sibling painting clothing training "

// text joins tokens into text.
func text(ws []word) string {
	var b strings.Builder
	for i, w := range ws {
		if i > 0 && w.gap {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// plain joins the words in lower case, without punctuation, separated by single spaces: the form that patterns match.
func plain(ws []word) string {
	var b strings.Builder
	for _, w := range ws {
		if w.low == "'s" {
			b.WriteString("'s")
			continue
		}
		if w.punct() {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.low)
	}
	return b.String()
}

// made makes tokens from our own words.
func made(s string) []word {
	var out []word
	for _, f := range strings.Fields(s) {
		out = append(out, word{f, strings.ToLower(f), true})
	}
	return out
}

// listed reports whether a word is in a list. The lexicon consists of constants, so it costs nothing until used.
func listed(list, low string) bool {
	if low == "" || strings.ContainsAny(low, " =\n") {
		return false
	}
	for at := 0; ; {
		i := strings.Index(list[at:], low)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(low)
		if i > 0 && blank(list[i-1]) && at < len(list) && blank(list[at]) {
			return true
		}
	}
}

// lookup finds a word's value in a list of word=value.
func lookup(list, low string) (string, bool) {
	if low == "" || strings.ContainsAny(low, " =\n") {
		return "", false
	}
	for at := 0; ; {
		i := strings.Index(list[at:], low+"=")
		if i < 0 {
			return "", false
		}
		i += at
		at = i + len(low) + 1
		if i > 0 && blank(list[i-1]) {
			end := at
			for end < len(list) && !blank(list[end]) {
				end++
			}
			return list[at:end], true
		}
	}
}

func blank(b byte) bool { return b == ' ' || b == '\n' }

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

//nolint:misspell // both spellings are understood
const respelled = ` tyre=tire tyres=tire aeroplane=plane programme=program licence=license jewellery=jewelry colour=color colours=color
 favourite=favorite favourites=favorite neighbour=neighbor neighbours=neighbor grey=gray mum=mother mom=mother dad=father kids=child
 kid=child children=child wives=wife men=man women=woman went=go gone=go bought=buy sold=sell taught=teach met=meet born=birth ate=eat
 eaten=eat spoke=speak wrote=write drove=drive got=get has=have had=have bike=bicycle tv=television flat=apartment holidays=vacation
 holiday=vacation began=begin started=begin left=leave lost=lose found=find gave=give flew=fly flies=fly ran=run swam=swim sang=sing
 won=win grew=grow broke=break chose=choose wed=marry wedding=marry weddings=marry married=marry marries=marry marriage=marry
 photo=photograph photos=photograph allergy=allergic allergies=allergic grandma=grandmother granny=grandmother gran=grandmother
 nana=grandmother grandpa=grandfather granddad=grandfather grandad=grandfather mam=mother hubby=husband dr=doctor gp=doctor
 physician=doctor baby=child babies=child kitten=cat puppy=dog dish=food dishes=food meal=food meals=food quit=leave `

// stem returns a word's stem; spelling variants and irregular forms share one.
func stem(low string) string {
	if s, ok := lookup(respelled, low); ok {
		low = s
	}
	for _, r := range low {
		if r >= 0x80 {
			return low // the stemmer handles only ASCII; names in other scripts are kept as they are
		}
	}
	if len(low) > 64 {
		return low
	}
	return english.Stem(low, false)
}
