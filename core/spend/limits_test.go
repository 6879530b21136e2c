package spend

import (
	"strings"
	"testing"

	"loci/core"
)

func (h *house) change(c Change) error { return h.Change(h.t.Context(), c) }

func TestALimitThatIsSetLeavesTheOtherOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	scout := h.agent()
	five, none, some, zero := 5*core.Dollar, core.Money(0), 1000, 0
	for _, step := range []struct {
		change Change
		want   []core.Budget
	}{
		{Change{Money: &five}, []core.Budget{{Money: five}}},
		{Change{Tokens: &some}, []core.Budget{{Money: five, Tokens: some}}},
		{Change{Agent: scout, Tokens: &some}, []core.Budget{{Money: five, Tokens: some}, {Agent: scout, Tokens: some}}},
		{Change{Money: &none}, []core.Budget{{Tokens: some}, {Agent: scout, Tokens: some}}},
		{Change{Agent: scout, Money: &five, Tokens: &zero}, []core.Budget{{Tokens: some}, {Agent: scout, Money: five}}},
		{Change{Tokens: &zero}, []core.Budget{{Agent: scout, Money: five}}},
		{Change{Agent: scout, Money: &none, Tokens: &zero}, nil},
	} {
		h.ok(h.change(step.change))
		states, err := h.States(t.Context())
		h.ok(err)
		if len(states) != len(step.want) {
			t.Fatalf("after %+v there are %+v", step.change, states)
		}
		for i, s := range states {
			if s.Budget != step.want[i] {
				t.Errorf("after %+v it is %+v, want %+v", step.change, s.Budget, step.want[i])
			}
		}
	}
	less := core.Money(-1)
	if err := h.change(Change{Money: &less}); core.KindOf(err) != core.Invalid {
		t.Errorf("a negative limit is %v", err)
	}
}

func TestACallThatCostsNothingPassesABudgetInMoneyThatIsSpent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.ask(core.Charge{}, 10) // it costs 1.1 cents
	h.ok(err)
	h.budget(core.Budget{Money: core.Dollar / 100})
	if _, err := h.ask(core.Charge{}, 10); core.KindOf(err) != core.NoCredit {
		t.Fatalf("a call that costs something is %v", err)
	}
	h.info.Price = &core.Price{}
	_, err = h.ask(core.Charge{}, 10)
	h.ok(err)
	h.info.Price = &core.Price{Output: 1}
	if _, err := h.ask(core.Charge{}, 10); core.KindOf(err) != core.NoCredit {
		t.Errorf("a call whose answer costs something is %v", err)
	}
	h.info.Price = &core.Price{}
	h.budget(core.Budget{Money: core.Dollar / 100, Tokens: 2000})
	if _, err := h.ask(core.Charge{}, 10); core.KindOf(err) != core.NoCredit {
		t.Errorf("with the tokens spent too, it is %v", err)
	}
}

func TestARefusalSaysWhenCallsUnderWayHoldWhatIsLeft(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]core.Budget{"money": {Money: core.Dollar / 20}, "tokens": {Tokens: 12_000}} {
		h := newHouse(t)
		h.budget(b)
		var inner error
		h.reply = func(yield func(core.Delta, error) bool) {
			h.reply = func(func(core.Delta, error) bool) {}
			_, inner = h.ask(core.Charge{}, 2_000)
			yield(core.Delta{End: true, Usage: &core.Usage{Prompt: 1, Completion: 1}}, nil)
		}
		_, err := h.ask(core.Charge{}, 1_000)
		h.ok(err)
		hint := core.HintOf(inner)
		if core.KindOf(inner) != core.NoCredit || !strings.Contains(inner.Error(), "calls under way hold") ||
			!strings.Contains(hint, "again in a moment") || strings.Contains(hint, "midnight") {
			t.Errorf("%s: a second call beside one that may use all is %v (%s)", name, inner, hint)
		}
		_, err = h.ask(core.Charge{}, 2_000)
		h.ok(err)
	}
}

func TestARefusalNamesTheLimitThatWasReached(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	scout := h.agent()
	for want, b := range map[string]core.Budget{
		"loci budget --agent " + string(scout) + " --tokens N":      {Agent: scout, Money: core.Dollar, Tokens: 10},
		"loci budget --agent " + string(scout) + " --money DOLLARS": {Agent: scout, Money: 1, Tokens: 1_000_000},
	} {
		h.budget(b)
		_, err := h.ask(core.Charge{Agent: scout}, 1_000)
		if hint := core.HintOf(err); !strings.Contains(hint, want) || !strings.Contains(hint, "midnight") {
			t.Errorf("%v (%s) does not say %s", err, hint, want)
		}
	}
	h.info.Price = nil
	h.budget(core.Budget{Agent: scout, Money: core.Dollar})
	_, err := h.ask(core.Charge{Agent: scout}, 10)
	if hint := core.HintOf(err); !strings.Contains(hint, "loci budget --agent "+string(scout)+" --tokens") {
		t.Errorf("%v (%s)", err, hint)
	}
}

func TestWhatAModelThinksBesideALimitedAnswerIsReservedToo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.info.Reasoning = true
	settings := core.ModelSettings{MaxOutputTokens: 1_000, ReasoningEffort: "high"}
	for name, c := range map[string]struct {
		budget      core.Budget
		limit, most int
	}{
		"no budget":      {core.Budget{}, 1_000, 0},
		"a large budget": {core.Budget{Tokens: 1_000_000}, 1_000, 10_000},
		"a small budget": {core.Budget{Tokens: 4_000}, 1_000, 3_998},
		"hardly any":     {core.Budget{Tokens: 602}, 600, 600},
	} {
		h.budget(c.budget)
		reserved := 0
		h.reply = func(func(core.Delta, error) bool) { reserved = h.spent(core.ExpenseQuery{}).Completion }
		chat, _, err := h.Models(justChat{h: h}).Chat(t.Context(), "vendor/m", nil)
		h.ok(err)
		for _, err := range chat.Stream(t.Context(), core.ChatRequest{System: "hello", Settings: settings}) {
			h.ok(err)
		}
		if h.limit != c.limit || h.most != c.most || reserved != c.most {
			t.Errorf("%s: it may answer %d and %d with its thoughts, of which %d are reserved", name, h.limit, h.most, reserved)
		}
	}
}
