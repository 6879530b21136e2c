package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loci/core"
)

// Explain returns one sentence for each rule a model should know about, for <tool_usage_rules>. It leaves out approvals
// and tools required before the end, which the program enforces itself.
func Explain(rules []core.ToolRule, attached []string) []string {
	return New(Input{Rules: rules, Attached: attached}).explain(func(core.ToolRule) bool { return true })
}

// about returns the sentences that name a tool, or forbid it now.
func (s *State) about(tool string) []string {
	return s.explain(func(r core.ToolRule) bool {
		set, constrains := s.allows(r)
		return constrains && !set[tool] || r.Tool == tool || slices.Contains(children(r), tool) ||
			slices.Contains(slices.Collect(maps.Values(r.Mapping)), tool) || r.DefaultChild == tool || r.Type == core.RuleRunFirst
	})
}

func (s *State) explain(want func(core.ToolRule) bool) []string {
	var sentences []string
	for _, r := range s.in.Rules {
		if !s.attached[r.Tool] || !want(r) {
			continue
		}
		if sentence := s.sentence(r); sentence != "" && !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}

func (s *State) sentence(r core.ToolRule) string {
	switch r.Type {
	case core.RuleRunFirst:
		return fmt.Sprintf("%s must be called before any other tool.", r.Tool)
	case core.RuleExitLoop:
		return fmt.Sprintf("Calling %s ends your turn.", r.Tool)
	case core.RuleContinueLoop:
		return fmt.Sprintf("Calling %s does not end your turn.", r.Tool)
	case core.RuleConstrainChild:
		if names := s.kept(children(r)); len(names) > 0 {
			return fmt.Sprintf("After %s the next call must be %s.", r.Tool, oneOf(names))
		}
	case core.RuleConditional:
		return s.conditionalSentence(r)
	case core.RuleParentLast:
		if names := s.kept(r.Children); len(names) > 0 {
			return fmt.Sprintf("%s may only be called right after %s.", strings.Join(names, ", "), r.Tool)
		}
	case core.RuleMaxCount:
		return fmt.Sprintf("%s may be called at most %s for one request.", r.Tool, times(r.MaxCount))
	case core.RuleRequiredBeforeExit, core.RuleRequiresApproval:
	}
	return ""
}

func (s *State) conditionalSentence(r core.ToolRule) string {
	var cases []string
	for _, key := range slices.Sorted(maps.Keys(r.Mapping)) {
		if s.attached[r.Mapping[key]] {
			cases = append(cases, fmt.Sprintf("%s if it returns %q", r.Mapping[key], key))
		}
	}
	if s.attached[r.DefaultChild] {
		cases = append(cases, r.DefaultChild+" otherwise")
	}
	if len(cases) == 0 {
		return ""
	}
	return fmt.Sprintf("After %s call %s.", r.Tool, strings.Join(cases, ", "))
}

func (s *State) kept(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.attached[name] })
}

func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Validate checks that a rule can be obeyed.
func Validate(r core.ToolRule) error {
	if !r.Type.Valid() {
		return core.E(core.Invalid, "tool rule type %q is not known", string(r.Type))
	}
	if r.Tool == "" {
		return core.E(core.Invalid, "a %s rule needs a tool_name", r.Type)
	}
	switch r.Type {
	case core.RuleConstrainChild, core.RuleParentLast:
		if names := children(r); len(names) == 0 || slices.Contains(names, "") {
			return core.E(core.Invalid, "the %s rule of %s needs the names of its children", r.Type, r.Tool)
		}
	case core.RuleConditional:
		if len(r.Mapping) == 0 || slices.Contains(slices.Collect(maps.Values(r.Mapping)), "") {
			return core.E(core.Invalid, "the conditional rule of %s needs a child_output_mapping from values to tools", r.Tool)
		}
	case core.RuleMaxCount:
		if r.MaxCount < 1 {
			return core.E(core.Invalid, "the max_count_per_step rule of %s needs a max_count_limit of at least 1", r.Tool)
		}
	case core.RuleRunFirst, core.RuleExitLoop, core.RuleContinueLoop, core.RuleRequiredBeforeExit, core.RuleRequiresApproval:
	}
	return nil
}
