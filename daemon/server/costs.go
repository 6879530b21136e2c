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

// mostDays is of how many days a sum by days is, unless somebody says.
const mostDays = 30

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
		days = mostDays
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
	b := core.Budget{Agent: core.AgentID(in.Body.AgentID), Tokens: in.Body.Tokens}
	if in.Body.Dollars != "" {
		if b.Money, err = core.ParseMoney(in.Body.Dollars); err != nil {
			return nil, err
		}
	}
	if err := l.SetBudget(ctx, b); err != nil {
		return nil, err
	}
	return s.listBudgets(ctx, nil)
}
