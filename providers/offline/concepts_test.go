package offline_test

import (
	"strings"
	"testing"
)

func TestQuestionsInOtherWordsThanTheFactsAreAnswered(t *testing.T) {
	t.Parallel()
	facts := []string{
		"I'm allergic to peanuts",
		"Our dog's name is Rex",
		"My boss is a man named Karl",
		"I can't stand coriander",
		"My wife's birthday is on 4 July",
		"My favourite book is Middlemarch",
		"I drive an old Saab",
		"I'm crazy about mangoes",
		"I live in Ghent",
		"I work as a librarian",
		"I play the oboe in an orchestra",
		"The wifi password is hunter2, remember that",
		"I'm terrified of spiders",
		"My deadline is March 3rd",
		"I go bouldering on Tuesdays",
		"I take insulin every morning",
		"I studied chemistry in Leiden",
		"I was born in Quito",
		"I want to write a novel about whales",
		"I always get up at six",
		"My grandmother Elsa bakes bread",
		"I'm left-handed",
		"I use Helix",
		"My parrot Kiko is green",
	}
	h := newHome(t)
	h.preface = monday
	for _, f := range facts {
		h.say(f)
	}
	for _, c := range []struct{ ask, want string }{
		{"Which food should you keep away from me?", "peanuts"},
		{"What is the name of my pet?", "Rex"},
		{"Who do I report to?", "Karl"},
		{"Which herb do I hate?", "coriander"},
		{"When should I buy a present for my wife?", "4 July"},
		{"What am I reading most happily?", "Middlemarch"},
		{"Which vehicle is mine?", "Saab"},
		{"What colour is my parrot?", "green"},
		{"What car do I have?", "Saab"},
		{"How do I get around?", "Saab"},
		{"What fruit do I adore?", "mangoes"},
		{"Which town am I based in?", "Ghent"},
		{"What pays my bills?", "librarian"},
		{"Which instrument can I handle?", "oboe"},
		{"What frightens me?", "spiders"},
		{"Is there a cutoff I must respect?", "March 3rd"},
		{"How do I keep fit?", "bouldering"},
		{"Which medicine do I need?", "insulin"},
		{"Which subject did I graduate in?", "chemistry"},
		{"What is my place of birth?", "Quito"},
		{"What do I dream of?", "whales"},
		{"When is my bedtime over, when do I get out of bed?", "six"},
		{"Which grandparent do I have?", "Elsa"},
		{"With which hand do I write?", "left-handed"},
		{"Which IDE am I on?", "Helix"},
		{"Who is my manager?", "Karl"},
		{"What is my supervisor called?", "Karl"},
		{"What seasoning do I detest?", "coriander"},
		{"Which novel do I like best?", "Middlemarch"},
		{"What critter do I own?", "Kiko"},
		{"Which ingredient must you leave out for me?", "peanuts"},
		{"When do I celebrate with my wife?", "4 July"},
		{"What do I use to write code in?", "Helix"},
	} {
		if answer := h.say(c.ask); !strings.Contains(answer, c.want) {
			t.Errorf("%q was answered %q, want %q", c.ask, answer, c.want)
		}
	}
	for _, ask := range []string{
		"Which vegetable do I hate?", "Which herb do I love?", "What colour is my car?", "How much did my car cost?",
		"When did I buy my car?", "What is my wife's name?",
		"What does my wife do for a living?", "Where does my boss live?", "How old is my dog?", "What breed is my pet?",
		"What is my favourite film?", "Which religion do I have?",
		"When is my anniversary?", "What is my salary?", "Am I allergic to shellfish?", "Do I like strawberries?",
		"What is my bank account?", "Who is my dentist?",
		"What is my shoe size?", "Which band do I listen to?", "What does my neighbour drive?", "What is my favourite food?",
		"Which alcohol do I drink?", "Where does my grandmother live?",
		"What is my favourite season?", "Do I smoke cigarettes?",
	} {
		if answer := h.say(ask); !strings.Contains(answer, "do not know") {
			t.Errorf("%q was answered %q, want that it does not know", ask, answer)
		}
	}
}

func TestWhatSomebodyElseHasIsNotToldAsThePersons(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.say("My sister drives a Volvo")
	if answer := h.say("What do I drive?"); !strings.Contains(answer, "do not know") {
		t.Errorf("answered %q", answer)
	}
	if answer := h.say("Which car does my sister have?"); !strings.Contains(answer, "Volvo") {
		t.Errorf("answered %q", answer)
	}
}

func TestWhatWasForgottenIsNotToldFromSearches(t *testing.T) {
	t.Parallel()
	const (
		fact   = `{"timestamp":"2026-11-20T10:00:00Z","role":"user","content":"I drive an old Saab."}`
		noted  = `{"timestamp":"2026-11-20T10:00:01Z","role":"assistant","content":"Noted. You drive an old Saab."}`
		forget = `{"timestamp":"2026-11-21T10:00:00Z","role":"user","content":"Forget that I drive a Saab"}`
		again  = `{"timestamp":"2026-11-22T10:00:00Z","role":"user","content":"I drive a Saab once more"}`
	)
	results := func(rs ...string) string { return `{"results":[` + strings.Join(rs, ",") + `]}` }
	for _, c := range []struct {
		name, found string
		first       []string
		ask         string
		told        bool
	}{
		{"a fact that nobody took back", results(fact), nil, "What car do I have?", true},
		{
			"the wish is in the thread", results(fact),
			[]string{"I drive an old Saab.", "Forget that I drive a Saab"},
			"What car do I have?", false,
		},
		{"the wish is a noun", results(fact), []string{"I drive an old Saab.", "forget about my car"}, "What car do I have?", false},
		{"the wish is in the results", results(fact, noted, forget), nil, "What car do I have?", false},
		{"the results are asked for", results(fact, noted, forget), nil, "search for Saab", false},
		{"said again after the wish", results(fact, forget, again), nil, "What car do I have?", true},
		{"another wish", results(fact), []string{"forget my shoe size"}, "What car do I have?", true},
	} {
		h := newHome(t)
		h.found["conversation_search"] = c.found
		h.found["archival_memory_search"] = `[{"timestamp":"2026-11-20","content":"The user drives an old Saab."}]`
		if c.told {
			delete(h.found, "archival_memory_search")
		}
		for _, s := range c.first {
			h.say(s)
		}
		answer := strings.ReplaceAll(h.say(c.ask), `"Saab"`, "")
		if got := strings.Contains(answer, "Saab"); got != c.told {
			t.Errorf("%s: answered %q", c.name, answer)
		}
	}
}

func TestAnEmojiMayBeWhatAFactIsAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, want string }{
		{"My name is Bo and I like 🍣", "The user's name is Bo.\nThe user likes 🍣."},
		{"I love 🍕 and 🍣", "The user loves 🍕 and 🍣."},
		{"I hate 👩🏽‍🚀 films", "The user hates 👩🏽‍🚀 films."},
		{"I live in Oslo 😊", "The user lives in Oslo."},
		{"I like tea 🍵🍵", "The user likes tea."},
		{"My favourite food is 🍜", "The user's favourite food is 🍜."},
	} {
		h := newHome(t)
		answer := h.say(c.say)
		if got := h.blocks["human"]; got != c.want {
			t.Errorf("%q stored %q, want %q (answer %q)", c.say, got, c.want, answer)
		}
	}
	h := newHome(t)
	h.say("I like 🍣")
	if answer := h.say("Which dish do I like?"); !strings.Contains(answer, "You like 🍣.") {
		t.Errorf("answered %q", answer)
	}
	if answer := h.say("thanks 🙏"); !strings.Contains(answer, "welcome") {
		t.Errorf("thanks were answered %q", answer)
	}
}

func TestAPartThatWasNotKeptIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, left string }{
		{"My name is Bo and I 42", ""},
		{"My name is Bo and I was", `"I was"`},
		{"My name is Bo. I €€ 7.", `"I €€ 7"`},
		{"I live in Oslo. My zorb quix.", `"My zorb quix"`},
		{"I live in Oslo, I see", ""},
		{"My name is Bo and I work on compilers", ""},
	} {
		h := newHome(t)
		answer := h.say(c.say)
		if !strings.Contains(answer, "Noted.") || strings.Contains(answer, "did not keep") != (c.left != "") ||
			!strings.Contains(answer, c.left) {
			t.Errorf("%q was answered %q, want %s to be named as not kept", c.say, answer, c.left)
		}
	}
}
