package search

// stopWord reports words that say nothing of a text's subject, and what an apostrophe leaves behind. It is a switch so
// that nothing is built when the program starts.
func stopWord(w string) bool {
	switch w {
	case "a", "an", "the", "this", "that", "these", "those",
		"i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves", "you", "your", "yours", "yourself", "yourselves",
		"he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself", "they", "them", "their", "theirs", "themselves",
		"who", "whom", "whose", "which", "what", "when", "where", "why", "how",
		"in", "on", "at", "by", "for", "with", "about", "against", "between", "into", "through", "during", "before", "after", "above", "below",
		"to", "from", "up", "down", "out", "off", "over", "under", "of", "upon",
		"and", "but", "or", "nor", "if", "because", "as", "until", "while", "than", "so", "then", "though", "although",
		"am", "is", "are", "was", "were", "be", "been", "being", "have", "has", "had", "having", "do", "does", "did", "doing", "done",
		"will", "would", "shall", "should", "can", "could", "may", "might", "must", "cannot",
		"not", "no", "only", "own", "same", "some", "such", "any", "each", "few", "more", "most", "other", "both", "all",
		"again", "further", "once", "here", "there", "too", "very", "just", "let", "kind", "type", "also",
		"s", "t", "d", "m", "ll", "re", "ve", "don", "isn", "aren", "wasn", "weren", "doesn", "didn", "hasn", "haven", "hadn", "won",
		"wouldn", "shouldn", "couldn", "ain":
		return true
	}
	return false
}

// base returns the base form of an irregular English form; any other word as it is.
func base(w string) string {
	if v := baseOfVerb(w); v != "" {
		return v
	}
	switch w {
	case "children":
		return "child"
	case "men":
		return "man"
	case "women":
		return "woman"
	case "feet":
		return "foot"
	case "teeth":
		return "tooth"
	case "mice":
		return "mouse"
	case "geese":
		return "goose"
	case "wives":
		return "wife"
	case "lives":
		return "life"
	case "knives":
		return "knife"
	case "leaves":
		return "leaf"
	case "shelves":
		return "shelf"
	case "halves":
		return "half"
	case "wolves":
		return "wolf"
	case "thieves":
		return "thief"
	case "better", "best":
		return "good"
	case "worse", "worst":
		return "bad"
	case "farther", "farthest", "furthest":
		return "far"
	case "older", "oldest", "elder", "eldest":
		return "old"
	}
	return w
}

// baseOfVerb returns the base form of an irregular past or participle, empty for other words. Forms that are more often
// another word ("found", "saw" as nouns) are read as the verb, on both sides alike.
func baseOfVerb(w string) string {
	switch w {
	case "ate", "eaten":
		return "eat"
	case "beaten":
		return "beat"
	case "became":
		return "become"
	case "began", "begun":
		return "begin"
	case "bent":
		return "bend"
	case "bit", "bitten":
		return "bite"
	case "blew", "blown":
		return "blow"
	case "bought":
		return "buy"
	case "broke", "broken":
		return "break"
	case "brought":
		return "bring"
	case "built":
		return "build"
	case "burnt":
		return "burn"
	case "came":
		return "come"
	case "caught":
		return "catch"
	case "chose", "chosen":
		return "choose"
	case "dealt":
		return "deal"
	case "drank", "drunk":
		return "drink"
	case "drew", "drawn":
		return "draw"
	case "dreamt":
		return "dream"
	case "drove", "driven":
		return "drive"
	case "dug":
		return "dig"
	case "fed":
		return "feed"
	case "fell", "fallen":
		return "fall"
	case "felt":
		return "feel"
	case "flew", "flown":
		return "fly"
	case "forgave", "forgiven":
		return "forgive"
	case "forgot", "forgotten":
		return "forget"
	case "fought":
		return "fight"
	case "found":
		return "find"
	case "froze", "frozen":
		return "freeze"
	case "gave", "given":
		return "give"
	case "got", "gotten":
		return "get"
	case "grew", "grown":
		return "grow"
	}
	return baseOfVerb2(w)
}

// baseOfVerb2 is the second half of the alphabet.
func baseOfVerb2(w string) string {
	switch w {
	case "heard":
		return "hear"
	case "held":
		return "hold"
	case "hid", "hidden":
		return "hide"
	case "hung":
		return "hang"
	case "kept":
		return "keep"
	case "knew", "known":
		return "know"
	case "laid":
		return "lay"
	case "learnt":
		return "learn"
	case "led":
		return "lead"
	case "lent":
		return "lend"
	case "lost":
		return "lose"
	case "made":
		return "make"
	case "meant":
		return "mean"
	case "met":
		return "meet"
	case "paid":
		return "pay"
	case "ran":
		return "run"
	case "rang", "rung":
		return "ring"
	case "ridden", "rode":
		return "ride"
	case "risen", "rose":
		return "rise"
	case "said":
		return "say"
	case "sang", "sung":
		return "sing"
	case "sat":
		return "sit"
	case "saw", "seen":
		return "see"
	case "sent":
		return "send"
	case "shook", "shaken":
		return "shake"
	case "shot":
		return "shoot"
	case "shown":
		return "show"
	case "slept":
		return "sleep"
	case "sold":
		return "sell"
	case "sought":
		return "seek"
	case "spent":
		return "spend"
	case "spoke", "spoken":
		return "speak"
	case "stole", "stolen":
		return "steal"
	case "stood":
		return "stand"
	case "stuck":
		return "stick"
	case "swam", "swum":
		return "swim"
	case "taken", "took":
		return "take"
	case "taught":
		return "teach"
	case "thought":
		return "think"
	case "threw", "thrown":
		return "throw"
	case "told":
		return "tell"
	case "torn", "tore":
		return "tear"
	case "understood":
		return "understand"
	case "went", "gone", "goes":
		return "go"
	case "woke", "woken":
		return "wake"
	case "wore", "worn":
		return "wear"
	case "written", "wrote":
		return "write"
	}
	return ""
}
