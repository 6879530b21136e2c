package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestAQuestionOfTheAgentHasAViewOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("question")
	for _, part := range []string{
		"? Ada asks: Which colour should the door have?", "1 Red · as it was before", "2 Blue",
		"1–2 or ↑↓ choose · enter answers", "esc no answer",
	} {
		if v := r.view(); !strings.Contains(v, part) {
			t.Errorf("%q is not there:\n%s", part, v)
		}
	}
	for _, never := range []string{"{", "allow", "deny", "asks to call", whyAsked} {
		if v := r.view(); strings.Contains(v, never) {
			t.Errorf("it looks like a permission, with %q:\n%s", never, v)
		}
	}
}

func TestDigitsAndArrowsChooseAndEnterAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		what string
		keys []string
		want string
	}{
		"a digit":             {"question", []string{"2"}, "Blue"},
		"another digit":       {"question", []string{"2", "1"}, "Red"},
		"an arrow":            {"question", []string{"down", "down"}, "Blue"},
		"up":                  {"question", []string{"up"}, "Blue"},
		"several":             {"choices", []string{"3", "1"}, "Front; Side"},
		"several, taken back": {"choices", []string{"3", "1", "3"}, "Front"},
		"a space":             {"choices", []string{"down", " ", "down", "down", " "}, "Front; Side"},
	} {
		r := newRobot(t, newFake(), 80, 24).connect().asked(c.what)
		r.calm()
		for _, k := range c.keys {
			switch k {
			case "down":
				r.key(tea.Key{Code: tea.KeyDown})
			case "up":
				r.key(tea.Key{Code: tea.KeyUp})
			case " ":
				r.key(tea.Key{Code: tea.KeySpace, Text: " "})
			default:
				r.typ(k)
			}
		}
		r.undecided(name + ", before enter")
		r.enter()
		r.decided("deny " + firstCall + " because " + c.want)
	}
}

func TestAnAnswerIsTypedInOtherWords(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{"question": "12 colours", "open": "very private", "choices": "none of these"} {
		r := newRobot(t, newFake(), 80, 24).connect().asked(what)
		r.calm()
		r.typ(text)
		r.holds(text)
		r.undecided("before enter")
		r.enter()
		r.decided("deny " + firstCall + " because " + text)
		r.holds("")
	}
}

func TestEscapeGivesNoAnswer(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("question")
	r.calm()
	r.typ("1")
	r.key(esc()) // takes the mark back
	r.undecided("the first escape")
	r.calm()
	r.key(esc())
	r.decided("deny " + firstCall)
}

func TestNothingIsAnsweredBeforeTheQuestionWasThereForAMoment(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("ask question")
	r.until("the question", func() bool { return r.m.question.stands() && r.m.turn == nil })
	r.view()
	r.enter()
	r.key(esc())
	r.key(tea.Key{Code: tea.KeyDown})
	r.enter()
	r.undecided("at once")
	r.calm()
	r.enter()
	r.undecided("nothing is marked")
	if !strings.Contains(r.view(), "choose by a digit or an arrow") {
		t.Errorf("what to do?\n%s", r.view())
	}
}

func TestATextBegunBeforeTheQuestionIsNotItsAnswerUnasked(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("ask question")
	r.typ("by the way")
	r.stands()
	r.enter()
	r.undecided("it was begun before")
	if !strings.Contains(r.view(), "answer with it") {
		t.Fatalf("nothing is offered:\n%s", r.view())
	}
	r.typ("d")
	r.decided("deny " + firstCall + "\nand say by the way")
}

func TestSeveralQuestionsAreAskedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("questions")
	if v := r.view(); !strings.Contains(v, "Ada asks (1 of 3): Which colour?") || strings.Contains(v, "And why") {
		t.Errorf("the first alone:\n%s", v)
	}
	r.calm()
	r.typ("2")
	r.enter()
	r.view()
	if v := r.view(); !strings.Contains(v, "▸ 2 run this line") && !strings.Contains(v, "▸ 2 ") || !strings.Contains(v, "paint door") {
		t.Errorf("then the call:\n%s", v)
	}
	r.press("Y")
	r.view()
	r.undecided("one question is left")
	if v := r.view(); !strings.Contains(v, "Ada asks (3 of 3): And why") || !strings.Contains(v, "more row") {
		t.Errorf("the last, as far as it fits:\n%s", v)
	}
	r.press("v")
	if v := r.view(); !strings.Contains(v, "Waits for you") {
		t.Errorf("v shows all:\n%s", v)
	}
	r.key(esc())
	r.calm()
	r.typ("so")
	r.enter()
	r.decided("deny " + firstCall + " because Blue\nallow call-2 message-asks hash-2\ndeny call-3 message-asks hash-3 because so")
}
