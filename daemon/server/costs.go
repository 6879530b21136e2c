package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/spend"
	"loci/daemon/api"
)

// usualDays is of how many days a sum by days is, unless somebody says.
const usualDays = 30

// registerCosts registers our operations on what models cost. A budget is set by the person alone: through the socket.
func (s *Server) registerCosts(a huma.API) {
	handle(a, "GET", api.PathCosts, s.listCosts)
	handle(a, "GET", api.PathBudgets, s.listBudgets)
	handle(a, "PUT", api.PathBudgets, s.setBudget)
}

func (s *Server) ledger() (*spend.Ledger, error) {
	parts, _ := s.now()
	if parts.Ledger == nil {
		return nil, core.E(core.Unsupported, "this daemon does not keep what models cost")
	}
	return parts.Ledger, nil
}

func (s *Server) listCosts(ctx context.Context, in *api.ListCosts) (*body[[]api.Cost], error) {
	l, err := s.ledger()
	if err != nil {
		return nil, err
	}
	q := core.ExpenseQuery{
		Agent: core.AgentID(in.AgentID), Conversation: core.ConversationID(in.ConversationID), Step: core.StepID(in.StepID),
		By: core.ExpenseKey(in.By), Settled: true,
	}
	for _, run := range in.RunIDs {
		q.Runs = append(q.Runs, core.RunID(run))
	}
	days := in.Days
	if days == 0 && q.By == core.ByDay {
		days = usualDays
	}
	if days > 0 {
		today := l.Today()
		q.Since, q.Until = today.AddDate(0, 0, 1-days), today.AddDate(0, 0, 1)
	}
	sums, err := l.Sum(ctx, q)
	return list(sums, err, wireCost)
}

func wireCost(s core.Spent) api.Cost {
	out := api.Cost{
		Key: s.Key, Calls: s.Calls, PromptTokens: s.Prompt, CompletionTokens: s.Completion, CachedTokens: s.Cached,
		UnpricedCalls: s.Unpriced, EstimatedCalls: s.Estimated, Shown: costText(&s),
	}
	if s.Unpriced < s.Calls || s.Calls == 0 {
		dollars := s.Cost.Dollars()
		out.Dollars = &dollars
	}
	return out
}

// costText says what calls cost. What is unknown is said to be.
func costText(s *core.Spent) string {
	switch {
	case s.Calls == 0:
		return "nothing"
	case s.Unpriced == s.Calls:
		return "unknown"
	case s.Unpriced > 0:
		return s.Cost.String() + " and what " + core.Count(s.Unpriced, "call") + " of unknown price cost"
	}
	return s.Cost.String()
}

func (s *Server) listBudgets(ctx context.Context, _ *struct{}) (*body[[]api.Budget], error) {
	l, err := s.ledger()
	if err != nil {
		return nil, err
	}
	states, err := l.States(ctx)
	return list(states, err, wireBudget)
}

func wireBudget(s spend.State) api.Budget {
	out := api.Budget{
		AgentID: string(s.Agent), SpentDollars: s.Spent.Cost.Dollars(), SpentTokens: s.Spent.Tokens(), UnpricedCalls: s.Spent.Unpriced,
	}
	var shown []string
	if s.Money > 0 {
		dollars := s.Money.Dollars()
		out.Dollars = &dollars
		shown = append(shown, s.Spent.Cost.String()+" of "+s.Money.String())
	}
	if s.Tokens > 0 {
		out.Tokens = &s.Tokens
		shown = append(shown, fmt.Sprintf("%d of %d tokens", s.Spent.Tokens(), s.Tokens))
	}
	out.Shown = strings.Join(shown, ", ")
	return out
}

type setBudgetInput struct{ Body api.SetBudget }

func (s *Server) setBudget(ctx context.Context, in *setBudgetInput) (*body[[]api.Budget], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	l, err := s.ledger()
	if err != nil {
		return nil, err
	}
	change, err := budgetChange(&in.Body)
	if err != nil {
		return nil, err
	}
	if err := l.Change(ctx, change); err != nil {
		return nil, err
	}
	return s.listBudgets(ctx, nil)
}

// budgetChange reads what becomes of a budget. Nothing is no limit to be set: it would remove what it seems to make strict.
func budgetChange(in *api.SetBudget) (spend.Change, error) {
	c := spend.Change{Agent: core.AgentID(in.AgentID), Tokens: in.Tokens}
	const nothing = "a limit of nothing is no budget; to have none, remove it: loci budget --none"
	if in.Dollars != nil {
		amount, err := core.ParseMoney(*in.Dollars)
		if err != nil {
			return c, err
		}
		if amount == 0 {
			return c, unprocessable("body.dollars", nothing)
		}
		c.Money = &amount
	}
	if in.Tokens != nil && *in.Tokens == 0 {
		return c, unprocessable("body.tokens", nothing)
	}
	for _, limit := range in.Remove {
		switch {
		case limit == api.LimitDollars && in.Dollars == nil:
			c.Money = new(core.Money)
		case limit == api.LimitTokens && in.Tokens == nil:
			c.Tokens = new(int)
		default:
			return c, unprocessable("body.remove", "%s is either set or removed", limit)
		}
	}
	if c.Money == nil && c.Tokens == nil {
		return c, unprocessable("body", "give dollars, tokens, or what to remove of both")
	}
	return c, nil
}
