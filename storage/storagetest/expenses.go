package storagetest

import (
	"time"

	"loci/core"
)

func (h *home) expense(agent core.AgentID, run core.RunID, at time.Time, cost *core.Money) core.Expense {
	e := core.Expense{
		ID: core.NewExpenseID(), Charge: core.Charge{Agent: agent, Run: run, For: core.ForStep}, At: at, Model: "v/m",
		Usage: core.Usage{Prompt: 100, Completion: 10, Cached: new(int)}, Cost: cost,
	}
	*e.Usage.Cached = 60
	h.ok(h.s.Expenses().Put(h.ctx, &e))
	return e
}

func (h *home) expenses() {
	sum := func(q core.ExpenseQuery) []core.Spent { return must[[]core.Spent](h)(h.s.Expenses().Sum(h.ctx, q)) }
	a := h.agent("a")
	day := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
	two := 2 * core.Dollar
	h.expense(a.ID, "run-1", day.Add(time.Hour), &two)
	h.expense(a.ID, "run-2", day.Add(25*time.Hour), nil)
	one := h.expense("agent-b", "run-3", day.Add(26*time.Hour), &two)

	equal(h, []core.Spent{{}}, sum(core.ExpenseQuery{Agent: "nobody"}))
	equal(h, []core.Spent{{Calls: 3, Prompt: 300, Completion: 30, Cached: 180, Cost: 2 * two, Unpriced: 1}}, sum(core.ExpenseQuery{}))
	equal(h, []core.Spent{{Key: "run-1", Calls: 1, Prompt: 100, Completion: 10, Cached: 60, Cost: two}},
		sum(core.ExpenseQuery{By: core.ByRun, Runs: []core.RunID{"run-1", "run-9"}}))
	days := sum(core.ExpenseQuery{By: core.ByDay, Since: day, Until: day.AddDate(0, 0, 3)})
	equal(h, []string{"2026-03-29", "2026-03-30"}, []string{days[0].Key, days[1].Key})
	equal(h, []int{1, 2}, []int{days[0].Calls, days[1].Calls})
	_, err := h.s.Expenses().Sum(h.ctx, core.ExpenseQuery{By: "colour"})
	h.kind(core.Invalid, err)

	one.Open, one.Least, one.LeastCost = true, core.Usage{Prompt: 7}, new(core.Money)
	h.ok(h.s.Expenses().Put(h.ctx, &one))
	equal(h, 2, sum(core.ExpenseQuery{Settled: true})[0].Calls)
	h.ok(h.s.Expenses().Close(h.ctx))
	equal(h, []core.Spent{{Calls: 1, Prompt: 7, Cached: 60, Estimated: 1}}, sum(core.ExpenseQuery{Agent: "agent-b"}))
	h.ok(h.s.Expenses().Delete(h.ctx, one.ID))
	equal(h, 2, sum(core.ExpenseQuery{})[0].Calls)

	budgets := func() []core.Budget { return must[[]core.Budget](h)(h.s.Expenses().Budgets(h.ctx)) }
	equal(h, []core.Budget{}, budgets())
	h.ok(h.s.Expenses().SetBudget(h.ctx, core.Budget{Agent: a.ID, Tokens: 5}))
	h.ok(h.s.Expenses().SetBudget(h.ctx, core.Budget{Money: two}))
	h.ok(h.s.Expenses().SetBudget(h.ctx, core.Budget{Money: core.Dollar, Tokens: 3}))
	equal(h, []core.Budget{{Money: core.Dollar, Tokens: 3}, {Agent: a.ID, Tokens: 5}}, budgets())
	h.ok(h.s.Expenses().SetBudget(h.ctx, core.Budget{Agent: a.ID}))
	equal(h, 1, len(budgets()))
	h.kind(core.NotFound, h.s.Expenses().SetBudget(h.ctx, core.Budget{Agent: "agent-none", Tokens: 1}))
	h.kind(core.Invalid, h.s.Expenses().SetBudget(h.ctx, core.Budget{Tokens: -1}))
}
