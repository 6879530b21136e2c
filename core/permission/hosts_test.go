package permission

import (
	"slices"
	"strings"
	"testing"

	"loci/core"
)

func TestALineReachesHostsThatRulesAllow(t *testing.T) {
	t.Parallel()
	set := slices.Concat(
		rulesOf(t, FromSystem, List{Ask: []string{"fetch(*.corp.example.com)"}}),
		rulesOf(t, FromUser, List{
			Allow: []string{
				"fetch(*.Example.com)", "fetch(git.example.org)", "fetch(10.0.0.7)", "fetch(10.0.1.*)",
				"fetch(::FFFF:10.0.0.8)", "fetch(::1)",
			},
			Ask: []string{"fetch(asked.example.com)"},
		}),
		rulesOf(t, FromProject, List{Deny: []string{"fetch(bad.example.com)"}}),
	)
	for host, want := range map[string]struct {
		any, named bool
		closed     string
	}{
		"a.example.com": {any: true}, "A.EXAMPLE.COM": {any: true}, "example.com": {},
		"git.example.org": {any: true, named: true}, "10.0.0.7": {any: true, named: true}, "10.0.0.8": {any: true, named: true},
		"::1": {any: true, named: true}, "10.0.1.1": {any: true}, "10.0.0.9": {}, "::2": {},
		"bad.example.com":    {closed: "the rule fetch(bad.example.com) of the project's file forbids it"},
		"bad.example.com.":   {closed: "forbids it"},
		"asked.example.com":  {closed: "the rule fetch(asked.example.com) of your configuration asks about it"},
		"a.corp.example.com": {closed: "of the system file asks about it"},
	} {
		h := set.Hosts(Place{Mode: core.ModeAsk, Root: "/p"})
		if h.Allows(host, false) != want.any || h.Allows(host, true) != want.named {
			t.Errorf("%s: %v, by its name %v", host, h.Allows(host, false), h.Allows(host, true))
		}
		if got := h.Closed(host); (got == "") != (want.closed == "") || !strings.Contains(got, want.closed) {
			t.Errorf("%s is closed: %q", host, got)
		}
	}
	all := set.Hosts(Place{Mode: core.ModeAll, Root: "/p"})
	if !all.Allows("asked.example.com", false) || all.Allows("a.corp.example.com", false) || all.Allows("other.org", false) {
		t.Error("the mode all asks nothing, but for the system file, and opens nothing")
	}
	plan := set.Hosts(Place{Mode: core.ModePlan, Root: "/p"})
	if plan.Allows("a.example.com", false) || plan.Closed("a.example.com") == "" {
		t.Error("the mode plan reaches hosts")
	}
}

func TestToAllowEveryToolOpensNoNetwork(t *testing.T) {
	t.Parallel()
	at := Place{Mode: core.ModeAsk, Root: "/p"}
	if rulesOf(t, FromUser, List{Allow: []string{"*", "shell", "shell(curl *)"}}).Hosts(at).Allows("a.org", false) {
		t.Error("it does")
	}
	h := rulesOf(t, FromUser, List{Allow: []string{"fetch"}}).Hosts(at)
	if !h.Allows("a.org", false) || h.Allows("a.org", true) {
		t.Error("a rule for every host allows each, and names none")
	}
	if rulesOf(t, FromUser, List{Allow: []string{"fetch"}, Deny: []string{"*"}}).Hosts(at).Allows("a.org", false) {
		t.Error("what forbids every tool forbids every host")
	}
}

func TestAHostIsTheSameInEveryFormOfItsName(t *testing.T) {
	t.Parallel()
	set := rulesOf(t, FromUser, List{Deny: []string{"fetch(evil.org)", "fetch(10.0.0.7)", "fetch(::1)"}})
	for _, host := range []string{"evil.org", "EVIL.org.", "10.0.0.7", "::ffff:10.0.0.7", "0:0:0::1"} {
		v := set.Judge(Call{Tool: "fetch", Does: DoesFetch, Host: host}, Place{Mode: core.ModeAll})
		if v.Effect != Deny {
			t.Errorf("%s: %+v", host, v)
		}
	}
}

func TestAPersonIsAskedForWhatNoRuleForbids(t *testing.T) {
	t.Parallel()
	set, err := ParseList(List{Deny: []string{"fetch(*.evil.org)"}, Ask: []string{"fetch(ask.org)"}}, FromUser)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode core.PermissionMode
		host string
		want bool
	}{
		{core.ModeAsk, "a.org", true},
		{core.ModeAsk, "ask.org", true},
		{core.ModeAsk, "a.EVIL.org.", false},
		{core.ModeEdits, "10.0.0.7", true},
		{core.ModePlan, "a.org", false},
		{core.ModeAll, "a.org", false},
	} {
		if got := Set(set).Hosts(Place{Mode: tt.mode}).Asks(tt.host); got != tt.want {
			t.Errorf("%s %s: %v", tt.mode, tt.host, got)
		}
	}
	for host, want := range map[string]string{"a.org": "fetch(a.org)", "::1": "fetch(::1)"} {
		rule := HostRule(host)
		allow, err := ParseList(List{Allow: []string{rule}}, FromSession)
		if h := Set(allow).Hosts(Place{}); rule != want || err != nil || !h.Allows(host, true) || h.Allows("b."+host, false) {
			t.Errorf("%s: %s, %v", host, rule, err)
		}
	}
}
