package offline

import (
	"slices"
	"strings"
)

// act is one thing that a message does.
type act struct {
	kind  actKind
	text  string // for a question, a search, a note, or what to forget
	facts []fact
	left  []string // parts of a statement that weren't understood
}

type actKind int

const (
	actUnknown actKind = iota
	actState           // states facts
	actAsk             // asks for a fact
	actAll             // asks for everything
	actWhoAmI
	actDate
	actGap
	actSearch
	actForget
	actDay  // asks what was said on a day
	actNote // wants a text stored for search
	actGreet
	actThanks
	actBye
	actHelp
	actConnect
	actSelf
	actSmall   // chatter that asks for nothing
	actCommand // asks for something that needs a language model
	actForeign
)

// understand reads a message into what it does, sentence by sentence.
func understand(input string, r *reader) []act {
	input = strings.TrimSpace(ownWords(input))
	if a, ok := verbatim(input); ok {
		return []act{a}
	}
	var acts []act
	for _, s := range sentences(input) {
		acts = append(acts, sentenceActs(s, r)...)
	}
	if len(acts) > 0 && !slices.ContainsFunc(acts, func(a act) bool { return a.kind != actUnknown }) && foreign(input) {
		return []act{{kind: actForeign}}
	}
	return acts
}

// verbatim reads "remember: …" and "note: …", which keep whatever follows.
//
//nolint:misspell // both spellings are understood
func verbatim(input string) (act, bool) {
	head, rest, ok := strings.Cut(input, ":")
	rest = strings.TrimSpace(rest)
	if !ok || rest == "" || len(head) > 40 {
		return act{}, false
	}
	if r := []rune(rest); len(r) > maxInput {
		rest = string(r[:maxInput])
	}
	switch strings.TrimPrefix(strings.ToLower(strings.TrimSpace(head)), "please ") {
	case "remember", "remember this", "memorize", "memorise", "store", "store this", "save this", "keep in mind":
		return act{kind: actState, text: "verbatim", facts: []fact{{text: strings.Join(strings.Fields(rest), " ")}}}, true
	case "note", "note to self", "take a note", "make a note", "note this", "archive", "archive this":
		return act{kind: actNote, text: rest}, true
	}
	return act{}, false
}

const rememberLeads = "remember that|please remember that|remember|please remember|do not forget that|do not forget|" +
	"please do not forget that|keep in mind that|keep in mind|note that|please note that|make a note that|" +
	"can you remember that|could you remember that|you should remember that|i want you to remember that|never forget that|" +
	"please keep in mind that|store that|save that"

const forgetLeads = "forget that|forget about|forget|please forget that|please forget about|please forget|you can forget that|" +
	"you can forget|you can forget about|can you forget|could you forget|delete|erase|remove|stop remembering|" +
	"do not remember|you should forget|i want you to forget|please delete|please remove|please erase"

const searchLeads = "search for|search your memory for|search my messages for|search memory for|search our conversations for|" +
	"search the history for|search|look up|look for|find messages about|find|what did i say about|what have i said about|" +
	"what did i tell you about|what did we say about|what did we talk about regarding|did i mention|did i say anything about|" +
	"did i ever mention|have i mentioned|when did i mention|what did i mention about|did we talk about|have we talked about|" +
	"did i tell you about|what did we discuss about|please search for|can you search for"

// sentenceActs reads one sentence, which may state something and ask something.
func sentenceActs(s string, r *reader) []act {
	ws := tokenise(bare(s))
	ws = trim(ws)
	if len(ws) == 0 {
		return nil
	}
	asked := strings.HasSuffix(strings.TrimRight(s, `"')”’ `), "?") || strings.HasSuffix(s, "？")
	low := plain(ws)
	if n := leads(
		ws,
		rememberLeads,
	); n > 0 && !asked && !listed(" me my when what who where how to the the ", ws[n].low) ||
		n > 1 && !asked {
		return []act{remembered(ws[n:], r)}
	}
	if i := lastComma(
		ws,
	); i > 0 && !asked &&
		leads(
			append(slices.Clone(ws[i+1:]), word{}),
			"remember that|remember this|please remember|please remember that|remember it|keep that in mind",
		) == len(
			ws,
		)-i-1 {
		return []act{remembered(ws[:i], r)}
	}
	if n := leads(ws, forgetLeads); n > 0 && !asked && !strings.HasPrefix(low, "forget it") {
		return []act{{kind: actForget, text: text(ws[n:])}}
	}
	if a, ok := small(ws, low, asked); ok {
		if rest := afterGreeting(ws); a.kind == actGreet && len(rest) > 1 && len(rest) < len(ws) {
			if more := sentenceActs(text(rest)+mark(asked), r); len(more) > 0 && more[0].kind != actUnknown {
				return append([]act{a}, more...)
			}
		}
		return []act{a}
	}
	if n := leads(ws, searchLeads); n > 0 {
		return []act{{kind: actSearch, text: text(ws[n:])}}
	}
	stripped, _ := strip(ws)
	stripped = trim(stripped)
	if len(stripped) == 0 {
		return []act{{kind: actSmall}}
	}
	if asked && leads(ws, "did you know that|did you know") == 0 || asks(stripped) {
		return questions(stripped)
	}
	r.left = nil
	if fs := r.facts(s); len(fs) > 0 {
		return []act{{kind: actState, facts: fs, left: r.left}}
	}
	switch {
	case command(stripped):
		return []act{{kind: actCommand}}
	case chats(stripped) || len(stripped) == 1 &&
		listed(" yes no ok okay sure right great cool nice wow lol haha hmm yeah yep nope fine good perfect indeed "+
			"true exactly interesting ", stripped[0].low):
		return []act{{kind: actSmall}}
	}
	return []act{{kind: actUnknown, left: r.left}}
}

func lastComma(ws []word) int {
	for i := len(ws) - 2; i > 0; i-- {
		if ws[i].text == "," {
			return i
		}
	}
	return -1
}

func mark(asked bool) string {
	if asked {
		return "?"
	}
	return "."
}

// remembered stores what the user asks to be remembered: in the third person if it is about them, otherwise as it is.
func remembered(ws []word, r *reader) act {
	r.left = nil
	if fs := r.facts(text(ws)); len(fs) > 0 {
		return act{kind: actState, facts: fs, left: r.left}
	}
	ws = trim(ws)
	return act{kind: actState, facts: []fact{{text: sentence(text(third(r.clock.dated(ws))))}}}
}

// asks reports whether words are a question even without a question mark.
func asks(ws []word) bool {
	if len(ws) < 2 {
		return false
	}
	low := plain(ws)
	for _, p := range []string{
		"tell me ", "remind me ", "do you ", "can you tell ", "could you tell ", "i wonder ", "any idea", "i forgot what", "i forgot my",
		"i forgot where", "i forgot when", "anything i ",
		"i do not remember ", "i can not remember ", "i do not know my ", "i would like to know ", "i want to know ",
		"show me what you know", "list what you know", "describe me", "summarize me", "summarise me", "i was wondering ",
	} {
		if strings.HasPrefix(low+" ", p) {
			return true
		}
	}
	aux := func(w word) bool {
		return listed(" is am are was were do does did have has can could will would should shall may might must 's ", w.low)
	}
	switch {
	case ws[0].is("who") && verbal3(ws[1].low):
		return true
	case ws[0].is("what", "who", "where", "how", "why", "whom", "whose"):
		return aux(ws[1]) || ws[0].is("how", "whose", "what") && len(ws) > 2 && !ws[1].is("i", "we", "my", "our") || ws[0].is("why")
	case ws[0].is("which"):
		return true
	case ws[0].is("when"):
		return aux(ws[1])
	}
	return aux(ws[0]) && ws[1].is("i", "you", "we", "my", "our", "he", "she", "it", "they", "there", "the", "this", "that") &&
		!ws[0].is("'s")
}

// questions splits "what's my name and where do I live".
func questions(ws []word) []act {
	for i := 2; i+1 < len(ws); i++ {
		if (ws[i].is("and") || ws[i].text == ",") && asks(ws[i+1:]) &&
			ws[i+1].is("what", "who", "where", "when", "how", "which", "do", "am", "is", "whose") {
			return append(questions(trim(ws[:i])), questions(ws[i+1:])...)
		}
	}
	return []act{{kind: kindOfQuestion(ws), text: text(ws)}}
}

func kindOfQuestion(ws []word) actKind {
	low := " " + plain(ws) + " "
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.Contains(low, " "+p+" ") })
	}
	switch {
	case has("last talk", "last talked", "last spoke", "last speak", "last chat", "last message", "since we", "last time we"):
		return actGap
	case has("did i tell", "did i say", "did we talk", "did i mention", "did we discuss", "did we say", "did we speak", "have i told") &&
		has("yesterday", "ago", "last", "today", "the day before"):
		return actDay
	case aboutTime(ws):
		return actDate
	case strings.TrimSpace(low) == "who am i" ||
		has("know who i am", "tell me who i am", "who you are talking to", "who you are speaking to", "who you talk to",
			"who is talking to you"):
		return actWhoAmI
	case has("know", "remember", "learn", "learned", "learnt", "stored", "memory", "tell me", "describe", "remind me", "summarize",
		"summarise", "told you", "memories", "noted", "list") &&
		(has("about me", "about myself", "of me", "describe me", "remember me", "know me", "summarize me", "summarise me", "you know",
			"in your memory", "i told you", "your memory", "your memories", "have i told you", "do you remember") && nothingElse(ws)):
		return actAll
	}
	return actAsk
}

// nothingElse reports whether a question has no topic of its own.
func nothingElse(ws []word) bool {
	for _, w := range ws {
		if !w.punct() && !listed(stopwords, w.low) &&
			!w.is(
				"learn",
				"learned",
				"learnt",
				"stored",
				"far",
				"describe",
				"summarize",
				"summarise",
				"list",
				"have",
				"person",
				"noted",
				"show",
				"keep",
			) {
			return false
		}
	}
	return true
}

// aboutTime reports whether a question is only about the clock.
func aboutTime(ws []word) bool {
	named := false
	for i, w := range ws {
		clock := w.is("day", "date", "time", "today", "yesterday", "tomorrow", "weekday", "month", "year", "week", "clock")
		named = named || clock
		if clock || w.punct() ||
			w.is(
				"what",
				"which",
				"is",
				"it",
				"was",
				"will",
				"be",
				"the",
				"of",
				"'s",
				"do",
				"you",
				"know",
				"tell",
				"me",
				"can",
				"have",
				"we",
				"current",
				"right",
				"now",
				"please",
				"a",
				"in",
				"are",
				"this",
				"please",
				"could",
				"on",
				"or",
				"would",
				"ago",
				"days",
				"weeks",
				"last",
				"next",
				"before",
				"after",
				"got",
				"local",
				"exact",
				"day's",
				"hi",
				"hey",
				"so",
				"exactly",
				"todays",
				"yesterdays",
			) ||
			w.number() {
			continue
		}
		if _, ok := lookup(numerals, w.low); ok {
			continue
		}
		if i > 0 && ws[i-1].is("last", "next") && timely(ws[i:i+1]) {
			named = true
			continue
		}
		return false
	}
	return named
}

const commands = ` write tell give show make open run list translate explain help stop sing calculate compute create summarise
 summarize set send turn wake order fix say print generate draft convert sort count define describe compare suggest recommend plan
 design implement debug test solve add multiply check read draw let do go play search find look delete install build please book email
 remind repeat answer ask start continue try teach call buy `

// command reports whether words are an instruction.
func command(ws []word) bool {
	return len(ws) > 0 && listed(commands, ws[0].low) && (len(ws) == 1 || !verbal3(ws[1].low) || ws[0].is("please", "let", "do"))
}

// foreign reports whether a text contains none of the words that English sentences have.
func foreign(s string) bool {
	ws := tokenise(s)
	count := 0
	for _, w := range ws {
		if w.punct() || w.number() {
			continue
		}
		if listed(functionWords, w.low) {
			return false
		}
		count++
	}
	nonLatin := slices.ContainsFunc([]rune(s), func(r rune) bool { return r > 0x24f && r != '…' && (r < 0x2000 || r > 0x20ff) })
	return count >= 2 || nonLatin
}
