package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/tui/panel"

	tea "charm.land/bubbletea/v2"
)

func TestARuleIsShownAndEditedBeforeAnAnswerKeepsIt(t *testing.T) {
	t.Parallel()
	for key, scope := range map[string]string{"s": api.ScopeSession, "a": api.ScopeFolder} {
		r := newRobot(t, newFake(), 80, 24).connect().asked("line")
		r.press(key)
		e, ok := r.top().(*panel.Edit)
		if !ok || e.Value() != "shell(go test *)" {
			t.Fatalf("no rule is shown:\n%s", r.view())
		}
		e.SetValue("shell(go test")
		r.enter()
		r.until("the refusal", func() bool { return strings.Contains(r.view(), "the bracket is not closed") })
		r.undecided("a rule that isn't valid")
		e.SetValue("shell(go build *)")
		r.enter()
		r.until("the refusal", func() bool { return strings.Contains(r.view(), "that would not allow this very call") })
		r.undecided("a rule that doesn't fit")
		e.SetValue("shell(go test ./...)")
		r.enter()
		r.decided("allow " + firstCall)
		d := r.f.answers()[0].Approvals[0]
		if d.Scope != scope || strings.Join(d.Rules, "|") != "shell(go test ./...)" {
			t.Errorf("%s kept %q for %q", key, d.Rules, d.Scope)
		}
	}
}

func TestWhatAsksEachTimeIsAllowedOnceOnly(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("once")
	for _, key := range []string{"s", "a"} {
		r.press(key)
		if r.top() != nil || !strings.Contains(r.status(), "this asks each time") {
			t.Errorf("%s:\n%s", key, r.view())
		}
	}
	r.undecided("it asks each time")
}

func TestAWordThatBeginsWithAKeyOpensNoRule(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"yes", "same", "always", "no"} {
		r := newRobot(t, newFake(), 80, 24).connect().asked("line")
		r.typ(word)
		r.settle()
		r.undecided(word)
		if r.holds(word); r.top() != nil {
			t.Errorf("%q opened\n%s", word, r.view())
		}
	}
}

func TestAllowingOnceKeepsNoRuleAndGoesInTheModeOfTheStatusLine(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect().asked("line")
	r.key(tea.Key{Code: tea.KeyTab, Mod: tea.ModShift})
	if !r.m.question.stands() || !strings.Contains(r.view(), "s for this session · a always") {
		t.Errorf("the keys are not shown:\n%s", r.view())
	}
	r.press("y")
	r.decided("allow " + firstCall)
	if d := r.f.answers()[0].Approvals[0]; len(d.Rules) > 0 || d.Scope != "" || r.f.sentIn() != modeEdits {
		t.Errorf("kept %q for %q, in %s", d.Rules, d.Scope, r.f.sentIn())
	}
}
