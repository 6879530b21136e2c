package permission

import (
	"strings"
	"testing"

	"loci/core"
)

func TestRulesSayWhichSettingsOfGitALineMayLeaveBehind(t *testing.T) {
	t.Parallel()
	pager := core.JobSetting{Name: "core.pager", Values: []string{"less -F"}}
	gone := core.JobSetting{Name: "user.name", Was: []string{"Ada"}}
	two := core.JobSetting{Name: "alias.st", Values: []string{"status", "!x"}}
	for name, tt := range map[string]struct {
		allow, ask, deny []string
		mode             core.PermissionMode
		setting          core.JobSetting
		allowed, asks    bool
		why              string
	}{
		"nobody wrote anything":   {setting: pager, asks: true},
		"in the mode edits":       {setting: pager, mode: core.ModeEdits, asks: true},
		"in the mode all":         {setting: pager, mode: core.ModeAll},
		"where nobody is":         {setting: pager, mode: core.ModeStandard},
		"allowed by its name":     {setting: pager, allow: []string{"git_config(core.pager)"}, allowed: true},
		"in any case of letters":  {setting: pager, allow: []string{"git_config(Core.Pager)"}, allowed: true},
		"with this value":         {setting: pager, allow: []string{"git_config(core.pager=less -F)"}, allowed: true},
		"with another":            {setting: pager, allow: []string{"git_config(core.pager=less)"}, asks: true},
		"with each of its values": {setting: two, allow: []string{"git_config(alias.*=status)"}, asks: true},
		"to be gone, by a value":  {setting: gone, allow: []string{"git_config(user.name=*)"}, asks: true},
		"to be gone":              {setting: gone, allow: []string{"git_config(user.name)"}, allowed: true},
		"denied": {
			setting: pager, allow: []string{"git_config(core.pager)"}, deny: []string{"git_config(core.*)"}, why: "forbids",
		},
		"denied one of its values": {
			setting: two, deny: []string{"git_config(alias.*=!*)"}, why: "the rule git_config(alias.*=!*) of this session forbids it",
		},
		"all are denied": {setting: pager, deny: []string{"git_config"}, why: "forbids it"},
		"asked about": {
			setting: pager, allow: []string{"git_config(core.pager)"}, ask: []string{"git_config(core.pager)"}, asks: true,
		},
		"every tool is allowed":   {setting: pager, allow: []string{"*", "shell"}, asks: true},
		"every tool is forbidden": {setting: pager, deny: []string{"*"}, why: "forbids it"},
	} {
		at := in(core.ModeAsk)
		if tt.mode != "" {
			at.Mode = tt.mode
		}
		rules := rulesOf(t, FromSession, List{Allow: tt.allow, Ask: tt.ask, Deny: tt.deny}).Settings(at)
		allowed, asks, why := rules.Judge(tt.setting)
		if allowed != tt.allowed || asks != tt.asks || (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %v %v %q", name, allowed, asks, why)
		}
	}
}

func TestTheRuleOfASettingAllowsThisOneAlone(t *testing.T) {
	t.Parallel()
	for _, s := range []core.JobSetting{
		{Name: "core.pager", Values: []string{"less -F"}},
		{Name: "user.name"},
		{Name: "alias.x", Values: []string{"a=b * ? \\"}},
		{Name: "url.https://a.org/?x=y.insteadof", Values: []string{"b:"}},
		{Name: "remote.up.url", Values: []string{"ext::sh -c x"}},
	} {
		rules := rulesOf(t, FromSession, List{Allow: []string{SettingRule(&s)}}).Settings(in(core.ModeAsk))
		if allowed, _, _ := rules.Judge(s); !allowed {
			t.Errorf("%s does not allow %+v", SettingRule(&s), s)
		}
		other := s
		other.Name += "x"
		if allowed, _, _ := rules.Judge(other); allowed {
			t.Errorf("%s allows %+v", SettingRule(&s), other)
		}
		if other = s; len(s.Values) > 0 {
			other.Values = []string{s.Values[0] + "x"}
			if allowed, _, _ := rules.Judge(other); allowed {
				t.Errorf("%s allows %+v", SettingRule(&s), other)
			}
		}
	}
	for _, wrong := range []string{
		"git_config", "git_config()", "git_config(*)", "git_config(*.*=x)", "git_config(=x)", "git_config(core.pager=)",
	} {
		if _, err := Parse(Allow, wrong, FromUser); err == nil {
			t.Errorf("%s is a rule", wrong)
		}
	}
	if _, err := Parse(Deny, "git_config", FromUser); err != nil {
		t.Error(err)
	}
}
