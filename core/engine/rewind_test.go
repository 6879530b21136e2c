package engine_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/compact"
	"loci/core/past"
)

func TestRewindRestoresWhatEveryStepSentAndUndoRestoresAll(t *testing.T) {
	t.Parallel()
	var taken, turned, summaries, failures, blocks, open atomic.Int64
	t.Cleanup(func() { // after all histories
		if taken.Load() == 0 || turned.Load() == 0 || summaries.Load() == 0 || failures.Load() == 0 || open.Load() == 0 ||
			blocks.Load() == 0 && !testing.Short() {
			t.Errorf(
				"%d passages taken, %d turned back, %d summaries, %d failed steps, %d with a summary block, %d files opened again: "+
					"the test does not cover it",
				taken.Load(),
				turned.Load(),
				summaries.Load(),
				failures.Load(),
				blocks.Load(),
				open.Load(),
			)
		}
	})
	for seed := range uint64(longRun(3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPast(t, seed)
			for i := range 20 {
				p.live(i)
				if i%5 == 4 {
					taken.Add(int64(p.wander(i)))
				}
			}
			for _, step := range p.steps { // every one, from wherever the one before has led to
				turned.Add(int64(len(p.back(step, past.RewindOptions{}).Turned)))
				_, files := p.openFiles(p.a)
				open.Add(int64(len(files)))
				if step.WithInput {
					failures.Add(1)
				}
			}
			for _, r := range p.model.sent() {
				if strings.HasSuffix(r.CacheKey, "-summary") {
					summaries.Add(1)
				} else if strings.Contains(r.System, compact.BlockDescription) {
					blocks.Add(1)
				}
			}
			p.told()
		})
	}
}

// firstStep returns the first step of a run.
func (h *house) firstStep(run core.Run) core.Step {
	h.t.Helper()
	steps, err := h.store.Steps().List(h.t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 1})
	if err != nil || len(steps) != 1 {
		h.t.Fatalf("steps %v, %v", steps, err)
	}
	return steps[0]
}

func (h *house) edit(a core.Agent, label, value string) core.Block {
	h.t.Helper()
	b := h.block(a, label)
	b.Value = value
	if err := h.store.Blocks().Update(h.t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
		h.t.Fatal(err)
	}
	return b
}

func TestARewindBeforeTheInputTakesItAndItsAnnouncementBack(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	conv := core.DefaultConversation(a.ID)
	h.send(a, "one")
	h.edit(a, "human", "a person's edit")
	run, _ := h.send(a, "two")
	h.send(a, "three")
	if _, err := h.past().Rewind(t.Context(), conv, h.firstStep(run).ID, past.RewindOptions{Before: true}); err != nil {
		t.Fatal(err)
	}
	if got := roles(h.list(a)); len(got) != 3 {
		t.Errorf("after it are listed %v", got)
	}
	h.send(a, "two again")
	reqs := h.model.sent()
	last := reqs[len(reqs)-1]
	if len(last.Messages) != 3 || countReminders(last, "a person's edit") != 1 || last.System != reqs[0].System {
		t.Errorf("sent %+v", last.Messages)
	}
	found, err := h.cfg.Search.Messages(t.Context(), core.SearchQuery{Text: "three"}, core.MessageFilter{Agent: a.ID})
	if err != nil || len(found.Hits) != 0 {
		t.Errorf("search finds what was taken back: %v, %v", found.Hits, err)
	}
}

func TestTheRunAfterARewindGoesOnBehindTheSamePrefix(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if n == 1 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "her cat is Turing"})
		}
		return say("ok")
	})
	a := h.agent(nil)
	h.send(a, "one")
	run, _ := h.send(a, "two")
	h.edit(a, "human", "something else")
	h.later(time.Hour)
	h.send(a, "three") // the cache is cold: the pin moves
	if _, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{}); err != nil {
		t.Fatal(err)
	}
	h.later(time.Hour)
	h.send(a, "another two")
	reqs := h.model.sent()
	prefixHolds(t, len(reqs)-1, reqs[1], reqs[len(reqs)-1])
	if got := h.block(a, "human").Value; got != "human value" {
		t.Errorf("the block holds %q", got)
	}
	if n := countReminders(reqs[len(reqs)-1], ""); n != 0 {
		t.Errorf("%d reminders: the window shows every block as it is", n)
	}
}

func TestASharedBlockIsTakenBackOnRequestOnly(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
		a, b := h.agent(nil), h.agent(nil)
		block := h.block(a, "persona")
		if err := h.store.Blocks().Detach(t.Context(), b.ID, h.block(b, "persona").ID); err != nil {
			t.Fatal(err)
		}
		if err := h.store.Blocks().Attach(t.Context(), b.ID, block.ID); err != nil {
			t.Fatal(err)
		}
		run, _ := h.send(a, "one")
		h.edit(b, "persona", "by the other")
		r, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{Shared: shared})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.block(b, "persona").Value == "persona value"; got != shared {
			t.Errorf("shared %v: taken back %v", shared, got)
		}
		h.send(a, "two")
		reqs := h.model.sent()
		if told := countReminders(reqs[len(reqs)-1], "by the other") == 1; told == shared {
			t.Errorf("shared %v: told of the newer text %v", shared, told)
		}
		if _, err := h.past().UndoRewind(t.Context(), r.ID, ""); err != nil {
			t.Fatal(err)
		}
		if got := h.block(b, "persona").Value; got != "by the other" {
			t.Errorf("undone, the block holds %q", got)
		}
	}
}

func TestADeletedBlockComesBackWithARewindAndGoesWithItsUndo(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	run, _ := h.send(a, "one")
	block := h.block(a, "human")
	if err := h.store.Blocks().Delete(t.Context(), block.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.block(a, "human"); got.ID != block.ID || got.Value != block.Value {
		t.Errorf("got %+v", got)
	}
	undone, err := h.past().UndoRewind(t.Context(), r.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Blocks().Get(t.Context(), block.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("after the undo: %v", err)
	}
	if _, err := h.past().UndoRewind(t.Context(), undone.ID, ""); err != nil {
		t.Fatal(err)
	}
	h.block(a, "human")
}

func TestARewindThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		switch n {
		case 0:
			return calling("conversation_search", map[string]any{"query": "x"})
		case 2:
			return turn{deltas: []core.Delta{{Text: "slow"}}, gate: gate}
		}
		return say("ok")
	})
	a, other := h.agent(nil), h.agent(nil)
	run, _ := h.send(a, "one")
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	conv := core.DefaultConversation(a.ID)
	for _, c := range []struct {
		conv core.ConversationID
		step core.StepID
		o    past.RewindOptions
		want core.Kind
	}{
		{conv, core.NewStepID(), past.RewindOptions{}, core.NotFound},
		{core.DefaultConversation(other.ID), steps[0].ID, past.RewindOptions{}, core.Invalid},
		{conv, steps[1].ID, past.RewindOptions{Before: true}, core.Invalid},
	} {
		if _, err := h.past().Rewind(t.Context(), c.conv, c.step, c.o); core.KindOf(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	slow, err := h.engine.Submit(t.Context(), h.request(a, "two"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.past().Rewind(t.Context(), conv, steps[0].ID, past.RewindOptions{}); core.KindOf(err) != core.Busy {
		t.Errorf("during a run: %v", err)
	}
	close(gate)
	h.follow(slow.ID)
	if _, err := h.past().UndoRewind(t.Context(), core.NewRewindID(), ""); core.KindOf(err) != core.NotFound {
		t.Errorf("an unknown rewind: %v", err)
	}
}

func TestArchivesGoBackAsTheyWereAttached(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "note") {
			return calling("archival_memory_insert", map[string]any{"content": fmt.Sprint("note ", n)})
		}
		return say("ok")
	})
	a, other := h.agent(nil), h.agent(nil)
	ctx, archives := t.Context(), h.store.Archives()
	none, _ := h.send(a, "hello")
	h.send(a, "a note")
	own, _ := h.notes(a)
	one, _ := h.send(a, "hello again")
	h.send(a, "another note")
	shared := core.Archive{ID: core.NewArchiveID(), Name: "shared"}
	for _, err := range []error{
		archives.Create(ctx, &shared), archives.Attach(ctx, other.ID, shared.ID), archives.Detach(ctx, a.ID, own),
		archives.Attach(ctx, a.ID, shared.ID),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	h.send(a, "a note for all")
	has := func(want core.ArchiveID, notes int) {
		t.Helper()
		if got, list := h.notes(a); got != want || len(list) != notes {
			t.Errorf("archive %s with %d notes, want %s with %d", got, len(list), want, notes)
		}
	}
	back := func(run core.Run) core.Rewind {
		t.Helper()
		r, err := h.past().Rewind(ctx, core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	undo := func(r core.Rewind) {
		t.Helper()
		if _, err := h.past().UndoRewind(ctx, r.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	has(shared.ID, 1)
	r := back(one)
	has(own, 1) // the second is set aside, and what is shared keeps all it has
	undo(r)
	has(shared.ID, 1)
	r = back(none)
	if _, found, err := archives.OfAgent(ctx, a.ID); found || err != nil {
		t.Errorf("the shared archive is still attached: %v", err)
	}
	undo(r)
	has(shared.ID, 1)
	back(one)
	r = back(none) // the agent's own archive stays, without what the agent put into it
	has(own, 0)
	undo(r)
	has(own, 1)
}
