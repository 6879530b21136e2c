package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
)

// costBackend knows what models cost.
type costBackend interface {
	Costs(ctx context.Context, q api.ListCosts) ([]api.Cost, error)
	Budgets(ctx context.Context) ([]api.Budget, error)
}

// costRow is a sum and what it is of.
type costRow struct {
	of string
	api.Cost
}

// costs is what /cost shows.
type costs struct {
	rows    []costRow
	budgets []api.Budget
}

// openCost shows what this conversation, its agent and everybody cost, and what of the budgets is used.
func (m *Model) openCost(string) tea.Cmd {
	thread, name := m.conv.thread, m.conv.name()
	read := func(ctx context.Context) (costs, error) { return readCosts(ctx, m.backend, thread, name) }
	return load(m.ui, read, func(c costs) tea.Cmd {
		m.ui.push(&panel.Text{Theme: m.ui.theme, Title: "What models cost", Draw: func(width int) string {
			return c.draw(width, thread.Agent, name)
		}, Foot: "loci cost shows more, loci budget sets a limit"}, nil)
		return nil
	})
}

func readCosts(ctx context.Context, from costBackend, t Thread, name string) (costs, error) {
	var out costs
	for _, ask := range []struct {
		of string
		q  api.ListCosts
	}{
		{"this conversation", api.ListCosts{ConversationID: t.conversation()}},
		{name + " today", api.ListCosts{AgentID: t.Agent, Days: 1}},
		{name + " ever", api.ListCosts{AgentID: t.Agent}},
		{"all today", api.ListCosts{Days: 1}},
	} {
		sums, err := from.Costs(ctx, ask.q)
		if err != nil {
			return out, err
		}
		for _, s := range sums {
			out.rows = append(out.rows, costRow{ask.of, s})
		}
	}
	var err error
	out.budgets, err = from.Budgets(ctx)
	return out, err
}

func (c costs) draw(width int, agent, name string) string {
	var lines []string
	for _, r := range c.rows {
		lines = append(lines, wrapTo(fmt.Sprintf("%s: %s", r.of, r.Shown), width))
		if r.Calls > 0 {
			what := fmt.Sprintf("  %s, %d tokens sent, %d of them cached, %d answered",
				count(r.Calls, "call"), r.PromptTokens, r.CachedTokens, r.CompletionTokens)
			lines = append(lines, wrapTo(what, width))
		}
	}
	for _, b := range c.budgets {
		switch b.AgentID {
		case "":
			lines = append(lines, "", wrapTo("budget of a day, all agents: "+b.Shown, width))
		case agent:
			lines = append(lines, "", wrapTo("budget of a day, "+name+": "+b.Shown, width))
		}
	}
	return strings.Join(lines, "\n")
}
