package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

func TestTheChatAsksForTrustInWhatTheFolderBringsAndOnlyUntilItIsSaid(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.brought.Items = []api.FolderItem{
		{Kind: "instructions", Path: "AGENTS.md", Hash: strings.Repeat("a", 64), State: api.TrustChanged},
		{Kind: "instructions", Path: "sub/\x1b[2JCLAUDE.md", State: api.TrustNew, Fault: "it is no file"},
	}
	r := newRobot(t, f, 80, 24).connect()
	r.until("the question", func() bool {
		return strings.Contains(r.said(), "before you trust it: AGENTS.md · /trust")
	})
	r.say("/trust")
	r.until("the panel", func() bool {
		return strings.Contains(r.view(), "changed") && strings.Contains(r.view(), "it is no file")
	})
	r.enter()
	r.until("the choice", func() bool { return strings.Contains(r.view(), "Trust it as it is") })
	r.key(tea.Key{Code: tea.KeyDown})
	r.enter()
	r.until("the answer", func() bool { return strings.Contains(r.said(), "AGENTS.md counts from the next message on") })
	want := api.TrustDecision{Path: "AGENTS.md", Hash: strings.Repeat("a", 64), Trusted: true}
	if len(f.decided) != 1 || f.decided[0] != want {
		t.Errorf("%+v", f.decided)
	}

	r = newRobot(t, f, 80, 24).connect()
	r.say("/trust")
	r.until("the panel", func() bool { return strings.Contains(r.view(), "trusted") })
	if strings.Contains(r.said(), "before you trust it") {
		t.Errorf("it is asked again:\n%s", r.said())
	}
}
