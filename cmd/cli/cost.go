package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// costCommand is `loci cost`.
func (a *app) costCommand() *cobra.Command {
	var agent, by string
	var days int
	c := &cobra.Command{
		Use: "cost", Short: "Show what models used and cost, by day, agent, model or conversation", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			q := api.ListCosts{By: by, Days: days}
			if q.AgentID, err = a.onlyOf(ctx, c, agent); err != nil {
				return err
			}
			costs, err := c.Costs(ctx, q)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(costs))
			}
			names := map[string]string{"": "(no agent)"}
			if by == "agent" {
				if names, err = agentNames(ctx, c); err != nil {
					return err
				}
			}
			t := table{head: []string{"FOR", "CALLS", "SENT", "CACHED", "ANSWERED", "COST"}}
			for _, one := range costs {
				key := one.Key
				if name := names[key]; by == "agent" && name != "" {
					key = name
				}
				t.add(key, strconv.Itoa(one.Calls), strconv.Itoa(one.PromptTokens), strconv.Itoa(one.CachedTokens),
					strconv.Itoa(one.CompletionTokens), one.Shown)
			}
			return a.list(t, "no model that costs something was asked")
		},
	}
	c.Flags().StringVar(&by, "by", "day", "add up by `WHAT`: day, agent, conversation, run, model or purpose")
	c.Flags().IntVar(&days, "days", 0, "of so many days, today among them (30 by day, else all)")
	onlyOfFlag(c, &agent)
	return c
}

// budgetCommand is `loci budget`.
func (a *app) budgetCommand() *cobra.Command {
	var agent, money string
	var tokens int
	var none, noMoney, noTokens bool
	c := &cobra.Command{
		Use: "budget", Short: "Show or set what may be spent in a day", Args: exactly(),
		Long: `Show or set what may be spent in a day, in money, in tokens, or both: by one agent, or by all of them together. It counts
everything that models are asked: answers, summaries, embeddings, runs in the background, and what was asked again. Before a
call the most that it may come to is reserved, so that a budget is not exceeded; an answer is made shorter before it is refused.
The day begins at midnight. A limit that is not named stays as it is.`,
		Example: `  loci budget --money 5
  loci budget --agent scout --money 0.50 --tokens 200000
  loci budget --agent scout --no-tokens
  loci budget --agent scout --none
  loci budget`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var in api.SetBudget
			if cmd.Flags().Changed("money") {
				in.Dollars = &money
			}
			if cmd.Flags().Changed("tokens") {
				in.Tokens = &tokens
			}
			if none || noMoney {
				in.Remove = append(in.Remove, api.LimitDollars)
			}
			if none || noTokens {
				in.Remove = append(in.Remove, api.LimitTokens)
			}
			switch {
			case none && (in.Dollars != nil || in.Tokens != nil || noMoney || noTokens):
				return invalid("--none removes the budget: say it alone")
			case in.Dollars != nil && noMoney || in.Tokens != nil && noTokens:
				return invalid("a limit is either set or removed: leave out --no-money or --no-tokens")
			case tokens < 0:
				return invalid("--tokens is a number of tokens, like 200000")
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			if in.AgentID, err = a.onlyOf(ctx, c, agent); err != nil {
				return err
			}
			var budgets []api.Budget
			if in.Dollars != nil || in.Tokens != nil || len(in.Remove) > 0 {
				budgets, err = c.SetBudget(ctx, in)
			} else {
				budgets, err = c.Budgets(ctx)
			}
			if err != nil {
				return err
			}
			return a.showBudgets(ctx, c, budgets)
		},
	}
	onlyOfFlag(c, &agent)
	c.Flags().StringVar(&money, "money", "", "at most so many `DOLLARS` a day, like 2.50")
	c.Flags().IntVar(&tokens, "tokens", 0, "at most so many tokens a day, sent and answered")
	c.Flags().BoolVar(&noMoney, "no-money", false, "no limit in money any more")
	c.Flags().BoolVar(&noTokens, "no-tokens", false, "no limit in tokens any more")
	c.Flags().BoolVar(&none, "none", false, "no budget any more, neither in money nor in tokens")
	return c
}

func (a *app) showBudgets(ctx context.Context, c *client.Client, budgets []api.Budget) error {
	if a.json {
		return writeJSON(a.out, nonNil(budgets))
	}
	names, err := agentNames(ctx, c)
	if err != nil {
		return err
	}
	t := table{head: []string{"WHO", "TODAY"}}
	for _, b := range budgets {
		who := "all agents"
		if b.AgentID != "" {
			who = b.AgentID
			if name := names[b.AgentID]; name != "" {
				who = name
			}
		}
		t.add(who, b.Shown)
	}
	return a.list(t, "there is no budget; loci budget --money DOLLARS sets one")
}

// costsOfRuns are what runs cost, by their ids.
func costsOfRuns(ctx context.Context, c *client.Client, runs []api.Run) (map[string]api.Cost, error) {
	out := map[string]api.Cost{}
	if len(runs) == 0 {
		return out, nil
	}
	q := api.ListCosts{By: "run"}
	for _, r := range runs {
		q.RunIDs = append(q.RunIDs, r.ID)
	}
	costs, err := c.Costs(ctx, q)
	for _, one := range costs {
		out[one.Key] = one
	}
	return out, err
}

// costedRun is a run with what it cost.
type costedRun struct {
	api.Run
	Cost *api.Cost `json:"cost"` // null: no model that costs something was asked
}

// listCosts prints runs with what they cost.
func (a *app) listCosts(ctx context.Context, c *client.Client, runs []api.Run) error {
	costs, err := costsOfRuns(ctx, c, runs)
	if err != nil {
		return err
	}
	if a.json {
		out := []costedRun{}
		for _, r := range runs {
			one := costedRun{Run: r}
			if cost, ok := costs[r.ID]; ok {
				one.Cost = &cost
			}
			out = append(out, one)
		}
		return writeJSON(a.out, out)
	}
	t := table{head: []string{"ID", "STATUS", "STARTED", "SENT", "CACHED", "ANSWERED", "COST"}, single: true}
	for _, r := range runs {
		sent, cached, answered, shown := "-", "-", "-", "nothing"
		if one, ok := costs[r.ID]; ok {
			sent, cached, answered = strconv.Itoa(one.PromptTokens), strconv.Itoa(one.CachedTokens), strconv.Itoa(one.CompletionTokens)
			shown = one.Shown
		}
		t.add(r.ID, statusText(r), moment(&r.CreatedAt), sent, cached, answered, shown)
	}
	return a.list(t, "there are no runs yet")
}
