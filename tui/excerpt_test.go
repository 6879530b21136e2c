package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

func TestAnExcerptShowsTheWordsWhereverTheyStand(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for i := range 150 {
		fmt.Fprintf(&rows, "Row %d has İstanbul. ", i)
	}
	for _, c := range []struct {
		text  string
		words []string
		want  string
	}{
		{"short", []string{"short"}, "short"},
		{rows.String(), nil, "Row 0 has İstanbul. Row 1 has …"},
		{rows.String(), []string{"row", "0"}, "Row 0 has İstanbul. Row 1 has …"},
		{rows.String(), []string{"Row", "59"}, "…İstanbul. Row 59 has İstanbul…"},
		{rows.String(), []string{"59", "row"}, "…İstanbul. Row 59 has İstanbul…"},
		{rows.String(), []string{"absent"}, "Row 0 has İstanbul. Row 1 has …"},
	} {
		if got := excerpt(c.text, c.words, 31); got != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}

func TestASearchShowsAndOpensWhereTheWordsStand(t *testing.T) {
	t.Parallel()
	f := newFake()
	var table strings.Builder
	for i := range 150 {
		fmt.Fprintf(&table, "- Row %d has a value.\n", i)
	}
	for i, text := range []string{"A list, please.", table.String(), "Thanks."} {
		kind := []api.MessageType{api.MessageUser, api.MessageAssistant, api.MessageUser}[i]
		m := api.MessageResult{MessageType: kind, MessageID: fmt.Sprint("m", i), Content: api.Text(text), AgentID: api.PtrTo("agent-1")}
		f.history = append(f.history, api.Message{MessageType: kind, ID: m.MessageID, Content: m.Content})
		f.found = append(f.found, m)
	}
	f.reasons = map[string]reason{"m1": {words: []string{"Row", "59"}}, "m2": {beside: []string{"Row", "59"}}}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/search Row 59")
	r.shows("agent: …a value. - Row 59 has a value.", "beside: Row 59 · you: Thanks.", "you: A list, please.")
	r.key(tea.Key{Code: tea.KeyDown})
	r.enter()
	r.shows("Row 58 has a value.\n▸ found:\n• Row 59 has a value.", "Row 70 has a value.")
}
