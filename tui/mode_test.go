package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"

	tea "charm.land/bubbletea/v2"
)

func TestAKeyChangesTheModeOfWhatIsSentNext(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, func(o *Options) { o.Who.Mode = modeAll }).connect()
	if !strings.Contains(r.said(), "· all mode: the agent may change") || !strings.Contains(r.status(), "all mode") {
		t.Errorf("nothing warns: %s\n%s", r.status(), r.said())
	}
	for _, want := range []string{modeAsk, modeEdits, modePlan, modeAsk} {
		r.key(tea.Key{Code: tea.KeyTab, Mod: tea.ModShift})
		r.say("hello in " + want)
		r.idle()
		if got := r.f.sentIn(); got != want || !strings.Contains(r.status(), want+" mode") {
			t.Errorf("sent in %q, shown %q, want %s", got, r.status(), want)
		}
	}
}

// TestOnlyTheModeThatAsksGivesWayOnANarrowScreen looks at the status line at
// several widths, quiet and while the agent works.
func TestOnlyTheModeThatAsksGivesWayOnANarrowScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  string
		width int
		quiet string
		busy  string
	}{
		{"", 80, "ask mode · Ada · openai/gpt-4o · 12%", "⠋ thinking · esc stops · ask mode · Ada · openai/gpt-4o · 12%"},
		{modePlan, 80, "plan mode · Ada · openai/gpt-4o · 12%", "⠋ thinking · esc stops · plan mode · Ada · openai/gpt-4o · 12%"},
		{modeAll, 60, "all mode · Ada · openai/gpt-4o · 12%", "⠋ thinking · esc stops · all · Ada · openai/gpt-4o · 12%"},
		{"", 32, "ask · Ada · openai/gpt-4o · 12%", "⠋ thinking · esc stops · openai…"},
		{"", 26, "Ada · openai/gpt-4o · 12%", "⠋ thinking · esc stops · …"},
		{modeEdits, 26, "edits · Ada · openai/gpt-…", "⠋ thinking · esc … · edits"},
		{modePlan, 20, "plan · Ada · openai…", "⠋ thinking ·… · plan"},
	} {
		r := newRobot(t, newFake(), c.width, 24, func(o *Options) { o.Who.Mode = c.mode }).connect()
		if got := r.status(); got != c.quiet {
			t.Errorf("%q at %d columns: %q, want %q", c.mode, c.width, got, c.quiet)
		}
		r.m.begin(&turn{feed: &feed[api.Message]{signal: make(chan struct{}, 1), stop: func() {}}, run: "run-9"})
		if got := r.status(); got != c.busy {
			t.Errorf("%q at %d columns: %q, want %q", c.mode, c.width, got, c.busy)
		}
	}
}
