package offline_test

import (
	"strings"
	"testing"
)

//nolint:misspell // both spellings are understood
func TestStatedFactsAreStoredInTheThirdPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, want string }{
		{"My name is Ada and I work on compilers", "The user's name is Ada.\nThe user works on compilers."},
		{"I'm allergic to peanuts", "The user is allergic to peanuts."},
		{"we moved to Lisbon last spring", "The user moved to Lisbon last spring (said on 2026-11-23)."},
		{"my sister Zoë is getting married in June", "The user's sister Zoë is getting married in June."},
		{"call me Max", "The user likes to be called Max."},
		{"I hate mornings", "The user hates mornings."},
		{"our dog is called Biscuit", "The user's dog is called Biscuit."},
		{"remember that the server password rotates on Fridays", "The server password rotates on Fridays."},
		{"I was born in 1984", "The user was born in 1984."},
		{"my favourite colour is teal", "The user's favourite colour is teal."},
		{"I switched from Vim to Helix", "The user switched from Vim to Helix."},
		{"btw my deadline is March 3rd", "The user's deadline is March 3rd."},
		{"Hi, I'm Grace!", "The user's name is Grace."},
		{"I'm Ada Lovelace, a mathematician from London.", "The user's name is Ada Lovelace.\nThe user is a mathematician from London."},
		{"I am a nurse", "The user is a nurse."},
		{"I'm German", "The user is German."},
		{"my name is 李雷", "The user's name is 李雷."},
		{"My name's Ada, by the way.", "The user's name is Ada."},
		{"I live in Oslo, and my brother studies law in Bergen.", "The user lives in Oslo.\nThe user's brother studies law in Bergen."},
		{"I live in Oslo and work at a bakery", "The user lives in Oslo.\nThe user works at a bakery."},
		{"I don't eat meat", "The user does not eat meat."},
		{"I've got two cats", "The user has two cats."},
		{"We have a dog. He is three years old.", "The user has a dog.\nThe user's dog is three years old."},
		{"I can't stand olives", "The user cannot stand olives."},
		{"I love my job but I hate the commute", "The user loves their job.\nThe user hates the commute."},
		{"I met Ben yesterday", "The user met Ben on Sunday 2026-11-22."},
		{"In 2019 I moved to Porto", "The user moved to Porto in 2019."},
		{"Zoë is my sister", "Zoë is the user's sister."},
		{"I speak French and a little Japanese", "The user speaks French and a little Japanese."},
		{"I play the cello on Sundays.", "The user plays the cello on Sundays."},
		{"My wife and I are planning a trip to Japan", "The user's wife and the user are planning a trip to Japan."},
		{"I'd like to learn to sail", "The user would like to learn to sail."},
		{"I have a flight to Rome tomorrow", "The user has a flight to Rome on Tuesday 2026-11-24."},
		{"Peanuts make me sick", "Peanuts make the user sick."},
		{"remember: the gate code is 4711#", "the gate code is 4711#"},
		{"Don't forget that I take my coffee black", "The user takes their coffee black."},
		{"I usually get up at six", "The user usually gets up at six."},
		{"My pronouns are they/them", "The user's pronouns are they/them."},
		{"I'm working on a compiler for a small language", "The user is working on a compiler for a small language."},
		{"I quit smoking two weeks ago", "The user quit smoking on Monday 2026-11-09."},
		{"Quick one: I'm switching teams, my new manager is Priya.", "The user is switching teams.\nThe user's new manager is Priya."},
		{"So I finally adopted a kitten, her name is Miso", "The user finally adopted a kitten.\nThe user's kitten's name is Miso."},
		{"The wifi password is hunter2, remember that", "The wifi password is hunter2."},
		{"You can call me Lex", "The user likes to be called Lex."},
		{"I work for Acme Corp. as an accountant", "The user works for Acme Corp. as an accountant."},
		{"I'm a nurse living in Oslo with two cats", "The user is a nurse.\nThe user lives in Oslo with two cats."},
		{"Grandma's birthday is on 4 July", "The user's grandma's birthday is on 4 July."},
		{"We both love jazz", "The user loves jazz."},
		{
			"my favorite band is Radiohead, and I saw them in Paris in 2012",
			"The user's favorite band is Radiohead.\nThe user saw them in Paris in 2012.",
		},
		{"It's my birthday tomorrow!", "The user's birthday is Tuesday 2026-11-24."},
		{"I have to be honest, I dislike meetings", "The user dislikes meetings."},
		{"People call me Ace", "People call the user Ace."},
	} {
		h := newHome(t)
		h.preface = "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"
		answer := h.say(c.say)
		if got := h.blocks["human"]; got != c.want {
			t.Errorf("%q stored %q, want %q (answer %q)", c.say, got, c.want, answer)
		}
	}
}

func TestChatterQuestionsAndCommandsAreNotStored(t *testing.T) {
	t.Parallel()
	for _, say := range []string{
		"Hello", "hi there!", "Thanks!", "ok", "I see", "I don't know", "I'm back", "I am fine, thanks", "I have a question",
		"How are you?",
		"What's my name?", "do you know where I live", "Do I like tea?", "Am I allergic to nuts?", "tell me about my dog",
		"Write me a poem about my cat",
		"Show me my files", "Give me a list of my tasks", "Is my sister married?", "what can you do?", "I need you to help me",
		"I want to know my name", "The weather is nice today",
		"Paris is the capital of France", "lorem ipsum dolor sit amet", "好的，谢谢", "Wie heiße ich denn eigentlich", "let's go",
		"If I were rich, I would travel",
		"you are great", "I was wondering what my job is", "never mind", "who are you?", "I live in Oslo, right?", "sorry", "bye",
		"never mind, forget it",
	} {
		h := newHome(t)
		answer := h.say(say)
		if got := h.blocks["human"]; got != "" || len(h.archive) > 0 {
			t.Errorf("%q stored %q %q (answer %q)", say, got, h.archive, answer)
		}
	}
}

func TestQuestionsAreAnsweredWithTheRightFact(t *testing.T) {
	t.Parallel()
	facts := []string{
		"My name is Ada and I work on compilers",
		"I'm allergic to peanuts",
		"we moved to Lisbon last spring",
		"my sister Zoë is getting married in June",
		"call me Max",
		"I hate mornings",
		"our dog is called Biscuit",
		"remember that the server password rotates on Fridays",
		"I was born in 1984",
		"my favourite colour is teal",
		"I switched from Vim to Helix",
		"btw my deadline is March 3rd",
		"I play the cello on Sundays",
		"My wife Nour is a surgeon",
		"I speak Portuguese and Arabic",
		"We are planning a trip to Japan next year",
		"I drive an old Volvo",
		"I love hiking in the mountains",
		"I studied physics in Geneva",
		"My boss is called Ingrid",
		"I drink three coffees a day",
	}
	h := newHome(t)
	h.preface = "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"
	for _, f := range facts {
		h.say(f)
	}
	memory := h.blocks["human"]
	for _, c := range []struct{ ask, want, not string }{
		{"who am i?", "Ada", "Zoë"},
		{"what's my name", "Ada", "Biscuit"},
		{"what do I do for a living?", "compilers", "surgeon"},
		{"which pet do I have?", "Biscuit", "cello"},
		{"where's home for me these days?", "Lisbon", "Geneva"},
		{"anything I shouldn't eat?", "peanuts", "Lisbon"},
		{"when's my deadline?", "March 3rd", "June"},
		{"do you remember the wedding?", "June", "March"},
		{"what editor am I using now?", "Helix", "Volvo"},
		{"How old am I?", "1984", "June"},
		{"When does the server password change?", "Fridays", "March"},
		{"What colour do I like best?", "teal", "hiking"},
		{"Which city do I live in?", "Lisbon", "Geneva"},
		{"What instrument do I play?", "cello", "teal"},
		{"Who is Nour?", "wife", "Zoë"},
		{"What does my wife do?", "surgeon", "compilers"},
		{"Which languages can I speak?", "Arabic", "cello"},
		{"Where am I going on vacation?", "Japan", "Lisbon"},
		{"What kind of car do I have?", "Volvo", "Biscuit"},
		{"What do I do in my free time?", "hiking", "Volvo"},
		{"What did I study at university?", "physics", "Japan"},
		{"Who's my boss?", "Ingrid", "Nour"},
		{"When's my sister getting married?", "June", "March"},
		{"What should you call me?", "Max", "Biscuit"},
		{"Do I like getting up early in the mornings?", "mornings", "teal"},
		{"What's the name of my dog?", "Biscuit", "Ada"},
		{"how much coffee do I have every day", "three coffees", "Volvo"},
		{"Is there any food I have to avoid?", "peanuts", "coffee"},
		{"In which year was I born?", "1984", "June"},
		{"tell me my sister's name", "Zoë", "Biscuit"},
		{"What do I hate?", "mornings", "hiking"},
		{"remind me when the deadline is", "March 3rd", "June"},
		{"can you tell me what I work on?", "compilers", "surgeon"},
	} {
		answer := h.say(c.ask)
		if !strings.Contains(answer, c.want) || strings.Contains(answer, c.not) {
			t.Errorf("%q was answered %q, want %q and not %q", c.ask, answer, c.want, c.not)
		}
	}
	if got := h.blocks["human"]; got != memory {
		t.Errorf("questions changed the memory to %q", got)
	}
	answers := newHome(t)
	answers.preface = monday
	for _, f := range []string{
		"My husband's name is Omar, he is a pilot", "My sister is called Zoë and she lives in Bern", "we're expecting a baby in April",
		"I'm going to see Hamilton with Kim next Friday",
		"Our wifi is called Sputnik. The wifi password is hunter2, remember that", "I live in Oslo with two cats",
		"I used to live in Berlin", "I am the CTO of a small startup", "I take my coffee with oat milk",
	} {
		answers.say(f)
	}
	for _, c := range []struct{ ask, want, not string }{
		{"what does Omar do?", "pilot", "CTO"},
		{"where does Zoë live?", "Bern", "Oslo"},
		{"when is the baby due?", "April", "Friday"},
		{"what am I doing next Friday?", "Hamilton", "April"},
		{"what's our wifi called?", "Sputnik", "hunter2"},
		{"what is the wifi password", "hunter2", "Sputnik"},
		{"where do I live?", "Oslo", "Berlin"},
		{"how many cats have I got?", "two cats", "milk"},
		{"what's my role?", "CTO", "pilot"},
		{"how do I take my coffee?", "oat milk", "wifi"},
		{"did I ever live somewhere else?", "Berlin", "Bern."},
	} {
		if answer := answers.say(c.ask); !strings.Contains(answer, c.want) || strings.Contains(answer, c.not) {
			t.Errorf("%q was answered %q, want %q and not %q", c.ask, answer, c.want, c.not)
		}
	}
	all := h.say("What do you know about me?")
	for _, want := range []string{"Your name is Ada.", "You work on compilers.", "Lisbon", "Zoë", "teal"} {
		if !strings.Contains(all, want) {
			t.Errorf("asked for everything, it says %q without %q", all, want)
		}
	}
	for _, ask := range []string{
		"What's my sister's phone number?", "What's my mother's name?", "Do I have a cat?", "Am I allergic to shellfish?",
		"Where does my boss live?", "What's my shoe size?",
		"When is my anniversary?", "What's my dog's favourite toy?", "How tall am I?", "Which team do I support?", "Who is Peter?",
		"What is my salary?",
	} {
		if answer := h.say(ask); !strings.Contains(answer, "do not know") {
			t.Errorf("%q was answered %q, want that it does not know", ask, answer)
		}
	}
}
