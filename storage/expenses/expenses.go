// Package expenses stores what models used and cost, and what may be spent in a day.
//
// It works within a scope of the store's: whoever calls it brings the statements.
package expenses

import (
	"context"
	"fmt"
	"strings"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

// Store is the expenses and budgets within a scope.
type Store struct{ On *sqlite.Scope }

var _ core.ExpenseStore = Store{}

type expenseRow struct {
	ID           core.ExpenseID      `db:"id"`
	At           sqlite.Micros       `db:"at"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Run          core.RunID          `db:"run_id"`
	Step         core.StepID         `db:"step_id"`
	Purpose      core.Purpose        `db:"purpose"`
	Model        core.Handle         `db:"model"`
	Prompt       int                 `db:"prompt"`
	Completion   int                 `db:"completion"`
	Cached       int                 `db:"cached"`
	Written      int                 `db:"written"`
	Cost         *core.Money         `db:"cost"`
	Open         bool                `db:"open"`
	LeastPrompt  int                 `db:"least_prompt"`
	LeastCost    *core.Money         `db:"least_cost"`
	Estimated    bool                `db:"estimated"`
}

// Put implements core.ExpenseStore.
func (s Store) Put(ctx context.Context, e *core.Expense) error {
	row := expenseRow{
		ID: e.ID, At: sqlite.ToMicros(e.At), Agent: e.Agent, Conversation: e.Conversation, Run: e.Run, Step: e.Step, Purpose: e.For,
		Model: e.Model, Prompt: e.Usage.Prompt, Completion: e.Usage.Completion, Cached: count(e.Usage.Cached),
		Written: count(e.Usage.CacheWrite), Cost: e.Cost, Open: e.Open, LeastPrompt: e.Least.Prompt, LeastCost: e.LeastCost,
		Estimated: e.Estimated,
	}
	return s.On.Write(ctx, "put expense", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Named(ctx, `INSERT INTO expenses (id, at, agent_id, conversation_id, run_id, step_id, purpose, model, prompt,
			completion, cached, written, cost, open, least_prompt, least_cost, estimated)
			VALUES (:id, :at, :agent_id, :conversation_id, :run_id, :step_id, :purpose, :model, :prompt,
			:completion, :cached, :written, :cost, :open, :least_prompt, :least_cost, :estimated)
			ON CONFLICT (id) DO UPDATE SET prompt = excluded.prompt, completion = excluded.completion, cached = excluded.cached,
			written = excluded.written, cost = excluded.cost, open = excluded.open, least_prompt = excluded.least_prompt,
			least_cost = excluded.least_cost, estimated = excluded.estimated`, row)
		return err
	})
}

func count(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Delete implements core.ExpenseStore.
func (s Store) Delete(ctx context.Context, id core.ExpenseID) error {
	return s.On.Write(ctx, "delete expense", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `DELETE FROM expenses WHERE id = $1`, id)
		return err
	})
}

// Close implements core.ExpenseStore.
func (s Store) Close(ctx context.Context) error {
	return s.On.Write(ctx, "close expenses", func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `UPDATE expenses SET open = 0, estimated = 1, prompt = least_prompt, completion = 0, cost = least_cost
			WHERE open = 1`)
		return err
	})
}

type sumRow struct {
	Key        string     `db:"key"`
	Calls      int        `db:"calls"`
	Prompt     int        `db:"prompt"`
	Completion int        `db:"completion"`
	Cached     int        `db:"cached"`
	Cost       core.Money `db:"cost"`
	Unpriced   int        `db:"unpriced"`
	Estimated  int        `db:"estimated"`
}

func (r *sumRow) spent() (core.Spent, error) { return core.Spent(*r), nil }

// Sum implements core.ExpenseStore.
func (s Store) Sum(ctx context.Context, q core.ExpenseQuery) ([]core.Spent, error) {
	if q.By == core.ByDay {
		return s.days(ctx, q)
	}
	column, ok := map[core.ExpenseKey]string{
		core.ByAll: "''", core.ByAgent: "agent_id", core.ByConversation: "conversation_id", core.ByRun: "run_id",
		core.ByStep: "step_id", core.ByModel: "model", core.ByPurpose: "purpose",
	}[q.By]
	if !ok {
		return nil, core.E(core.Invalid, "expenses cannot be added up by %q", q.By)
	}
	where, args := conditions(q)
	ctx, on := s.On.Read(ctx)
	var rows []sumRow
	const sums = `COUNT(*) AS calls, COALESCE(SUM(prompt), 0) AS prompt, COALESCE(SUM(completion), 0) AS completion,
		COALESCE(SUM(cached), 0) AS cached, COALESCE(SUM(cost), 0) AS cost, COUNT(*) - COUNT(cost) AS unpriced,
		COALESCE(SUM(estimated), 0) AS estimated`
	text := `SELECT ` + column + ` AS key, ` + sums + ` FROM expenses` + where
	if q.By != core.ByAll {
		text += ` GROUP BY ` + column + ` ORDER BY ` + column
	}
	if err := on.All(ctx, &rows, text, args...); err != nil {
		return nil, sqlite.Classify("add expenses up", err)
	}
	return sqlite.Convert(rows, (*sumRow).spent)
}

// mostDays bounds a sum by days.
const mostDays = 400

// days adds up each day of a zone by itself: a day may have 23 hours or 25.
func (s Store) days(ctx context.Context, q core.ExpenseQuery) ([]core.Spent, error) {
	zone := q.Zone
	if zone == nil {
		zone = time.UTC
	}
	q.By = core.ByAll
	if q.Since.IsZero() || q.Until.IsZero() {
		return nil, core.E(core.Invalid, "a sum by days needs its first and its last")
	}
	end := q.Until
	var out []core.Spent
	day := q.Since.In(zone)
	for n := 0; day.Before(end) && n < mostDays; n++ {
		next := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, zone)
		q.Since, q.Until = day, next
		if next.After(end) {
			q.Until = end
		}
		one, err := s.Sum(ctx, q)
		if err != nil {
			return nil, err
		}
		if one[0].Calls > 0 {
			one[0].Key = day.Format(time.DateOnly)
			out = append(out, one[0])
		}
		day = next
	}
	return out, nil
}

// conditions are a query's, with their arguments.
func conditions(q core.ExpenseQuery) (where string, args []any) {
	var all []string
	add := func(text string, arg any) {
		args = append(args, arg)
		all = append(all, fmt.Sprintf(text, len(args)))
	}
	if q.Agent != "" {
		add("agent_id = $%d", q.Agent)
	}
	if q.Conversation != "" {
		add("conversation_id = $%d", q.Conversation)
	}
	if q.Step != "" {
		add("step_id = $%d", q.Step)
	}
	if len(q.Runs) > 0 {
		var marks []string
		for _, run := range q.Runs {
			args = append(args, run)
			marks = append(marks, fmt.Sprintf("$%d", len(args)))
		}
		all = append(all, "run_id IN ("+strings.Join(marks, ", ")+")")
	}
	if !q.Since.IsZero() {
		add("at >= $%d", sqlite.ToMicros(q.Since))
	}
	if !q.Until.IsZero() {
		add("at < $%d", sqlite.ToMicros(q.Until))
	}
	if q.Settled {
		all = append(all, "open = 0")
	}
	if len(all) > 0 {
		where = ` WHERE ` + strings.Join(all, ` AND `)
	}
	return where, args
}

type budgetRow struct {
	Agent  core.AgentID `db:"agent_id"`
	Money  core.Money   `db:"money"`
	Tokens int          `db:"tokens"`
}

func (r *budgetRow) budget() (core.Budget, error) { return core.Budget(*r), nil }

// Budgets implements core.ExpenseStore.
func (s Store) Budgets(ctx context.Context) ([]core.Budget, error) {
	ctx, q := s.On.Read(ctx)
	var rows []budgetRow
	if err := q.All(ctx, &rows, `SELECT agent_id, money, tokens FROM budgets ORDER BY agent_id`); err != nil {
		return nil, sqlite.Classify("list budgets", err)
	}
	return sqlite.Convert(rows, (*budgetRow).budget)
}

// SetBudget implements core.ExpenseStore.
func (s Store) SetBudget(ctx context.Context, b core.Budget) error {
	if err := b.Validate(); err != nil {
		return err
	}
	return s.On.Atomic(ctx, "set budget", func(ctx context.Context, q *sqlite.Querier) error {
		if b.Money == 0 && b.Tokens == 0 {
			_, err := q.Exec(ctx, `DELETE FROM budgets WHERE agent_id = $1`, b.Agent)
			return err
		}
		var one int
		if b.Agent != "" {
			ok, err := q.Find(ctx, &one, `SELECT 1 FROM agents WHERE id = $1 AND deleted_at IS NULL`, b.Agent)
			if err != nil {
				return err
			}
			if !ok {
				return sqlite.NotFound("agent", string(b.Agent))
			}
		}
		_, err := q.Exec(ctx, `INSERT INTO budgets (agent_id, money, tokens) VALUES ($1, $2, $3)
			ON CONFLICT (agent_id) DO UPDATE SET money = excluded.money, tokens = excluded.tokens`, b.Agent, b.Money, b.Tokens)
		return err
	})
}
