package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"loci/core"
)

// constraintPrefix begins the return of a call that a rule forbade; such a call never ran, so it isn't part of the
// history.
const constraintPrefix = "[ToolConstraintError]"

// Input is what a step's rules are evaluated on.
type Input struct {
	Rules     []core.ToolRule
	Attached  []string          // names of the attached tools, in the order they are sent
	Terminal  []string          // those that end the turn of a tool-forced agent even without a rule
	History   []core.ToolReturn // the returns of this run so far, in order
	StepsLeft int               // steps that may follow this one
	Policy    core.Policy
}

// State holds the result for one step.
type State struct {
	in       Input
	attached map[string]bool
	called   []core.ToolReturn // the history without calls that a rule refused or a person denied
	offer    []string
	active   bool // a rule forces the next call
}

// New evaluates the rules for one step.
func New(in Input) *State {
	s := &State{in: in, attached: make(map[string]bool, len(in.Attached))}
	for _, name := range in.Attached {
		s.attached[name] = true
	}
	for _, r := range in.History {
		if !Refused(r) && !r.IsDenied() {
			s.called = append(s.called, r)
		}
	}
	s.solve()
	return s
}

// Refused reports whether the return is that of a call a rule forbade.
func Refused(r core.ToolReturn) bool {
	return r.IsError && strings.HasPrefix(r.Text, constraintPrefix)
}

// Offer returns the names of the tools to offer, in order of attachment. It has all of them while no rule constrains the
// next call. It is empty if nothing is attached, or if every tool has reached its maximum count and the agent may answer
// in plain text.
func (s *State) Offer() []string { return slices.Clone(s.offer) }

// Shrunk reports whether the offer is smaller than what is attached.
func (s *State) Shrunk() bool { return len(s.offer) < len(s.in.Attached) }

// Choice returns how strongly a call is requested: named if exactly one tool is forced, required if several are or the
// policy forces one, else left to the model.
func (s *State) Choice() core.ToolChoice {
	switch {
	case len(s.offer) == 0:
		return core.ToolChoice{}
	case s.active && len(s.offer) == 1:
		return core.ToolChoice{Mode: core.ChoiceNamed, Name: s.offer[0]}
	case s.active || s.in.Policy.ForceTool:
		return core.ToolChoice{Mode: core.ChoiceRequired}
	default:
		return core.ToolChoice{}
	}
}

// Parallel reports whether several calls in one response are welcome: only if the policy allows them and no rule other
// than an approval depends on the order of calls.
func (s *State) Parallel() bool {
	if s.in.Policy.OneCall {
		return false
	}
	for _, r := range s.in.Rules {
		if r.Type != core.RuleRequiresApproval && s.attached[r.Tool] {
			return false
		}
	}
	return true
}

// Left reports whether a step may follow this one.
func (s *State) Left() bool { return s.in.StepsLeft > 0 }

// Heartbeat reports whether request_heartbeat in calls of the tool decides whether the turn goes on.
func (s *State) Heartbeat(tool string) bool { return s.in.Policy.Heartbeats && !s.terminal(tool) }

// Prefill returns the arguments that rules set for a call of the tool now; they override the model's. Nil: none.
func (s *State) Prefill(tool string) map[string]any {
	var args map[string]any
	add := func(more map[string]any) {
		if len(more) == 0 {
			return
		}
		if args == nil {
			args = map[string]any{}
		}
		maps.Copy(args, more)
	}
	last, begun := s.last()
	for _, r := range s.in.Rules {
		switch {
		case r.Type == core.RuleRunFirst && !begun && r.Tool == tool:
			add(r.Args)
		case r.Type == core.RuleConstrainChild && begun && r.Tool == last.Name:
			for _, c := range r.ChildArgs {
				if c.Name == tool {
					add(c.Args)
				}
			}
		}
	}
	return args
}

// Check returns why a call of the tool is refused, as the text of its error return; empty means allowed.
func (s *State) Check(tool string) string {
	if slices.Contains(s.offer, tool) {
		return ""
	}
	text := fmt.Sprintf("%s Cannot call %s, valid tools include: [%s]", constraintPrefix, tool, strings.Join(s.offer, ", "))
	if !s.attached[tool] {
		return text
	}
	for _, sentence := range s.about(tool) {
		text += "\nRule: " + sentence
	}
	return text
}

// solve intersects what each active rule allows. Before the first call only the rules that say which tool is first
// apply.
func (s *State) solve() {
	allowed := maps.Clone(s.attached)
	bound := s.in.Rules
	if first := s.firsts(); len(first) > 0 && len(s.called) == 0 {
		s.active, allowed, bound = true, first, nil
	}
	for _, r := range bound {
		if set, constrains := s.allows(r); constrains {
			maps.DeleteFunc(allowed, func(name string, _ bool) bool { return !set[name] })
		}
		s.active = s.active || s.forces(r)
	}
	if len(allowed) == 0 {
		s.active = false // rules that leave no tool are ignored; maximum counts still apply
		allowed = s.unused()
	}
	if len(allowed) == 0 && s.in.Policy.ForceTool {
		allowed = s.attached // a forced call needs a tool
	}
	for _, name := range s.in.Attached {
		if allowed[name] {
			s.offer = append(s.offer, name)
		}
	}
}

// firsts returns the attached tools that must be called first.
func (s *State) firsts() map[string]bool {
	names := map[string]bool{}
	for _, r := range s.in.Rules {
		if r.Type == core.RuleRunFirst && s.attached[r.Tool] {
			names[r.Tool] = true
		}
	}
	return names
}

// allows returns which tools one rule allows next; constrains is false if it doesn't apply now.
func (s *State) allows(r core.ToolRule) (set map[string]bool, constrains bool) {
	if !s.attached[r.Tool] {
		return nil, false
	}
	last, begun := s.last()
	follows := begun && last.Name == r.Tool
	switch r.Type {
	case core.RuleConstrainChild:
		return s.named(children(r)), follows
	case core.RuleConditional:
		if child, known := conditional(r, last.Text); follows && known {
			return s.named([]string{child}), true
		}
		return nil, follows && r.RequireOutput
	case core.RuleParentLast:
		if follows {
			return s.named(r.Children), true
		}
		return s.except(r.Children), true
	case core.RuleMaxCount:
		return s.except([]string{r.Tool}), s.exhausted(r)
	case core.RuleRunFirst, core.RuleExitLoop, core.RuleContinueLoop, core.RuleRequiredBeforeExit, core.RuleRequiresApproval:
		return nil, false
	}
	return nil, false
}

// forces reports whether the rule requires another call now.
func (s *State) forces(r core.ToolRule) bool {
	last, begun := s.last()
	if !begun || last.Name != r.Tool || !s.attached[r.Tool] {
		return false
	}
	switch r.Type {
	case core.RuleConstrainChild, core.RuleParentLast:
		return true
	case core.RuleConditional:
		_, known := conditional(r, last.Text)
		return known
	case core.RuleRunFirst,
		core.RuleExitLoop,
		core.RuleContinueLoop,
		core.RuleMaxCount,
		core.RuleRequiredBeforeExit,
		core.RuleRequiresApproval:
		return false
	}
	return false
}

func (s *State) named(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		if s.attached[name] {
			set[name] = true
		}
	}
	return set
}

func (s *State) except(names []string) map[string]bool {
	set := maps.Clone(s.attached)
	for _, name := range names {
		delete(set, name)
	}
	return set
}

// unused returns the attached tools that haven't reached their maximum count.
func (s *State) unused() map[string]bool {
	set := maps.Clone(s.attached)
	for _, r := range s.in.Rules {
		if r.Type == core.RuleMaxCount && s.exhausted(r) {
			delete(set, r.Tool)
		}
	}
	return set
}

func (s *State) exhausted(r core.ToolRule) bool {
	n := 0
	for _, c := range s.called {
		if c.Name == r.Tool {
			n++
		}
	}
	return n >= r.MaxCount
}

func (s *State) last() (core.ToolReturn, bool) {
	if len(s.called) == 0 {
		return core.ToolReturn{}, false
	}
	return s.called[len(s.called)-1], true
}

// has reports whether the attached tool has a rule of the type.
func (s *State) has(t core.ToolRuleType, tool string) bool {
	return s.attached[tool] && slices.ContainsFunc(s.in.Rules, func(r core.ToolRule) bool { return r.Type == t && r.Tool == tool })
}

func (s *State) terminal(tool string) bool {
	return s.has(core.RuleExitLoop, tool) || s.in.Policy.ForceTool && slices.Contains(s.in.Terminal, tool)
}

// children returns the tools that a child rule names, in its children or in their arguments.
func children(r core.ToolRule) []string {
	names := slices.Clone(r.Children)
	for _, c := range r.ChildArgs {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}
