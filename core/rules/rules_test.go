package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

var (
	v1, _ = core.PolicyOf(core.AgentLettaV1)
	v2, _ = core.PolicyOf(core.AgentMemGPTV2)
)

func returned(names ...string) []core.ToolReturn {
	var out []core.ToolReturn
	for _, n := range names {
		out = append(out, core.ToolReturn{Name: n, Text: "ok"})
	}
	return out
}

func saying(name, text string) []core.ToolReturn { return []core.ToolReturn{{Name: name, Text: text}} }

func child(tool string, children ...string) core.ToolRule {
	return core.ToolRule{Type: core.RuleConstrainChild, Tool: tool, Children: children}
}

func TestTheOfferFollowsTheRules(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c", "d"}
	first := core.ToolRule{Type: core.RuleRunFirst, Tool: "b"}
	parent := core.ToolRule{Type: core.RuleParentLast, Tool: "a", Children: []string{"c"}}
	twice := core.ToolRule{Type: core.RuleMaxCount, Tool: "a", MaxCount: 2}
	choose := core.ToolRule{Type: core.RuleConditional, Tool: "a", Mapping: map[string]string{"true": "b", "3": "c", "yes": "d"}}
	fallback := choose
	fallback.DefaultChild = "d"
	strict := choose
	strict.RequireOutput = true
	none, required := core.ToolChoice{}, core.ToolChoice{Mode: core.ChoiceRequired}
	named := func(n string) core.ToolChoice { return core.ToolChoice{Mode: core.ChoiceNamed, Name: n} }
	refused := core.ToolReturn{Name: "a", IsError: true, Text: constraintPrefix + " Cannot call a, valid tools include: [b]"}
	tests := []struct {
		name    string
		rules   []core.ToolRule
		history []core.ToolReturn
		want    []string
		choice  core.ToolChoice
	}{
		{"no rules", nil, nil, all, none},
		{"first is forced", []core.ToolRule{first}, nil, []string{"b"}, named("b")},
		{"one of several firsts", []core.ToolRule{first, {Type: core.RuleRunFirst, Tool: "d"}}, nil, []string{"b", "d"}, required},
		{"first is done", []core.ToolRule{first}, returned("b"), all, none},
		{"a refused call is no first one", []core.ToolRule{first}, []core.ToolReturn{refused}, []string{"b"}, named("b")},
		{"a failed call is one", []core.ToolRule{first}, []core.ToolReturn{{Name: "b", IsError: true, Text: "boom"}}, all, none},
		{"first overrides parent", []core.ToolRule{{Type: core.RuleRunFirst, Tool: "c"}, parent}, nil, []string{"c"}, named("c")},
		{"first that is not attached", []core.ToolRule{{Type: core.RuleRunFirst, Tool: "x"}}, nil, all, none},
		{"child", []core.ToolRule{child("a", "b", "c")}, returned("a"), []string{"b", "c"}, required},
		{"only child", []core.ToolRule{child("a", "c")}, returned("b", "a"), []string{"c"}, named("c")},
		{"child later", []core.ToolRule{child("a", "c")}, returned("a", "c"), all, none},
		{"child not attached falls back to all", []core.ToolRule{child("a", "x")}, returned("a"), all, none},
		{
			"child by its arguments",
			[]core.ToolRule{{Type: core.RuleConstrainChild, Tool: "a", ChildArgs: []core.ChildArgs{{Name: "d"}}}},
			returned("a"),
			[]string{"d"},
			named("d"),
		},
		{"children intersect", []core.ToolRule{child("a", "b", "c"), child("a", "c", "d")}, returned("a"), []string{"c"}, named("c")},
		{"children that exclude each other fall back", []core.ToolRule{child("a", "b"), child("a", "c")}, returned("a"), all, none},
		{"parent hides its children", []core.ToolRule{parent}, nil, []string{"a", "b", "d"}, none},
		{"parent shows its children", []core.ToolRule{parent}, returned("a"), []string{"c"}, named("c")},
		{"parent is over", []core.ToolRule{parent}, returned("a", "c"), []string{"a", "b", "d"}, none},
		{"count not used up", []core.ToolRule{twice}, returned("a"), all, none},
		{"count used up", []core.ToolRule{twice}, returned("a", "b", "a"), []string{"b", "c", "d"}, none},
		{"the fallback keeps counts", []core.ToolRule{twice, child("b", "a")}, returned("a", "a", "b"), []string{"b", "c", "d"}, none},
		{"truth value", []core.ToolRule{choose}, saying("a", "True"), []string{"b"}, named("b")},
		{"number", []core.ToolRule{choose}, saying("a", "3.0"), []string{"c"}, named("c")},
		{"text", []core.ToolRule{choose}, saying("a", ` "yes" `), []string{"d"}, named("d")},
		{"another value", []core.ToolRule{choose}, saying("a", "maybe"), all, none},
		{"another value with a default", []core.ToolRule{fallback}, saying("a", "maybe"), []string{"d"}, named("d")},
		{"another value where one is required", []core.ToolRule{strict}, saying("a", "maybe"), all, none},
		{"conditional later", []core.ToolRule{fallback}, append(saying("a", "true"), returned("b")...), all, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := New(Input{Rules: tt.rules, Attached: all, History: tt.history, StepsLeft: 9, Policy: v1})
			if diff := cmp.Diff(tt.want, s.Offer()); diff != "" {
				t.Errorf("Offer() (-want +got):\n%s", diff)
			}
			if got := s.Choice(); got != tt.choice {
				t.Errorf("Choice() = %+v, want %+v", got, tt.choice)
			}
			if s.Shrunk() != (len(tt.want) < len(all)) {
				t.Errorf("Shrunk() = %v", s.Shrunk())
			}
		})
	}
}

func TestAUsedUpOnlyToolIsNotOfferedUnlessACallIsForced(t *testing.T) {
	t.Parallel()
	in := Input{
		Rules:    []core.ToolRule{{Type: core.RuleMaxCount, Tool: "a", MaxCount: 1}},
		Attached: []string{"a"},
		History:  returned("a"),
		Policy:   v1,
	}
	if got := New(in).Offer(); len(got) != 0 {
		t.Errorf("Offer() = %v", got)
	}
	if got := New(in).Choice(); got != (core.ToolChoice{}) {
		t.Errorf("Choice() = %+v without a tool", got)
	}
	in.Policy = v2
	if got := New(in).Offer(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("Offer() = %v for an agent that must call a tool", got)
	}
}

func TestAnAgentThatMustCallToolsIsForcedAlways(t *testing.T) {
	t.Parallel()
	s := New(Input{Attached: []string{"a", "send_message"}, Terminal: []string{"send_message"}, Policy: v2})
	if got := s.Choice(); got.Mode != core.ChoiceRequired {
		t.Errorf("Choice() = %+v", got)
	}
	if s.Heartbeat("send_message") || !s.Heartbeat("a") {
		t.Error("only tools that do not end the turn decide with a heartbeat")
	}
}

func TestPrefilledArgumentsComeWithTheRuleThatIsActive(t *testing.T) {
	t.Parallel()
	in := Input{Attached: []string{"a", "b"}, Policy: v1, Rules: []core.ToolRule{
		{Type: core.RuleRunFirst, Tool: "a", Args: map[string]any{"x": 1.0}},
		{
			Type:      core.RuleConstrainChild,
			Tool:      "a",
			Children:  []string{"b"},
			ChildArgs: []core.ChildArgs{{Name: "b", Args: map[string]any{"y": "z"}}},
		},
	}}
	s := New(in)
	if diff := cmp.Diff(map[string]any{"x": 1.0}, s.Prefill("a")); diff != "" {
		t.Error(diff)
	}
	if s.Prefill("b") != nil {
		t.Error("arguments of a child came before its parent")
	}
	in.History = returned("a")
	s = New(in)
	if s.Prefill("a") != nil {
		t.Error("the first call's arguments came twice")
	}
	if diff := cmp.Diff(map[string]any{"y": "z"}, s.Prefill("b")); diff != "" {
		t.Error(diff)
	}
	s.Prefill("b")["y"] = "changed"
	if in.Rules[1].ChildArgs[0].Args["y"] != "z" {
		t.Error("changing prefilled arguments changed the rule")
	}
}

func TestARefusedCallIsToldWhatIsAllowedAndWhy(t *testing.T) {
	t.Parallel()
	s := New(Input{Rules: []core.ToolRule{{Type: core.RuleRunFirst, Tool: "b"}}, Attached: []string{"a", "b"}, Policy: v1})
	got := s.Check("a")
	if want := "[ToolConstraintError] Cannot call a, valid tools include: [b]\nRule: b must be called before any other tool."; got != want {
		t.Errorf("Check() = %q\nwant %q", got, want)
	}
	if got, want := s.Check("nonsense"), "[ToolConstraintError] Cannot call nonsense, valid tools include: [b]"; got != want {
		t.Errorf("Check() = %q\nwant %q", got, want)
	}
	if s.Check("b") != "" {
		t.Error("an offered tool is refused")
	}
	if !Refused(core.ToolReturn{IsError: true, Text: got}) || Refused(core.ToolReturn{Text: got}) {
		t.Error("a refusal is not known by its return")
	}
}

func TestATurnGoesOnOrEnds(t *testing.T) {
	t.Parallel()
	exit := core.ToolRule{Type: core.RuleExitLoop, Tool: "a"}
	goOn := core.ToolRule{Type: core.RuleContinueLoop, Tool: "a"}
	must := core.ToolRule{Type: core.RuleRequiredBeforeExit, Tool: "b"}
	done := func(name string, heartbeat bool) Done {
		return Done{Return: core.ToolReturn{Name: name, Text: "ok"}, Heartbeat: heartbeat}
	}
	failed := Done{Return: core.ToolReturn{Name: "a", IsError: true, Text: "boom"}}
	refusedB := Done{Return: core.ToolReturn{Name: "b", IsError: true, Text: constraintPrefix + " no"}}
	onward := Outcome{Continue: true}
	stop := func(r core.StopReason) Outcome { return Outcome{Stop: r} }
	tests := []struct {
		name   string
		policy core.Policy
		rules  []core.ToolRule
		before []core.ToolReturn
		left   int
		done   []Done
		want   Outcome
	}{
		{"v1: a call goes on", v1, nil, nil, 1, []Done{done("a", false)}, onward},
		{"v1: the last step", v1, nil, nil, 0, []Done{done("a", false)}, stop(core.StopMaxSteps)},
		{"v1: a failed call goes on", v1, nil, nil, 1, []Done{failed}, Outcome{Continue: true, Failed: true}},
		{"v1: exit", v1, []core.ToolRule{exit}, nil, 1, []Done{done("a", false)}, stop(core.StopToolRule)},
		{"v1: exit in the last step", v1, []core.ToolRule{exit}, nil, 0, []Done{done("a", false)}, stop(core.StopToolRule)},
		{"v1: exit among others", v1, []core.ToolRule{exit}, nil, 1, []Done{done("b", false), done("a", false)}, stop(core.StopToolRule)},
		{"v1: a failed exit goes on", v1, []core.ToolRule{exit}, nil, 1, []Done{failed}, Outcome{Continue: true, Failed: true}},
		{
			"v1: required overrides exit",
			v1,
			[]core.ToolRule{exit, must},
			nil,
			1,
			[]Done{done("a", false)},
			Outcome{Continue: true, Missing: []string{"b"}},
		},
		{
			"v1: required was called before",
			v1,
			[]core.ToolRule{exit, must},
			returned("b"),
			1,
			[]Done{done("a", false)},
			stop(core.StopToolRule),
		},
		{
			"v1: required is called with it",
			v1,
			[]core.ToolRule{exit, must},
			nil,
			1,
			[]Done{done("b", false), done("a", false)},
			stop(core.StopToolRule),
		},
		{
			"v1: required was refused",
			v1,
			[]core.ToolRule{exit, must},
			nil,
			1,
			[]Done{refusedB, done("a", false)},
			Outcome{Continue: true, Missing: []string{"b"}},
		},
		{"v1: required, no step left", v1, []core.ToolRule{exit, must}, nil, 0, []Done{done("a", false)}, stop(core.StopToolRule)},
		{"v1: the speak tool of others ends nothing", v1, nil, nil, 1, []Done{done("send_message", false)}, onward},
		{"v2: no heartbeat ends", v2, nil, nil, 1, []Done{done("a", false)}, stop(core.StopEndTurn)},
		{"v2: a heartbeat goes on", v2, nil, nil, 1, []Done{done("a", true)}, onward},
		{"v2: a heartbeat in the last step", v2, nil, nil, 0, []Done{done("a", true)}, stop(core.StopMaxSteps)},
		{"v2: a failed call goes on", v2, nil, nil, 1, []Done{failed}, Outcome{Continue: true, Failed: true}},
		{"v2: speaking ends", v2, nil, nil, 1, []Done{done("send_message", false)}, stop(core.StopEndTurn)},
		{"v2: speaking with a heartbeat", v2, nil, nil, 1, []Done{done("send_message", true)}, stop(core.StopToolRule)},
		{"v2: continue rule", v2, []core.ToolRule{goOn}, nil, 1, []Done{done("a", false)}, onward},
		{"v2: child rule", v2, []core.ToolRule{child("a", "b")}, nil, 1, []Done{done("a", false)}, onward},
		{"v2: required", v2, []core.ToolRule{must}, nil, 1, []Done{done("a", false)}, Outcome{Continue: true, Missing: []string{"b"}}},
		{"v2: exit beats continue", v2, []core.ToolRule{goOn, exit}, nil, 1, []Done{done("a", false)}, stop(core.StopEndTurn)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := New(
				Input{
					Rules:     tt.rules,
					Attached:  []string{"a", "b", "send_message"},
					Terminal:  []string{"send_message"},
					History:   tt.before,
					StepsLeft: tt.left,
					Policy:    tt.policy,
				},
			)
			if diff := cmp.Diff(tt.want, s.AfterCalls(tt.done)); diff != "" {
				t.Errorf("AfterCalls() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextEndsATurnOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	must := []core.ToolRule{{Type: core.RuleRequiredBeforeExit, Tool: "a"}}
	tests := []struct {
		name   string
		in     Input
		finish core.Finish
		want   Outcome
	}{
		{"v1", Input{Policy: v1, StepsLeft: 1}, core.FinishStop, Outcome{Stop: core.StopEndTurn}},
		{"v1 cut off", Input{Policy: v1, StepsLeft: 1}, core.FinishLength, Outcome{Stop: core.StopMaxTokensExceeded}},
		{"v1 required", Input{Policy: v1, StepsLeft: 1, Rules: must}, core.FinishStop, Outcome{Continue: true, Missing: []string{"a"}}},
		{"v1 required, no step left", Input{Policy: v1, Rules: must}, core.FinishStop, Outcome{Stop: core.StopEndTurn}},
		{"v2", Input{Policy: v2, StepsLeft: 1}, core.FinishStop, Outcome{Stop: core.StopNoToolCall}},
		{"v2 cut off", Input{Policy: v2, StepsLeft: 1}, core.FinishLength, Outcome{Stop: core.StopMaxTokensExceeded}},
	}
	for _, tt := range tests {
		tt.in.Attached = []string{"a"}
		got := New(tt.in).AfterText(tt.finish)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if alert := got.Alert(); (alert != "") != (len(tt.want.Missing) > 0) ||
			!strings.Contains(alert, strings.Join(tt.want.Missing, "")) {
			t.Errorf("%s: Alert() = %q", tt.name, alert)
		}
	}
}

func TestParallelCallsAreWelcomeOnlyWithoutRules(t *testing.T) {
	t.Parallel()
	approval := core.ToolRule{Type: core.RuleRequiresApproval, Tool: "a"}
	for name, tt := range map[string]struct {
		rules  []core.ToolRule
		policy core.Policy
		want   bool
	}{
		"none":                   {nil, v1, true},
		"approval":               {[]core.ToolRule{approval}, v1, true},
		"exit":                   {[]core.ToolRule{{Type: core.RuleExitLoop, Tool: "a"}}, v1, false},
		"of a tool not attached": {[]core.ToolRule{{Type: core.RuleExitLoop, Tool: "x"}}, v1, true},
		"one call a response":    {nil, v2, false},
	} {
		if got := New(Input{Rules: tt.rules, Attached: []string{"a"}, Policy: tt.policy}).Parallel(); got != tt.want {
			t.Errorf("%s: Parallel() = %v", name, got)
		}
	}
}

func TestRulesAreExplainedInOneSentenceEach(t *testing.T) {
	t.Parallel()
	rules := []core.ToolRule{
		{Type: core.RuleRunFirst, Tool: "a"},
		{Type: core.RuleExitLoop, Tool: "b"},
		{Type: core.RuleContinueLoop, Tool: "c"},
		child("a", "b", "c", "gone"),
		child("b", "c"),
		child("c", "gone"),
		{Type: core.RuleConditional, Tool: "a", Mapping: map[string]string{"yes": "b", "no": "gone", "maybe": "c"}, DefaultChild: "c"},
		{Type: core.RuleParentLast, Tool: "a", Children: []string{"b"}},
		{Type: core.RuleParentLast, Tool: "c", Children: []string{"gone"}},
		{Type: core.RuleMaxCount, Tool: "a", MaxCount: 1},
		{Type: core.RuleMaxCount, Tool: "b", MaxCount: 3},
		{Type: core.RuleRequiredBeforeExit, Tool: "a"},
		{Type: core.RuleRequiresApproval, Tool: "a"},
		{Type: core.RuleExitLoop, Tool: "gone"},
		{Type: core.RuleExitLoop, Tool: "b"},
	}
	want := []string{
		"a must be called before any other tool.",
		"Calling b ends your turn.",
		"Calling c does not end your turn.",
		"After a the next call must be one of b, c.",
		"After b the next call must be c.",
		`After a call c if it returns "maybe", b if it returns "yes", c otherwise.`,
		"b may only be called right after a.",
		"a may be called at most once for one request.",
		"b may be called at most 3 times for one request.",
	}
	if diff := cmp.Diff(want, Explain(rules, []string{"a", "b", "c"})); diff != "" {
		t.Errorf("Explain() (-want +got):\n%s", diff)
	}
}

func TestARefusedToolIsToldTheRulesThatNameIt(t *testing.T) {
	t.Parallel()
	named := map[string]core.ToolRule{
		"as the rule's own tool":     {Type: core.RuleMaxCount, Tool: "x", MaxCount: 1},
		"as a child":                 child("a", "x"),
		"as what an output leads to": {Type: core.RuleConditional, Tool: "a", Mapping: map[string]string{"yes": "x"}},
		"as what other outputs do": {
			Type:         core.RuleConditional,
			Tool:         "a",
			Mapping:      map[string]string{"yes": "b"},
			DefaultChild: "x",
		},
		"as what another tool goes before": {Type: core.RuleRunFirst, Tool: "a"},
	}
	for name, rule := range named {
		s := New(Input{Rules: []core.ToolRule{rule}, Attached: []string{"a", "b", "x"}})
		if got := s.about("x"); len(got) != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	other := []core.ToolRule{{Type: core.RuleMaxCount, Tool: "a", MaxCount: 1}, child("a", "b")}
	if got := New(Input{Rules: other, Attached: []string{"a", "b", "x"}}).about("x"); len(got) != 0 {
		t.Errorf("rules of others: %q", got)
	}
}

func TestAToolThatTwoRulesRequireIsMissedOnce(t *testing.T) {
	t.Parallel()
	must := core.ToolRule{Type: core.RuleRequiredBeforeExit, Tool: "a"}
	s := New(Input{Rules: []core.ToolRule{must, must}, Attached: []string{"a"}})
	if diff := cmp.Diff([]string{"a"}, s.missing(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestRulesThatCannotBeObeyedAreInvalid(t *testing.T) {
	t.Parallel()
	valid := []core.ToolRule{
		{Type: core.RuleRunFirst, Tool: "a"},
		{Type: core.RuleExitLoop, Tool: "a"},
		{Type: core.RuleContinueLoop, Tool: "a"},
		child("a", "b"),
		{Type: core.RuleConditional, Tool: "a", Mapping: map[string]string{"x": "b"}},
		{Type: core.RuleParentLast, Tool: "a", Children: []string{"b"}},
		{Type: core.RuleMaxCount, Tool: "a", MaxCount: 1},
		{Type: core.RuleRequiredBeforeExit, Tool: "a"},
		{Type: core.RuleRequiresApproval, Tool: "a"},
	}
	for _, r := range valid {
		if err := Validate(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
		r.Tool = ""
		if err := Validate(r); core.KindOf(err) != core.Invalid {
			t.Errorf("%+v without a tool: %v", r, err)
		}
	}
	invalid := []core.ToolRule{
		{Type: "never", Tool: "a"},
		child("a"), child("a", ""),
		{Type: core.RuleParentLast, Tool: "a"},
		{Type: core.RuleConditional, Tool: "a"},
		{Type: core.RuleConditional, Tool: "a", Mapping: map[string]string{"x": ""}},
		{Type: core.RuleMaxCount, Tool: "a"},
	}
	for _, r := range invalid {
		if err := Validate(r); core.KindOf(err) != core.Invalid {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
