package spend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"loci/core"
)

const (
	// leastAnswer is how many tokens a budget must leave for an answer; a call for fewer isn't made.
	leastAnswer = 512
	// warnShare is the share of a budget from which on a person is warned.
	warnShare = 0.8
	// defaultPatience is how long a call waits for those under way.
	defaultPatience = 2 * time.Minute
)

// errHeld is the cause of a refusal that ends with a call under way.
var errHeld = errors.New("calls under way hold what is left of it")

// call is a call that somebody wants to make.
type call struct {
	charge core.Charge
	model  core.Handle
	price  *core.Price
	prompt int // estimated tokens
	answer int // the most that the answer may have; 0: there is none
}

// grant is leave to make a call.
type grant struct {
	expense  core.Expense
	reserved bool // it is stored already
	answer   int  // what the answer may have
	warnings []string
}

// reserve gives leave to make a call, within each budget that it falls under, or says why not. Where there is a budget, the
// most that the call may come to is stored before it returns. A call that only those under way keep from being paid waits for the end of
// one: else runs side by side would starve each other where a budget ends.
func (l *Ledger) reserve(ctx context.Context, c call) (grant, error) {
	waited, stop := context.WithTimeout(ctx, l.cfg.Patience)
	defer stop()
	for {
		ended := l.ended()
		g, err := l.reserveNow(ctx, c)
		if !errors.Is(err, errHeld) {
			return g, err
		}
		select {
		case <-ended:
		case <-waited.Done():
			if ctx.Err() != nil {
				return g, context.Cause(ctx)
			}
			return g, err
		}
	}
}

// ended is closed when the next call ends.
func (l *Ledger) ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bell
}

// ring wakes whoever waits for the end of a call.
func (l *Ledger) ring() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.bell)
	l.bell = make(chan struct{})
}

func (l *Ledger) reserveNow(ctx context.Context, c call) (grant, error) {
	g := grant{answer: c.answer, expense: core.Expense{ID: core.NewExpenseID(), Charge: c.charge, Model: c.model}}
	limits, err := l.limits(ctx, c.charge.Agent)
	if err != nil {
		return g, err
	}
	if len(limits) == 0 {
		g.expense.At = l.cfg.Clock()
		return g, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return g, context.Cause(ctx)
	}
	var states []State
	for _, b := range limits {
		s, err := l.state(ctx, b, false)
		if err != nil {
			return g, err
		}
		wanted := g.answer
		if g.answer, err = s.pays(&c, wanted); err != nil {
			return g, l.heldBack(ctx, &s, &c, wanted, err)
		}
		states = append(states, s)
	}
	e := &g.expense
	e.At, e.Open = l.cfg.Clock(), true
	e.Usage, e.Least = core.Usage{Prompt: c.prompt, Completion: g.answer}, core.Usage{Prompt: c.prompt}
	if c.price != nil {
		least := c.price.Asking(c.prompt)
		most := least.Plus(core.Money(g.answer) * c.price.Answering(c.prompt))
		e.Cost, e.LeastCost = &most, &least
	}
	if err := l.cfg.Store.Put(ctx, e); err != nil {
		return g, err
	}
	g.reserved = true
	if c.charge.For != core.ForStep { // nobody is shown what is said beside the others
		return g, nil
	}
	for i := range states {
		if w := l.warning(&states[i]); w != "" {
			g.warnings = append(g.warnings, w)
		}
	}
	return g, nil
}

// pays says how long the answer to a call may be for a budget to pay both, at most as long as wanted.
func (s *State) pays(c *call, wanted int) (int, error) {
	granted := wanted
	if s.Tokens > 0 {
		granted = min(granted, s.Tokens-s.Spent.Tokens()-c.prompt)
		if s.Spent.Tokens()+c.prompt > s.Tokens || granted < min(wanted, leastAnswer) {
			return 0, s.refused(c, fmt.Sprintf("%d of %d tokens", min(s.Spent.Tokens(), s.Tokens), s.Tokens), "--tokens N")
		}
	}
	if s.Money == 0 {
		return granted, nil
	}
	if c.price == nil {
		if s.Tokens > 0 {
			return granted, nil
		}
		return 0, core.E(core.NoCredit, "%s is not asked: what it costs is unknown, and %s has a budget in money", c.model, s.whose()).
			WithHint("set its prices (docs/costs.md says where), or a limit in tokens too: %s --tokens 1000000; or choose another model",
				s.command())
	}
	asking, each := c.price.Asking(c.prompt), c.price.Answering(c.prompt)
	if asking == 0 && (each == 0 || granted == 0) {
		return granted, nil // it costs nothing, whatever was spent
	}
	left := s.Money - s.Spent.Cost - asking
	if each > 0 && left >= 0 {
		granted = int(min(core.Money(granted), left/each))
	}
	if left < 0 || granted < min(wanted, leastAnswer) {
		return 0, s.refused(c, s.Spent.Cost.String()+" of "+s.Money.String(), "--money DOLLARS")
	}
	return granted, nil
}

// heldBack returns why a call is refused: if the budget would pay it but for the calls under way, those hold what is left of it.
func (l *Ledger) heldBack(ctx context.Context, s *State, c *call, wanted int, refusal error) error {
	settled, err := l.state(ctx, s.Budget, true)
	if err != nil {
		return refusal
	}
	if _, err := settled.pays(c, wanted); err != nil {
		return refusal
	}
	return core.E(core.NoCredit, "the daily budget of %s does not pay for a call of %s now: %w", s.whose(), c.model, errHeld).
		WithHint("try again in a moment, when one has ended; or raise the budget: %s", s.command())
}

func (s *State) whose() string {
	if s.Agent == "" {
		return "this home"
	}
	return "this agent"
}

// command is what shows and sets the budget.
func (s *State) command() string {
	if s.Agent == "" {
		return "loci budget"
	}
	return "loci budget --agent " + string(s.Agent)
}

// refused says that a budget doesn't pay a call, and the way on.
func (s *State) refused(c *call, used, limit string) error {
	const why = "the daily budget of %s does not pay for another call of %s: %s are used or reserved"
	return core.E(core.NoCredit, why, s.whose(), c.model, used).
		WithHint("raise it: %s %s; or choose a model that costs less, or wait until midnight, when it begins anew", s.command(), limit)
}

// warning says once a day that most of a budget is used.
func (l *Ledger) warning(s *State) string {
	used := max(share(float64(s.Spent.Cost), float64(s.Money)), share(float64(s.Spent.Tokens()), float64(s.Tokens)))
	if used < warnShare {
		return ""
	}
	day := l.Today().Format(time.DateOnly)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.warned[s.Agent] == day {
		return ""
	}
	l.warned[s.Agent] = day
	return fmt.Sprintf("%d %% of the daily budget of %s is used: loci budget.", int(used*100), s.whose())
}

func share(used, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return used / of
}

// settle stores what a call came to in place of what was reserved; nil is a call that was never made.
func (l *Ledger) settle(ctx context.Context, g *grant, price *core.Price, used *core.Usage, estimated bool) {
	defer l.ring()
	e := &g.expense
	if used == nil {
		if g.reserved {
			if err := l.cfg.Store.Delete(context.WithoutCancel(ctx), e.ID); err != nil {
				l.put(ctx, &core.Expense{ID: e.ID, Charge: e.Charge, At: e.At, Model: e.Model, Cost: new(core.Money)})
			}
		}
		return
	}
	e.Open, e.Usage, e.Estimated, e.Cost, e.Least, e.LeastCost = false, *used, estimated, nil, core.Usage{}, nil
	if price != nil {
		cost := price.Of(*used)
		e.Cost = &cost
	}
	l.put(ctx, e)
}
