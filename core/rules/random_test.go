package rules

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// random returns an input of few names, so that rules meet each other.
func random(r *rand.Rand) Input {
	names := []string{"a", "b", "c", "d", "e"}
	some := func() []string {
		var out []string
		for _, n := range names {
			if r.IntN(2) == 0 {
				out = append(out, n)
			}
		}
		return out
	}
	types := []core.ToolRuleType{
		core.RuleRunFirst, core.RuleExitLoop, core.RuleContinueLoop, core.RuleConstrainChild, core.RuleConditional, core.RuleParentLast,
		core.RuleMaxCount, core.RuleRequiredBeforeExit, core.RuleRequiresApproval,
	}
	in := Input{Attached: some(), StepsLeft: r.IntN(3), Policy: v1}
	if r.IntN(2) == 0 {
		in.Policy = v2
	}
	for range r.IntN(5) {
		in.Rules = append(in.Rules, core.ToolRule{
			Type: types[r.IntN(len(types))], Tool: names[r.IntN(5)], Children: some(), MaxCount: 1 + r.IntN(2),
			Mapping: map[string]string{"ok": names[r.IntN(5)]}, RequireOutput: r.IntN(2) == 0,
		})
	}
	for range r.IntN(5) {
		in.History = append(in.History, core.ToolReturn{Name: names[r.IntN(5)], Text: []string{"ok", "other"}[r.IntN(2)]})
	}
	return in
}

func TestWhateverTheRulesAre(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		in := random(r)
		s := New(in)
		offer := s.Offer()
		fail := func(what string) { t.Fatalf("%s: offer %v, choice %+v of %+v", what, offer, s.Choice(), in) }
		if !isSubsequence(offer, in.Attached) {
			fail("the offer is not part of what is attached, in its order")
		}
		if len(offer) == 0 && len(in.Attached) > 0 &&
			(in.Policy.ForceTool || !slices.ContainsFunc(in.Rules, func(r core.ToolRule) bool { return r.Type == core.RuleMaxCount })) {
			fail("nothing is offered")
		}
		for _, name := range []string{"a", "b", "c", "d", "e", "unknown"} {
			if refusal := s.Check(name); (refusal == "") != slices.Contains(offer, name) {
				fail("a call is refused though offered, or allowed though not: " + name)
			}
		}
		if c := s.Choice(); c.Mode == core.ChoiceNamed && !slices.Equal(offer, []string{c.Name}) ||
			len(offer) == 0 && c.Mode != core.ChoiceAuto {
			fail("a call is forced that is not the offer")
		}
		if len(in.Rules) == 0 && s.Shrunk() {
			fail("the offer shrank without a rule")
		}
		for _, name := range offer {
			o := s.AfterCalls([]Done{{Return: core.ToolReturn{Name: name, Text: "ok"}}})
			if o.Continue == (o.Stop != "") || o.Continue && in.StepsLeft == 0 {
				fail("a turn both goes on and ends, or goes on without a step")
			}
		}
		if diff := cmp.Diff(offer, New(in).Offer()); diff != "" {
			fail("the same input gave another offer")
		}
	}
}

func isSubsequence(part, whole []string) bool {
	for _, name := range whole {
		if len(part) > 0 && part[0] == name {
			part = part[1:]
		}
	}
	return len(part) == 0
}
