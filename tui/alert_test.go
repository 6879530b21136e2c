package tui

import (
	"os"
	"strings"
	"testing"
)

// TestABellCallsWhoIsAway checks that the bell rings once, and not for somebody
// who is at the keys.
func TestABellCallsWhoIsAway(t *testing.T) {
	t.Parallel()
	kitty := func(o *Options) {
		o.Getenv = func(name string) string { return map[string]string{"TERM": "xterm-kitty"}[name] }
	}
	r := newRobot(t, newFake(), 80, 24, kitty).connect().asked("once")
	written := func() string {
		data, err := os.ReadFile(r.m.out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if strings.Contains(written(), "\a") {
		t.Error("it rings for somebody who just pressed a key")
	}
	r.now = r.now.Add(awayAfter)
	for range 2 {
		r.feed(ringMsg{"message-asks"})
	}
	if got := strings.Count(written(), "\a\x1b]9;Ada waits for your answer: archival_memory_insert\x1b\\"); got != 1 {
		t.Errorf("it rang %d times", got)
	}
}

func TestAnAlertIsWhatTheTerminalKnows(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"TERM=xterm-256color":           "\a",
		"TERM=foot":                     "\a\x1b]777;notify;Loci;a, b\x1b\\",
		"TERM_PROGRAM=WezTerm":          "\a\x1b]9;a, b\x1b\\",
		"TERM_PROGRAM=WezTerm TMUX=yes": "\a",
	} {
		getenv := func(name string) string {
			for word := range strings.FieldsSeq(env) {
				if key, value, _ := strings.Cut(word, "="); key == name {
					return value
				}
			}
			return ""
		}
		if got := alertOf(getenv).sequence("a; b\x1b\a\n"); got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}
