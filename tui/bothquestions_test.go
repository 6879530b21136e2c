package tui

import (
	"strings"
	"testing"
)

// TestOfTwoQuestionsTheOneWithoutTimeHasTheKeys asks for a host, for which a line waits, while a call waits as well.
func TestOfTwoQuestionsTheOneWithoutTimeHasTheKeys(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		r := newRobot(t, newFake(), size[0], size[1]).connect().asked("once").wants("a.org")
		if v := r.view(); !strings.Contains(v, "May its line reach a.org?") || strings.Count(v, "y allow")+strings.Count(v, "y once") > 1 ||
			!strings.Contains(v, "line below first") {
			t.Fatalf("who has the keys?\n%s", v)
		}
		r.answerHost("y")
		r.until("the answer", func() bool { return r.answeredHosts() == "question-a.org once" && !r.m.hosts.stands() })
		r.undecided("it was another question")
		r.typ("y") // at once, before anybody could see whose turn it is
		r.enter()
		r.undecided("too soon")
		r.m.prompt.Take()
		r.m.question.typing = false
		r.view()
		r.press("y")
		r.decided("allow " + firstCall)
	}
}

func TestWhatIsTypedAtOneQuestionAnswersNotTheOther(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("once").wants("a.org")
	r.typ("hey ") // begins a message
	r.f.mu.Lock()
	r.f.questions = nil
	r.f.mu.Unlock()
	r.run(r.m.hosts.look())
	r.until("the line asks no more", func() bool { return !r.m.hosts.stands() })
	r.view()
	r.calm()
	r.typ("yes")
	r.holds("hey yes")
	r.undecided("it is a message")
	r.press("tab", "n")
	r.decided("deny " + firstCall)
}
