package server

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

func TestABlocksPastIsListedComparedAndUndone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	path := api.PathBlocks + "/" + a.Blocks[0].ID
	for _, v := range []string{"one", "two"} {
		f.call("PATCH", "/v1/blocks/"+a.Blocks[0].ID, map[string]any{"value": v}).want(http.StatusOK)
	}
	versions := as[[]api.BlockVersion](f.call("GET", path+"/versions?limit=2", nil))
	if len(versions) != 2 || versions[0].Version != 3 || versions[0].Value != "two" || versions[0].Author != "user" ||
		versions[0].Restores != nil {
		t.Errorf("versions %+v", versions)
	}
	if d := as[api.BlockDiff](f.call("GET", path+"/diff?from=1", nil)); d.From != 1 || d.To != 3 || !strings.Contains(d.Diff, "+two\n") {
		t.Errorf("diff %+v", d)
	}
	undone := as[api.BlockUndone](f.call("POST", path+"/undo", nil))
	if undone.Block.Value != "one" || undone.Version != 4 || undone.Restores != 2 {
		t.Errorf("undone %+v", undone)
	}
	if redone := as[api.BlockUndone](f.call("POST", path+"/redo", nil)); redone.Block.Value != "two" || redone.Restores != 3 {
		t.Errorf("redone %+v", redone)
	}
	f.call("POST", path+"/redo", nil).want(http.StatusConflict)
	if jumped := as[api.BlockUndone](f.call("POST", path+"/undo", map[string]any{"version": 1})); jumped.Block.Value != "" {
		t.Errorf("to the first %+v", jumped)
	}
	for _, none := range []int{0, -1} { // only what is absent means the last
		f.call("POST", path+"/undo", map[string]any{"version": none}).want(http.StatusUnprocessableEntity)
	}
	stale := f.request("POST", path+"/undo", nil)
	stale.Header.Set("If-Match", `"2"`)
	f.do(stale).want(http.StatusConflict)
	f.call("POST", api.PathBlocks+"/"+string(core.NewBlockID())+"/undo", nil).want(http.StatusNotFound)
	f.call("GET", api.PathBlocks+"/block-1/versions", nil).want(http.StatusUnprocessableEntity)
}

func TestAnAgentIsTakenBackAndForkedThroughTheAPI(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ context.Context, n int, _ core.ChatRequest) []any {
		if n == 1 {
			return calls("memory_insert", `{"label":"human","new_string":"Name: Ada"}`)
		}
		return []any{"ok"}
	})
	a := f.agent(human())
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("one")).want(http.StatusOK)
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("two")).want(http.StatusOK)
	runs := as[[]api.Run](f.call("GET", "/v1/runs?agent_id="+a.ID, nil))
	steps := as[[]api.Step](f.call("GET", "/v1/runs/"+runs[0].ID+"/steps?order=asc", nil))
	before := len(f.messages(a.ID))
	fork := as[api.Conversation](f.call("POST", "/v1/conversations/default/fork?agent_id="+a.ID, nil))
	if n := len(as[[]api.Message](f.call("GET", "/v1/conversations/"+fork.ID+"/messages", nil))); n != before {
		t.Errorf("the fork lists %d messages, want %d", n, before)
	}
	sent := as[api.SentRequest](f.call("GET", api.PathSteps+"/"+steps[1].ID+"/request", nil))
	if n := len(
		sent.Messages,
	); n != 5 || sent.Messages[3].Calls[0].Name != "memory_insert" || sent.Messages[4].Returns[0].Name != "memory_insert" ||
		len(sent.Tools) == 0 ||
		!strings.Contains(sent.System, "memory_blocks") {
		t.Errorf("sent %+v", sent)
	}
	r := as[api.Rewind](f.call("POST", api.PathRewinds, map[string]any{"run_id": runs[0].ID}))
	if len(f.messages(a.ID)) != 3 || len(r.BlockIDs) != 1 || *r.StepID != steps[0].ID || !r.Before {
		t.Errorf("rewound %+v, %d messages", r, len(f.messages(a.ID)))
	}
	block := api.PathBlocks + "/" + a.Blocks[0].ID
	if now := as[[]api.BlockVersion](f.call("GET", block+"/versions?limit=1", nil))[0]; api.Val(now.RewindID) != r.ID {
		t.Errorf("the block was written by %+v", now)
	}
	f.call("POST", block+"/redo", nil).want(http.StatusConflict) // the edit was taken back by the rewind, not undone
	undone := as[api.Rewind](f.call("POST", api.PathRewinds+"/"+r.ID+"/undo", nil))
	f.call("POST", block+"/redo", nil).want(http.StatusConflict)
	if len(f.messages(a.ID)) != before || undone.StepID != nil || *undone.Undoes != r.ID {
		t.Errorf("undone %+v, %d messages", undone, len(f.messages(a.ID)))
	}
	if all := as[[]api.Rewind](f.call("GET", api.PathRewinds+"?conversation_id="+a.ID, nil)); len(all) != 2 || all[0].ID != undone.ID {
		t.Errorf("rewinds %+v", all)
	}
	made := as[api.CopyResult](
		f.call("POST", api.PathAgents+"/"+a.ID+"/copy", map[string]any{"history": true, "step_id": steps[0].ID, "name": "Then"}),
	)
	then := as[api.AgentState](f.call("GET", "/v1/agents/"+made.ID+"?include=agent.blocks", nil))
	if then.Name != "Then" || then.Blocks[0].Value != "" || then.Blocks[0].ID == a.Blocks[0].ID || len(f.messages(made.ID)) != 4 {
		t.Errorf("copied %+v, %d messages", then.Blocks, len(f.messages(made.ID)))
	}
	at := as[api.Conversation](f.call("POST", api.PathConversations+"/"+a.ID+"/fork", map[string]any{"step_id": steps[0].ID}))
	if len(at.InContextMessageIDs) != 4 {
		t.Errorf("forked at a step: %v", at.InContextMessageIDs)
	}
	for _, bad := range []map[string]any{{}, {"step_id": steps[0].ID, "run_id": runs[0].ID}} {
		f.call("POST", api.PathRewinds, bad).want(http.StatusBadRequest)
	}
	f.call("POST", api.PathRewinds, map[string]any{"step_id": "step-none"}).want(http.StatusNotFound)
	f.call("GET", api.PathRewinds, nil).want(http.StatusUnprocessableEntity)
}

func TestWhatMemoryARewindBringsBackIsToldByOrderNotByTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ context.Context, n int, _ core.ChatRequest) []any {
		if n == 0 {
			return calls("memory_insert", `{"label":"human","new_string":"Name: Ada"}`)
		}
		return []any{"ok"}
	})
	a := f.agent(human())
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("one")).want(http.StatusOK)
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("two")).want(http.StatusOK) // within the same second
	runs := as[[]api.Run](f.call("GET", "/v1/runs?order=asc&agent_id="+a.ID, nil))
	steps := as[[]api.Step](f.call("GET", "/v1/runs/"+runs[0].ID+"/steps?order=asc", nil))
	for at, want := range map[string]string{
		"run_id=" + runs[0].ID: "", "step_id=" + steps[1].ID: "Name: Ada", "run_id=" + runs[1].ID: "Name: Ada",
	} {
		got := as[[]api.BlockVersion](f.call("GET", api.PathRewinds+"/blocks?"+at, nil))
		if len(got) != 1 || got[0].BlockID != a.Blocks[0].ID || strings.TrimSpace(got[0].Value) != want {
			t.Errorf("before %s: %+v, want %q", at, got, want)
		}
	}
	f.call("GET", api.PathRewinds+"/blocks", nil).want(http.StatusBadRequest)
	f.call("GET", api.PathRewinds+"/blocks?step_id=step-none", nil).want(http.StatusNotFound)
}

func TestFilesGoBackThroughTheAPIAsFarAsTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("one")).want(http.StatusOK)
	run := as[[]api.Run](f.call("GET", "/v1/runs?agent_id="+a.ID, nil))[0]
	step := as[[]api.Step](f.call("GET", "/v1/runs/"+run.ID+"/steps", nil))[0]
	dir := t.TempDir()
	made, kept := filepath.Join(dir, "made"), filepath.Join(dir, "kept")
	for _, path := range []string{made, kept} {
		if err := os.WriteFile(path, []byte("agent"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := core.FileChange{
			Agent: core.AgentID(a.ID), Conversation: core.ConversationID(a.ID), Step: core.StepID(step.ID), Workspace: dir,
			Path: filepath.Base(path), After: core.FileState{Kind: core.PathFile, Mode: 0o600, Hash: core.ContentHash([]byte("agent"))},
		}
		if err := f.store.Workspaces().NoteChange(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(kept, []byte("a person"), 0o600); err != nil {
		t.Fatal(err)
	}
	there := func() bool { _, err := os.Stat(made); return err == nil }
	want := api.RewindOfFiles{Back: api.List[string]{made}, Kept: api.List[api.FileKept]{{Path: kept, Why: "somebody changed it since"}}}
	if diff := cmp.Diff(want, as[api.RewindOfFiles](f.call("GET", api.PathRewinds+"/files?run_id="+run.ID, nil))); diff != "" {
		t.Error(diff)
	}
	f.call("GET", api.PathRewinds+"/files", nil).want(http.StatusBadRequest)
	f.call("POST", api.PathRewinds, map[string]any{"run_id": run.ID, "what": []string{"thread", "weather"}}).want(http.StatusBadRequest)
	said := len(f.messages(a.ID))
	f.call("POST", api.PathRewinds, map[string]any{"run_id": run.ID, "what": []string{"memory"}}).want(http.StatusOK)
	if !there() || len(f.messages(a.ID)) != said {
		t.Error("a rewind of memory took something else back")
	}
	r := as[api.Rewind](f.call("POST", api.PathRewinds, map[string]any{"run_id": run.ID}))
	if diff := cmp.Diff(want, r.Files); diff != "" || there() || len(r.What) != 3 || r.FilesPending || len(f.messages(a.ID)) == said {
		t.Errorf("rewound %+v, %s", r, diff)
	}
	if undone := as[api.Rewind](f.call("POST", api.PathRewinds+"/"+r.ID+"/undo", nil)); len(undone.Files.Back) != 1 || !there() {
		t.Errorf("put forward again: %+v", undone.Files)
	}
}
