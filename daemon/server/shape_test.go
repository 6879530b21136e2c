package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

func TestWrongShapesAre422BeforeAnythingIsLookedUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	missing := "agent-123e4567-e89b-42d3-8456-426614174000"
	for _, c := range []struct{ method, path, body, mentions string }{
		{"GET", "/v1/agents/nonsense", "", "agent-123e4567-e89b-42d3-8456-426614174000"},
		{"GET", "/v1/agents/agent-123E4567-e89b-42d3-8456-426614174000", "", "pattern"},
		{"GET", "/v1/conversations/other", "", "conv-123e4567-e89b-42d3-8456-426614174000"},
		{"DELETE", "/v1/blocks/block-1", "", "block-123e4567"},
		{"POST", "/v1/agents/" + missing + "/messages", `{`, "body"},
		{"POST", "/v1/agents/" + missing + "/messages", `{}`, "messages or input"},
		{"POST", "/v1/agents/" + missing + "/messages", `{"messages":[]}`, "messages or input"},
		{"POST", "/v1/agents/" + missing + "/messages", `{"input":"a","messages":[{"role":"user","content":"b"}]}`, "not both"},
		{"POST", "/v1/agents/" + missing + "/messages", `{"messages":[{"role":"tool","content":"b"}]}`, "tool"},
		{"POST", "/v1/agents/" + missing + "/messages", `{"input":"a","max_steps":0}`, "max_steps"},
		{"POST", "/v1/agents/" + missing + "/messages", `{"input":"a","include_return_message_types":["nothing"]}`, "nothing"},
		{"POST", "/v1/agents", `{"name":5}`, "name"},
		{"POST", "/v1/agents", `{"tool_rules":[{"type":"nothing","tool_name":"x"}]}`, "nothing"},
		{"POST", "/v1/agents", `{"tool_rules":[{"type":"constrain_child_tools","tool_name":"x"}]}`, "children"},
		{"POST", "/v1/agents", `{"tool_rules":[{"type":"parent_last_tool","tool_name":"x"}]}`, "children"},
		{"POST", "/v1/agents", `{"tool_rules":[{"type":"conditional","tool_name":"x"}]}`, "child_output_mapping"},
		{"POST", "/v1/agents", `{"tool_rules":[{"type":"max_count_per_step","tool_name":"x"}]}`, "max_count_limit"},
		{"POST", "/v1/agents", `{"initial_message_sequence":[{"role":"user","content":[{"type":"tool_return"}]}]}`, "tool_return"},
		{"POST", "/v1/agents", `{"max_files_open":1001}`, "max_files_open"},
		{"POST", "/v1/agents", `{"per_file_view_window_char_limit":1000001}`, "per_file_view_window_char_limit"},
		{"PATCH", "/v1/agents/" + missing, `{"max_files_open":1001}`, "max_files_open"},
		{"POST", "/v1/agents", `{"agent_type":"robot"}`, "robot"},
		{"POST", "/v1/blocks", `{"label":"a"}`, "value"},
		{"GET", "/v1/agents?order=up", "", "order"},
		{"GET", "/v1/agents?limit=many", "", "limit"},
		{"POST", "/v1/conversations", `{}`, "agent_id"},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		r := f.call(c.method, c.path, body)
		var e struct {
			TraceID  string   `json:"trace_id"`
			Detail   string   `json:"detail"`
			Examples []string `json:"examples"`
		}
		if err := json.Unmarshal(r.body, &e); err != nil || r.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %s %s = %d %s (%v)", c.method, c.path, c.body, r.status, r.body, err)
			continue
		}
		if !strings.Contains(string(r.body), c.mentions) || e.Detail == "" {
			t.Errorf("%s %s %s does not mention %q: %s", c.method, c.path, c.body, c.mentions, r.body)
		}
	}
	f.call("GET", "/v1/agents/"+missing, nil).want(http.StatusNotFound)
	f.call("POST", "/v1/agents/"+missing+"/messages", text("hi")).want(http.StatusNotFound)
	f.call("POST", "/v1/agents", `{"model":"noslash"}`).want(http.StatusBadRequest)
	f.call("POST", "/v1/agents", `{"model":"test/none"}`).want(http.StatusNotFound)
	f.call("POST", "/v1/agents", `{"tools":["nothing"]}`).want(http.StatusNotFound)
	f.call("POST", "/v1/agents", `{"some_retired_field":1,"name":"Kept"}`).want(http.StatusOK)
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	r := f.call("POST", "/v1/blocks", `{"label":"a","value":"`+strings.Repeat("x", maxBody)+`"}`).want(http.StatusRequestEntityTooLarge)
	if got := r.header.Get(api.HeaderError); got != api.KindTooLarge {
		t.Errorf("kind = %q", got)
	}
}

func TestAnAgentIsMadeWithTheContractsDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	names := func(a api.AgentState) (out []string) {
		for _, tool := range a.Tools {
			out = append(out, *tool.Name)
		}
		return out
	}
	if diff := cmp.Diff([]string{"conversation_search", "memory_insert", "memory_replace"}, names(a)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if a.AgentType != api.AgentLettaV1 || *a.Model != "test/model" || *a.Timezone != "UTC" || a.Name == "" || len(a.ToolRules) != 0 ||
		len(a.MessageIDs) != 1 ||
		a.System == "" {
		t.Errorf("agent = %+v", a)
	}
	if a.LLMConfig.ContextWindow != 100_000 || *a.CompactionSettings.Mode != "sliding_window" || !*a.ModelSettings.ParallelToolCalls {
		t.Errorf("settings = %+v %+v", a.LLMConfig, a.ModelSettings)
	}
	v2 := f.agent(map[string]any{"agent_type": "memgpt_v2_agent", "include_base_tools": true})
	if diff := cmp.Diff([]string{"send_message", "conversation_search", "memory_insert", "memory_replace"}, names(v2)); diff != "" {
		t.Errorf("tools of v2 (-want +got):\n%s", diff)
	}
	rules := map[string]string{}
	for _, r := range v2.ToolRules {
		rules[r.ToolName] = r.Type
	}
	want := map[string]string{
		"send_message":        "exit_loop",
		"conversation_search": "continue_loop",
		"memory_insert":       "continue_loop",
		"memory_replace":      "continue_loop",
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("base rules (-want +got):\n%s", diff)
	}
	if len(v2.MessageIDs) < 4 {
		t.Errorf("a v2 agent begins with %d messages", len(v2.MessageIDs))
	}
	own := f.agent(map[string]any{
		"name":               "Ada's own",
		"include_base_tools": false,
		"tools":              []string{"archival_memory_insert"},
		"memory_blocks":      human()["memory_blocks"],
		"initial_message_sequence": []any{
			map[string]any{"role": "user", "content": "before"},
			map[string]any{"role": "assistant", "content": "yes"},
		},
		"context_window_limit":     5000,
		"metadata":                 map[string]any{"k": "v"},
		"tags":                     []string{"x", "x"},
		"message_buffer_autoclear": true,
	})
	if own.LLMConfig.ContextWindow != 5000 || own.Metadata["k"] != "v" || len(own.Tags) != 1 || !own.MessageBufferAutoclear ||
		len(own.Blocks) != 1 ||
		len(own.MessageIDs) != 3 {
		t.Errorf("agent = %+v", own)
	}
	if b := own.Blocks[0]; b.Limit != core.DefaultBlockLimit || b.Description == nil || *b.Description == "" {
		t.Errorf("block = %+v", b)
	}
	f.call("POST", "/v1/agents", map[string]any{"context_window_limit": 1_000_000}).want(http.StatusBadRequest)
	f.call("POST", "/v1/agents", map[string]any{"memory_blocks": []any{
		map[string]any{"label": "same", "value": ""}, map[string]any{"label": "same", "value": ""},
	}}).want(http.StatusConflict)
	if n := as[int](f.call("GET", "/v1/agents/count", nil)); n != 3 {
		t.Errorf("%d agents; a refused one was kept", n)
	}
}

func TestPatchTellsAbsentNullAndValueApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(with(human(), "description", "first", "tags", []string{"a"}))
	path := "/v1/agents/" + a.ID
	patch := func(body string) api.AgentState { return as[api.AgentState](f.call("PATCH", path, body)) }
	if got := patch(
		`{"name":"Renamed"}`,
	); got.Name != "Renamed" || *got.Description != "first" || len(got.Tags) != 1 ||
		len(got.Blocks) != 1 {
		t.Errorf("absent keys changed: %+v", got)
	}
	if got := patch(`{"description":null}`); got.Description != nil || got.Name != "Renamed" {
		t.Errorf("null did not empty: %+v", got.Description)
	}
	if got := patch(`{"description":"","tags":[],"block_ids":[],"tool_ids":[]}`); len(got.Tags)+len(got.Blocks)+len(got.Tools) != 0 {
		t.Errorf("empty lists did not replace: %+v", got)
	}
	f.call("PATCH", path, `{"name":null}`).want(http.StatusBadRequest)
	for _, zone := range []string{"Nowhere/At_all", "Local"} { // Local is another zone on every machine
		f.call("PATCH", path, map[string]any{"timezone": zone}).want(http.StatusUnprocessableEntity)
		f.call("POST", "/v1/agents", map[string]any{"timezone": zone}).want(http.StatusUnprocessableEntity)
	}
	f.call("PATCH", path, map[string]any{"tags": []string{"a", ""}}).want(http.StatusUnprocessableEntity)
	f.call("POST", "/v1/agents", map[string]any{"tags": []string{""}}).want(http.StatusUnprocessableEntity)
	before := as[[]api.Message](f.call("GET", path+"/messages", nil))[0].Content.String()
	patch(`{"system":"You are brief."}`)
	after := as[[]api.Message](f.call("GET", path+"/messages", nil))[0].Content.String()
	if before == after || !strings.Contains(after, "You are brief.") {
		t.Errorf("message 0 after a new system text: %q", after)
	}
	patch(`{"model_settings":{"provider_type":"openai","temperature":0.2},"context_window_limit":9000}`)
	if got := patch(
		`{"parallel_tool_calls":false}`,
	); *got.ModelSettings.Temperature != 0.2 || *got.ModelSettings.ParallelToolCalls ||
		got.LLMConfig.ContextWindow != 9000 {
		t.Errorf("settings = %+v", got.ModelSettings)
	}
}

func TestBlocksCarryTheirVersionAndRefuseAStaleOverwrite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	path := "/v1/agents/" + a.ID + "/core-memory/blocks/human"
	first := f.call("GET", path, nil)
	tag := first.header.Get("ETag")
	patch := func(value, match string) reply {
		req := f.request("PATCH", path, map[string]any{"value": value})
		req.Header.Set("If-Match", match)
		return f.do(req)
	}
	if next := patch("one", tag).want(http.StatusOK).header.Get("ETag"); next == tag || next == "" {
		t.Errorf("ETag stays %s", next)
	}
	stale := patch("two", tag).want(http.StatusConflict)
	if !strings.Contains(string(stale.body), `"value":"one"`) || stale.header.Get("ETag") == tag {
		t.Errorf("a stale overwrite is answered with %s", stale.body)
	}
	patch("three", "").want(http.StatusOK)
	patch("x", `"abc"`).want(http.StatusPreconditionFailed)
	patch("x", `"0"`).want(http.StatusPreconditionFailed)
	for _, malformed := range []string{"abc", `"1`, `1"`, `""1`, "W/", `"1" "2"`} {
		patch("x", malformed).want(http.StatusBadRequest)
	}
	block := as[api.Block](f.call("GET", path, nil))
	byID := f.request("PATCH", "/v1/blocks/"+block.ID, map[string]any{"value": "x"})
	byID.Header.Set("If-Match", tag)
	f.do(byID).want(http.StatusConflict)
	other := f.agent(map[string]any{"block_ids": []string{block.ID}})
	as[api.Block](f.call("PATCH", "/v1/blocks/"+block.ID, map[string]any{"value": strings.Repeat("long ", 100), "limit": 10}))
	for _, id := range []string{a.ID, other.ID} {
		if zero := f.messages(id)[0].Content.String(); !strings.Contains(zero, "long long") {
			t.Errorf("message 0 of %s does not show the shared edit", id)
		}
	}
	if got := as[[]api.AgentState](f.call("GET", "/v1/blocks/"+block.ID+"/agents", nil)); len(got) != 2 {
		t.Errorf("%d agents share the block", len(got))
	}
	f.call("PATCH", "/v1/agents/"+a.ID+"/core-memory/blocks/attach/"+block.ID, nil).want(http.StatusOK)
	twin := as[api.Block](f.call("POST", "/v1/blocks/", map[string]any{"label": "human", "value": ""}))
	f.call("PATCH", "/v1/agents/"+a.ID+"/core-memory/blocks/attach/"+twin.ID, nil).want(http.StatusConflict)
	f.call("DELETE", "/v1/blocks/"+block.ID, nil).want(http.StatusOK)
	f.call("GET", path, nil).want(http.StatusNotFound)
}

func TestAPageOfBlocksIsFullWhereTheyAreChosenByHowManyShareThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	var ids []string
	for range 6 {
		ids = append(ids, as[api.Block](f.call("POST", "/v1/blocks/", map[string]any{"label": "note", "value": ""})).ID)
	}
	f.agent(map[string]any{"block_ids": ids[3:4]})
	f.agent(map[string]any{"block_ids": []string{ids[4]}})
	f.agent(map[string]any{"block_ids": []string{ids[4]}})
	for query, want := range map[string][]string{
		"connected_to_agents_count_gt=0":                                ids[3:5],
		"connected_to_agents_count_gt=0&limit=1":                        ids[3:4],
		"connected_to_agents_count_gt=0&limit=1&after=" + ids[3]:        ids[4:5],
		"connected_to_agents_count_lt=1&limit=4":                        {ids[0], ids[1], ids[2], ids[5]},
		"connected_to_agents_count_eq=2&connected_to_agents_count_eq=1": ids[3:5],
		"connected_to_agents_count_gt=0&connected_to_agents_count_lt=2": ids[3:4],
	} {
		var got []string
		for _, b := range as[[]api.Block](f.call("GET", "/v1/blocks/?order=asc&label=note&"+query, nil)) {
			got = append(got, b.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func TestRelationsAreShownToWhoAsksForThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(with(human(), "tags", []string{"x"}))
	get := func(query, agent string) api.AgentState {
		req := f.request("GET", "/v1/agents/"+a.ID+query, nil)
		req.Header.Set("User-Agent", agent)
		return as[api.AgentState](f.do(req))
	}
	if got := get("", ""); len(got.Blocks)+len(got.Tools)+len(got.Tags) != 0 {
		t.Errorf("a current client gets %d blocks unasked", len(got.Blocks))
	}
	if got := get(
		"?include=agent.blocks&include=agent.tags",
		"letta-client/1.12.1",
	); len(got.Blocks) != 1 || len(got.Tags) != 1 ||
		len(got.Tools) != 0 {
		t.Errorf("included: %+v", got)
	}
	if got := get("", "letta-client/0.1.300"); len(got.Blocks) != 1 || len(got.Tools) == 0 {
		t.Errorf("an older client gets %d blocks", len(got.Blocks))
	}
	tool := as[[]api.Tool](f.call("GET", "/v1/tools?name=archival_memory_search", nil))[0]
	attach := f.request("PATCH", "/v1/agents/"+a.ID+"/tools/attach/"+tool.ID, nil)
	attach.Header.Set("User-Agent", "letta-client/1.0.0")
	for range 2 {
		if got := strings.TrimSpace(string(f.do(attach.Clone(t.Context())).want(http.StatusOK).body)); got != "null" {
			t.Errorf("attach answers %s", got)
		}
	}
	if got := as[[]api.Tool](f.call("GET", "/v1/agents/"+a.ID+"/tools", nil)); len(got) != 4 || *got[0].Name != "archival_memory_search" {
		t.Errorf("tools, newest first: %d, first %s", len(got), *got[0].Name)
	}
}

func TestWhatIsNotHereSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for path, want := range map[string]int{
		"/v1/templates/":  http.StatusNotImplemented,
		"/v1/projects":    http.StatusNotImplemented,
		"/v1/identities/": http.StatusNotFound,
		"/nothing":        http.StatusNotFound,
	} {
		if r := f.call("GET", path, nil).want(want); r.detail() == "" {
			t.Errorf("%s has no detail: %s", path, r.body)
		}
	}
	f.call("PUT", "/v1/agents", nil).want(http.StatusMethodNotAllowed)
	f.call("POST", "/v1/agents", map[string]any{"agent_type": "voice_convo_agent"}).want(http.StatusNotImplemented)
	a := f.agent(nil)
	conv := as[api.Conversation](f.call("POST", "/v1/conversations?agent_id="+a.ID, nil))
	messages := "/v1/agents/" + a.ID + "/messages"
	for key, value := range map[string]any{"return_logprobs": true, "return_token_ids": true, "top_logprobs": 3} {
		for _, path := range []string{messages, messages + "/stream", messages + "/async", "/v1/conversations/" + conv.ID + "/messages"} {
			if r := f.call("POST", path, with(text("hi"), key, value)).want(http.StatusNotImplemented); !strings.Contains(r.detail(), key) {
				t.Errorf("%s is not named: %s", key, r.body)
			}
		}
	}
	off := with(text("hi"), "return_logprobs", false, "return_token_ids", false, "top_logprobs", nil)
	f.call("POST", messages, off).want(http.StatusOK)
	if r := f.call("GET", "/openapi.json", nil).want(http.StatusOK); !strings.Contains(string(r.body), "/v1/agents/{agent_id}/messages") {
		t.Errorf("the description lacks the operations")
	}
}

func TestRequestsWaitUntilTheStoreIsOpenButTheStatusDoesNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	parts := f.srv.cfg.Parts
	opened := make(chan struct{})
	f.srv = New(Config{Version: "1", Open: func(ctx context.Context) (Parts, error) {
		select {
		case <-opened:
			return parts, nil
		case <-ctx.Done():
			return Parts{}, ctx.Err()
		}
	}})
	f.call("GET", api.PathStatus, nil).want(http.StatusOK)
	done := make(chan reply, 1)
	go func() { done <- f.call("GET", "/v1/agents", nil) }()
	select {
	case r := <-done:
		t.Fatalf("answered before the store was open: %s", r.body)
	default:
	}
	close(opened)
	(<-done).want(http.StatusOK)
	f.srv = New(Config{Version: "1", Open: func(context.Context) (Parts, error) {
		return Parts{}, core.E(core.Unavailable, "the file is damaged").WithHint("restore a backup")
	}})
	r := f.call("GET", "/v1/agents", nil).want(http.StatusServiceUnavailable)
	if r.detail() != "the file is damaged" || r.header.Get(api.HeaderHint) != "restore%20a%20backup" {
		t.Errorf("%s %v", r.body, r.header)
	}
}

func TestEveryKindHasAStatusAndInternalErrorsTellNothing(t *testing.T) {
	t.Parallel()
	for kind, want := range map[core.Kind]int{
		core.Invalid: 400, core.TooLong: 400, core.Unauthenticated: 401, core.NoCredit: 402, core.Forbidden: 403, core.NotFound: 404,
		core.Timeout:  408,
		core.Conflict: 409, core.Busy: 409, core.Gone: 410, core.Precondition: 412, core.TooLarge: 413, core.SchemaMismatch: 502,
		core.Cancelled:   499,
		core.RateLimited: 429,
		core.Internal:    500, core.Unsupported: 501, core.Unavailable: 503,
	} {
		if got := asStatus(core.E(kind, "x")); got.status != want || got.kind != kind {
			t.Errorf("%s = %d, want %d", kind, got.status, want)
		}
	}
	if got := asStatus(errors.New("table agents is broken")); got.status != 500 || got.body.Text() != "An unknown error occurred" {
		t.Errorf("an internal error says %q", got.body.Text())
	}
	for kind, want := range map[core.Kind]string{
		core.NoCredit: "402 llm_insufficient_credits", core.Unauthenticated: "401 llm_authentication",
		core.RateLimited: "429 llm_rate_limit",
		core.Invalid:     "400 llm_bad_request", core.NotFound: "404 llm_bad_request", core.Unavailable: "500 llm_error",
		core.Timeout: "504 llm_timeout",
	} {
		got := asStatus(&core.Error{Kind: kind, Msg: "x", Provider: true})
		if text := itoa(got.status) + " " + got.body.Err.Type; text != want {
			t.Errorf("a provider's %s = %s, want %s", kind, text, want)
		}
	}
}

// readyHost is a daemon whose store is open.
type readyHost struct{ Host }

func (readyHost) Status(context.Context) api.Status { return api.Status{Ready: true} }

func TestTheStatusTellsOfRunsBeforeAnybodyElseAsked(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	f := newFixture(t, always(func() { <-held }, core.Delta{Text: "ok"}))
	a := f.agent(nil).ID
	f.call("POST", "/v1/agents/"+a+"/messages/async", map[string]any{
		"messages": []any{map[string]any{"role": "user", "content": "go on"}},
	}).
		want(http.StatusOK)
	parts := f.srv.cfg.Parts
	f.srv = New(Config{Version: "1", Host: readyHost{}, Open: func(context.Context) (Parts, error) { return parts, nil }})
	s := as[api.Status](f.call("GET", api.PathStatus, nil))
	if s.Runs != 1 || !s.Busy {
		t.Errorf("status %+v of a daemon with one run", s)
	}
	close(held)
}
