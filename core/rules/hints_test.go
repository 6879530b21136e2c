package rules

import (
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"loci/core"
)

// TestEveryViolationHasItsHint keeps what a model is told, word for word: it is how the model learns the rule.
func TestEveryViolationHasItsHint(t *testing.T) {
	t.Parallel()
	rule := func(kind core.ToolRuleType, tool string, children ...string) core.ToolRule {
		return core.ToolRule{Type: kind, Tool: tool, Children: children}
	}
	choose := core.ToolRule{Type: core.RuleConditional, Tool: "a", Mapping: map[string]string{"yes": "b", "no": "c"}}
	fallback := choose
	fallback.DefaultChild = "d"
	for name, tt := range map[string]struct {
		rules   []core.ToolRule
		history []core.ToolReturn
		call    string
	}{
		"first":                   {[]core.ToolRule{rule(core.RuleRunFirst, "a")}, nil, "b"},
		"one_of_several_firsts":   {[]core.ToolRule{rule(core.RuleRunFirst, "a"), rule(core.RuleRunFirst, "b")}, nil, "c"},
		"child":                   {[]core.ToolRule{rule(core.RuleConstrainChild, "a", "b")}, returned("a"), "c"},
		"one_of_several_children": {[]core.ToolRule{rule(core.RuleConstrainChild, "a", "b", "c")}, returned("a"), "d"},
		"a_child_itself":          {[]core.ToolRule{child("a", "b"), child("a", "b", "c")}, returned("a"), "c"},
		"conditional":             {[]core.ToolRule{choose}, saying("a", "yes"), "c"},
		"conditional_default":     {[]core.ToolRule{fallback}, saying("a", "maybe"), "b"},
		"parent":                  {[]core.ToolRule{rule(core.RuleParentLast, "a", "b")}, nil, "b"},
		"after_the_parent":        {[]core.ToolRule{rule(core.RuleParentLast, "a", "b")}, returned("a"), "a"},
		"count_of_one":            {[]core.ToolRule{{Type: core.RuleMaxCount, Tool: "a", MaxCount: 1}}, returned("a"), "a"},
		"count_of_several":        {[]core.ToolRule{{Type: core.RuleMaxCount, Tool: "a", MaxCount: 2}}, returned("a", "b", "a"), "a"},
		"several_rules": {
			[]core.ToolRule{child("a", "b", "c"), {Type: core.RuleMaxCount, Tool: "b", MaxCount: 1}}, returned("b", "a"), "b",
		},
		"conditional_other": {[]core.ToolRule{choose}, saying("a", "yes"), "d"},
		"not_attached":      {[]core.ToolRule{rule(core.RuleRunFirst, "a")}, nil, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := Input{Rules: tt.rules, Attached: []string{"a", "b", "c", "d"}, History: tt.history, StepsLeft: 1, Policy: v1}
			hint := New(in).Check(tt.call)
			if hint == "" {
				t.Fatal("the call is not refused")
			}
			golden.RequireEqual(t, hint+"\n")
		})
	}
	t.Run("required_before_exit", func(t *testing.T) {
		t.Parallel()
		must := []core.ToolRule{rule(core.RuleRequiredBeforeExit, "a")}
		s := New(Input{Rules: must, Attached: []string{"a", "b"}, StepsLeft: 1, Policy: v1})
		golden.RequireEqual(t, s.AfterText(core.FinishStop).Alert()+"\n")
	})
}
