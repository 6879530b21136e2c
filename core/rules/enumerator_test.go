package rules

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"loci/core"
)

// enumerator answers what the solver answers, from the sentences of the contract: it asks of each tool and each rule on
// its own whether the next call may be that tool, and shares no code with the solver.
type enumerator struct {
	in     Input
	called []string // the calls that count, in order
	value  string   // what the last of them returned
}

func enumerate(in Input) enumerator {
	e := enumerator{in: in}
	for _, r := range in.History {
		if r.IsError && strings.HasPrefix(r.Text, "[ToolConstraintError]") {
			continue
		}
		e.called, e.value = append(e.called, r.Name), r.Text
	}
	return e
}

func (e enumerator) counts(r core.ToolRule) bool { return slices.Contains(e.in.Attached, r.Tool) }

func (e enumerator) after(tool string) bool {
	return len(e.called) > 0 && e.called[len(e.called)-1] == tool
}

// begins returns the tools that the first call must be one of.
func (e enumerator) begins() []string {
	var first []string
	if len(e.called) > 0 {
		return nil
	}
	for _, r := range e.in.Rules {
		if r.Type == core.RuleRunFirst && e.counts(r) {
			first = append(first, r.Tool)
		}
	}
	return first
}

// child returns which tool a conditional rule names now.
func (e enumerator) child(r core.ToolRule) string {
	for value, tool := range r.Mapping {
		if value == e.value {
			return tool
		}
	}
	return r.DefaultChild
}

func (e enumerator) times(tool string) int {
	n := 0
	for _, name := range e.called {
		if name == tool {
			n++
		}
	}
	return n
}

// forbids reports whether one rule forbids that one tool is called next.
func (e enumerator) forbids(r core.ToolRule, tool string) bool {
	if !e.counts(r) {
		return false
	}
	switch r.Type {
	case core.RuleConstrainChild:
		arguments := func(c core.ChildArgs) bool { return c.Name == tool }
		return e.after(r.Tool) && !slices.Contains(r.Children, tool) && !slices.ContainsFunc(r.ChildArgs, arguments)
	case core.RuleConditional:
		if !e.after(r.Tool) {
			return false
		}
		if child := e.child(r); child != "" {
			return child != tool
		}
		return r.RequireOutput
	case core.RuleParentLast:
		return e.after(r.Tool) != slices.Contains(r.Children, tool)
	case core.RuleMaxCount:
		return r.Tool == tool && e.times(tool) >= r.MaxCount
	case core.RuleRunFirst, core.RuleExitLoop, core.RuleContinueLoop, core.RuleRequiredBeforeExit, core.RuleRequiresApproval:
	}
	return false
}

// demands reports whether one rule wants another call now, whatever it is.
func (e enumerator) demands(r core.ToolRule) bool {
	if !e.counts(r) || !e.after(r.Tool) {
		return false
	}
	return r.Type == core.RuleConstrainChild || r.Type == core.RuleParentLast || r.Type == core.RuleConditional && e.child(r) != ""
}

// offer returns the tools that may come next, and whether one of them must.
func (e enumerator) offer() (tools []string, forced bool) {
	pick := func(may func(tool string) bool) []string {
		var picked []string
		for _, tool := range e.in.Attached {
			if may(tool) {
				picked = append(picked, tool)
			}
		}
		return picked
	}
	if first := e.begins(); len(first) > 0 {
		return pick(func(tool string) bool { return slices.Contains(first, tool) }), true
	}
	tools = pick(func(tool string) bool {
		return !slices.ContainsFunc(e.in.Rules, func(r core.ToolRule) bool { return e.forbids(r, tool) })
	})
	if len(tools) > 0 {
		return tools, slices.ContainsFunc(e.in.Rules, e.demands)
	}
	tools = pick(func(tool string) bool {
		return !slices.ContainsFunc(e.in.Rules, func(r core.ToolRule) bool {
			return r.Type == core.RuleMaxCount && e.forbids(r, tool)
		})
	})
	if len(tools) == 0 && e.in.Policy.ForceTool {
		return e.in.Attached, false
	}
	return tools, false
}

// agree compares the solver with the enumerator and returns what differs.
func agree(in Input) string {
	s := New(in)
	tools, forced := enumerate(in).offer()
	if !slices.Equal(s.Offer(), tools) {
		return "the offer is " + strings.Join(s.Offer(), " ") + ", not " + strings.Join(tools, " ")
	}
	want := core.ToolChoice{}
	switch {
	case len(tools) == 0:
	case forced && len(tools) == 1:
		want = core.ToolChoice{Mode: core.ChoiceNamed, Name: tools[0]}
	case forced || in.Policy.ForceTool:
		want = core.ToolChoice{Mode: core.ChoiceRequired}
	}
	if s.Choice() != want {
		return "the choice is not what is forced"
	}
	return ""
}

// everyRule returns each rule that there is over a few tools, with every set of children and every mapping of one value.
func everyRule(tools []string) []core.ToolRule {
	var all []core.ToolRule
	for _, tool := range tools {
		for _, kind := range []core.ToolRuleType{
			core.RuleRunFirst, core.RuleExitLoop, core.RuleContinueLoop, core.RuleRequiredBeforeExit, core.RuleRequiresApproval,
		} {
			all = append(all, core.ToolRule{Type: kind, Tool: tool})
		}
		for _, most := range []int{1, 2} {
			all = append(all, core.ToolRule{Type: core.RuleMaxCount, Tool: tool, MaxCount: most})
		}
		for set := 1; set < 1<<len(tools); set++ {
			var children []string
			for i, child := range tools {
				if set&(1<<i) != 0 {
					children = append(children, child)
				}
			}
			all = append(all, core.ToolRule{Type: core.RuleConstrainChild, Tool: tool, Children: children},
				core.ToolRule{Type: core.RuleParentLast, Tool: tool, Children: children})
		}
		for _, child := range tools {
			for _, other := range append([]string{""}, tools...) {
				for _, strict := range []bool{false, true} {
					all = append(all, core.ToolRule{
						Type: core.RuleConditional, Tool: tool, Mapping: map[string]string{"yes": child},
						DefaultChild: other, RequireOutput: strict,
					})
				}
			}
		}
	}
	return all
}

// everyHistory returns each sequence of up to two calls. Of what they returned only the last counts.
func everyHistory(tools []string) [][]core.ToolReturn {
	all := [][]core.ToolReturn{nil}
	for _, last := range tools {
		for _, value := range []string{"yes", "no"} {
			end := core.ToolReturn{Name: last, Text: value}
			all = append(all, []core.ToolReturn{end})
			for _, first := range tools {
				all = append(all, []core.ToolReturn{{Name: first, Text: "yes"}, end})
			}
		}
	}
	return all
}

func TestTheSolverEqualsTheEnumeratorForTwoRulesOverThreeTools(t *testing.T) {
	t.Parallel()
	tools := []string{"a", "b", "c"}
	rules, histories := everyRule(tools), everyHistory(tools)
	compared := 0
	for i, one := range rules {
		for _, other := range rules[i:] {
			for _, history := range histories {
				in := Input{Rules: []core.ToolRule{one, other}, Attached: tools, History: history, StepsLeft: 1, Policy: v1}
				if difference := agree(in); difference != "" {
					t.Fatalf("%s: %+v", difference, in)
				}
				compared++
			}
		}
	}
	if want := len(rules) * (len(rules) + 1) / 2 * 25; compared != want || len(rules) != 135 {
		t.Errorf("%d rules were compared %d times, not %d", len(rules), compared, want)
	}
}

func TestTheSolverEqualsTheEnumeratorOnLargerSets(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 26))
	shrunk, forced := 0, 0
	for range 100_000 {
		in := random(r)
		if r.IntN(4) == 0 && len(in.History) > 0 {
			in.History = append(in.History, core.ToolReturn{Name: "a", IsError: true, Text: constraintPrefix + " Cannot call a"})
		}
		for range r.IntN(8) {
			in.Rules = append(in.Rules, random(r).Rules...)
		}
		if difference := agree(in); difference != "" {
			t.Fatalf("%s: %+v", difference, in)
		}
		s := New(in)
		if s.Shrunk() {
			shrunk++
		}
		if s.Choice().Mode == core.ChoiceNamed {
			forced++
		}
	}
	if shrunk < 10_000 || forced < 1_000 {
		t.Errorf("of 100,000 sets only %d shrank the offer and %d forced a call", shrunk, forced)
	}
}
