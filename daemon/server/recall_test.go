package server

import (
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"

	"github.com/google/go-cmp/cmp"
)

func TestRecallIsOnForTheTerminalsAgentsAndOffForOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	made := f.agent(human())
	opened := as[api.Session](
		f.socket("POST", api.PathClients, api.Client{Kind: "chat", Folder: "/a", Open: &api.Open{Agent: api.OpenNew}}, ""),
	)
	for id, want := range map[string]int{made.ID: 0, opened.AgentID: core.DefaultRecall} {
		if got := as[api.Recall](f.call("GET", api.PathAgents+"/"+id+"/recall", nil)); got.Tokens != want {
			t.Errorf("%s recalls %d tokens, want %d", id, got.Tokens, want)
		}
	}
	if api.DefaultRecall != core.DefaultRecall {
		t.Error("the two defaults differ")
	}
	path := api.PathAgents + "/" + made.ID + "/recall"
	if got := as[api.Recall](f.call("PUT", path, api.Recall{Tokens: 1500})); got.Tokens != 1500 {
		t.Errorf("set to %d", got.Tokens)
	}
	for _, bad := range []any{
		map[string]any{"tokens": 7}, map[string]any{"tokens": -1}, map[string]any{"tokens": 1_000_000}, map[string]any{},
	} {
		f.call("PUT", path, bad).want(http.StatusBadRequest)
	}
	f.call("PUT", path, map[string]any{"tokens": "many"}).want(http.StatusUnprocessableEntity)
	f.call("GET", api.PathAgents+"/"+string(core.NewAgentID())+"/recall", nil).want(http.StatusNotFound)
	if got := as[api.Recall](f.call("GET", path, nil)); got.Tokens != 1500 {
		t.Errorf("a refused value was taken: %d", got.Tokens)
	}
	f.call("PATCH", "/v1/agents/"+made.ID, map[string]any{"description": "new"}).want(http.StatusOK)
	if got := as[api.Recall](f.call("GET", path, nil)); got.Tokens != 1500 {
		t.Errorf("another change lost it: %d", got.Tokens)
	}
}

func TestWhatIsRecalledIsToldOnOurSideAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	f.call("PUT", api.PathAgents+"/"+a.ID+"/recall", api.Recall{Tokens: 800}).want(http.StatusOK)
	f.call("POST", "/v1/agents/"+a.ID+"/archival-memory", map[string]any{"text": "Odd keeps the lighthouse."}).want(http.StatusOK)
	stream := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("Who keeps the lighthouse?"), "stream_tokens", true)).events()
	run := ""
	for _, m := range stream {
		if m.MessageType == api.MessageNotice || strings.Contains(m.Content.String(), "Recalled") {
			t.Errorf("the contract's stream has %+v", m)
		}
		if m.RunID != "" {
			run = m.RunID
		}
	}
	told := only(t, f.call("GET", api.PathRuns+"/"+run+"/events", nil).events(), api.MessageNotice)
	record, _ := told.Notice.Data["text"].(string)
	if told.Notice.Kind != api.NoticeRecalled || told.Notice.Text != "recalled 1 memory" ||
		!strings.Contains(record, "note: Odd keeps the lighthouse.") {
		t.Errorf("told %+v", told.Notice)
	}
	for _, m := range f.messages(a.ID) {
		if strings.Contains(m.Content.String(), "Recalled") {
			t.Errorf("listed: %+v", m)
		}
	}
	kept := as[[]api.Message](f.call("GET", api.PathConversations+"/"+a.ID+"/recalled?limit=5", nil))
	if len(kept) != 1 || kept[0].RunID != run || kept[0].Notice == nil {
		t.Fatalf("kept %+v", kept)
	}
	if diff := cmp.Diff(told.Notice, kept[0].Notice); diff != "" {
		t.Errorf("the history tells it otherwise than the stream (-stream +history):\n%s", diff)
	}
	forked := as[api.Conversation](f.call("POST", "/v1/conversations/"+a.ID+"/fork", nil))
	if again := as[[]api.Message](
		f.call("GET", api.PathConversations+"/"+forked.ID+"/recalled", nil),
	); len(again) != 1 ||
		again[0].ID != kept[0].ID {
		t.Errorf("a fork has %+v", again)
	}
	steps := as[[]api.Step](f.call("GET", "/v1/runs/"+run+"/steps", nil))
	sent := as[api.SentRequest](f.call("GET", api.PathSteps+"/"+steps[0].ID+"/request", nil))
	if last := sent.Messages[len(sent.Messages)-1]; last.Role != "user" || !strings.Contains(last.Text, "\n"+record+"\n") {
		t.Errorf("sent %+v", last)
	}
}
