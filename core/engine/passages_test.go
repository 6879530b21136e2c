package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/past"
	"loci/core/undo"
	"loci/storage/forget"
)

// keeper is a house with an agent of the terminal that does with its archive what it is told: "keep TEXT", "mend N TEXT"
// and "drop N", where N counts the passages that it kept from 1 on; several, between plus signs, in one response.
func keeper(t *testing.T) (*house, core.Agent) {
	t.Helper()
	h := open(t, func(_ int, req core.ChatRequest) turn {
		if last := req.Messages[len(req.Messages)-1]; last.Role == core.ChatTool {
			return say("done")
		}
		_, asked, _ := strings.Cut(lastAsked(req), "do: ")
		var calls []turn
		for part := range strings.SplitSeq(asked, " + ") {
			calls = append(calls, keeping(t, part, keptIDs(req)))
		}
		return together(calls)
	})
	return h, h.agent(
		func(a *core.Agent) { a.Terminal = true },
		"archival_memory_insert", "archival_memory_replace", "archival_memory_delete",
	)
}

// keeping is the call that does one thing.
func keeping(t *testing.T, what string, ids []string) turn {
	t.Helper()
	verb, rest, _ := strings.Cut(what, " ")
	if verb == "keep" {
		return calling("archival_memory_insert", map[string]any{"content": rest})
	}
	number, text, _ := strings.Cut(rest, " ")
	n := 0
	if _, err := fmt.Sscan(number, &n); err != nil || n > len(ids) {
		t.Errorf("%q, of %d passages: %v", what, len(ids), err)
		return say("no")
	}
	if verb == "drop" {
		return calling("archival_memory_delete", map[string]any{"id": ids[n-1]})
	}
	return calling("archival_memory_replace", map[string]any{"id": ids[n-1], "content": text})
}

// together is one answer with all of these calls.
func together(calls []turn) turn {
	all := calls[0]
	for i, c := range calls[1:] {
		for _, d := range c.deltas {
			call := *d.Call
			if call.Index = i + 1; call.ID != "" {
				call.ID += fmt.Sprint("_", i)
			}
			all.deltas = append(all.deltas, core.Delta{Call: &call})
		}
	}
	return all
}

// keptIDs returns the ids that the returns in a request name, oldest first.
func keptIDs(req core.ChatRequest) (ids []string) {
	for _, m := range req.Messages {
		for _, r := range m.Returns {
			if _, id, ok := strings.Cut(r.Text, "Kept as "); ok {
				ids = append(ids, id[:len(core.NewPassageID())])
			}
		}
	}
	return ids
}

// holds checks the texts of an agent's archive.
func (h *house) holds(a core.Agent, want ...string) {
	h.t.Helper()
	_, notes := h.notes(a)
	var got []string
	for _, p := range notes {
		got = append(got, p.Text)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Errorf("the archive (-want +got):\n%s", diff)
	}
}

func (h *house) rewindTo(a core.Agent, run core.Run) core.Rewind {
	h.t.Helper()
	o := past.RewindOptions{Before: true, By: "me"}
	r, err := h.past().Rewind(h.t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, o)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) undoRewind(r core.Rewind) core.Rewind {
	h.t.Helper()
	undone, err := h.past().UndoRewind(h.t.Context(), r.ID, "me")
	if err != nil {
		h.t.Fatal(err)
	}
	return undone
}

// mend changes a passage as another agent or a person does.
func (h *house) mend(id core.PassageID, text string, by core.Author) {
	h.t.Helper()
	p, err := h.store.Passages().Get(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	p.Text = text
	if err := h.store.Passages().Update(h.t.Context(), &p, by); err != nil {
		h.t.Fatal(err)
	}
}

func TestACallKnowsWhatEarlierCallsOfItsResponseKeep(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep Berta studies medicine in Graz. + keep The ferry leaves at nine. + keep Berta studies medicine in Vienna.")
	_, notes := h.notes(a)
	reqs := h.model.sent()
	returns := reqs[len(reqs)-1].Messages[len(reqs[len(reqs)-1].Messages)-1].Returns
	want := "Kept as " + string(notes[2].ID) + `.\nSimilar to ` + string(notes[0].ID) + ", of 2026-"
	if len(returns) != 3 || !strings.Contains(returns[2].Text, want) || strings.Contains(returns[1].Text, "Similar") {
		t.Errorf("returned %+v, want %q", returns, want)
	}
}

func TestARewindTakesBackWhatTheAgentChangedInItsArchive(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep one + keep two + keep three")
	early, _ := h.send(a, "do: mend 1 one, mended")
	h.holds(a, "one, mended", "three", "two")
	late, _ := h.send(a, "do: mend 1 one, mended twice + drop 2 + keep four + drop 3")
	_, notes := h.notes(a)
	four := notes[len(notes)-1].ID
	h.send(a, "do: mend 4 four, mended")
	h.holds(a, "four, mended", "one, mended twice")
	r := h.rewindTo(a, late)
	h.holds(a, "one, mended", "three", "two")
	if len(r.Turned) != 3 || !slices.Equal(r.Taken, []core.PassageID{four}) {
		t.Errorf("turned back %v, taken %v", r.Turned, r.Taken)
	}
	redo := h.undoRewind(r)
	h.holds(a, "four, mended", "one, mended twice")
	h.undoRewind(redo)
	h.holds(a, "one, mended", "three", "two")
	h.send(a, "do: mend 3 three, on another way")
	r = h.rewindTo(a, early)
	h.holds(a, "one", "three", "two")
	h.undoRewind(r)
	h.holds(a, "one, mended", "three, on another way", "two")
	versions, err := h.store.Passages().Versions(t.Context(), notes[0].ID, core.Page{})
	if err != nil || versions[0].Author.Kind != core.AuthorUser || versions[0].Author.ID != "me" || versions[0].Author.Rewind == "" {
		t.Errorf("%+v, %v", versions, err)
	}
	found, err := h.cfg.Search.Passages(t.Context(), core.SearchQuery{Text: "another way"}, core.PassageFilter{})
	if err != nil || len(found.Hits) != 1 {
		t.Errorf("a passage that came back is found %d times, %v", len(found.Hits), err)
	}
}

func TestARewindLeavesWhatOthersChangedSince(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep mine + keep ours + keep theirs + keep dropped")
	archive, notes := h.notes(a)
	other := h.agent(nil)
	if err := h.store.Archives().Attach(t.Context(), other.ID, archive); err != nil {
		t.Fatal(err)
	}
	run, _ := h.send(a, "do: mend 1 mine, mended + mend 2 ours, mended + drop 4 + keep for all")
	person, agent := core.Author{Kind: core.AuthorUser}, core.Author{Kind: core.AuthorAgent, ID: string(other.ID), Step: "step-other"}
	h.mend(notes[1].ID, "ours, by a person", person)
	h.mend(notes[2].ID, "theirs, by the other", agent)
	r := h.rewindTo(a, run)
	h.holds(a, "dropped", "for all", "mine", "ours, by a person", "theirs, by the other")
	h.mend(notes[0].ID, "mine, by the other", agent)
	h.undoRewind(r)
	h.holds(a, "for all", "mine, by the other", "ours, by a person", "theirs, by the other")
}

func TestNothingOlderTakesThePlaceOfAForgottenVersion(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep door code is OLD + keep window code is OLD + keep hello")
	_, notes := h.notes(a)
	person := core.Author{Kind: core.AuthorUser}
	h.mend(notes[0].ID, "XSECRETNEW", person)
	h.mend(notes[1].ID, "XSECRETNEW", person)
	run, _ := h.send(a, "do: drop 1 + mend 2 no more codes + mend 3 hello, mended")
	h.holds(a, "hello, mended", "no more codes")
	if err := h.engine.Quiet(t.Context(), func(ctx context.Context) error {
		_, err := forget.New(h.store, nil, nil, nil).Forget(ctx, core.ForgetQuery{Text: "XSECRETNEW"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r := h.rewindTo(a, run)
	h.holds(a, "hello", "no more codes")
	h.undoRewind(r)
	h.holds(a, "hello, mended", "no more codes")
	turns := undo.New(undo.Config{Store: h.store, Announce: func(core.Change) {}})
	for _, note := range notes[:2] {
		if o, err := turns.Undo(t.Context(), undo.Order{Passage: note.ID}); core.KindOf(err) != core.Conflict {
			t.Errorf("an undo: %+v, %v", o, err)
		}
	}
	if last, found, err := turns.LastOf(t.Context(), a.ID, false); err != nil || found && last.Edit.Passage != notes[2].ID {
		t.Errorf("the last change: %+v, %v", last, err)
	}
	h.holds(a, "hello, mended", "no more codes")
}

func TestARewindGoesBackBehindWhatAPersonUndidOfTheAgentsChanges(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep one + keep two + keep three")
	early, _ := h.send(a, "do: mend 1 one, mended + mend 2 two, mended + mend 3 three, mended")
	h.send(a, "do: mend 1 one, mended twice + mend 2 two, mended twice + drop 3")
	_, notes := h.notes(a)
	versions, err := h.store.Passages().Changes(t.Context(), core.PassageChanges{Archive: notes[0].Archive, Limit: 1})
	if err != nil || !versions[0].Gone {
		t.Fatalf("%+v, %v", versions, err)
	}
	three, person := versions[0].Passage, core.Author{Kind: core.AuthorUser}
	for id, back := range map[core.PassageID]int{notes[0].ID: 2, notes[1].ID: 1, three: 2} {
		if err := h.store.Passages().Restore(t.Context(), id, back, person); err != nil {
			t.Fatal(err)
		}
	}
	h.holds(a, "one, mended", "three, mended", "two")
	r := h.rewindTo(a, early)
	h.holds(a, "one", "three", "two")
	h.undoRewind(r)
	h.holds(a, "one, mended", "three, mended", "two")
}

// takeBack gives a passage an earlier version, as a person does.
func (h *house) takeBack(id core.PassageID, version int) {
	h.t.Helper()
	if err := h.store.Passages().Restore(h.t.Context(), id, version, core.Author{Kind: core.AuthorUser, ID: "me"}); err != nil {
		h.t.Fatal(err)
	}
}

// lastSent is all that the last request said in the name of the user.
func (h *house) lastSent() string {
	reqs := h.model.sent()
	var said []string
	for _, m := range reqs[len(reqs)-1].Messages {
		if m.Role == core.ChatUser || m.Role == core.ChatReminder {
			said = append(said, m.Text)
		}
	}
	return strings.Join(said, "\n")
}

func TestTheAgentIsToldWhatAPersonTookBackInItsArchive(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep one + keep two + keep three")
	h.send(a, "do: mend 1 one, mended + drop 2")
	archive, notes := h.notes(a)
	versions, err := h.store.Passages().Changes(t.Context(), core.PassageChanges{Archive: archive, Limit: 1})
	if err != nil || !versions[0].Gone {
		t.Fatalf("%+v, %v", versions, err)
	}
	const says = "These passages say now:"
	if said := h.lastSent(); strings.Contains(said, says) {
		t.Errorf("told before anything was taken back: %s", said)
	}
	one, two := notes[0].ID, versions[0].Passage
	day := notes[0].CreatedAt.Format("2006-01-02")
	h.takeBack(one, 1)
	h.takeBack(two, 1)
	h.takeBack(two, 2)
	run, _ := h.send(a, "do: keep four")
	want := says + "\n- " + string(two) + ", of " + day + ": (it is deleted)\n- " + string(one) + ", of " + day + ": one"
	if said := h.lastSent(); strings.Count(said, want) != 1 || strings.Index(said, want) > strings.Index(said, "do: keep four") {
		t.Errorf("sent %s\nwant %q before the question", said, want)
	}
	h.send(a, "do: keep five")
	if said := h.lastSent(); strings.Count(said, says) != 1 {
		t.Errorf("told again: %s", said)
	}
	fork, err := h.past().Fork(t.Context(), core.DefaultConversation(a.ID), "")
	if err != nil || fork.Told == 0 {
		t.Errorf("the fork was told up to %d, %v", fork.Told, err)
	}
	h.rewindTo(a, run)
	h.send(a, "do: keep six")
	if said := h.lastSent(); strings.Count(said, want) != 1 {
		t.Errorf("after a rewind behind it, what a person took back is not told: %s", said)
	}
	h.takeBack(one, 2)
	for i := range 7 {
		h.mend(notes[1].ID, fmt.Sprint("three, by a person ", i), core.Author{Kind: core.AuthorUser})
	}
	h.send(a, "do: keep seven")
	if said := h.lastSent(); strings.Count(said, says) != 2 || strings.Contains(said, "by a person") {
		t.Errorf("told of more than what was taken back: %s", said)
	}
}

func TestOnlyWhoChangedAPassageIsToldThatItWasTakenBackAndNoEmptyWindowIs(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep one")
	archive, notes := h.notes(a)
	other := h.agent(nil)
	if err := h.store.Archives().Attach(t.Context(), other.ID, archive); err != nil {
		t.Fatal(err)
	}
	h.send(other, "do: keep it")
	h.mend(notes[0].ID, "mended", core.Author{Kind: core.AuthorUser})
	h.takeBack(notes[0].ID, 1)
	h.send(other, "do: keep it")
	if said := h.lastSent(); strings.Contains(said, "undone") {
		t.Errorf("the other is told: %s", said)
	}
	h.takeBack(notes[0].ID, 2)
	empty := h.imported(a, 0)
	h.sendTo(a, empty, "do: keep two")
	if said := h.lastSent(); strings.Contains(said, "undone") {
		t.Errorf("an empty window is told: %s", said)
	}
	h.takeBack(notes[0].ID, 1)
	h.sendTo(a, empty, "do: keep three")
	if said := h.lastSent(); !strings.Contains(said, "undone") {
		t.Errorf("not told: %s", said)
	}
}

func TestAnAgentIsForkedWithTheArchiveOfThen(t *testing.T) {
	t.Parallel()
	h, a := keeper(t)
	h.send(a, "do: keep one + keep two + keep three")
	run, _ := h.send(a, "do: mend 1 one, mended + drop 2 + keep four")
	h.send(a, "do: drop 1")
	made, err := h.past().CopyAgent(t.Context(), a.ID, past.CopyOptions{History: true, Step: h.firstStep(run).ID})
	if err != nil {
		t.Fatal(err)
	}
	h.holds(made, "one", "three", "two")
	h.holds(a, "four", "three")
	if !made.Terminal {
		t.Error("the copy is no agent of the terminal")
	}
	made, err = h.past().CopyAgent(t.Context(), a.ID, past.CopyOptions{Name: "now"})
	if err != nil {
		t.Fatal(err)
	}
	h.holds(made, "four", "three")
}
