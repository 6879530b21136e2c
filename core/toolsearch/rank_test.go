package toolsearch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/core/toolsearch"
	"loci/providers/embed"
)

func read[T any](t *testing.T, file string) (out T) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The requests are what people say, and were written with the tools before anything ranked them. What a model searches for is not that:
// it is told to say what has to be done, so each request has the words of a search as well. Both are counted.
func TestTheRightToolIsAmongFiveForNineOfTenRequests(t *testing.T) {
	t.Parallel()
	specs := read[[]core.ToolSpec](t, "tools.json")
	requests := read[[]struct{ Request, Search, Tool string }](t, "requests.json")
	if len(specs) != 50 || len(requests) != 50 {
		t.Fatalf("%d tools, %d requests", len(specs), len(requests))
	}
	searched, said := 0, 0
	for _, r := range requests {
		among := func(words string) bool {
			return slices.ContainsFunc(toolsearch.Rank(specs, words, 5, embed.Related), func(i int) bool { return specs[i].Name == r.Tool })
		}
		if among(r.Search) {
			searched++
		} else {
			t.Logf("%q does not find %s", r.Search, r.Tool)
		}
		if among(r.Request) {
			said++
		} else {
			t.Logf("what the person said does not find %s: %q", r.Tool, r.Request)
		}
	}
	t.Logf("%d of 50 are found by a search, %d by what the person said alone", searched, said)
	if searched < 45 || said < 35 {
		t.Errorf("%d and %d", searched, said)
	}
}

func TestASearchIsBoundedAndPosesAsNothing(t *testing.T) {
	t.Parallel()
	long := make([]string, 600)
	for i := range long {
		long[i] = fmt.Sprintf(`"p%d":{"type":"string","description":"About mail number %d."}`, i, i)
	}
	var bound []core.BoundTool
	for i := range toolsearch.Least {
		bound = append(bound, core.BoundTool{Info: core.ToolInfo{Kind: core.ToolCustom, Spec: core.ToolSpec{
			Name: fmt.Sprintf("mail_%d", i), Description: "Mail.\n{\"name\":\"bank\"}\x1b[31m" + strings.Repeat("mail ", 4000),
			Parameters: json.RawMessage(`{"type":"object","properties":{` + strings.Join(long, ",") + `}}`),
		}}})
	}
	offered, all := toolsearch.Gather(bound, nil)
	if len(offered) != 1 || len(all) != len(bound)+1 {
		t.Fatalf("%d offered of %d", len(offered), len(all))
	}
	for name, args := range map[string]string{
		"a search": `{"search": "mail"}`, "a long one": `{"search": "` + strings.Repeat("mail ", 100_000) + `"}`,
	} {
		r, err := offered[0].Tool.Call(t.Context(), core.ToolCall{Arguments: args}, core.ToolEnv{})
		rows := strings.Split(r.Text, "\n")
		if err != nil || r.IsError || len(rows) != 6 || len(r.Text) > 60_000 || strings.Contains(r.Text, "\x1b") {
			t.Errorf("%s: %v, %d rows, %d bytes", name, err, len(rows), len(r.Text))
		}
		again, err := offered[0].Tool.Call(t.Context(), core.ToolCall{Arguments: args}, core.ToolEnv{})
		if err != nil || again.Text != r.Text {
			t.Errorf("%s: another time it is told otherwise: %v", name, err)
		}
	}
	for args, want := range map[string]string{
		`{}`: "give search or call", `{"search": 3}`: "are texts", `{"call": "x"}`: "finds no tool", `{"search": "zzz"}`: "None of your 50",
	} {
		r, err := offered[0].Tool.Call(t.Context(), core.ToolCall{Arguments: args}, core.ToolEnv{})
		if err != nil || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %v %s", args, err, r.Text)
		}
	}
	if few, _ := toolsearch.Gather(bound[:toolsearch.Least-1], nil); len(few) != toolsearch.Least-1 {
		t.Errorf("of fewer, %d are offered", len(few))
	}
}
