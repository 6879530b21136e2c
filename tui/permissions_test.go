package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"

	tea "charm.land/bubbletea/v2"
)

func (r *robot) permissions() {
	r.t.Helper()
	r.say("/permissions")
	r.until("the rules", func() bool { return strings.Contains(r.view(), "What agents may do here") })
}

func withRules(f *fake) *fake {
	f.rules = []api.PermissionRule{
		{Effect: "deny", Rule: "read(secrets/**)", Source: "the system file"},
		{Effect: "allow", Rule: "shell(go test *)", Source: "this session", Session: true},
	}
	return f
}

func TestRulesAreShownChangedAddedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRobot(t, withRules(newFake()), 80, 24).connect()
	r.permissions()
	for _, part := range []string{
		"deny  read(secrets/**)", "the system file",
		"! the permissions in .loci/permissions.toml can't be read",
	} {
		if !strings.Contains(r.view(), part) {
			t.Errorf("%q is not there:\n%s", part, r.view())
		}
	}
	r.typ("secrets")
	r.enter()
	if !strings.Contains(r.view(), "which only an editor changes") || strings.Contains(r.view(), "remove it") {
		t.Errorf("a rule of the system can be changed:\n%s", r.view())
	}
	r.typ("b")
	r.until("the rules", func() bool { return strings.Contains(r.view(), "type to filter") })
	r.typ("go test")
	r.enter()
	r.typ("r")
	r.until("the rest", func() bool { return !strings.Contains(r.view(), "go test") && strings.Contains(r.view(), "secrets") })
	r.key(tea.Key{Code: 'n', Mod: tea.ModCtrl})
	r.typ("3")
	r.typ("shell(ls")
	r.enter()
	r.until("the refusal", func() bool { return strings.Contains(r.view(), "the bracket is not closed") })
	r.typ(" *)")
	r.enter()
	r.until("the new one", func() bool { return strings.Contains(r.view(), "allow shell(ls *)") })
	kept := r.f.kept()
	if rule := kept[len(kept)-1]; !rule.Session || rule.Effect != "allow" {
		t.Errorf("kept %+v", rule)
	}
}

func TestWhatDecidedTheLastCallsIsShown(t *testing.T) {
	t.Parallel()
	r := newRobot(t, withRules(newFake()), 80, 24).connect()
	r.permissions()
	r.enter()
	r.until("the calls", func() bool {
		return strings.Contains(r.view(), "What decided the last calls") && strings.Contains(r.view(), "run go test")
	})
	for _, part := range []string{
		"allowed run go test ./...", "by the rule shell(go test *) of this session", "refused write a.go", "by a person: not there",
	} {
		if !strings.Contains(r.view(), part) {
			t.Errorf("%q is not there:\n%s", part, r.view())
		}
	}
}
