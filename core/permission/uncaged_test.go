package permission

import (
	"strings"
	"testing"

	"loci/core"
)

func TestALineRunsUncagedWhereRulesSayThatOfEveryCommand(t *testing.T) {
	t.Parallel()
	at := Place{Mode: core.ModeAsk, Root: "/p", Home: "/home/ada"}
	plan := at
	plan.Mode = core.ModePlan
	below := at
	below.Dir = "/p/a"
	for name, tt := range map[string]struct {
		list List
		line string
		at   Place
		want bool
	}{
		"the command":                 {List{Allow: []string{"uncaged(git push)"}}, "git push", at, true},
		"more words":                  {List{Allow: []string{"uncaged(git push)"}}, "git push --receive-pack=x .", at, false},
		"in a folder below":           {List{Allow: []string{"uncaged(git push)"}}, "git push", below, false},
		"in a folder that it goes to": {List{Allow: []string{"uncaged(git push)"}}, "cd a && git push", at, false},
		"another command":             {List{Allow: []string{"uncaged(git push)"}}, "git pull", at, false},
		"one of two":                  {List{Allow: []string{"uncaged(git push)"}}, "git push && make", at, false},
		"with one that only reads":    {List{Allow: []string{"uncaged(git push)"}}, "git push && cat a", at, false},
		"both":                        {List{Allow: []string{"uncaged(git push)", "uncaged(make)"}}, "git push && make", at, true},
		"a rule for the cage":         {List{Allow: []string{"shell(git push *)", "shell", "*"}}, "git push", at, false},
		"what is only known then":     {List{Allow: []string{"uncaged(git push)"}}, "git push $X", at, false},
		"a command in a word":         {List{Allow: []string{"uncaged(git push)"}}, "git push $(cat a)", at, false},
		"a variable":                  {List{Allow: []string{"uncaged(git push)"}}, "GIT_SSH_COMMAND=./x git push", at, false},
		"through another program":     {List{Allow: []string{"uncaged(git push)"}}, "env git push", at, false},
		"into a file of the folder":   {List{Allow: []string{"uncaged(make all)"}}, "make all > log", at, false},
		"into a file elsewhere":       {List{Allow: []string{"uncaged(make all)"}}, "make all > /home/ada/log", at, false},
		"into a guarded file":         {List{Allow: []string{"uncaged(make all)"}}, "make all > .envrc", at, false},
		"a rule denies it": {
			List{Allow: []string{"uncaged(git push)"}, Deny: []string{"uncaged(git push --force *)"}}, "git push --force x", at, false,
		},
		"a rule denies all": {List{Allow: []string{"uncaged(git push)"}, Deny: []string{"uncaged"}}, "git push", at, false},
		"the mode plan":     {List{Allow: []string{"uncaged(git push)"}}, "git push", plan, false},
		"no folder":         {List{Allow: []string{"uncaged(git push)"}}, "git push", Place{Mode: core.ModeAsk}, false},
	} {
		set := rulesOf(t, FromUser, tt.list)
		by := set.Uncaged(running(tt.line), tt.at)
		if (by != "") != tt.want {
			t.Errorf("%s: %q", name, by)
		}
		if by != "" && !strings.Contains(by, "uncaged(") {
			t.Errorf("%s: it does not say which rule: %q", name, by)
		}
	}
}

func TestARuleThatLetsALineOutLetsItRun(t *testing.T) {
	t.Parallel()
	at := Place{Mode: core.ModeAsk, Root: "/p", Home: "/home/ada"}
	set := rulesOf(t, FromFolder, List{Allow: []string{"uncaged(git push)"}})
	if v := set.Judge(running("git push"), at); v.Effect != Allow || !strings.Contains(v.By, "uncaged(git push)") {
		t.Errorf("%+v", v)
	}
	if v := set.Judge(running("git push && make"), at); v.Effect != Ask {
		t.Errorf("with another command: %+v", v)
	}
	deny := rulesOf(t, FromFolder, List{Deny: []string{"uncaged"}, Allow: []string{"shell(make)"}})
	if v := deny.Judge(running("make"), at); v.Effect != Allow {
		t.Errorf("who keeps lines in their sandbox forbids none: %+v", v)
	}
	if set.CanUncage(running("make"), at) == false || deny.CanUncage(running("make"), at) {
		t.Error("what a person can be asked")
	}
}

func TestRulesThatLetLinesOutNameAProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effect Effect
		text   string
		wrong  string
	}{
		{Allow, "uncaged(git push)", ""},
		{Allow, "uncaged(echo '*')", ""},
		{Allow, "uncaged(git push *)", "word for word"},
		{Allow, "uncaged(git p*)", "word for word"},
		{Allow, "uncaged(*)", "word for word"},
		{Allow, "uncaged(* push)", "word for word"},
		{Allow, "uncaged", "as in uncaged(git push origin main)"},
		{Ask, "uncaged(git push)", "as in uncaged(git push origin main)"},
		{Deny, "uncaged", ""},
		{Deny, "uncaged(*)", ""},
		{Allow, "uncaged()", "empty"},
		{Allow, "port(3000)", ""},
		{Allow, "port(80)", "own services"},
		{Deny, "port", ""},
		{Deny, "port(80)", ""},
		{Allow, "port", "as in port(5432)"},
		{Ask, "port(3000)", "as in port(5432)"},
		{Allow, "local_port(5432)", ""},
		{Allow, "local_port(443)", "lead to hosts"},
		{Allow, "local_port(0)", "number of one port"},
		{Allow, "local_port(65536)", "number of one port"},
		{Allow, "local_port(05432)", "number of one port"},
		{Allow, "local_port(+5432)", "number of one port"},
		{Allow, "local_port(54*)", "number of one port"},
		{Allow, "local_port(0x1538)", "number of one port"},
		{Allow, "local_port(127.0.0.1:5432)", "number of one port"},
	} {
		_, err := Parse(tt.effect, tt.text, FromUser)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s %s: %v, want %q", tt.effect, tt.text, err, tt.wrong)
		}
	}
	for _, rule := range []string{"uncaged(git push)", "port(3000)", "local_port(5432)"} {
		if rules, err := ParseList(List{Allow: []string{rule}}, FromProject); err == nil || len(rules) != 0 {
			t.Errorf("a project opens %s: %v", rule, rules)
		}
	}
}
