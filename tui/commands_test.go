package tui

import (
	"strings"
	"testing"
)

func TestOnlyAPlainWordAfterASlashIsACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name, arg string
		ok              bool
	}{
		{"/help", "help", "", true},
		{"/model openai/gpt-5 ", "model", "openai/gpt-5", true},
		{"/memory\nhuman", "memory", "human", true},
		{"/", "", "", true},
		{"/etc/hosts has a wrong line", "etc/hosts", "", false},
		{"/etc/", "etc/", "", false},
		{"// a comment", "/", "", false},
		{"what is /etc", "", "", false},
	} {
		name, arg, ok := parseCommand(c.text)
		if ok != c.ok || ok && (name != c.name || arg != c.arg) {
			t.Errorf("%q: %q %q %v", c.text, name, arg, ok)
		}
	}
}

func TestACommandThatTakesNothingSaysSo(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	before := r.m.conv.thread
	r.say("/new extra")
	if !strings.Contains(r.status(), "/new takes nothing more; by itself: begin a new conversation") || r.m.conv.thread != before {
		t.Errorf("status %q, thread %+v", r.status(), r.m.conv.thread)
	}
	r.holds("/new extra")
}

func TestAnUnknownMemoryBlockIsAnsweredWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/memory zz")
	r.until("the answer", func() bool {
		return strings.Contains(r.status(), `Ada has no memory block "zz" (its blocks: human, persona)`)
	})
}
