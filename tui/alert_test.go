package tui

import (
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// TestABellCallsWhoIsAway checks that the bell rings once, and not for somebody
// who is at the keys.
func TestABellCallsWhoIsAway(t *testing.T) {
	t.Parallel()
	kitty := func(o *Options) {
		o.Getenv = func(name string) string { return map[string]string{"TERM": "xterm-kitty"}[name] }
	}
	r := newRobot(t, newFake(), 80, 24, kitty).connect().asked("once")
	written := r.written
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
	const tmux = "\a\x1bPtmux;\x1b\x1b]9;a, b\x1b\x1b\\\x1b\\"
	for env, want := range map[string]string{
		"TERM=xterm-256color":                          "\a",
		"TERM=foot":                                    "\a\x1b]777;notify;Loci;a, b\x1b\\",
		"TERM_PROGRAM=WezTerm":                         "\a\x1b]9;a, b\x1b\\",
		"TERM_PROGRAM=WezTerm TMUX=yes":                "\a",
		"TERM_PROGRAM=WezTerm TMUX=yes NOTIFY=desktop": tmux,
		"TERM=screen STY=yes NOTIFY=desktop":           "\a\x1bP\x1b]9;a, b\a\x1b\\",
		"TERM=xterm-256color NOTIFY=desktop":           "\a\x1b]9;a, b\x1b\\",
		"TERM=foot NOTIFY=bell":                        "\a",
		"TERM=foot NOTIFY=off":                         "",
	} {
		getenv := func(name string) string {
			for word := range strings.FieldsSeq(env) {
				if key, value, _ := strings.Cut(word, "="); key == name {
					return value
				}
			}
			return ""
		}
		if got := alertOf(getenv, getenv("NOTIFY")).sequence("a; b\x1b\a\n"); got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}

// written is all that went to the terminal.
func (r *robot) written() string {
	r.t.Helper()
	data, err := os.ReadFile(r.m.out.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func TestWhoLooksIsNotCalledAndWhoLooksAwayIsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.feed(tea.FocusMsg{})
	r.asked("once")
	r.now = r.now.Add(2 * awayAfter)
	r.feed(ringMsg{"message-asks"})
	if strings.Contains(r.written(), "\a") {
		t.Error("it rings for somebody who looks")
	}
	r.feed(tea.BlurMsg{})
	r.feed(tea.BlurMsg{})
	if n := strings.Count(r.written(), "\a"); n != 1 {
		t.Errorf("it rang %d times for somebody who looked away", n)
	}
}

func TestTheEndOfALongRunCallsOnlyWhoLooksAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		notify string
		looks  tea.Msg
		took   time.Duration
		want   int
	}{
		"away":           {"", tea.BlurMsg{}, longRun, 1},
		"short":          {"", tea.BlurMsg{}, longRun - time.Second, 0},
		"here":           {"", tea.FocusMsg{}, longRun, 0},
		"no focus known": {"", nil, longRun, 1},
		"off":            {"off", tea.BlurMsg{}, longRun, 0},
	} {
		r := newRobot(t, newFake(), 80, 24, func(o *Options) { o.Notify = c.notify }).connect()
		r.say("slow")
		r.until("its words", func() bool { return strings.Contains(r.view(), "was said") })
		if c.looks != nil {
			r.feed(c.looks)
		}
		r.now = r.now.Add(c.took)
		r.f.mu.Lock()
		for run, cancelled := range r.f.cancels {
			close(cancelled)
			delete(r.f.cancels, run)
		}
		r.f.mu.Unlock()
		r.idle()
		if n := strings.Count(r.written(), "\a"); n != c.want {
			t.Errorf("%s: it rang %d times", name, n)
		}
	}
}
