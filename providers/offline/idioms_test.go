package offline_test

import (
	"strings"
	"testing"
)

// told is a fact as a person tells it, a question for it in other words, and what the answer must have.
type told struct{ say, ask, want string }

func TestFactsToldInIdiomsAreAnswered(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]told{
		"of a sailor's friend": {
			{"You're talking to Joanna.", "What's my first name?", "joanna"},
			{"I earn my bread as a tax adviser.", "What is my profession?", "tax"},
			{"There's a beagle in our house who answers to Snoopy.", "What's the name of our dog?", "snoopy"},
			{"Shellfish could kill me, seriously.", "What am I allergic to?", "shellfish"},
			{"I came into the world on 9 November 1989, the day the wall fell.", "When was I born?", "9 november"},
			{"We have three boys: Finn, Ole and Jasper.", "What are my children called?", "finn"},
			{"I tied the knot with Marco in 2012.", "Who is my husband?", "marco"},
			{"In my free time I restore old radios.", "What's my hobby?", "radios"},
			{"Nothing beats a good lasagne, that's my number one.", "What's my favourite food?", "lasagne"},
			{"I get around in a battered Renault Clio.", "What do I drive?", "clio"},
			{"I grew up bilingual, Dutch and Frisian.", "What languages do I speak?", "frisian"},
			{"I took up the saxophone last year.", "Which instrument am I learning?", "saxophone"},
			{"My tax report must be handed in by 31 July.", "When is the report due?", "31 july"},
			{"I did my degree in Groningen, history of art.", "What did I study?", "history of art"},
			{"Our wi-fi key is tulip2024.", "What's the wifi password?", "tulip2024"},
			{"I see Dr Visser on the 12th about my knee.", "When's my doctor's appointment?", "12th"},
			{"The book on my nightstand is Dune.", "What am I reading at the moment?", "dune"},
			{"I've been an Ajax fan since childhood.", "Which football club do I support?", "ajax"},
		},
		"of a teacher": {
			{"Hi! I'm Rosalind, though most of my friends just say Roz. Long day, but fine.", "What should you call me?", "rosalind"},
			{"By day I teach physics at a comprehensive in Leeds.", "Remind me what I do for a living?", "physics"},
			{"We've got two kids, Milo who is nine and Anya who just turned six.", "What's Anya's age?", "six"},
			{"My husband Tomasz works nights as a paramedic.", "Who am I married to?", "tomasz"},
			{"Our wedding anniversary falls on 14 June.", "When did we marry?", "14 june"},
			{"Penicillin brings me out in hives, so doctors always have to note it.", "Which medicine must I avoid?", "penicillin"},
			{"I drive an old green Volvo that barely starts in winter.", "what car have I got", "volvo"},
			{
				"The spare key is under the third flowerpot by the back door, don't tell anyone.", "where did I hide the extra key?",
				"flowerpot",
			},
			{"I was born on 3 March 1984 in Gdańsk.", "When's my birthday?", "3 march"},
			{"The wifi at home is called Heron and the password is mallard-77.", "How do I get onto the wireless network?", "mallard-77"},
			{"I'm learning the cello, been at it since January.", "What instrument do I play?", "cello"},
			{"My mum has just moved into a care home in Whitby.", "Where does my mother live now?", "whitby"},
			{"Next Thursday at 4 I've to see the dentist about a crown.", "When's my dental appointment?", "thursday"},
			{"I can't stand coriander, tastes of soap to me.", "Is there any herb I dislike?", "coriander"},
		},
		"of a midwife": {
			{"Hello, my name is Farida and I'm a midwife at St Mary's hospital.", "What kind of work do I do?", "midwife"},
			{"My twins Sam and Leo start school in September.", "When do the boys begin school?", "september"},
			{"We got married in a tiny chapel in Cornwall ten years ago.", "Where did I get married?", "cornwall"},
			{"I've had a Siamese cat since college, he's called Pharaoh.", "Who is Pharaoh?", "cat"},
			{"Gluten gives me terrible cramps.", "What foods upset my stomach?", "gluten"},
			{"My mother-in-law, Birgit, visits every Sunday.", "Who comes to see us on Sundays?", "birgit"},
			{"I run ten kilometres most mornings before the kids wake up.", "How do I stay in shape?", "run"},
			{"The car needs a new clutch, the garage quoted 900 pounds.", "How much will the clutch repair be?", "900"},
			{"I keep my passport in the blue folder on the top shelf.", "Where can I find my passport?", "blue folder"},
			{"My blood pressure tablets are called ramipril.", "What are my pills for blood pressure?", "ramipril"},
			{"I'm scared of flying.", "What am I afraid of?", "flying"},
			{"I'd rather take the train than a plane any day.", "How do I prefer to travel?", "train"},
			{"Dad used to be a sailor in the navy.", "What was my father's job?", "sailor"},
			{"My favourite season is autumn because of the colours.", "Which time of year do I love?", "autumn"},
		},
		"of a tester": {
			{"I've worked in insurance for twenty years.", "What industry am I in?", "insurance"},
			{"My better half is called Sunita.", "What's my wife called?", "sunita"},
			{"I collect fountain pens.", "What do I collect?", "pens"},
			{"My dad drives a bus in Mumbai.", "What does my father do for work?", "bus"},
			{"The kids' bedtime is half past seven.", "When do the children go to bed?", "half past seven"},
			{"I'm moving house on the first of March.", "When am I moving?", "first of march"},
			{"I can play the tabla, not very well though.", "Which instrument can I play?", "tabla"},
			{"I pay 60 euros a month for my phone contract.", "What does my phone plan cost me?", "60"},
			{"My glasses are in the car's glove box.", "Where are my glasses?", "glove"},
			{"Our anniversary trip was to Venice.", "Where did we go for our anniversary?", "venice"},
			{"My favourite film of all time is Alien.", "Which movie do I like most?", "alien"},
			{"I get migraines when it's stuffy.", "What illness do I have?", "migraine"},
			{"My nephew Arjun just got into medical school.", "What is Arjun studying?", "medical"},
			{"The code for the front door is 90210.", "What do I type to get in at the front door?", "90210"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.preface = monday
			for _, c := range list {
				h.say(c.say)
			}
			for _, c := range list {
				if answer := h.say(c.ask); !strings.Contains(strings.ToLower(answer), c.want) || strings.Contains(answer, "do not know") {
					t.Errorf("%q after %q was answered %q, want %q", c.ask, c.say, answer, c.want)
				}
			}
			for _, ask := range []string{
				"What is my blood type?", "How much do I weigh?", "Who is my lawyer?", "What is my favourite colour?",
				"How tall is my boss?",
			} {
				if answer := h.say(ask); !strings.Contains(answer, "do not know") {
					t.Errorf("%q was answered %q, want that it does not know", ask, answer)
				}
			}
		})
	}
}

func TestWhatBelongsToAPersonsWorldIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, want string }{
		{
			"The spare key is under the third flowerpot, don't tell anyone.",
			"The spare key is under the third flowerpot, do not tell anyone.",
		},
		{
			"The wifi at home is called Heron and the password is mallard-77.",
			"The wifi at home is called Heron and the password is mallard-77.",
		},
		{"Rent goes out on the first of the month, 1450 dollars.", "Rent goes out on the first of the month, 1450 dollars."},
		{"Nadia owns the billing service", "Nadia owns the billing service."},
		{"Tuesday evenings are for choir practice.", "Tuesday evenings are for choir practice."},
		{"They changed the door code, it's 8675 now.", "The door code is 8675 now."},
		{"The cat's name is Misha", "The user's cat's name is Misha."},
		{"got a new puppy yesterday", "The user got a new puppy on Sunday 2026-11-22."},
		{"Vet appointment for Mungo is next Tuesday at 9.", "Vet appointment for Mungo is Tuesday 2026-11-24 at 9."},
		{"My mum lives in Hull and she's just had a fall", "The user's mum lives in Hull.\nThe user's mum has just had a fall."},
		{"I'm called Wanda, pleased to meet you", "The user's name is Wanda."},
		{"hey, Deshawn here", "The user's name is Deshawn."},
		{"The answer is wrong", ""},
		{"The weather was bad on Monday", ""},
		{"Cats sleep a lot", ""},
		{"London is the capital of England", ""},
		{"That was 3 days ago", ""},
	} {
		h := newHome(t)
		h.preface = monday
		answer := h.say(c.say)
		if got := h.blocks["human"]; got != c.want {
			t.Errorf("%q stored %q, want %q (answer %q)", c.say, got, c.want, answer)
		}
	}
}

func TestACorrectionMayGiveOnlyTheRightValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, correct, want string }{
		{"My dog is called Pepper.", "No, sorry, it's Pepita.", "The user's dog is called Pepita."},
		{"My son is called Ben.", "Sorry, I meant Benjamin.", "The user's son is called Benjamin."},
		{"Our budget is 5000 euros.", "No, make it 6000 euros.", "The user's budget is 6000 euros."},
		{"My favourite colour is teal", "Actually it's green.", "The user's favourite colour is green."},
		{"I have a dentist's appointment on Tuesday", "No wait, it's Friday.", "The user has a dentist's appointment on Friday."},
		{"My daughter is seven.", "Correction: she turned eight yesterday.", "The user's daughter turned eight on Sunday 2026-11-22."},
		{
			"The meeting with Carla is on Tuesday at 3.", "The meeting with Carla got moved to Wednesday.",
			"The meeting with Carla got moved to Wednesday.",
		},
		{"My deadline is on Friday.", "The deadline was moved to Monday.", "The deadline was moved to Monday."},
		{"My phone number is 0470 11 22 33.", "I've a new phone number: 0499 88 77 66.", "The user's new phone number is 0499 88 77 66."},
		{"My dog Rex is five.", "Rex is six now.", "Rex is six now."},
		{"My doctor is Dr Lambert.", "Dr Okafor is my GP from now on.", "Dr Okafor is the user's GP from now on."},
		{"I drive a Peugeot.", "I sold the Peugeot.", "The user sold the Peugeot."},
		{"The wifi password is abc12345.", "The new wifi password is xyz98765.", "The new wifi password is xyz98765."},
		{"I have three cats.", "Make that four cats.", "The user has four cats."},
		{"My phone PIN is 1122.", "I changed my phone PIN to 3344.", "The user's phone PIN is 3344."},
		{"My car is a Mini.", "I traded the Mini for a Golf.", "The user's car is a Golf."},
		{"I'm a waiter.", "I became a chef.", "The user became a chef."},
		{"I'm allergic to penicillin.", "It turns out I'm not allergic to penicillin.", "The user is not allergic to penicillin."},
		{"My favourite fruit is mango.", "It's not mango, it's papaya.", "The user's favourite fruit is papaya."},
		{"My dog is called Pepper.", "No thanks, that's all", "The user's dog is called Pepper."},
		{"My dog is called Pepper.", "No, it's fine", "The user's dog is called Pepper."},
	} {
		h := newHome(t)
		h.preface = monday
		h.say(c.say)
		before := h.blocks["human"]
		answer := h.say(c.correct)
		if got := h.blocks["human"]; got != c.want {
			t.Errorf("%q after %q made %q, want %q (answer %q)", c.correct, c.say, got, c.want, answer)
		}
		if h.blocks["human"] != before && !strings.Contains(answer, "Corrected") {
			t.Errorf("%q was answered %q", c.correct, answer)
		}
	}
}

func TestAnAnswerSaysHowSureItIs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, f := range []string{
		"I wear size 11 shoes", "I'm training for the Berlin marathon", "I drive an old Saab", "My driving licence ends in 2031",
		"My sister Keisha lives in Rome", "I teach physics",
	} {
		h.say(f)
	}
	const likely, near = "If I understand you right: ", "I do not know exactly that. The closest that I was told: "
	for _, c := range []struct{ ask, want string }{
		{"What do I drive?", "You drive an old Saab."},
		{"When does my driving licence end?", "Your driving licence ends in 2031."},
		{"How big are my feet?", likely + "You wear size 11 shoes."},
		{"Which race am I preparing for?", near + "You are training for the Berlin marathon."},
		{"What colour is my car?", near + "You drive an old Saab."},
		{"What is my brother's name?", "I do not know that."},
		{"How old is my sister?", "I do not know that."},
	} {
		if answer := h.say(c.ask); !strings.HasPrefix(answer, c.want) {
			t.Errorf("%q was answered %q, want %q", c.ask, answer, c.want)
		}
	}
}

func TestWhatWasCorrectedIsNotToldFromSearches(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.blocks["human"] = "The user sold the Ducati.\nThe user lives in Cork."
	h.found["conversation_search"] = `{"results":[{"timestamp":"2026-11-20T10:00:00Z","role":"user","content":"I ride a Ducati."},` +
		`{"timestamp":"2026-11-20T10:00:00Z","role":"user","content":"I live in Ghent."}]}`
	if answer := h.say("What do I ride?"); strings.Contains(answer, "You ride a Ducati") {
		t.Errorf("answered %q", answer)
	}
}

func TestRelativesAreFoundByNameAndTogether(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, f := range []string{"I've got a wife, Lucia, and two small daughters.", "My parents live in Marrakesh."} {
		h.say(f)
	}
	for ask, want := range map[string]string{
		"What's my wife's name?": "Lucia", "Where does my mother live?": "Marrakesh", "How many daughters do I have?": "two",
		"What is my real name?": "not know that",
	} {
		if answer := h.say(ask); !strings.Contains(answer, want) || strings.Contains(answer, "not know exactly") {
			t.Errorf("%q was answered %q, want %q", ask, answer, want)
		}
	}
}
