package permission

import (
	"fmt"
	"os"
	"testing"

	"loci/core"
)

func TestWhatAPersonCanOpenToALineIsWhatNoRuleForbids(t *testing.T) {
	t.Parallel()
	dir, at := grounds(t)
	if err := os.WriteFile(dir+"/data/deep/a.csv", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all, plan := at, at
	all.Mode, plan.Mode = core.ModeAll, core.ModePlan
	denied := rulesOf(t, FromUser, List{Deny: []string{"read(" + dir + "/data/**)"}})
	for name, tt := range map[string]struct {
		set     Set
		at      Place
		path    string
		writing bool
		want    string
	}{
		"a file": {
			nil, at, dir + "/data/deep/a.csv", false, dir + "/data/deep false [add_dir(" + dir + "/data/deep)] true",
		},
		"a folder":                    {nil, at, dir + "/data", true, dir + "/data true [add_dir(" + dir + "/data:rw)] true"},
		"a file that is yet to be":    {nil, at, dir + "/out/new", true, dir + "/out true [add_dir(" + dir + "/out:rw)] true"},
		"in a mode that asks nothing": {nil, all, dir + "/data", false, dir + "/data false [add_dir(" + dir + "/data)] false"},
		"to change it in a plan":      {nil, plan, dir + "/data", true, ""},
		"open already":                {nil, at, at.Root + "/src", true, ""},
		"open by a rule":              {opening(t, dir, DirRule(dir+"/data", false)), at, dir + "/data/deep/a.csv", false, ""},
		"to read, not to change": {
			opening(t, dir, DirRule(dir+"/data", false)), at, dir + "/data", true, dir + "/data true [add_dir(" + dir + "/data:rw)] true",
		},
		"what is Loci's own":    {opening(t, dir), at, dir + "/loci/keys", false, ""},
		"around what is Loci's": {opening(t, dir), at, dir + "/file", false, ""},
		"through a link":        {nil, at, dir + "/link/deep", false, ""},
		"what a rule denies":    {denied, at, dir + "/data/deep/a.csv", false, ""},
		"what no rule may open": {rulesOf(t, FromUser, List{Deny: []string{"add_dir"}}), at, dir + "/data", false, ""},
	} {
		o, ok := tt.set.Openings(running("x"), tt.at).Folder(tt.path, tt.writing)
		got := ""
		if ok {
			got = fmt.Sprint(o.Dir.Path, " ", o.Dir.Writable, " ", o.Rules, " ", o.Asks)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestPortsAreOpenByRulesOneByOne(t *testing.T) {
	t.Parallel()
	at := Place{Mode: core.ModeAsk, Root: "/p"}
	set := rulesOf(t, FromFolder, List{
		Allow: []string{"port(3000)", "port(4000)", "local_port(5432)", "local_port(6379)"},
		Deny:  []string{"port(4000)", "local_port(6379)"},
	})
	opens := set.Openings(running("make"), at)
	if got := fmt.Sprint(opens.LocalPorts()); got != "[5432]" {
		t.Errorf("ports of this machine: %s", got)
	}
	for port, want := range map[uint16]string{3000: "true true", 3001: "false true", 4000: "false false", 80: "false false"} {
		if _, open, ok := opens.Port(port); fmt.Sprint(open, " ", ok) != want {
			t.Errorf("port %d: %v %v, want %s", port, open, ok, want)
		}
	}
	for port, want := range map[uint16]bool{5433: true, 6379: false, 0: false, 443: false} {
		if o, ok := opens.LocalPort(port); ok != want || ok && fmt.Sprint(o.Rules) != "[local_port(5433)]" {
			t.Errorf("port %d of this machine: %+v %v", port, o, ok)
		}
	}
	at.Mode = core.ModePlan
	if opens := set.Openings(running("make"), at); len(opens.LocalPorts()) > 0 {
		t.Error("a plan reaches ports")
	} else if _, open, ok := opens.Port(3000); open || ok {
		t.Error("a plan opens ports")
	}
}

func TestALineIsLetOutByARuleForEachOfItsCommandsOrThisOnce(t *testing.T) {
	t.Parallel()
	at := Place{Mode: core.ModeAsk, Root: "/p"}
	for line, want := range map[string]string{
		"git push origin main":       "[uncaged(git push origin main)] true",
		"git push && docker ps":      "[] true",
		"git push && cal":            "[uncaged(git push) uncaged(cal)] true",
		"git push $X":                "[] true",
		"python3 -c 'print(1)'":      "[] true",
		"GIT_SSH_COMMAND=x git push": "[] true",
	} {
		if o, ok := (Set{}).Openings(running(line), at).Uncaged(); fmt.Sprint(o.Rules, " ", ok) != want {
			t.Errorf("%s: %v %v, want %s", line, o.Rules, ok, want)
		}
	}
	at.Mode = core.ModePlan
	if _, ok := (Set{}).Openings(running("make"), at).Uncaged(); ok {
		t.Error("a plan leaves the sandbox")
	}
	if (Set{}).Openings(Call{Does: DoesRead, Paths: []string{"/a"}}, at) != nil {
		t.Error("a call that is no line")
	}
}
