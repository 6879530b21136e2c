package offline

import (
	"slices"
	"strings"
)

const (
	greetings = "hello|hi|hey|hiya|howdy|good morning|good afternoon|good evening|greetings|yo|hello there|hi there|hey there|good day|" +
		"welcome back|i am back|hello again|hi again"
	thanks = "thanks|thank you|thx|cheers|much appreciated|ty|many thanks|thanks a lot|thank you very much|" +
		"thank you so much|great thanks|ok thanks"
	byes = "bye|goodbye|good night|see you|see you later|see you tomorrow|see you on monday|talk to you later|bye bye|later|cya|" +
		"good bye|have a nice day|until tomorrow|that is all"
	pleasantries = "how are you|how are you doing|how is it going|what is up|how do you do|are you there|are you ok|" +
		"how are things|you there"
	dismissals = "never mind|nevermind|forget it|no worries|it does not matter|ignore that|just testing|test|testing|ping|this is a test"
)

// small reads what needs no memory: greetings, thanks, questions about this model.
func small(ws []word, low string, asked bool) (act, bool) {
	whole := func(phrases string) bool {
		return slices.Contains(
			strings.Split(phrases, "|"),
			strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(low, " loci"), " again")),
		)
	}
	has := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(" "+low+" ", " "+p+" ") })
	}
	switch {
	case whole(thanks) || leads(ws, thanks) > 0 && len(ws) <= 6 && !asked &&
		!slices.ContainsFunc(ws, func(w word) bool { return w.is("i", "my", "we") }):
		return act{kind: actThanks}, true
	case whole(byes):
		return act{kind: actBye}, true
	case whole(dismissals):
		return act{kind: actSmall}, true
	case whole(pleasantries) || has("how are you"):
		return act{kind: actGreet}, true
	case has("connect a model", "connect a real model", "real model", "another model", "other model", "real llm", "openai", "ollama",
		"api key", "connect you", "language model provider") && (asked || asks(ws) || command(ws)):
		return act{kind: actConnect}, true
	case has("who are you", "what are you", "your name", "are you an ai", "are you a language model", "are you an llm", "are you a bot",
		"are you a robot", "are you human", "are you real", "are you chatgpt",
		"which model", "what model", "are you offline", "are you conscious", "are you a real") && (asked || asks(ws)):
		return act{kind: actSelf}, true
	case low == "help" || low == "help me" ||
		has("what can you do", "how can you help", "how do you work", "what do you do", "how does this work", "what can i ask",
			"what can i say", "how do i use this",
			"what are you able to", "can you help", "what else can you do"):
		return act{kind: actHelp}, true
	case leads(append(slices.Clone(ws), word{}), greetings) > 0:
		return act{kind: actGreet}, true
	}
	return act{}, false
}

// afterGreeting returns what follows the greeting.
func afterGreeting(ws []word) []word {
	return trim(ws[min(len(ws), leads(append(slices.Clone(ws), word{}), greetings)):])
}

const (
	sayHello   = "Hello."
	sayThanks  = "You are welcome."
	sayBye     = "Goodbye. What I stored stays stored."
	saySmall   = "All right."
	sayConnect = "To connect a real model, set a key such as OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY (OPENAI_BASE_URL for " +
		"a compatible server), or start Ollama, then run `loci models` to see what can be reached. The memory stays the same."
	saySelf = "I am the built-in offline model of Loci: no language model, no network. I keep plain facts that you " +
		"state and answer from them."
	sayHelp = "Tell me facts in plain English (\"My name is Ada and I work on compilers\"), correct them (\"actually, I live in Porto " +
		"now\"), ask for them (\"what do you know about me?\"), " +
		"have me forget them (\"forget my name\"), search (\"search for Lisbon\") or keep a note (\"note: …\"). I also know today's date."
	sayCommand = "That takes more than I am: the built-in offline model, no language model. I keep facts and answer from them."
	sayUnknown = "I found no fact about you and no question in that. I am the built-in offline model, no language " +
		"model; ask me what I can do."
	sayForeign = "I only understand English sentences, so I stored nothing. \"remember: …\" stores any text as it is."
	sayNoStore = "I have no memory tool here, so I cannot store it."
)
