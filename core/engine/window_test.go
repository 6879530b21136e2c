package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/prompt"
)

// bare is the window of a run without anything in it.
func bare(run core.Run) *window {
	return &window{ratio: 1, run: &run, agent: &core.Agent{}, choice: &Choice{}, cutTo: map[core.MessageID]int{}, cfg: &Config{}}
}

func TestWhatLeavesTogether(t *testing.T) {
	t.Parallel()
	row := func(id, run, step string, role core.Role) core.InContext {
		return core.InContext{Message: core.Message{ID: core.MessageID(id), Run: core.RunID(run), Step: core.StepID(step), Role: role}}
	}
	marker := row("marker", "", "", core.RoleUser)
	marker.Message.Hidden = core.HiddenMarker
	w := bare(core.Run{ID: "now", Input: []core.Message{{ID: "asked"}}})
	w.rows = []core.InContext{
		row("summary", "", "", core.RoleSummary), marker,
		row("first", "", "", core.RoleAssistant), // an initial sequence need not begin with a user's message
		row("a", "", "", core.RoleUser), row("a answered", "", "", core.RoleAssistant), row("b", "", "", core.RoleUser),
		row("old", "run 1", "step 1", core.RoleUser), row("old answered", "run 1", "step 2", core.RoleAssistant),
		row("older", "run 2", "step 3", core.RoleUser),
		row("asked", "now", "step 4", core.RoleUser),
		row("call", "now", "step 4", core.RoleAssistant), row("return", "now", "step 4", core.RoleTool),
		row("next", "now", "step 5", core.RoleAssistant),
	}
	var got [][]core.MessageID
	for _, g := range w.groups() {
		var ids []core.MessageID
		for _, r := range g {
			ids = append(ids, r.Message.ID)
		}
		got = append(got, ids)
	}
	want := [][]core.MessageID{{"first"}, {"a", "a answered"}, {"b"}, {"old", "old answered"}, {"older"}, {"call", "return"}, {"next"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestAWindowWithoutAnyRoomIsRefused(t *testing.T) {
	t.Parallel()
	for left, kind := range map[int]core.Kind{-1: core.TooLong, 0: core.TooLong, 1: ""} {
		w := bare(core.Run{ID: "now", Delivered: true})
		w.choice.Info.ContextWindow = 4000
		for w.pinned = (prompt.Prompt{}); w.room() > left; {
			w.pinned.System += "a "
		}
		if w.room() != left {
			t.Fatalf("the room is %d", w.room())
		}
		if err := w.fit(t.Context(), "", false); core.KindOf(err) != kind {
			t.Errorf("with room for %d: %v", left, err)
		}
	}
}

func TestTheFirstBlocksAreShownInAWindowThatShowedNone(t *testing.T) {
	t.Parallel()
	w := bare(core.Run{})
	w.raise = map[core.BlockID]int{"a": 2, "b": 3}
	got := w.shownAfter(nil, map[core.BlockID]int{"b": 1, "c": 4})
	if diff := cmp.Diff(map[core.BlockID]int{"a": 2, "b": 3, "c": 4}, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	w.run.Delivered = true
	if got := w.shownAfter(nil, nil); got == nil || len(got) > 0 {
		t.Errorf("shown after delivery: %v", got)
	}
}

// TestAReturnIsCutWhereItTakesMoreThanItsShare at exactly a quarter it is not.
func TestAReturnIsCutWhereItTakesMoreThanItsShare(t *testing.T) {
	t.Parallel()
	w := bare(core.Run{})
	w.choice.Info.ContextWindow = 40_000
	share := int(float64(w.room()) * returnShare)
	for tokens, cut := range map[int]int{share: 0, share + 1: share * charsPerToken / 2} {
		m := &core.Message{Tokens: tokens, Returns: make([]core.ToolReturn, 2)}
		if got := w.returnShare(m); got != cut {
			t.Errorf("%d tokens of %d: each return is cut to %d, want %d", tokens, share, got, cut)
		}
	}
	if got := w.returnShare(&core.Message{Tokens: share + 1}); got != 0 {
		t.Errorf("a record without returns is cut to %d", got)
	}
}
