package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// identity is what a stream and a list must agree on.
type identity struct{ Type, ID, OTID, Text, Calls string }

func identities(msgs []api.Message) []identity {
	var out []identity
	for _, m := range msgs {
		i := identity{Type: string(m.MessageType), ID: m.ID, OTID: m.OTID, Text: m.Content.String() + m.Reasoning}
		for _, c := range m.ToolCalls {
			i.Calls += c.ToolCallID + c.Name + c.Arguments
		}
		for _, r := range m.ToolReturns {
			i.Calls += r.ToolCallID + r.Status + r.ToolReturn.String()
		}
		out = append(out, i)
	}
	return out
}

// joined joins the pieces of a token stream as a client does.
func joined(msgs []api.Message) []api.Message {
	var held []frame
	for _, m := range msgs {
		held = join(held, frame{msg: m})
	}
	var out []api.Message
	for _, h := range held {
		out = append(out, h.msg)
	}
	return out
}

func remembers(_ context.Context, n int, _ core.ChatRequest) []any {
	if n%2 == 1 {
		return []any{"I will ", "remember."}
	}
	return append([]any{core.Delta{Reasoning: "a name "}, core.Delta{Reasoning: "is told"}, "Let me ", "note it."},
		calls("memory_insert", `{"label":"human","new_string":"Name: Ada"}`)...)
}

func human() map[string]any {
	return map[string]any{"memory_blocks": []any{map[string]any{"label": "human", "value": ""}}}
}

func TestStreamAndListHaveTheSameIdsAndOtids(t *testing.T) {
	t.Parallel()
	for _, tokens := range []bool{true, false} {
		f := newFixture(t, remembers)
		a := f.agent(human())
		stream := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("I am Ada"), "stream_tokens", tokens)).events()
		n := len(stream)
		if stream[n-2].MessageType != api.MessageStopReason || stream[n-2].StopReason != api.StopEndTurn ||
			stream[n-1].MessageType != api.MessageUsage {
			t.Fatalf("the stream ends with %v and %v", stream[n-2], stream[n-1])
		}
		listed := f.messages(a.ID)
		if got := listed[0].MessageType; got != api.MessageSystem {
			t.Errorf("first message is %s", got)
		}
		if got := listed[1]; got.MessageType != api.MessageUser || got.Content.String() != "I am Ada" {
			t.Errorf("second message is %+v", got)
		}
		if diff := cmp.Diff(identities(listed[2:]), identities(joined(stream[:n-2]))); diff != "" {
			t.Errorf("tokens %v: list and stream differ (-list +stream):\n%s", tokens, diff)
		}
		types := []string{}
		for _, m := range listed[2:] {
			types = append(types, string(m.MessageType))
		}
		want := []string{"reasoning_message", "assistant_message", "tool_call_message", "tool_return_message", "assistant_message"}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Errorf("types (-want +got):\n%s", diff)
		}
		if listed[2].ID != listed[4].ID || listed[2].OTID >= listed[3].OTID || listed[3].OTID >= listed[4].OTID {
			t.Errorf("parts do not share an id with rising otids: %v", identities(listed[2:5]))
		}
	}
}

func TestAnswerWithoutStreamHoldsWhatTheRunAdded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, remembers)
	a := f.agent(human())
	resp := as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("I am Ada")))
	if diff := cmp.Diff(identities(f.messages(a.ID)[2:]), identities(resp.Messages)); diff != "" {
		t.Errorf("list and answer differ (-list +answer):\n%s", diff)
	}
	if resp.StopReason.StopReason != api.StopEndTurn || resp.Usage.StepCount != 2 || resp.Usage.TotalTokens != 30 ||
		len(resp.Usage.RunIDs) != 1 {
		t.Errorf("end = %+v", resp)
	}
	if ret := resp.Messages[3].ToolReturns[0]; ret.Status != api.StatusSuccess {
		t.Errorf("return = %+v", ret)
	}
	block := as[api.Block](f.call("GET", "/v1/agents/"+a.ID+"/core-memory/blocks/human", nil))
	if !strings.Contains(block.Value, "Ada") {
		t.Errorf("block = %q", block.Value)
	}
}

func TestReturnTypesAreFilteredButNeverTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, remembers)
	a := f.agent(human())
	body := with(text("I am Ada"), "include_return_message_types", []string{"tool_return_message"})
	resp := as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", body))
	if len(resp.Messages) != 1 || resp.Messages[0].MessageType != api.MessageToolReturn || resp.StopReason.StopReason != api.StopEndTurn {
		t.Errorf("answer = %+v", resp)
	}
	stream := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(body, "stream_tokens", true)).events()
	if got := len(stream); got != 3 {
		t.Errorf("stream has %d events: %v", got, identities(stream))
	}
}

func TestAMissingKeyIsUnavailableToAPersonAndNothingToTryAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	f.model.keyless.Store(true)
	for name, in := range map[string]map[string]any{
		"a run": text("hello"), "a model by name": with(text("hello"), "override_model", "test/model"),
	} {
		r := f.call("POST", "/v1/agents/"+a.ID+"/messages", in).want(http.StatusUnauthorized)
		if got := r.header.Get(
			api.HeaderError,
		); got != api.KindUnavailable ||
			!strings.Contains(string(r.body), "no model can be reached: there is no key for Test") {
			t.Errorf("%s: kind %q, %s", name, got, r.body)
		}
	}
	told := only(t, f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", text("hello")).events(), api.MessageError)
	if told.ErrorType != "llm_authentication" {
		t.Errorf("stream: %+v", told)
	}
}

func TestAFailingProviderIsAStatusOrAnErrorMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always(&core.Error{Kind: core.Unauthenticated, Msg: "the key is wrong", Provider: true}))
	a := f.agent(nil)
	r := f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hello")).want(http.StatusUnauthorized)
	var e api.ErrorBody
	if err := json.Unmarshal(r.body, &e); err != nil || e.Err == nil || e.Err.Type != "llm_authentication" {
		t.Errorf("body = %s", r.body)
	}
	if got := r.header.Get(api.HeaderError); got != api.KindUnauthenticated {
		t.Errorf("kind = %q", got)
	}
	stream := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", text("hello")).events()
	if len(stream) != 2 || stream[0].StopReason != api.StopLLMAPIError || stream[1].MessageType != api.MessageError ||
		stream[1].ErrorType != "llm_authentication" {
		t.Errorf("stream = %+v", stream)
	}
	if got := f.messages(a.ID); len(got) != 1 {
		t.Errorf("a failed first step left %v", identities(got))
	}
	runs := as[[]api.Run](f.call("GET", "/v1/runs/?agent_id="+a.ID, nil))
	if len(runs) != 2 || runs[0].Status != api.RunFailed || runs[0].Metadata["error"] == nil {
		t.Errorf("runs = %+v", runs)
	}
	input := as[[]api.Message](f.call("GET", "/v1/runs/"+runs[0].ID+"/messages", nil))
	if len(input) != 1 || input[0].Content.String() != "hello" {
		t.Errorf("the input of a failed run is %v", identities(input))
	}
}

func TestListsAreOrderedAsTheContractSays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	conv := as[api.Conversation](f.call("POST", "/v1/conversations/?agent_id="+a.ID, map[string]any{}))
	for _, m := range []string{"one", "two"} {
		as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text(m)))
		as[api.Response](f.call("POST", "/v1/conversations/"+conv.ID+"/messages", with(text(m), "streaming", false)))
	}
	list := func(path string) []api.Message { return as[[]api.Message](f.call("GET", path, nil)) }
	texts := func(msgs []api.Message) string {
		var out []string
		for _, m := range msgs {
			s := m.Content.String()
			if m.MessageType == api.MessageSystem {
				s = "system"
			}
			out = append(out, s)
		}
		return strings.Join(out, " ")
	}
	agent, conversation := "/v1/agents/"+a.ID+"/messages", "/v1/conversations/"+conv.ID+"/messages"
	all := list(agent)
	for _, c := range []struct{ path, want string }{
		{agent, "system one ok two ok"},
		{agent + "?limit=2", "two ok"},
		{agent + "?limit=2&order=asc", "system one"},
		{agent + "?order=desc&limit=2&before=" + all[3].ID, "one ok"},
		{agent + "?order=desc&after=" + all[3].ID, "ok"},
		{"/v1/conversations/default/messages?agent_id=" + a.ID, "system one ok two ok"},
		{"/v1/conversations/" + a.ID + "/messages?limit=2", "two ok"},
		{conversation, "ok two ok one system"},
		{conversation + "?order=asc", "system one ok two ok"},
		{agent + "?conversation_id=" + conv.ID, "system one ok two ok"},
	} {
		if got := texts(list(c.path)); got != c.want {
			t.Errorf("%s = %q, want %q", c.path, got, c.want)
		}
	}
	inConv := list(conversation)
	if got := texts(list(conversation + "?limit=2&after=" + inConv[1].ID)); got != "ok one" {
		t.Errorf("after in a conversation = %q", got)
	}
	if got := texts(list(conversation + "?limit=1&before=" + inConv[1].ID)); got != "ok" {
		t.Errorf("before in a conversation = %q", got)
	}
	runs := as[[]api.Run](f.call("GET", "/v1/runs/?conversation_id="+conv.ID, nil))
	if got := texts(list("/v1/runs/" + runs[0].ID + "/messages")); got != "two ok" {
		t.Errorf("messages of the newest run = %q", got)
	}
	if got := texts(list("/v1/runs/" + runs[0].ID + "/messages?order=desc")); got != "ok two" {
		t.Errorf("messages of the newest run, newest first = %q", got)
	}
}

func TestHiddenRecordsAreNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")))
	as[api.Block](f.call("PATCH", "/v1/agents/"+a.ID+"/core-memory/blocks/human", map[string]any{"value": "SECRETWORD"}))
	as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hello again")))
	hidden := 0
	rows, err := f.store.Messages().Context(t.Context(), core.DefaultConversation(core.AgentID(a.ID)))
	if err != nil {
		t.Fatal(err)
	}
	var hiddenID string
	for _, row := range rows {
		if row.Message.Hidden != core.NotHidden {
			hidden++
			hiddenID = string(row.Message.ID)
		}
	}
	if hidden != 1 {
		t.Fatalf("%d hidden records; the edit was not announced", hidden)
	}
	runs := as[[]api.Run](f.call("GET", "/v1/runs/?agent_id="+a.ID, nil))
	for _, path := range []string{
		"/v1/agents/" + a.ID + "/messages", "/v1/messages/", "/v1/runs/" + runs[0].ID + "/messages", "/v1/agents/" + a.ID,
		"/v1/agents/" + a.ID + "/context", "/v1/conversations/default/messages?agent_id=" + a.ID,
	} {
		if body := string(f.call("GET", path, nil).want(http.StatusOK).body); strings.Contains(body, hiddenID) {
			t.Errorf("%s shows the hidden record", path)
		}
	}
	f.call("GET", "/v1/messages/"+hiddenID, nil).want(http.StatusNotFound)
	found := as[[]api.MessageResult](f.call("POST", "/v1/messages/search", map[string]any{"query": "SECRETWORD"}))
	if slices.ContainsFunc(found, func(m api.MessageResult) bool { return m.MessageID == hiddenID }) {
		t.Errorf("the search finds the hidden record: %v", found)
	}
}

func TestSpeechThroughAToolIsAnAssistantMessage(t *testing.T) {
	t.Parallel()
	say := func(context.Context, int, core.ChatRequest) []any {
		return calls("send_message", `{"thinking":"be kind","message":"Hello there"}`)
	}
	f := newFixture(t, say)
	a := f.agent(map[string]any{"agent_type": "memgpt_v2_agent"})
	stream := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("hi"), "stream_tokens", true)).events()
	got := identities(joined(stream[:len(stream)-2]))
	listed := identities(f.messages(a.ID))
	if diff := cmp.Diff(listed[len(listed)-len(got):], got); diff != "" || len(got) != 2 || got[1].Text != "Hello there" {
		t.Errorf("list and stream differ (-list +stream):\n%s\n%v", diff, got)
	}
	raw := f.call("GET", "/v1/agents/"+a.ID+"/messages?use_assistant_message=false", nil)
	if !strings.Contains(string(raw.body), `"tool_call_message"`) {
		t.Errorf("use_assistant_message=false hides the call: %s", raw.body)
	}
}
