package offline

import (
	"slices"
	"strings"
)

// chatter begins clauses in the first person that are about the talk, not about the person.
//
//nolint:misspell // both spellings are understood
const chatter = "i see|i understand|i do not know|i do not understand|i do not think so|i do not remember|i do not recall|" +
	"i do not care|i guess|i agree|i disagree|i am here|i am back|i am fine|i am ok|i am okay|i am good|i am well|i am great|i am done|" +
	"i am ready|i am sorry|i am sure|i am not sure|i am afraid|i am joking|i am just joking|i am kidding|i am just kidding|" +
	"i am testing|i am just testing|i am glad|i am curious|i am wondering|i am asking|i am confused|i am lost|i am talking|" +
	"i am looking forward|i am going to bed|i am off|i am leaving now|i am bored|i am tired|i am hungry|i am thirsty|i am busy|" +
	"i am impressed|i am listening|i am waiting|i hope|i wonder|i was wondering|i was just|i was joking|i was kidding|i was asking|" +
	"i was saying|i mean|i said|i asked|i told|i thank|i thought|i think so|i believe so|i suppose|i bet|i have a question|" +
	"i have another question|i have no idea|i have to go|i have got to go|i must go|i got it|i get it|i need help|i need you|" +
	"i need an answer|i need to know|i need to ask|i want you|i want to ask|i want to know|i want to talk|i want to test|" +
	"i want an answer|i would like to know|i would like to ask|i would like you|i would love to know|i would appreciate|" +
	"i appreciate it|i appreciate that|i appreciate your|i will be back|i will be right back|i will try|i will see|i will do|" +
	"i will let you|i will tell|i will ask|i can not believe|i can not hear|i can see|i do|i did|i am|i have|i know|i will|i can|" +
	"i love you|i like you|i hate you|i love it|i like it|i hate it|i like that|i love that|i hate that|i like this|i love this|" +
	"i do not like it|i do not like that|i do not like this|i do not want to|we will see|we should|we can|i forgot|i have forgotten|" +
	"i give up|i am typing|i am writing to you|i am talking to you|let us|my bad|my pleasure|my turn|my goodness|my god|my fault|" +
	"i can not remember|i trust you|i want to see|i am done here|i apologize|i apologise|i doubt|i am happy to|" +
	"i am trying to understand|i am trying to figure|i am trying to find|i am trying to see|i am trying to ask|i am chatting|i tried"

// Short chatter counts only as a whole clause ("I know", "I am fine"), or with one of these after it.
const wholeChatter = ` too now very so it that this you thanks thank today then though again really . , just everyone there `

// chats reports whether a clause is chatter.
func chats(ws []word) bool {
	var kept []word
	for _, w := range ws {
		if !w.punct() && !w.is("just", "really", "still", "very", "so", "also", "too") {
			kept = append(kept, w)
		}
	}
	for p := range strings.SplitSeq(chatter, "|") {
		fields := strings.Fields(p)
		if len(fields) > len(kept) || !slices.EqualFunc(fields, kept[:len(fields)], func(f string, w word) bool { return f == w.low }) {
			continue
		}
		rest := kept[len(fields):]
		if p == "i hope" && len(rest) > 0 && rest[0].is("to") {
			return false
		}
		if len(rest) == 0 || !broad(p) || len(rest) == 1 && listed(wholeChatter, rest[0].low) {
			return true
		}
	}
	return false
}

// broad reports whether a phrase also begins real statements: "I have" (a dog), "I am lost", "I love that" (band).
func broad(p string) bool {
	switch p {
	case "i am",
		"i have",
		"i am testing",
		"i do",
		"i did",
		"i can",
		"i will",
		"i know",
		"i love it",
		"i like it",
		"i hate it",
		"i love that",
		"i like that",
		"i hate that",
		"i love this",
		"i like this",
		"i am here",
		"i am back",
		"i am fine",
		"i am good",
		"i am well",
		"i am great",
		"i am done",
		"i am ready",
		"i am lost",
		"i am busy",
		"i am tired",
		"i am bored",
		"i am glad",
		"i am afraid",
		"i love you",
		"i forgot",
		"we can",
		"we should",
		"i tried",
		"i see",
		"i am off",
		"i am curious",
		"i am confused",
		"i thought",
		"i can see",
		"i do not care",
		"i was just",
		"i said",
		"i told",
		"i agree",
		"i am hungry",
		"i bet",
		"i hate this",
		"i do not remember",
		"i do not know":
		return true
	}
	return false
}
