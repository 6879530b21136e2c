package server

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// TestTheQuickstartOf2024WorksAsItIs sends what the contract's first tutorial sends, word for word but for the model.
func TestTheQuickstartOf2024WorksAsItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("Hi Bob."))
	agent := as[api.AgentState](f.call("POST", "/v1/agents/", `{
		"memory_blocks": [
			{"value": "The human's name is Bob the Builder", "label": "human", "limit": 2000},
			{"value": "My name is Sam, the all-knowing sentient AI.", "label": "persona", "limit": 1500}
		],
		"llm": "test/model", "embedding": "builtin/words"}`))
	if api.Val(agent.Model) != "test/model" || api.Val(agent.Embedding) != "builtin/words" {
		t.Errorf("runs on %q, embeds by %q", api.Val(agent.Model), api.Val(agent.Embedding))
	}
	limits := map[string]int{}
	for _, b := range agent.Blocks {
		limits[api.Val(b.Label)] = b.Limit
	}
	if limits["human"] != 2000 || limits["persona"] != 1500 {
		t.Errorf("limits = %v", limits)
	}
	f.call("POST", "/v1/agents/", `{"llm": "test/another"}`).want(http.StatusNotFound)

	out := as[api.Response](
		f.call("POST", "/v1/agents/"+agent.ID+"/messages", `{"messages": [{"role": "user", "text": "hows it going????"}]}`),
	)
	if len(out.Messages) != 1 || out.Messages[0].Content.String() != "Hi Bob." {
		t.Errorf("answered %+v", out.Messages)
	}
	if msgs := f.messages(agent.ID); msgs[1].Content.String() != "hows it going????" {
		t.Errorf("was asked %q", msgs[1].Content.String())
	}
}

func TestAnErrorInAStreamComesAsTheEventThatSDKsRaiseOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(context.Context, int, core.ChatRequest) []any {
		return []any{"Well, ", &core.Error{Kind: core.Invalid, Msg: "that is too much", Provider: true}}
	})
	agent := f.agent(nil)
	for _, more := range []map[string]any{{}, {"stream_tokens": true}, {"background": true}} {
		body := f.call("POST", "/v1/agents/"+agent.ID+"/messages/stream", with(more, "input", "hi", "include_pings", false)).
			want(http.StatusOK).
			body
		stop, failed := bytes.Index(
			body,
			[]byte(`"message_type":"stop_reason"`),
		), bytes.Index(
			body,
			[]byte("event: error\ndata: {\"message_type\":\"error_message\""),
		)
		if stop < 0 || failed < stop || !bytes.HasSuffix(body, []byte("data: [DONE]\n\n")) || bytes.Count(body, []byte("event:")) != 1 {
			t.Errorf("%v streams\n%s", more, body)
		}
	}
}

func TestTheAgentsOfABlockArePaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	block := as[api.Block](f.call("POST", "/v1/blocks", map[string]any{"label": "team", "value": "blue"}))
	var want []string
	for range 5 {
		want = append(want, f.agent(map[string]any{"block_ids": []string{block.ID}}).ID)
	}
	f.agent(nil)
	path := "/v1/blocks/" + block.ID + "/agents?order=asc&limit=2&after="
	var got []string
	for after := ""; ; {
		page := as[[]api.AgentState](f.call("GET", path+after, nil))
		if len(page) == 0 || len(got) > len(want) {
			break
		}
		for _, a := range page {
			got = append(got, a.ID)
		}
		after = page[len(page)-1].ID
	}
	if len(got) != 5 || got[0] != want[0] || got[4] != want[4] {
		t.Errorf("walked through %v, want %v", got, want)
	}
}

func TestFeedbackKeepsItsTagsAndStepsAreFoundByThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	agent := f.agent(nil)
	f.call("POST", "/v1/agents/"+agent.ID+"/messages", text("one")).want(http.StatusOK)
	f.call("POST", "/v1/agents/"+agent.ID+"/messages", text("two")).want(http.StatusOK)
	steps := as[[]api.Step](f.call("GET", "/v1/steps", nil))
	path := "/v1/steps/" + steps[0].ID
	got := as[api.Step](
		f.call("PATCH", path+"/feedback", map[string]any{"feedback": "positive", "tags": []string{"short", "short", "50%"}}),
	)
	if api.Val(got.Feedback) != "positive" || !slices.Equal(got.Tags, []string{"short", "50%"}) {
		t.Errorf("feedback = %+v", got)
	}
	got = as[api.Step](f.call("PATCH", path+"/feedback", map[string]any{"feedback": "negative"}))
	if !slices.Equal(got.Tags, []string{"short", "50%"}) {
		t.Errorf("another feedback without tags left %v", got.Tags)
	}
	count := func(query string) int { return len(as[[]api.Step](f.call("GET", "/v1/steps?"+query, nil))) }
	for query, want := range map[string]int{
		"tags=short": 1, "tags=none&tags=50%25": 1, "tags=none": 0, "trace_ids=abc": 0, "project_id=x": 0,
		"model=" + *steps[0].Model: 2, "model=" + *steps[0].ModelHandle: 2, "model=odel": 0, "model=mode_": 0, "model=other": 0,
	} {
		if n := count(query); n != want {
			t.Errorf("%s finds %d steps, want %d", query, n, want)
		}
	}
	if got = as[api.Step](
		f.call("PATCH", path+"/feedback", map[string]any{"feedback": nil, "tags": []string{}}),
	); len(got.Tags) != 0 ||
		got.Feedback != nil {
		t.Errorf("feedback taken back is %+v", got)
	}
}

func TestAnswersAreAsTheContractHasThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	t.Run("what is not built is not asked for again", func(t *testing.T) {
		t.Parallel()
		r := f.call("POST", "/v1/agents", map[string]any{"enable_sleeptime": true}).want(http.StatusNotImplemented)
		if got := r.header.Get("x-should-retry"); got != "false" {
			t.Errorf("x-should-retry = %q", got)
		}
		if got := f.call("GET", "/v1/agents/agent-123e4567-e89b-42d3-8456-426614174000", nil).header.Get("x-should-retry"); got != "" {
			t.Errorf("x-should-retry of a 404 = %q", got)
		}
	})
	t.Run("an archive says whose it is", func(t *testing.T) {
		t.Parallel()
		if got := as[api.Archive](f.call("POST", "/v1/archives", map[string]any{"name": "notes"})); got.OrganizationID != api.DefaultOrg {
			t.Errorf("belongs to %q", got.OrganizationID)
		}
	})
	t.Run("settings of a conversation say of which provider they are", func(t *testing.T) {
		t.Parallel()
		agent := f.agent(nil)
		body := map[string]any{"model_settings": map[string]any{"temperature": 0.1}}
		conv := as[api.Conversation](f.call("POST", "/v1/conversations?agent_id="+agent.ID, body))
		listed := as[[]api.Conversation](f.call("GET", "/v1/conversations?agent_id="+agent.ID, nil))
		if conv.ModelSettings.ProviderType == "" || listed[0].ModelSettings.ProviderType != conv.ModelSettings.ProviderType ||
			*conv.ModelSettings.Temperature != 0.1 {
			t.Errorf("settings = %+v, listed %+v", conv.ModelSettings, listed[0].ModelSettings)
		}
	})
	t.Run("a rule that is given twice is kept once", func(t *testing.T) {
		t.Parallel()
		rule := map[string]any{"type": "constrain_child_tools", "tool_name": "memory_insert", "children": []string{"memory_replace"}}
		other := map[string]any{"type": "constrain_child_tools", "tool_name": "memory_insert", "children": []string{"conversation_search"}}
		rules := map[string]any{"tool_rules": []any{rule, other, rule}}
		agent := f.agent(rules)
		if len(agent.ToolRules) != 2 {
			t.Errorf("made with %+v", agent.ToolRules)
		}
		if agent = as[api.AgentState](f.call("PATCH", "/v1/agents/"+agent.ID, rules)); len(agent.ToolRules) != 2 {
			t.Errorf("changed to %+v", agent.ToolRules)
		}
	})
	t.Run("limits of files are those that count", func(t *testing.T) {
		t.Parallel()
		agent := f.agent(nil)
		if api.Val(agent.MaxFilesOpen) != 10 || api.Val(agent.PerFileViewWindowCharLimit) != 25_000 {
			t.Errorf("limits = %v, %v", api.Val(agent.MaxFilesOpen), api.Val(agent.PerFileViewWindowCharLimit))
		}
		agent = f.agent(map[string]any{"context_window_limit": 8000, "max_files_open": 2})
		if api.Val(agent.MaxFilesOpen) != 2 || api.Val(agent.PerFileViewWindowCharLimit) != 5000 {
			t.Errorf("limits = %v, %v", api.Val(agent.MaxFilesOpen), api.Val(agent.PerFileViewWindowCharLimit))
		}
	})
	t.Run("a default conversation is recompiled for the agent in the body", func(t *testing.T) {
		t.Parallel()
		agent := f.agent(nil)
		f.call("POST", "/v1/conversations/default/recompile", map[string]any{"agent_id": agent.ID}).want(http.StatusOK)
		f.call("POST", "/v1/conversations/default/recompile", nil).want(http.StatusBadRequest)
	})
	t.Run("the messages of a run are of the types that were asked for", func(t *testing.T) {
		t.Parallel()
		agent := f.agent(nil)
		out := as[api.Response](
			f.call(
				"POST",
				"/v1/agents/"+agent.ID+"/messages",
				with(text("hi"), "include_return_message_types", []string{"assistant_message"}),
			),
		)
		msgs := as[[]api.Message](f.call("GET", "/v1/runs/"+out.Usage.RunIDs[0]+"/messages", nil))
		if len(msgs) != 1 || msgs[0].MessageType != api.MessageAssistant {
			t.Errorf("messages = %+v", msgs)
		}
	})
}

func TestARunUnderWayIsWaitedForOrNamed(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	agent := f.agent(nil)
	path := "/v1/agents/" + agent.ID + "/messages"
	message := func(otid string) map[string]any {
		return map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi", "otid": otid}}}
	}
	first := make(chan reply, 1)
	go func() { first <- f.call("POST", path, message("a")) }()
	<-g.reached
	runs := as[[]api.Run](f.call("GET", "/v1/runs?active=true", nil))
	for name, r := range map[string]reply{
		"a stream":            f.call("POST", path+"/stream", message("b")),
		"in the background":   f.call("POST", path+"/stream", with(message("b"), "background", true)),
		"in the conversation": f.call("POST", "/v1/conversations/"+agent.ID+"/messages", with(message("b"), "streaming", false)),
	} {
		var e struct {
			RunID string `json:"run_id"`
		}
		if err := json.Unmarshal(
			r.want(http.StatusConflict).body,
			&e,
		); err != nil || e.RunID != runs[0].ID ||
			!strings.Contains(r.detail(), "(run_id="+runs[0].ID+")") {
			t.Errorf("%s is refused with %s", name, r.body)
		}
	}
	if again := as[api.Run](f.call("POST", path+"/async", message("a"))); again.ID != runs[0].ID {
		t.Errorf("a repeat of the run under way is %s", again.ID)
	}
	server := newLive(t, f)
	again := server.stream("POST", path+"/stream", `{"messages":[{"role":"user","content":"hi","otid":"a"}]}`)
	if line := again(); !strings.Contains(line, runs[0].ID) {
		t.Errorf("its repeat as a stream begins with %s", line)
	}
	close(g.open)
	if one := as[api.Response](<-first); one.Usage.RunIDs[0] != runs[0].ID {
		t.Errorf("the run under way is answered as %v", one.Usage.RunIDs)
	}
	if later := as[api.Response](f.call("POST", path, message("a"))); later.Usage.RunIDs[0] == runs[0].ID {
		t.Error("a repeat after the run's end is no new run")
	}
}

func TestSkillsOfTheClientJoinTheTurnAndAreShownNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	agent := f.agent(nil)
	path := "/v1/agents/" + agent.ID + "/messages"
	skill := map[string]any{"name": "baking", "description": "Bakes bread", "location": "skills/baking/SKILL.md"}
	sent := func() string {
		f.model.mu.Lock()
		defer f.model.mu.Unlock()
		var all strings.Builder
		for _, m := range f.model.requests[len(f.model.requests)-1].Messages {
			all.WriteString(m.Text + "\n")
		}
		return all.String()
	}
	for range 2 { // shown by the window already, they join once
		f.call("POST", path, with(text("hello there"), "client_skills", []any{skill})).want(http.StatusOK)
	}
	got := sent()
	for _, want := range []string{
		"<available_skills>", "<name>baking</name>", "<description>Bakes bread</description>",
		"<location>skills/baking/SKILL.md</location>",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%d times %s in\n%s", strings.Count(got, want), want, got)
		}
	}
	f.call("POST", path, text("without")).want(http.StatusOK)
	if got := sent(); !strings.Contains(got, "no skills any more") {
		t.Errorf("skills are not taken back:\n%s", got)
	}
	for _, m := range f.messages(agent.ID) {
		if strings.Contains(m.Content.String(), "skill") {
			t.Errorf("a list shows %q", m.Content.String())
		}
	}
	f.call("POST", path, with(text("x"), "client_skills", []any{map[string]any{"name": "", "description": "", "location": ""}})).
		want(http.StatusUnprocessableEntity)
}

func TestTheRetiredConfigurationHasItsEffectOrIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	config := map[string]any{
		"model":               "model",
		"model_endpoint_type": "openai",
		"handle":              "test/model",
		"context_window":      20_000,
		"temperature":         0.2,
		"max_tokens":          777,
		"reasoning_effort":    "low",
		"parallel_tool_calls": false,
		"strict":              false,
	}
	settings := func(agent api.AgentState) core.ModelSettings {
		f.call("POST", "/v1/agents/"+agent.ID+"/messages", text("hi")).want(http.StatusOK)
		f.model.mu.Lock()
		defer f.model.mu.Unlock()
		return f.model.requests[len(f.model.requests)-1].Settings
	}
	warmth, no := 0.2, false
	want := core.ModelSettings{
		Temperature:     &warmth,
		MaxOutputTokens: 777,
		ReasoningEffort: "low",
		ParallelTools:   &no,
		ContextWindow:   20_000,
	}
	agent := f.agent(map[string]any{"llm_config": config})
	if diff := cmp.Diff(want, settings(agent)); diff != "" {
		t.Errorf("made with it (-want +got):\n%s", diff)
	}
	if s := agent.ModelSettings; *s.Temperature != 0.2 || *s.MaxOutputTokens != 777 || s.Reasoning.ReasoningEffort != "low" ||
		*s.ParallelToolCalls {
		t.Errorf("shown as %+v", s)
	}
	agent = f.agent(nil)
	agent = as[api.AgentState](f.call("PATCH", "/v1/agents/"+agent.ID, map[string]any{"llm_config": config}))
	if diff := cmp.Diff(want, settings(agent)); diff != "" {
		t.Errorf("changed by it (-want +got):\n%s", diff)
	}
	for _, body := range []map[string]any{
		{"llm_config": with(maps.Clone(config), "strict", true)},
		{"model_settings": map[string]any{"strict": true}},
		{"llm_config": with(maps.Clone(config), "return_logprobs", true)},
		{"llm_config": with(maps.Clone(config), "return_token_ids", true)},
	} {
		f.call("POST", "/v1/agents", body).want(http.StatusNotImplemented)
		f.call("PATCH", "/v1/agents/"+agent.ID, body).want(http.StatusNotImplemented)
	}
	config = with(config, "return_logprobs", false, "return_token_ids", false, "top_logprobs", nil)
	f.call("PATCH", "/v1/agents/"+agent.ID, map[string]any{"llm_config": config}).want(http.StatusOK)
}

func TestModelSettingsHaveTheContractsDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	s := f.agent(nil).ModelSettings
	if *s.Temperature != 1 || *s.Strict || !*s.ParallelToolCalls || s.Reasoning.ReasoningEffort != "minimal" {
		t.Errorf("from a handle: %+v", s)
	}
	for kind, want := range map[string]float64{"openai": 0.7, "anthropic": 1} {
		s = f.agent(map[string]any{"model_settings": map[string]any{"provider_type": kind}}).ModelSettings
		if *s.Temperature != want || s.MaxOutputTokens != nil {
			t.Errorf("from an object of %s: %+v", kind, s)
		}
	}
}

func TestOpenFilesAreBlocksOfTheAgentsMemory(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.done(s.put("poem.txt", "The moon\nrises\n").ID)
	agent := s.agent(map[string]any{"folder_ids": []string{s.folder.ID}, "embedding": "builtin/words"})
	if len(agent.Memory.FileBlocks) != 1 {
		t.Fatalf("file blocks = %+v", agent.Memory.FileBlocks)
	}
	b := agent.Memory.FileBlocks[0]
	if !strings.HasSuffix(api.Val(b.Label), "/poem.txt") || !strings.Contains(b.Value, "The moon") || !b.IsOpen ||
		b.SourceID != s.folder.ID ||
		!b.ReadOnly {
		t.Errorf("file block = %+v", b)
	}
	if c := agent.EmbeddingConfig; c == nil || api.Val(c.Handle) != "builtin/words" || c.EmbeddingDim == 0 {
		t.Errorf("embedding_config = %+v", c)
	}
	s.call("PATCH", "/v1/agents/"+agent.ID+"/files/close-all", nil).want(http.StatusOK)
	if agent = as[api.AgentState](s.call("GET", "/v1/agents/"+agent.ID, nil)); len(agent.Memory.FileBlocks) != 0 {
		t.Errorf("closed files are blocks: %+v", agent.Memory.FileBlocks)
	}
}
