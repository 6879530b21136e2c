package permission

import (
	"strings"
	"testing"

	"loci/core"
)

func TestNoRuleAllowsAToolThatIsNotWhatAPersonAccepted(t *testing.T) {
	t.Parallel()
	allowed, err := ParseList(List{Allow: []string{"mcp(tracker/*)"}}, FromUser)
	if err != nil {
		t.Fatal(err)
	}
	denied, err := ParseList(List{Deny: []string{"mcp(tracker/act)"}}, FromUser)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rules   Set
		mode    core.PermissionMode
		changed string
		want    Effect
	}{
		{allowed, core.ModeAsk, "", Allow},
		{allowed, core.ModeAsk, "it was good", Ask},
		{allowed, core.ModeStandard, "it was good", Ask},
		{nil, core.ModeStandard, "", Allow},
		{nil, core.ModeAsk, "", Ask},
		{allowed, core.ModeAll, "it was good", Allow},
		{denied, core.ModeAll, "it was good", Deny},
		{allowed, core.ModePlan, "", Deny},
	} {
		v := c.rules.Judge(Call{Tool: "act", Does: DoesMCP, Remote: "tracker/act", Changed: c.changed}, Place{Mode: c.mode})
		if v.Effect != c.want || c.want == Ask && c.changed != "" && (!strings.Contains(v.Why, c.changed) || v.Always != nil) {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

func TestNoRuleAboutAnotherToolAllowsOneOfAServer(t *testing.T) {
	t.Parallel()
	call := Call{Tool: "hello", Does: DoesMCP, Remote: "tracker/hello", Arguments: map[string]any{"a": "1"}}
	for text, allows := range map[string]bool{
		"hello": false, "hello(a=1)": false, "hello(a=*)": false, "mcp(tracker/hello)": true, "mcp(tracker)": true, "mcp": true, "*": true,
	} {
		for effect, want := range map[Effect]Effect{Allow: Ask, Deny: Deny, Ask: Ask} {
			rule, err := Parse(effect, text, FromUser)
			if err != nil {
				t.Fatal(err)
			}
			if allows && effect == Allow {
				want = Allow
			}
			if v := (Set{rule}).Judge(call, Place{Mode: core.ModeAsk}); v.Effect != want {
				t.Errorf("%s %s: %+v", effect, text, v)
			}
		}
	}
}
