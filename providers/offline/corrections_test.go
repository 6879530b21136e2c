package offline_test

import (
	"strings"
	"testing"
)

//nolint:misspell // both spellings are understood
func TestACorrectionReplacesTheOldFact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		have string
		say  string
		want string
	}{
		{
			"name", "The user's name is Ada.\nThe user works on compilers.", "actually my name is Grace",
			"The user's name is Grace.\nThe user works on compilers.",
		},
		{"name without a word of correction", "The user's name is Ada.", "My name is Grace", "The user's name is Grace."},
		{
			"work", "The user's name is Ada.\nThe user works on compilers.", "no, I work on databases now",
			"The user's name is Ada.\nThe user works on databases now.",
		},
		{"home", "The user moved to Lisbon last spring.", "I moved to Porto", "The user moved to Porto."},
		{"home in other words", "The user lives in Lisbon.", "Actually, I live in Porto.", "The user lives in Porto."},
		{
			"what is gone", "The user has a dog.\nThe user's dog is called Biscuit.\nThe user likes tea.", "we don't have the dog any more",
			"The user no longer has the dog.\nThe user likes tea.",
		},
		{"gone with its name alone", "The user's dog is called Biscuit.", "We no longer have the dog.", "The user no longer has the dog."},
		{"liking", "The user hates mornings.", "Actually I like mornings", "The user likes mornings."},
		{"not liking", "The user likes coffee.", "I don't like coffee anymore", "The user no longer likes coffee."},
		{"editor", "The user uses Vim.", "I switched from Vim to Helix", "The user switched from Vim to Helix."},
		{"deadline", "The user's deadline is March 3rd.", "My deadline is April 1st", "The user's deadline is April 1st."},
		{"favourite", "The user's favourite colour is teal.", "my favorite color is red now", "The user's favorite color is red now."},
		{
			"one word", "The user's name is Ada.\nThe user likes tea.", "It's Grace, not Ada",
			"The user's name is Grace.\nThe user likes tea.",
		},
		{"tail", "The user lives in Lisbon.", "I live in Porto, not Lisbon", "The user lives in Porto."},
		{"negation first", "The user's name is Ada.", "My name is not Ada, it's Grace.", "The user's name is Grace."},
		{"allergy", "The user is allergic to peanuts.", "I am not allergic to peanuts", "The user is not allergic to peanuts."},
		{
			"a place that was left", "The user works in Tampere.\nThe user lives in Tampere.", "Actually I left Tampere, I'm in Oulu now",
			"The user works in Tampere.\nThe user lives in Oulu now.",
		},
		{
			"a place that was left in a perfect", "The user moved to Tampere.", "I've left Tampere and live in Oulu",
			"The user lives in Oulu.",
		},
		{
			"a place that was moved out of", "The user lives in Berlin.", "Actually I moved out of Berlin, I live in Turku now.",
			"The user lives in Turku now.",
		},
		{
			"a place in lower case", "The user lives in New York.", "actually i left new york, i'm in san francisco now",
			"The user lives in san francisco now.",
		},
		{
			"another place was left", "The user lives in Rome.", "Actually I moved to Bern and left Oslo",
			"The user moved to Bern.\nThe user left Oslo.",
		},
		{
			"of somebody else", "The user's sister lives in Rome.\nThe user lives in Oslo.", "My sister lives in Bern now",
			"The user's sister lives in Bern now.\nThe user lives in Oslo.",
		},
		{"age", "The user is 34 years old.", "I'm 35 now", "The user is 35 now."},
		{
			"bullets stay", "- The user's name is Ada.\n- The user likes tea.", "Sorry, my name is Grace",
			"- The user's name is Grace.\n- The user likes tea.",
		},
		{
			"inside a paragraph", "The user's name is Ada. The user likes tea.", "my name is Grace",
			"The user's name is Grace. The user likes tea.",
		},
		{"by hand", "Name: Ada\nLikes: tea", "my name is Grace", "The user's name is Grace.\nLikes: tea"},
		{"named head", "The user works for Acme.", "No, not Acme, I work for Initech", "The user works for Initech."},
		{"the same verb", "The user studies medicine in Berlin.", "Correction: I study law", "The user studies law."},
		{"back again", "The user switched from Vim to Helix.", "I use Vim again", "The user uses Vim again."},
		{"inside the sentence", "The user's name is Tom.", "My name is actually Thomas", "The user's name is Thomas."},
		{"within one message", "", "My name is Ada. No wait, my name is Grace.", "The user's name is Grace."},
		{
			"pet's name", "The user's dog is called Biscuit.\nThe user's cat is called Tom.", "our dog is called Crumb",
			"The user's dog is called Crumb.\nThe user's cat is called Tom.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.blocks["human"] = c.have
			answer := h.say(c.say)
			if got := h.blocks["human"]; got != c.want {
				t.Errorf("%q made %q, want %q (answer %q)", c.say, got, c.want, answer)
			}
			if strings.Contains(c.have, ".") && !strings.Contains(answer, "Corrected") {
				t.Errorf("%q was answered %q", c.say, answer)
			}
		})
	}
}

func TestWhoIsInBedStillLivesSomewhere(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.blocks["human"] = "The user lives in New York."
	h.say("i left new york, i'm in bed now")
	if got := h.blocks["human"]; !strings.Contains(got, "lives in New York") {
		t.Errorf("kept: %q", got)
	}
}

func TestTwoFactsThatReplaceOneAreBothKept(t *testing.T) {
	t.Parallel()
	for _, say := range []string{
		"Actually I moved out of Berlin, I live in Turku now.", "Actually I am no longer in Berlin, I live in Turku now.",
	} {
		h := newHome(t)
		h.parallel = true
		h.blocks["human"] = "The user lives in Berlin."
		answer := h.say(say)
		if got := h.blocks["human"]; strings.Contains(answer, "could not") || !strings.Contains(got, "lives in Turku") ||
			strings.Contains(got, "lives in Berlin") {
			t.Errorf("%q made %q (answer %q)", say, got, answer)
		}
	}
}

//nolint:misspell // both spellings are understood
func TestTheSameFactIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, again string }{
		{"My name is Ada and I work on compilers", "my name is Ada and I work on compilers."},
		{"I live in Oslo", "I'm living in Oslo"},
		{"We have a dog called Biscuit", "I have a dog"},
		{"our dog is called Biscuit", "we have a dog"},
		{"I hate mornings", "I really hate mornings!"},
		{"My favourite colour is teal", "Teal is my favorite color"},
	} {
		h := newHome(t)
		h.say(c.first)
		before := h.blocks["human"]
		if answer := h.say(c.again); h.blocks["human"] != before || !strings.Contains(answer, "already know") {
			t.Errorf("%q after %q made %q of %q (answer %q)", c.again, c.first, h.blocks["human"], before, answer)
		}
	}
}
