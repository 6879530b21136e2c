package permission

import (
	"slices"
	"strings"
	"testing"

	"loci/core"
)

func TestARemedyLetsTheVeryCallPassAndNoWiderOneIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		list   List
		source Source
		call   Call
		want   string
	}{
		"a line":          {call: Call{Does: DoesShell, Line: "go test ./..."}, want: "--allow 'shell(go test *)'"},
		"two lines":       {call: Call{Does: DoesShell, Line: "make && touch a"}, want: "--allow 'shell(make)' --allow 'shell(touch a)'"},
		"a file":          {call: Call{Does: DoesWrite, Paths: []string{"/p/src/a.go"}}, want: "--allow 'write(./src/**)'"},
		"a file's name":   {call: Call{Does: DoesWrite, Paths: []string{"/p/it's"}}, want: `--allow 'write(./it'\''s)'`},
		"a secret":        {call: Call{Does: DoesRead, Paths: []string{"/p/.env"}}, want: "--allow 'read(./.env)'"},
		"a host":          {call: Call{Does: DoesFetch, Host: "example.com"}, want: "--allow 'fetch(example.com)'"},
		"a line in doubt": {call: Call{Does: DoesShell, Line: "eval $x"}, want: "--allow 'shell'"},
		"doubt, and a deny": {
			list: List{Deny: []string{"shell(rm *)"}}, call: Call{Does: DoesShell, Line: "eval $x"}, want: "--permission-mode all",
		},
		"a person asks": {
			list: List{Ask: []string{"shell(make *)"}}, call: Call{Does: DoesShell, Line: "make"}, want: "--permission-mode all",
		},
		"the system asks": {list: List{Ask: []string{"shell"}}, source: FromSystem, call: Call{Does: DoesShell, Line: "make"}},
	} {
		if tt.source == "" {
			tt.source = FromUser
		}
		rules, err := ParseList(tt.list, tt.source)
		if err != nil {
			t.Fatal(err)
		}
		set := Set(rules)
		tt.call.Tool = "tool"
		at := Place{Mode: core.ModeAsk, Root: "/p", Home: "/home/ada"}
		v := set.Judge(tt.call, at)
		if v.Effect != Ask {
			t.Fatalf("%s: %+v", name, v)
		}
		got := set.Remedy(tt.call, at, v)
		if flags := strings.Join(got.Flags(), " "); flags != tt.want {
			t.Errorf("%s: %q, not %q", name, flags, tt.want)
		}
		if len(got.Rules) > 0 {
			allowed, err := ParseList(List{Allow: got.Rules}, FromSession)
			if v := slices.Concat(set, allowed).Judge(tt.call, at); err != nil || v.Effect != Allow {
				t.Errorf("%s: with the rules it is %+v, %v", name, v, err)
			}
		}
	}
}
