package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/tui/panel"
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
