package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/memory"
	"loci/daemon/api"
)

func TestASessionFindsTheFoldersAgentAndOnlyAnEmptyHomeMakesOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	open := func(folder string, o *api.Open) api.Session {
		return as[api.Session](
			f.socket("POST", api.PathClients, api.Client{Kind: "chat", Folder: folder, Zone: "Europe/Berlin", Open: o}, ""),
		)
	}
	say := func(s api.Session) {
		f.socket("POST", "/v1/conversations/"+s.ConversationID+"/messages", with(text("hi"), "background", true), s.Client).events()
	}
	if only := open("/home/ada/a", nil); only.AgentID != "" || as[int](f.call("GET", "/v1/agents/count", nil)) != 0 {
		t.Errorf("a session that only looks made an agent: %+v", only)
	}
	first := open("/home/ada/a", &api.Open{})
	if !first.AgentNew || first.Model != "test/model" || first.ConversationID != first.AgentID {
		t.Errorf("first = %+v", first)
	}
	a := as[api.AgentState](f.call("GET", "/v1/agents/"+first.AgentID+"?include=agent.blocks&include=agent.tools", nil))
	var labels, names []string
	for _, b := range a.Blocks {
		labels = append(labels, *b.Label)
	}
	for _, tool := range a.Tools {
		names = append(names, *tool.Name)
	}
	want := append(memory.TerminalTools(), memory.WorkspaceTools()...)
	if diff := cmp.Diff(want, names); diff != "" || strings.Join(labels, " ") != "persona human" || *a.Timezone != "Europe/Berlin" {
		t.Errorf("the terminal's agent has blocks %v, zone %s, tools (-want +got):\n%s", labels, *a.Timezone, diff)
	}
	say(first)
	if again := open("/home/ada/a", &api.Open{}); again.AgentID != first.AgentID || again.AgentNew || again.RecallCount == 0 {
		t.Errorf("again = %+v", again)
	}
	other := open("/home/ada/b", &api.Open{Agent: api.OpenNew, Name: "Other"})
	if other.AgentID == first.AgentID || other.AgentName != "Other" {
		t.Errorf("other = %+v", other)
	}
	if elsewhere := open("/home/ada/c", &api.Open{}); elsewhere.AgentID != first.AgentID {
		t.Errorf("a new folder takes %s, not the agent used last", elsewhere.AgentName)
	}
	say(other)
	if elsewhere := open("/home/ada/c", &api.Open{}); elsewhere.AgentID != other.AgentID {
		t.Errorf("a new folder takes %s, not the agent used last", elsewhere.AgentName)
	}
	thread := open("/home/ada/a", &api.Open{Conversation: api.OpenNew})
	if thread.AgentID != first.AgentID || !core.ValidID("conv", thread.ConversationID) {
		t.Errorf("thread = %+v", thread)
	}
	say(thread)
	if back := open("/home/ada/a", &api.Open{}); back.ConversationID != thread.ConversationID {
		t.Errorf("the folder's conversation is %s, want %s", back.ConversationID, thread.ConversationID)
	}
	if named := open("/home/ada/a", &api.Open{Agent: "Other"}); named.AgentID != other.AgentID || named.ConversationID != other.AgentID {
		t.Errorf("named = %+v", named)
	}
	for name, status := range map[string]int{"Nobody": http.StatusNotFound} {
		f.socket("POST", api.PathClients, api.Client{Kind: "chat", Open: &api.Open{Agent: name}}, "").want(status)
	}
}

func TestASessionSaysHowFullTheWindowInForceIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(map[string]any{"context_window_limit": 8000})
	for said := range 2 {
		s := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "chat", Open: &api.Open{Agent: a.ID}}, ""))
		w := as[api.ContextWindow](f.call("GET", "/v1/agents/"+a.ID+"/context", nil))
		if s.Window != 8000 || s.Used == 0 || s.Window != w.ContextWindowSizeMax || s.Used != w.ContextWindowSizeCurrent {
			t.Errorf("after %d messages the session says %d of %d tokens, the agent's context %d of %d",
				said, s.Used, s.Window, w.ContextWindowSizeCurrent, w.ContextWindowSizeMax)
		}
		f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")).want(http.StatusOK)
	}
	a = f.agent(nil)
	f.model.keyless.Store(true)
	s := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "chat", Open: &api.Open{Agent: a.ID}}, ""))
	w := as[api.ContextWindow](f.call("GET", "/v1/agents/"+a.ID+"/context", nil))
	if s.Used == 0 || s.Window != w.ContextWindowSizeMax || s.Used != w.ContextWindowSizeCurrent {
		t.Errorf("without a key the session says %d of %d tokens, the agent's context %d of %d",
			s.Used, s.Window, w.ContextWindowSizeCurrent, w.ContextWindowSizeMax)
	}
}

func TestACommandsSessionCountsNoWindow(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	s := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "print", Open: &api.Open{Agent: a.ID}}, ""))
	if s.AgentID != a.ID || !s.ModelSure || s.Used != 0 || s.Window != 0 {
		t.Errorf("session = %+v", s)
	}
}

func TestAnUnknownSessionIsToldToRegisterAgainAndNothingIsStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	r := f.socket("POST", "/v1/agents/"+a.ID+"/messages", text("hi"), "client-123e4567-e89b-42d3-8456-426614174000").
		want(http.StatusPreconditionFailed)
	if r.header.Get(api.HeaderError) != api.KindPrecondition || len(f.messages(a.ID)) != 1 {
		t.Errorf("%s", r.body)
	}
	for _, c := range []api.Client{
		{Kind: "chat", Folder: "relative"}, {Kind: "chat", Zone: "Nowhere/X"}, {Kind: "chat", Env: map[string]string{"bad name": "x"}},
	} {
		f.socket("POST", api.PathClients, c, "").want(http.StatusBadRequest)
	}
}

func TestChangesTellOfAnAgentThatChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	server := newLive(t, f)
	next := server.get(api.PathChanges)
	if line := next(); !strings.Contains(line, `"ping"`) {
		t.Errorf("first line = %s", line)
	}
	as[api.AgentState](f.call("PATCH", "/v1/agents/"+a.ID, map[string]any{"name": "New name"}))
	line := next()
	for strings.Contains(line, `"ping"`) { // on a slow machine it is time for another one
		line = next()
	}
	if !strings.Contains(line, `"agent_id":"`+a.ID+`"`) {
		t.Errorf("line = %s", line)
	}
}

func TestArchivalMemoryIsInsertedListedSearchedAndDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	path := "/v1/agents/" + a.ID + "/archival-memory"
	for _, body := range []map[string]any{
		{"text": "Ada likes green tea", "tags": []string{"taste"}}, {"text": "The compiler meeting is on Monday", "tags": []string{"work"}},
	} {
		if got := as[[]api.Passage](f.call("POST", path, body)); len(got) != 1 || got[0].ArchiveID == nil {
			t.Errorf("insert = %+v", got)
		}
	}
	all := as[[]api.Passage](f.call("GET", path, nil))
	if len(all) != 2 || !strings.Contains(all[0].Text, "tea") {
		t.Errorf("list = %+v", all)
	}
	if got := as[[]api.Passage](f.call("GET", path+"?ascending=false&limit=1", nil)); !strings.Contains(got[0].Text, "Monday") {
		t.Errorf("newest = %+v", got)
	}
	if got := as[[]api.Passage](f.call("GET", path+"?search=MEETING", nil)); len(got) > 1 {
		t.Errorf("search in the list = %+v", got)
	}
	found := as[api.ArchivalSearch](f.call("GET", path+"/search?query=tea", nil))
	if found.Count != 1 || found.Results[0].ID != all[0].ID || found.Results[0].Tags[0] != "taste" {
		t.Errorf("search = %+v", found)
	}
	if got := as[api.ArchivalSearch](f.call("GET", path+"/search?query=tea&tags=work", nil)); got.Count != 0 {
		t.Errorf("search by another tag = %+v", got)
	}
	if got := as[[]api.PassageResult](
		f.call("POST", "/v1/passages/search", map[string]any{"query": "compiler", "agent_id": a.ID}),
	); len(
		got,
	) != 1 {
		t.Errorf("search everywhere = %+v", got)
	}
	if got := as[[]api.Archive](f.call("GET", "/v1/archives?agent_id="+a.ID, nil)); len(got) != 1 {
		t.Errorf("archives = %+v", got)
	}
	f.call("DELETE", path+"/"+all[0].ID, nil).want(http.StatusOK)
	f.call("DELETE", path+"/"+all[0].ID, nil).want(http.StatusNotFound)
	f.call("POST", path, map[string]any{"text": ""}).want(http.StatusBadRequest)
	f.call("GET", path+"/search", nil).want(http.StatusUnprocessableEntity)
}

func TestConversationsHaveTheirOwnThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	conv := as[api.Conversation](f.call("POST", "/v1/conversations/?agent_id="+a.ID, map[string]any{"summary": "about tea"}))
	if !core.ValidID("conv", conv.ID) || len(conv.InContextMessageIDs) != 1 || *conv.Summary != "about tea" {
		t.Errorf("conversation = %+v", conv)
	}
	as[api.Response](f.call("POST", "/v1/conversations/"+conv.ID+"/messages", with(text("hi"), "streaming", false)))
	if n := len(f.messages(a.ID)); n != 1 {
		t.Errorf("%d messages in the default conversation", n)
	}
	if got := as[[]api.Conversation](
		f.call("GET", "/v1/conversations/?agent_id="+a.ID+"&summary_search=tea", nil),
	); len(got) != 1 ||
		got[0].ID != conv.ID {
		t.Errorf("list = %+v", got)
	}
	if got := as[api.Conversation](f.call("PATCH", "/v1/conversations/"+conv.ID, `{"summary":null}`)); got.Summary != nil {
		t.Errorf("summary = %v", *got.Summary)
	}
	if got := as[api.Conversation](
		f.call("GET", "/v1/conversations/default?agent_id="+a.ID, nil),
	); got.ID != "default" ||
		got.AgentID != a.ID {
		t.Errorf("default = %+v", got)
	}
	f.call("GET", "/v1/conversations/default", nil).want(http.StatusBadRequest)
	if dry := as[string](f.call("POST", "/v1/conversations/"+conv.ID+"/recompile?dry_run=true", nil)); !strings.Contains(dry, "<human>") {
		t.Errorf("recompile = %q", dry)
	}
	f.call("DELETE", "/v1/conversations/"+a.ID, nil).want(http.StatusBadRequest)
	f.call("DELETE", "/v1/conversations/"+conv.ID, nil).want(http.StatusOK)
	f.call("GET", "/v1/conversations/"+conv.ID, nil).want(http.StatusNotFound)
	f.call("DELETE", "/v1/agents/"+a.ID, nil).want(http.StatusOK)
	f.call("GET", "/v1/agents/"+a.ID, nil).want(http.StatusNotFound)
	f.call("GET", "/v1/agents/"+a.ID+"/messages", nil).want(http.StatusNotFound)
}

func TestRunsAndStepsTellWhatTheyTook(t *testing.T) {
	t.Parallel()
	f := newFixture(t, remembers)
	a := f.agent(human())
	as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("I am Ada")))
	run := as[[]api.Run](f.call("GET", "/v1/runs/?agent_id="+a.ID, nil))[0]
	if run.Status != api.RunCompleted || *run.StopReason != api.StopEndTurn || run.ConversationID != nil ||
		run.Metadata["run_type"] != "send_message" ||
		run.TotalDurationNS == nil {
		t.Errorf("run = %+v", run)
	}
	if u := as[api.RunUsage](f.call("GET", "/v1/runs/"+run.ID+"/usage", nil)); u.TotalTokens != 30 || u.PromptTokensDetails != nil {
		t.Errorf("usage = %+v", u)
	}
	steps := as[[]api.Step](f.call("GET", "/v1/runs/"+run.ID+"/steps", nil))
	if len(steps) != 2 || *steps[0].Status != "success" || *steps[0].ModelHandle != "test/model" ||
		*steps[0].StopReason != api.StopEndTurn {
		t.Errorf("steps = %+v", steps)
	}
	msgs := as[[]api.Message](f.call("GET", "/v1/steps/"+steps[1].ID+"/messages", nil))
	if len(msgs) < 4 {
		t.Errorf("messages of the first step = %v", identities(msgs))
	}
	if m := as[api.RunMetrics](f.call("GET", "/v1/runs/"+run.ID+"/metrics", nil)); *m.NumSteps != 2 || len(m.ToolsUsed) != 1 {
		t.Errorf("metrics = %+v", m)
	}
	if got := as[api.Step](f.call("PATCH", "/v1/steps/"+steps[0].ID+"/feedback", `{"feedback":"positive"}`)); *got.Feedback != "positive" {
		t.Errorf("feedback = %+v", got.Feedback)
	}
	as[[]api.Trace](f.call("GET", "/v1/runs/"+run.ID+"/trace", nil).want(http.StatusOK))
	if got := as[[]api.Run](f.call("GET", "/v1/runs/?active=true", nil)); len(got) != 0 {
		t.Errorf("active = %+v", got)
	}
	as[[]api.Model](f.call("GET", "/v1/models/", nil))
	if got := as[api.ModelChoice](f.call("GET", api.PathModel+"?agent_id="+a.ID, nil)); got.Handle != "test/model" || got.Why != "agent" {
		t.Errorf("choice = %+v", got)
	}
	f.call("DELETE", "/v1/runs/"+run.ID, nil).want(http.StatusOK)
	f.call("GET", "/v1/runs/"+run.ID, nil).want(http.StatusNotFound)
	if n := len(f.messages(a.ID)); n < 5 {
		t.Errorf("deleting a run took messages: %d left", n)
	}
	f.call("PATCH", "/v1/agents/"+a.ID+"/reset-messages", `{"add_default_initial_messages":false}`).want(http.StatusOK)
	if n := len(f.messages(a.ID)); n != 1 {
		t.Errorf("%d messages after a reset", n)
	}
}

func TestARunHasTheModeAndTheRulesThatItsSessionHadWhenItWasSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	register := func(c api.Client) reply { return f.socket("POST", api.PathClients, c, "") }
	s := as[api.Session](register(api.Client{
		Kind: api.ClientPrint, Folder: "/home/ada/a", Mode: "edits", Allow: []string{"shell(make *)"}, Deny: []string{"fetch"},
		Unattended: true,
	}))
	send := func(mode string) reply {
		req := f.request("POST", "/v1/agents/"+a.ID+"/messages", text("hi"))
		req.Header.Set(api.HeaderClient, s.Client)
		if mode != "" {
			req.Header.Set(api.HeaderMode, mode)
		}
		return f.do(req.WithContext(WithPeer(req.Context(), PeerSocket)))
	}
	for _, tt := range []struct{ asked, want string }{{"", "edits"}, {"plan", "plan"}, {"", "plan"}} {
		send(tt.asked).want(http.StatusOK)
		of := core.RunFilter{Agents: []core.AgentID{core.AgentID(a.ID)}}
		runs, err := f.store.Runs().List(t.Context(), of, core.Page{Limit: 1, Desc: true})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %v", runs, err)
		}
		c := runs[0].Client
		rules := core.SessionRules{Allow: []string{"shell(make *)"}, Deny: []string{"fetch"}}
		if diff := cmp.Diff(rules, c.Rules); diff != "" || string(c.Mode) != tt.want || !c.Unattended {
			t.Errorf("asked for %q: the run has the mode %s (-want +rules):\n%s", tt.asked, c.Mode, diff)
		}
	}
	send("bold").want(http.StatusBadRequest)
	wrong := register(api.Client{Kind: api.ClientChat, Allow: []string{"shell(make"}})
	if wrong.want(http.StatusBadRequest); !strings.Contains(string(wrong.body), "of this session is not valid: the bracket is not closed") {
		t.Errorf("a broken rule: %s", wrong.body)
	}
}
