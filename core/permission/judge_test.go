package permission

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

var project = Place{Mode: core.ModeAsk, Root: "/home/ann/project", Home: "/home/ann"}

func in(mode core.PermissionMode) Place {
	at := project
	at.Mode = mode
	return at
}

func rulesOf(t *testing.T, source Source, list List) Set {
	t.Helper()
	rules, err := ParseList(list, source)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func reading(path string) Call { return Call{Tool: "read", Does: DoesRead, Paths: []string{path}} }
func writing(path string) Call { return Call{Tool: "edit", Does: DoesWrite, Paths: []string{path}} }
func running(line string) Call { return Call{Tool: "shell", Does: DoesShell, Line: line} }

func TestTheModeDecidesWhereNoRuleDoes(t *testing.T) {
	t.Parallel()
	modes := []core.PermissionMode{core.ModeStandard, core.ModeAsk, core.ModeEdits, core.ModePlan, core.ModeAll}
	for name, tt := range map[string]struct {
		call Call
		want string // of each mode, by its first letter
	}{
		"memory":             {Call{Tool: "memory"}, "aaaaa"},
		"a client's tool":    {Call{Tool: "theirs", Does: DoesClient}, "aaaaa"},
		"reading inside":     {reading("/home/ann/project/src/a.go"), "aaaaa"},
		"reading outside":    {reading("/etc/passwd"), "-???-"},
		"a neighbour's name": {reading("/home/ann/project2/a"), "-???-"},
		"writing inside":     {writing("/home/ann/project/a.go"), "a?a-a"},
		"writing outside":    {writing("/home/ann/.bashrc"), "-??--"},
		"a line that reads":  {running("git status && ls src | wc -l"), "aaaaa"},
		"a line that acts":   {running("make test"), "a??-a"},
		"a line in doubt":    {running("ls $(rm x)"), "???-a"},
		"a redirection":      {running("ls > out.txt"), "a?a-a"},
		"a redirection out":  {running("ls > /tmp/out.txt"), "a??-a"},
		"a host":             {Call{Tool: "fetch", Does: DoesFetch, Host: "example.com"}, "-???a"},
		"a search":           {Call{Tool: "web_search", Does: DoesSearch}, "a???a"},
		"a server's tool":    {Call{Tool: "issue", Does: DoesMCP, Remote: "github/issue"}, "a??-a"},
		"a tool of people":   {Call{Tool: "deploy", Does: DoesOther}, "a??-a"},
		"no file":            {Call{Tool: "read", Does: DoesRead}, "????a"},
		"a secret":           {reading("/home/ann/project/.env"), "????a"},
		"a hook":             {writing("/home/ann/project/.git/hooks/pre-commit"), "???-a"},
	} {
		got := ""
		for _, mode := range modes {
			v := Set(nil).Judge(tt.call, in(mode))
			got += map[Effect]string{Allow: "a", Ask: "?", Deny: "-"}[v.Effect]
			if v.Why == "" || !strings.HasSuffix(v.Why, ".") {
				t.Errorf("%s: the reason is %q", name, v.Why)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestDenyCountsOverAskAndAskOverAllow(t *testing.T) {
	t.Parallel()
	set := slices.Concat(
		rulesOf(t, FromSession, List{Allow: []string{"shell(git *)", "write(src/**)", "mcp(github/*)", "deploy", "fetch(*.example.com)"}}),
		rulesOf(t, FromUser, List{
			Ask:  []string{"shell(git push *)", "deploy(stage=prod*)", "deploy(stage=0.1)"},
			Deny: []string{"write(src/secret)", "mcp(github/delete_*)"},
		}),
		rulesOf(t, FromProject, List{Deny: []string{"fetch(bad.example.com)"}}),
		rulesOf(t, FromSystem, List{Ask: []string{"fetch(*.corp.example.com)"}, Deny: []string{"shell(rm *)"}}),
	)
	deploy := func(stage any) Call {
		return Call{Tool: "deploy", Does: DoesOther, Arguments: map[string]any{"stage": stage}}
	}
	fetch := func(host string) Call { return Call{Tool: "fetch", Does: DoesFetch, Host: host} }
	mcp := func(remote string) Call { return Call{Tool: "gh", Does: DoesMCP, Remote: remote} }
	for name, tt := range map[string]struct {
		call   Call
		mode   core.PermissionMode
		effect Effect
		why    string
	}{
		"allowed":                    {running("git commit"), core.ModeAsk, Allow, "shell(git *) of this session allows to run git"},
		"asked":                      {running("git add a && git push"), core.ModeAsk, Ask, "of your configuration asks"},
		"denied":                     {running("git add a; rm -rf b"), core.ModeAsk, Deny, "shell(rm *) of the system file forbids"},
		"denied in every mode":       {running("rm a"), core.ModeAll, Deny, "forbids"},
		"denied within another":      {running("env X=1 /bin/rm a"), core.ModeAll, Deny, "forbids"},
		"an ask is none in all":      {running("git push"), core.ModeAll, Allow, "shell(git *)"},
		"but the system's":           {fetch("a.corp.example.com"), core.ModeAll, Ask, "the system file"},
		"an allowed file":            {writing("/home/ann/project/src/a"), core.ModeAsk, Allow, "write(src/**)"},
		"a denied folder":            {writing("/home/ann/project/src/secret/a"), core.ModeAsk, Deny, "write(src/secret)"},
		"a denied folder in a line":  {running("touch src/secret/a"), core.ModeAll, Deny, "write(src/secret)"},
		"plan over allow":            {writing("/home/ann/project/src/a"), core.ModePlan, Deny, "plan changes nothing"},
		"a host":                     {fetch("API.example.com"), core.ModeAsk, Allow, "fetch(*.example.com)"},
		"a host of the project":      {fetch("bad.example.com"), core.ModeAsk, Deny, "the project's file"},
		"a server":                   {mcp("github/list"), core.ModeAsk, Allow, "mcp(github/*)"},
		"a server's dangerous tool":  {mcp("github/delete_repo"), core.ModeAll, Deny, "mcp(github/delete_*)"},
		"an argument":                {deploy("test"), core.ModeStandard, Allow, "deploy"},
		"another argument":           {deploy("production"), core.ModeStandard, Ask, "deploy(stage=prod*)"},
		"a number written otherwise": {deploy(json.Number("0.10")), core.ModeStandard, Ask, "deploy(stage=0.1)"},
		"an argument of no text":     {deploy([]any{"production"}), core.ModeStandard, Allow, "deploy"},
	} {
		v := set.Judge(tt.call, in(tt.mode))
		if v.Effect != tt.effect || !strings.Contains(v.Why, tt.why) {
			t.Errorf("%s: %+v, want %s because %q", name, v, tt.effect, tt.why)
		}
		if v.Effect == Ask && len(v.Always) > 0 {
			t.Errorf("%s: %q is offered against a rule that asks", name, v.Always)
		}
	}
}

func TestTheAgentsMemoryAsksOnlyByRule(t *testing.T) {
	t.Parallel()
	set := rulesOf(t, FromUser, List{Ask: []string{"memory_rethink"}, Deny: []string{"archival_memory_delete"}})
	for tool, want := range map[string]Effect{"core_memory_append": Allow, "memory_rethink": Ask, "archival_memory_delete": Deny} {
		if v := set.Judge(Call{Tool: tool}, in(core.ModeAsk)); v.Effect != want {
			t.Errorf("%s: %+v", tool, v)
		}
	}
}

func TestAGuardedFileIsAllowedOnlyByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Effect{
		"read(**)": Ask, "read(config/**)": Ask, "read(config/.env*)": Allow, "read(.env*)": Allow, "read": Allow,
		"read(config/.env.local)": Allow, "write(config/.env*)": Ask,
	} {
		set := rulesOf(t, FromUser, List{Allow: []string{text}})
		if v := set.Judge(reading("/home/ann/project/config/.env.local"), in(core.ModeAsk)); v.Effect != want {
			t.Errorf("%s: %+v, want %s", text, v, want)
		}
	}
	for text, want := range map[string]Effect{"shell(cat *)": Ask, "shell(cat .env)": Allow, "shell": Allow} {
		set := rulesOf(t, FromUser, List{Allow: []string{text}})
		if v := set.Judge(running("cat .env"), in(core.ModeAsk)); v.Effect != want {
			t.Errorf("%s: %+v, want %s", text, v, want)
		}
	}
}

func TestALineInDoubtIsAllowedOnlyWithAllLines(t *testing.T) {
	t.Parallel()
	line := running("make $(cat targets)")
	for _, tt := range []struct {
		list List
		want Effect
	}{
		{List{Allow: []string{"shell(*)"}}, Ask},
		{List{Allow: []string{"shell(make *)"}}, Ask},
		{List{Allow: []string{"shell"}}, Allow},
		{List{Allow: []string{"shell"}, Deny: []string{"shell(rm *)"}}, Ask},
		{List{Allow: []string{"shell"}, Deny: []string{"fetch(*)"}}, Allow},
		{List{Allow: []string{"shell"}, Deny: []string{"shell(cat *)"}}, Deny},
	} {
		if v := rulesOf(t, FromUser, tt.list).Judge(line, in(core.ModeAsk)); v.Effect != tt.want {
			t.Errorf("%+v: %+v, want %s", tt.list, v, tt.want)
		}
	}
}

func TestWhatIsOfferedForGoodAllowsTheCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call Call
		want []string
	}{
		"a file in a folder": {writing("/home/ann/project/src/a*b/c.go"), []string{`write(./src/a\*b/**)`}},
		"a file of the root": {writing("/home/ann/project/go.mod"), []string{"write(./go.mod)"}},
		"a file elsewhere":   {reading("/srv/data/hosts"), []string{"add_dir(/srv/data)"}},
		"a system's file":    {reading("/etc/hosts"), nil},
		"commands": {running("npm run build && go test ./... | tee out"), []string{
			"shell(npm run build)", "shell(go test *)", "shell(tee out)",
		}},
		"a redirection":       {running("make > logs/out"), []string{"shell(make)", "write(./logs/**)"}},
		"a secret":            {reading("/home/ann/project/a/.env"), []string{"read(./a/.env)"}},
		"a secret in a line":  {running("git add a/.env"), []string{"shell(git add a/.env)"}},
		"an interpreter":      {running("npm test && python3 x.py"), nil},
		"a doubt":             {running("make $X"), nil},
		"a host":              {Call{Tool: "fetch", Does: DoesFetch, Host: "example.com"}, []string{"fetch(example.com)"}},
		"a server's tool":     {Call{Tool: "x", Does: DoesMCP, Remote: "github/issue"}, []string{"mcp(github/issue)"}},
		"a tool":              {Call{Tool: "deploy", Does: DoesOther}, []string{"deploy"}},
		"nothing to be asked": {running("ls"), nil},
	} {
		v := Set(nil).Judge(tt.call, in(core.ModeAsk))
		if diff := cmp.Diff(tt.want, v.Always); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(v.Always) == 0 {
			continue
		}
		if again := rulesOf(t, FromFolder, List{Allow: v.Always}).Judge(tt.call, in(core.ModeAsk)); again.Effect != Allow {
			t.Errorf("%s: %q does not allow it: %+v", name, v.Always, again)
		}
	}
}

// TestMoreRulesNeverSurprise adds rules to random sets: one that denies never loosens, one that allows never tightens,
// and their order never counts.
func TestMoreRulesNeverSurprise(t *testing.T) {
	t.Parallel()
	texts := []string{
		"*", "read", "write", "shell", "edit", "read(src/**)", "write(src/**)", "write(.env*)",
		"read(/etc/**)", "edit(*.go)", "shell(git *)", "shell(rm *)",
		"shell(*)", "shell(git push)", "fetch(*.org)", "mcp(a/*)", "deploy", "deploy(stage=a*)",
	}
	calls := []Call{
		{Tool: "memory"},
		reading("/home/ann/project/src/a.go"), writing("/home/ann/project/src/.env"), writing("/etc/x"), running("git push; rm a"),
		running("ls > src/a"), running("git $X"), running("cat .env"),
		{Tool: "fetch", Does: DoesFetch, Host: "x.org"},
		{Tool: "m", Does: DoesMCP, Remote: "a/b"},
		{Tool: "deploy", Does: DoesOther, Arguments: map[string]any{"stage": "ab"}},
	}
	strength := map[Effect]int{Allow: 0, Ask: 1, Deny: 2}
	modes := []core.PermissionMode{core.ModeStandard, core.ModeAsk, core.ModeEdits, core.ModePlan, core.ModeAll}
	sources := []Source{FromSystem, FromUser, FromFolder, FromSession}
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(effect Effect) Rule {
		rule, err := Parse(effect, texts[r.IntN(len(texts))], sources[r.IntN(len(sources))])
		if err != nil {
			t.Fatal(err)
		}
		return rule
	}
	for range 5_000 {
		var set Set
		for range r.IntN(5) {
			set = append(set, draw([]Effect{Allow, Ask, Deny}[r.IntN(3)]))
		}
		call, at := calls[r.IntN(len(calls))], in(modes[r.IntN(len(modes))])
		before := set.Judge(call, at)
		if after := append(slices.Clone(set), draw(Deny)).Judge(call, at); strength[after.Effect] < strength[before.Effect] {
			t.Fatalf("%+v in %s: %+v became %+v by a rule that denies", call, at.Mode, before, after)
		}
		if after := append(slices.Clone(set), draw(Allow)).Judge(call, at); strength[after.Effect] > strength[before.Effect] {
			t.Fatalf("%+v in %s: %+v became %+v by a rule that allows", call, at.Mode, before, after)
		}
		turned := slices.Clone(set)
		slices.Reverse(turned)
		if after := turned.Judge(call, at); after.Effect != before.Effect {
			t.Fatalf("%+v in %s: %+v became %+v by the order of rules", call, at.Mode, before, after)
		}
	}
}
