package core

import (
	"context"
	"time"
)

// ExpenseID names an expense: "expense-" and a UUIDv4.
type ExpenseID string

// NewExpenseID returns a fresh id.
func NewExpenseID() ExpenseID { return NewID[ExpenseID]("expense") }

// Purpose is what a model was asked for.
type Purpose string

// The purposes.
const (
	ForStep       Purpose = "step"
	ForCompaction Purpose = "compaction"
	ForEmbedding  Purpose = "embedding"
)

// Charge says for whom a model is asked. What has no agent is the home's alone.
type Charge struct {
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Step         StepID
	For          Purpose
}

type chargeKey struct{}

// WithCharge returns a context in which models are asked for somebody.
func WithCharge(ctx context.Context, c Charge) context.Context {
	return context.WithValue(ctx, chargeKey{}, c)
}

// ChargeOf says for whom models are asked in a context.
func ChargeOf(ctx context.Context) Charge {
	c, _ := ctx.Value(chargeKey{}).(Charge)
	return c
}

// Expense is one call of a model: what was reserved for it while it is under way, and then what it used.
type Expense struct {
	ID ExpenseID
	Charge
	At        time.Time
	Model     Handle
	Usage     Usage
	Cost      *Money // nil: the price is unknown
	Open      bool   // under way: Usage and Cost are the most that it may come to
	Least     Usage  // with Open: what counts if nobody ever says what it came to
	LeastCost *Money
	Estimated bool // nobody said how many tokens it took
}

// Spent is the sum of expenses.
type Spent struct {
	Key        string // what they have in common, by ExpenseQuery.By
	Calls      int
	Prompt     int
	Completion int
	Cached     int
	Cost       Money
	Unpriced   int // calls that Cost leaves out, since their price is unknown
	Estimated  int // calls whose tokens are estimated
}

// Tokens are those that a budget counts.
func (s *Spent) Tokens() int { return s.Prompt + s.Completion }

// ExpenseQuery selects expenses, and says how they are added up.
type ExpenseQuery struct {
	Agent        AgentID
	Conversation ConversationID
	Runs         []RunID
	Step         StepID
	Since, Until time.Time // Until is not among them
	By           ExpenseKey
	Settled      bool           // without those under way
	Zone         *time.Location // of days; nil: UTC
}

// ExpenseKey is by what expenses are added up.
type ExpenseKey string

// The keys. All is one sum.
const (
	ByAll          ExpenseKey = ""
	ByAgent        ExpenseKey = "agent"
	ByConversation ExpenseKey = "conversation"
	ByRun          ExpenseKey = "run"
	ByStep         ExpenseKey = "step"
	ByModel        ExpenseKey = "model"
	ByPurpose      ExpenseKey = "purpose"
	ByDay          ExpenseKey = "day"
)

// Budget is what may be spent in a day, by an agent or by all of a home; 0 is no limit.
type Budget struct {
	Agent  AgentID // empty: the home
	Money  Money
	Tokens int
}

// maxBudgetTokens is more than anybody uses in a day.
const maxBudgetTokens = 1_000_000_000_000

// Validate reports the first fault of a budget.
func (b *Budget) Validate() error {
	if b.Money < 0 || b.Money > mostMoney || b.Tokens < 0 || b.Tokens > maxBudgetTokens {
		return E(Invalid, "a budget is no negative amount, and no more than %s or %d tokens", mostMoney, maxBudgetTokens)
	}
	return nil
}

// ExpenseStore keeps what models cost, and the budgets.
type ExpenseStore interface {
	// Put stores an expense in place of one with its id.
	Put(ctx context.Context, e *Expense) error
	Delete(ctx context.Context, id ExpenseID) error
	// Close ends those under way, at the least that they came to: whoever made them is gone.
	Close(ctx context.Context) error
	// Sum adds expenses up, by rising keys; with ByAll it returns one sum.
	Sum(ctx context.Context, q ExpenseQuery) ([]Spent, error)
	Budgets(ctx context.Context) ([]Budget, error)
	// SetBudget stores a budget in place of the agent's or the home's; one without limits is none.
	SetBudget(ctx context.Context, b Budget) error
}
