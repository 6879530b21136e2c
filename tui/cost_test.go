package tui

import (
	"context"
	"strings"
	"testing"

	"loci/daemon/api"
)

func (f *fake) Costs(_ context.Context, q api.ListCosts) ([]api.Cost, error) {
	if q.ConversationID != "" {
		return []api.Cost{{Calls: 3, PromptTokens: 4200, CachedTokens: 3000, CompletionTokens: 310, Shown: "$0.02"}}, nil
	}
	return []api.Cost{{Calls: 1, PromptTokens: 100, Shown: "unknown"}}, nil
}

func (f *fake) Budgets(context.Context) ([]api.Budget, error) {
	return []api.Budget{{Shown: "$0.40 of $5.00"}, {AgentID: "agent-other", Shown: "$9 of $10"}}, nil
}

func TestTheCostsAreThoseOfTheConversationTheAgentAndTheDay(t *testing.T) {
	t.Parallel()
	c, err := readCosts(t.Context(), &fake{}, Thread{Agent: "agent-1"}, "scout")
	if err != nil {
		t.Fatal(err)
	}
	got := c.draw(60, "agent-1", "scout")
	for _, want := range []string{
		"this conversation: $0.02", "3 calls, 4200 tokens sent, 3000 of them cached, 310", "scout today: unknown", "all today: unknown",
		"budget of a day, all agents: $0.40 of $5.00",
	} {
		if !strings.Contains(strings.ReplaceAll(got, "\n", " "), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "$9") {
		t.Error("the budget of another agent is shown")
	}
}
