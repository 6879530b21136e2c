package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/term"
	"loci/tui/transcript"
)

// changedPassage is a change by the agent, at a time of the day.
func changedPassage(id, from, to string, hour int) api.LastPassageChange {
	at := api.At(day(hour, 45))
	edit := api.PassageVersion{PassageID: id, Version: 2, Text: to, Deleted: to == "", Author: "agent", CreatedAt: at}
	return api.LastPassageChange{Edit: &edit, From: &api.PassageVersion{PassageID: id, Version: 1, Text: from}, Now: 2, At: &at}
}

func TestUndoTakesTheNewerOfBlocksAndPassagesBack(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake()) // with a block's edits at 9:31 and 10:31
	f.archival = []api.LastPassageChange{
		changedPassage("passage-1", "Ada likes tea.", "Ada likes coffee.", 9),
		changedPassage("passage-2", "The ferry leaves at nine.", "", 11),
	}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/undo")
	r.hears("undone: Ada deleted “The ferry leaves at nine.” in the archive, " + when(day(11, 45), r.now) + " · /redo")
	r.say("/undo")
	r.hears("undone: the change of human by Ada, " + when(day(10, 31), r.now))
	r.say("/redo") // of the block, which was undone at 13:03
	r.hears("done again: the change of human")
	r.say("/redo")
	r.hears("done again: Ada deleted “The ferry leaves at nine.” in the archive, " + when(day(11, 45), r.now) + " · /undo")
	if len(f.archival) != 2 || len(f.undoneIn) != 0 {
		t.Errorf("done %v, undone %v", f.archival, f.undoneIn)
	}
}

func TestRedoGoesBackThroughWhatWasUndoneInTurn(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.edits["block-human"] = append([]api.BlockVersion{
		{BlockID: "block-human", Version: 4, Value: "Name: Ada\nLikes mate.", Author: "agent", CreatedAt: api.At(day(12, 30))},
	}, f.edits["block-human"]...)
	f.archival = []api.LastPassageChange{changedPassage("passage-1", "Ada likes tea.", "Ada likes coffee.", 11)}
	r := newRobot(t, f, 80, 24).connect()
	changes := []string{
		"the change of human by Ada, " + when(day(12, 30), r.now), "Ada replaced “Ada likes tea.”",
		"the change of human by Ada, " + when(day(10, 31), r.now),
	}
	for _, c := range changes {
		r.say("/undo")
		r.hears("undone: " + c)
	}
	for _, c := range slices.Backward(changes) {
		r.say("/redo")
		r.hears("done again: " + c)
	}
	r.say("/redo")
	r.until("the end", func() bool { return strings.Contains(r.status(), "nothing to redo") })
}

func TestUndoKnowsBlocksAloneWithAnOlderDaemon(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	f.archivalErr = &client.Error{Status: 404, Kind: api.KindNotFound, Message: "there is nothing at /loci/v1/agents/agent-1/passages/last"}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/undo")
	r.hears("undone: the change of human by Ada")
	f.mu.Lock()
	f.archivalErr = &client.Error{Status: 503, Kind: api.KindUnavailable, Message: "the disk is full"}
	f.mu.Unlock()
	r.say("/undo")
	r.until("the error", func() bool { return strings.Contains(r.status(), "the disk is full") })
}

func TestUndoLeavesAPassageAloneThatSomebodyElseChangedSince(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	c := changedPassage("passage-1", "Ada likes tea.", "Ada likes coffee.", 11)
	c.Since = &api.PassageVersion{Text: "Ada likes 抹茶.", Author: "agent"}
	f.archival = []api.LastPassageChange{c}
	r := newRobot(t, f, 80, 24).connect()
	r.say("/undo")
	r.hears("nothing was undone: Ada replaced “Ada likes tea.” by “Ada likes coffee.”, but another agent")
	r.hears("“Ada likes 抹茶.” since · loci archival undo passage-1 takes that back")
	if len(f.archival) != 1 || r.f.block("human") != "Name: Ada\nLikes tea." {
		t.Errorf("left %v, %q", f.archival, r.f.block("human"))
	}
}

func TestWhatWasUndoneOfAPassageIsSaidInShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("京都の北にある古い茶屋で、", 20) + "The tea house opens at "
	var said strings.Builder
	for _, c := range []api.LastPassageChange{
		changedPassage("p", "Ada likes tea.", "Ada likes coffee.", 9),
		changedPassage("p", long+"nine.", long+"ten, and closes when the last guest has left and the kettle is cold again.", 9),
		changedPassage("p", long, "", 9),
		changedPassage("p", "same", "same", 9),
		changedPassage("p", strings.Repeat("漢", 200), strings.Repeat("漢", 199)+"字", 9),
		changedPassage("p", "a\x1b[31m\nb", "👩‍👩‍👧‍👦"+strings.Repeat("é", 90), 9),
	} {
		text := passageChange(c)
		if n := term.Width(text); n > 2*quotedMost+20 {
			t.Errorf("%d cells: %s", n, text)
		}
		item := transcript.Item{Kind: transcript.Notice, Text: "undone: " + text}
		shown := ansi.Strip(transcript.NewRenderer(newRobot(t, newFake(), 80, 24).m.ui.theme, 80).Item(item, false))
		for row := range strings.Lines(shown) {
			if term.Width(strings.TrimRight(row, "\n")) > 80 {
				t.Errorf("too wide: %q", row)
			}
		}
		said.WriteString(shown + "\n")
	}
	golden.RequireEqual(t, said.String())
}
