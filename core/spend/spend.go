// Package spend keeps what asking models costs, and keeps it within budgets.
//
// Promises: each call of a model that costs something is stored with what it used; while there is a budget, what a call may
// come to at most is stored before it is made, so that neither a restart nor a kill makes anything forgotten or leaves
// anything reserved; an unknown price is unknown, never nothing.
//
// It stands between whoever asks models and whoever finds them: Models and Embedders return the same ports, metered. For
// whom a call is made is told by its context (core.WithCharge).
//
// Layer 2: it imports core.
package spend

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"loci/core"
)

// Config joins what a Ledger uses. Store is required.
type Config struct {
	Store  core.ExpenseStore
	Clock  func() time.Time // nil: time.Now
	Zone   *time.Location   // whose days a budget counts; nil: the machine's
	Logger *slog.Logger     // nil: discarded

	Patience time.Duration // how long a call waits for those under way that hold what a budget has left; 0: two minutes
}

// Ledger is what was spent, and what may be. It is safe for concurrent use.
type Ledger struct {
	cfg Config

	turn chan struct{} // one slot: its holder decides on a call
	bell chan struct{} // closed, and made anew, when a call has ended; guarded by mu

	mu     sync.Mutex
	warned map[core.AgentID]string // the last day on which somebody was warned, by whose budget it is
}

// New returns a ledger on a store.
func New(cfg Config) *Ledger {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Patience <= 0 {
		cfg.Patience = defaultPatience
	}
	return &Ledger{cfg: cfg, turn: make(chan struct{}, 1), bell: make(chan struct{}), warned: map[core.AgentID]string{}}
}

// Load ends the calls that an earlier process was making. It is for the start, before any model is asked.
func (l *Ledger) Load(ctx context.Context) error { return l.cfg.Store.Close(ctx) }

// Sum adds up what was spent.
func (l *Ledger) Sum(ctx context.Context, q core.ExpenseQuery) ([]core.Spent, error) {
	if q.Zone == nil {
		q.Zone = l.cfg.Zone
	}
	return l.cfg.Store.Sum(ctx, q)
}

// Today is the beginning of the day that budgets count now.
func (l *Ledger) Today() time.Time {
	now := l.cfg.Clock().In(l.cfg.Zone)
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, l.cfg.Zone)
}

// State is a budget and what of it is used today, what is reserved for calls under way among it.
type State struct {
	core.Budget
	Spent core.Spent
}

// States returns the budgets with what is used of them.
func (l *Ledger) States(ctx context.Context) ([]State, error) {
	all, err := l.cfg.Store.Budgets(ctx)
	if err != nil {
		return nil, err
	}
	var out []State
	for _, b := range all {
		s, err := l.state(ctx, b, false)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// state returns a budget with what is used of it; settled: without the calls under way.
func (l *Ledger) state(ctx context.Context, b core.Budget, settled bool) (State, error) {
	sums, err := l.cfg.Store.Sum(ctx, core.ExpenseQuery{Agent: b.Agent, Since: l.Today(), Settled: settled})
	if err != nil {
		return State{}, err
	}
	return State{Budget: b, Spent: sums[0]}, nil
}

// SetBudget stores a budget in place of the one before.
func (l *Ledger) SetBudget(ctx context.Context, b core.Budget) error {
	if err := b.Validate(); err != nil {
		return err
	}
	err := l.cfg.Store.SetBudget(ctx, b)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.warned, b.Agent)
	return err
}

// Change is what becomes of a budget. A limit that it leaves out stays as it is.
type Change struct {
	Agent  core.AgentID // empty: the home
	Money  *core.Money  // 0: no limit any more
	Tokens *int         // likewise
}

// Change changes a budget. One without limits is none.
func (l *Ledger) Change(ctx context.Context, c Change) error {
	select {
	case l.turn <- struct{}{}: // of two changes at once neither undoes the other
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	all, err := l.cfg.Store.Budgets(ctx)
	if err != nil {
		return err
	}
	b := core.Budget{Agent: c.Agent}
	if i := slices.IndexFunc(all, func(b core.Budget) bool { return b.Agent == c.Agent }); i >= 0 {
		b = all[i]
	}
	if c.Money != nil {
		b.Money = *c.Money
	}
	if c.Tokens != nil {
		b.Tokens = *c.Tokens
	}
	return l.SetBudget(ctx, b)
}

// limits are the budgets that a call for an agent is within.
func (l *Ledger) limits(ctx context.Context, agent core.AgentID) ([]core.Budget, error) {
	all, err := l.cfg.Store.Budgets(ctx)
	if err != nil {
		return nil, err
	}
	var out []core.Budget
	for _, b := range all {
		if b.Agent == "" || b.Agent == agent {
			out = append(out, b)
		}
	}
	return out, nil
}

// put stores an expense. A call that was made was made: it is stored whatever became of who asked.
func (l *Ledger) put(ctx context.Context, e *core.Expense) {
	if err := l.cfg.Store.Put(context.WithoutCancel(ctx), e); err != nil {
		l.cfg.Logger.ErrorContext(ctx, "an expense is not stored", slog.String("model", string(e.Model)), slog.Any("error", err))
	}
}
