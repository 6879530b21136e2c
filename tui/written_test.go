package tui

import (
	"testing"

	"loci/daemon/api"
)

func TestACommandThatSomebodyWroteSendsItsText(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.written = []api.Command{{Name: "review", Text: "Review $ARGUMENTS with care.", Description: "look at a change"}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/review the last commit")
	r.until("the message", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.sent) == 1 && f.sent[0] == "Review the last commit with care."
	})
}

func TestArgumentsGoWhereTheTextOfACommandWantsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Look at $ARGUMENTS and $ARGUMENTS.": "Look at a b and a b.", "Look.": "Look.\n\na b",
	} {
		if got := fill(text, "a b"); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := fill("Look.", ""); got != "Look." {
		t.Errorf("without any: %q", got)
	}
}
