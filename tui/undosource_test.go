package tui

import (
	"context"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"
)

func (f *fake) UndoSource(_ context.Context, _ string, in api.UndoSource) ([]api.SourceUndone, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.Source != "example.com" {
		return nil, &client.Error{Kind: api.KindNotFound, Message: "nothing in the agent's memory came after " + in.Source}
	}
	f.sourced = append(f.sourced, in)
	return f.bySource, nil
}

// tainted is an agent whose memory came after reading a page.
func tainted(t *testing.T) *robot {
	t.Helper()
	f := withTurns(newFake())
	f.edits["block-human"][0].Source = api.PtrTo("https://example.com/\x1b[2Ja\nhttps://two.org")
	f.bySource = []api.SourceUndone{
		{
			Label: api.PtrTo("human"), Taken: 1, Restores: api.PtrTo(2), Diff: "-Likes tea.\n",
			Sources: []string{"https://example.com/\x1b[2Ja"},
		},
		{PassageID: api.PtrTo("passage-1"), Taken: 1, Deleted: true, Sources: []string{"https://example.com/b"}},
		{Label: api.PtrTo("persona"), Kept: api.PtrTo("version 2 stays, for a person changed it after that")},
	}
	return newRobot(t, f, 80, 24).connect()
}

func TestWhatIsRememberedIsShownWithTheSourceThatItCameAfter(t *testing.T) {
	t.Parallel()
	r := tainted(t)
	r.say("/memory")
	r.shows(`after https://example.com/\u001b[2Ja, https://two.org`)
	for row := range strings.SplitSeq(r.view(), "\n") {
		if strings.Contains(row, "persona") && strings.Contains(row, "after") {
			t.Errorf("others carry it, too:\n%s", r.view())
		}
	}
	r.key(esc())
	r.say("/memory human")
	r.shows("came after reading https://example.com/")
	r.key(esc())
	r.say("/undo")
	r.until("the source of what was undone", func() bool {
		const want = `, after it read https://example.com/\u001b[2Ja, https://two.org:`
		return strings.Contains(strings.Join(strings.Fields(r.said()), " "), want)
	})
}

func TestWhatCameAfterASourceIsTakenBackInTheChat(t *testing.T) {
	t.Parallel()
	r := tainted(t)
	r.say("/undo nowhere.org")
	r.until("the refusal", func() bool {
		return strings.Contains(r.m.ui.flash, "nothing in the agent's memory came after nowhere.org")
	})
	r.say("/undo example.com")
	r.shows("Take back what Ada remembers since it read example.com?",
		`It stands for https://example.com/\u001b[2Ja, https://example.com/b.`, "human is as in version 2 (1 version back)", "− Likes tea.",
		"the passage passage-1 goes out of the archive", "persona stays, for version 2 stays")
	if len(r.f.sourced) != 1 || !r.f.sourced[0].DryRun {
		t.Errorf("something was taken back unasked: %+v", r.f.sourced)
	}
	r.typ("n")
	r.until("the question is gone", func() bool { return !strings.Contains(r.view(), "Take back") })
	r.say("/undo example.com")
	r.shows("Take back what Ada")
	r.typ("y")
	r.hears("taken back, after example.com: human is as in version 2")
	if n := len(r.f.sourced); n != 3 || r.f.sourced[2].DryRun {
		t.Errorf("asked for %+v", r.f.sourced)
	}
	r.f.bySource = r.f.bySource[2:]
	r.say("/undo example.com")
	r.hears("nothing that came after example.com can be taken back")
}
