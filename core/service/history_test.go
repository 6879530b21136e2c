package service

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// blockOf makes an agent with one block.
func blockOf(t *testing.T, s *Services, value string) (core.Agent, core.Block) {
	t.Helper()
	a, err := s.Agents.Create(t.Context(), NewAgent{Model: core.OfflineHandle, Blocks: []core.Block{{Label: "human", Value: value}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Blocks.ByLabel(t.Context(), a.ID, "human")
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// TestUndoAndRedoWalkTheLineOfEdits compares with the two stacks that an editor keeps.
func TestUndoAndRedoWalkTheLineOfEdits(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil)
	_, b := blockOf(t, s, "0")
	rng := rand.New(rand.NewPCG(1, 2))
	past, future := []string{"0"}, []string{}
	for i := range 150 {
		var err error
		var want error
		switch rng.IntN(4) {
		case 0:
			past, future = append(past, string(rune('a'+i%26))+strings.Repeat("x", i)), nil
			_, err = s.Blocks.Update(t.Context(), b.ID, BlockPatch{Value: core.Some(past[len(past)-1])}, 0, "")
		case 1, 2:
			if len(past) == 1 {
				want = core.E(core.Conflict, "nothing")
			} else {
				past, future = past[:len(past)-1], append(future, past[len(past)-1])
			}
			_, _, err = s.History.Undo(t.Context(), b.ID, 0, 0, "")
		default:
			if len(future) == 0 {
				want = core.E(core.Conflict, "nothing")
			} else {
				past, future = append(past, future[len(future)-1]), future[:len(future)-1]
			}
			_, _, err = s.History.Redo(t.Context(), b.ID, 0, "")
		}
		if core.KindOf(err) != core.KindOf(want) {
			t.Fatalf("change %d: %v, want %v", i, err, want)
		}
		if got, err := s.Blocks.Get(t.Context(), b.ID); err != nil || got.Value != past[len(past)-1] {
			t.Fatalf("change %d: the block holds %q, want %q (%v)", i, got.Value, past[len(past)-1], err)
		}
	}
	versions, err := s.History.Versions(t.Context(), b.ID, core.Page{Limit: 1000})
	if err != nil || len(versions) < 50 || versions[len(versions)-1].Value != "0" {
		t.Errorf("%d versions are kept, %v", len(versions), err)
	}
}

func TestAnUndoMarksPromptsStaleAndHeedsTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil)
	a, b := blockOf(t, s, "one")
	if _, err := s.Blocks.Update(t.Context(), b.ID, BlockPatch{Value: core.Some("two"), Description: core.Some("new")}, 0, ""); err != nil {
		t.Fatal(err)
	}
	var stale *StaleBlockError
	_, _, err := s.History.Undo(t.Context(), b.ID, 0, 1, "")
	var e *core.Error
	if errors.As(err, &e) {
		stale, _ = e.Detail.(*StaleBlockError)
	}
	if core.KindOf(err) != core.Conflict || stale == nil || stale.Newest.Value != "two" {
		t.Errorf("an undo of what was not read: %v", err)
	}
	if err := s.History.Engine.Prompts().Refresh(t.Context(), core.DefaultConversation(a.ID)); err != nil {
		t.Fatal(err)
	}
	got, restored, err := s.History.Undo(t.Context(), b.ID, 0, 2, "client-x")
	if err != nil || restored != 1 || got.Value != "one" || got.Description != b.Description || got.Version != 3 {
		t.Errorf("undone to %+v, version %d, %v", got, restored, err)
	}
	conv, err := s.Conversations.Get(t.Context(), core.DefaultConversation(a.ID))
	if err != nil || !conv.Stale {
		t.Errorf("the stored prompt is not stale: %v", err)
	}
	v, err := s.Blocks.Store.Blocks().Version(t.Context(), b.ID, 3)
	want := core.Author{Kind: core.AuthorUser, ID: "client-x", Restores: 1}
	if diff := cmp.Diff(want, v.Author); diff != "" || err != nil {
		t.Errorf("author %v:\n%s", err, diff)
	}
	if got, restored, err := s.History.Undo(t.Context(), b.ID, 2, 0, ""); err != nil || restored != 2 || got.Value != "two" {
		t.Errorf("to a version: %+v, %d, %v", got, restored, err)
	}
	if _, _, err := s.History.Undo(t.Context(), b.ID, 99, 0, ""); core.KindOf(err) != core.NotFound {
		t.Errorf("to a version that is not there: %v", err)
	}
	if _, _, err := s.History.Undo(t.Context(), core.NewBlockID(), 0, 0, ""); core.KindOf(err) != core.NotFound {
		t.Errorf("of a block that is not there: %v", err)
	}
}

func TestADiffShowsWhatAVersionChanged(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil)
	_, b := blockOf(t, s, "Ada\nlikes tea")
	if _, err := s.Blocks.Update(
		t.Context(),
		b.ID,
		BlockPatch{Value: core.Some("Ada\nlikes coffee"), Limit: core.Some(500)},
		0,
		"",
	); err != nil {
		t.Fatal(err)
	}
	want := "--- human (version 1)\n+++ human (version 2)\n-limit: 100000\n+limit: 500\n@@ -1,2 +1,2 @@\n Ada\n-likes tea\n+likes coffee\n"
	got, err := s.History.Diff(t.Context(), b.ID, core.Opt[int]{}, core.Opt[int]{})
	if diff := cmp.Diff(BlockDiff{From: 1, To: 2, Text: want}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := s.History.Diff(
		t.Context(),
		b.ID,
		core.Some(0),
		core.Some(1),
	); err != nil || !strings.Contains(got.Text, "+Ada\n+likes tea") ||
		strings.Contains(got.Text, "limit") {
		t.Errorf("from nothing: %+v, %v", got, err)
	}
	if got, err := s.History.Diff(t.Context(), b.ID, core.Some(2), core.Some(2)); err != nil || got.Text != "" {
		t.Errorf("of a version and itself: %+v, %v", got, err)
	}
	if _, err := s.History.Diff(t.Context(), b.ID, core.Some(5), core.Opt[int]{}); core.KindOf(err) != core.NotFound {
		t.Errorf("of a version that is not there: %v", err)
	}
}
