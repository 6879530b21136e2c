package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
)

// keeping is a model that keeps one passage, in two calls of which one may run freely, and then says what it read.
func keeping(_ context.Context, _ int, req core.ChatRequest) []any {
	last := req.Messages[len(req.Messages)-1]
	if strings.Contains(last.Text, "thank you") {
		return []any{"You are welcome."}
	}
	if len(last.Returns) > 0 {
		var texts []string
		for _, r := range last.Returns {
			texts = append(texts, r.Text)
		}
		return []any{"I read " + strings.Join(texts, " and ")}
	}
	return []any{
		"Wait. ",
		core.Delta{Call: &core.CallDelta{Index: 0, ID: "call_s", Name: "archival_memory_search", Arguments: `{"query":"sky"}`}},
		core.Delta{Call: &core.CallDelta{Index: 1, ID: "call_k", Name: "archival_memory_insert", Arguments: `{"content":`}},
		core.Delta{Call: &core.CallDelta{Index: 1, Arguments: `"green sky"}`}},
	}
}

// guardedAgent is an agent whose insertions need a person.
func (f *fixture) guardedAgent() string {
	f.t.Helper()
	agent := f.agent(map[string]any{
		"model": "test/model", "include_base_tools": false, "tools": []string{"archival_memory_insert", "archival_memory_search"},
	}).ID
	path := "/v1/agents/" + agent + "/tools/approval/archival_memory_insert"
	f.call("PATCH", path, map[string]any{"requires_approval": true}).want(http.StatusOK)
	return agent
}

func user(text string) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}}
}

func answering(approvals ...any) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"type": "approval", "approvals": approvals}}}
}

func types(msgs []api.Message) []api.MessageType {
	var out []api.MessageType
	for _, m := range msgs {
		out = append(out, m.MessageType)
	}
	return out
}

func sameTypes(t *testing.T, got []api.Message, want ...api.MessageType) {
	t.Helper()
	have := types(got)
	if len(have) != len(want) {
		t.Fatalf("the messages are %v, want %v", have, want)
	}
	for i := range want {
		if have[i] != want[i] {
			t.Fatalf("the messages are %v, want %v", have, want)
		}
	}
}

func TestSDKsApproveDenyAndSeeWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping)
	agent := f.guardedAgent()
	messages := "/v1/agents/" + agent + "/messages"
	reply := as[api.Response](f.call("POST", messages, user("keep it")))
	sameTypes(t, reply.Messages, api.MessageAssistant, api.MessageToolCall, api.MessageApprovalRequest)
	request := reply.Messages[2]
	if reply.StopReason.StopReason != api.StopRequiresApproval || request.ToolCalls[0].ToolCallID != "call_k" ||
		request.ToolCalls[0].Arguments != `{"content":"green sky"}` || request.ID == reply.Messages[0].ID {
		t.Fatalf("the answer is %+v", reply)
	}
	pending := as[api.AgentState](f.call("GET", "/v1/agents/"+agent+"?include=agent.pending_approval", nil)).PendingApproval
	if pending == nil || pending.ID != request.ID || pending.ToolCalls[0].Name != "archival_memory_insert" {
		t.Errorf("pending: %+v", pending)
	}
	refused := f.call("POST", messages, user("hello")).want(http.StatusConflict)
	for _, want := range []string{`"code":"PENDING_APPROVAL"`, `"pending_request_id":"` + request.ID + `"`, "Please approve or deny"} {
		if !strings.Contains(string(refused.body), want) {
			t.Errorf("the conflict is %s, want %s in it", refused.body, want)
		}
	}
	wrong := f.call("POST", messages, answering(map[string]any{"type": "approval", "tool_call_id": "call_x", "approve": true}))
	if text := wrong.want(http.StatusBadRequest).detail(); !strings.Contains(text, "Invalid tool call IDs") {
		t.Errorf("wrong ids: %s", text)
	}
	body := answering(map[string]any{"type": "approval", "tool_call_id": "call_k", "approve": false, "reason": "not that"})
	body["stream_tokens"] = true
	events := f.call("POST", messages+"/stream", body).events()
	if events[0].MessageType != api.MessageToolReturn || len(events[0].ToolReturns) != 2 ||
		events[0].ToolReturns[0].ToolCallID != "call_s" ||
		events[0].ToolReturns[1].ToolReturn.String() != "Error: request to call tool denied. User reason: not that" {
		t.Errorf("the stream begins with %+v", events[0])
	}
	sameTypes(t, f.messages(agent)[1:], api.MessageUser, api.MessageAssistant, api.MessageToolCall, api.MessageApprovalRequest,
		api.MessageApprovalResponse, api.MessageToolReturn, api.MessageAssistant)
	response := f.messages(agent)[5]
	if response.Approve == nil || *response.Approve || response.ApprovalRequestID != "call_k" ||
		response.Approvals[0].ToolCallID != "call_k" {
		t.Errorf("the response is listed as %+v", response)
	}
	pending = as[api.AgentState](f.call("GET", "/v1/agents/"+agent+"?include=agent.pending_approval", nil)).PendingApproval
	if pending != nil {
		t.Errorf("still pending: %+v", pending)
	}
	none := f.call("POST", messages, answering(map[string]any{"type": "approval", "tool_call_id": "call_z", "approve": true}))
	if text := none.want(http.StatusBadRequest).detail(); !strings.Contains(text, "No tool call is currently awaiting approval") {
		t.Errorf("none pending: %s", text)
	}
}

func TestARequestStreamsAsDeltasWithTheIdItIsStoredUnder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping)
	agent := f.guardedAgent()
	body := user("keep it")
	body["stream_tokens"] = true
	name, arguments, id, otids := "", "", "", map[string]string{}
	for _, m := range f.call("POST", "/v1/agents/"+agent+"/messages/stream", body).events() {
		if m.OTID != "" {
			otids[m.OTID+string(m.MessageType)] = m.ID
		}
		if m.MessageType == api.MessageApprovalRequest {
			id = m.ID
			name += m.ToolCalls[0].Name
			arguments += m.ToolCalls[0].Arguments
		}
	}
	if name != "archival_memory_insert" || arguments != `{"content":"green sky"}` {
		t.Errorf("streamed: %s %s", name, arguments)
	}
	seen := map[string]bool{}
	for _, m := range f.messages(agent)[2:] {
		if otids[m.OTID+string(m.MessageType)] != m.ID || seen[m.OTID] {
			t.Errorf("%s %s with the otid %s was streamed as %v", m.MessageType, m.ID, m.OTID, otids)
		}
		seen[m.OTID] = true
		if m.MessageType == api.MessageApprovalRequest && m.ID != id {
			t.Errorf("stored as %s, streamed as %s", m.ID, id)
		}
	}
}

func TestOlderClientsAnswerWithOneDecision(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping)
	agent := f.guardedAgent()
	messages := "/v1/agents/" + agent + "/messages"
	request := as[api.Response](f.call("POST", messages, user("keep it"))).Messages[2]
	reply := as[api.Response](f.call("POST", messages, map[string]any{"messages": []any{
		map[string]any{"type": "approval", "approve": true, "approval_request_id": request.ID},
		map[string]any{"role": "user", "content": "thank you"},
	}}))
	if reply.StopReason.StopReason != api.StopEndTurn || reply.Messages[0].ToolReturns[1].Status != api.StatusSuccess {
		t.Errorf("the answer is %+v", reply)
	}
}

func TestWhatWaitsIsListedAnsweredWithOtherArgumentsAndCleared(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping)
	agent := f.guardedAgent()
	f.call("POST", "/v1/agents/"+agent+"/messages", user("keep it")).want(http.StatusOK)
	list := as[api.ApprovalList](f.call("GET", api.PathApprovals+"?agent_id="+agent, nil)).Approvals
	if len(list) != 1 || list[0].AgentID != agent || list[0].ConversationID != agent || len(list[0].Calls) != 1 {
		t.Fatalf("the list is %+v", list)
	}
	call := list[0].Calls[0]
	if call.Hash != core.HashArguments(call.Arguments) || !strings.Contains(call.Why, "archival_memory_insert") {
		t.Errorf("the call is %+v", call)
	}
	answer := map[string]any{"streaming": false, "approvals": []any{map[string]any{
		"tool_call_id": call.ToolCallID, "approve": true, "request_id": list[0].RequestID, "hash": call.Hash,
		"arguments": `{"content":"a blue sky"}`,
	}}}
	path := api.PathConversations + "/" + agent + "/approvals"
	reply := as[api.Response](f.call("POST", path, answer))
	text := reply.Messages[0].ToolReturns[1].ToolReturn.String()
	if !strings.Contains(text, `changed by the person: {"content":"a blue sky"}`) {
		t.Errorf("the return is %q", text)
	}
	if text = f.call("POST", path, answer).want(http.StatusBadRequest).detail(); !strings.Contains(text, "awaiting approval") {
		t.Errorf("a second answer: %s", text)
	}
	f.call("POST", "/v1/agents/"+agent+"/messages", user("keep it again")).want(http.StatusOK)
	list = as[api.ApprovalList](f.call("GET", api.PathApprovals, nil)).Approvals
	f.call("DELETE", api.PathApprovals+"/"+list[0].RequestID, nil).want(http.StatusOK)
	f.call("DELETE", api.PathApprovals+"/"+list[0].RequestID, nil).want(http.StatusNotFound)
	if list = as[api.ApprovalList](f.call("GET", api.PathApprovals, nil)).Approvals; len(list) > 0 {
		t.Errorf("still there: %+v", list)
	}
}

func TestACancelDeniesWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping)
	agent := f.guardedAgent()
	cancel := "/v1/agents/" + agent + "/messages/cancel"
	f.call("POST", cancel, nil).want(http.StatusConflict)
	f.call("POST", "/v1/agents/"+agent+"/messages", user("keep it")).want(http.StatusOK)
	runs := as[map[string]string](f.call("POST", cancel, nil))
	if len(runs) != 1 {
		t.Errorf("cancelled: %v", runs)
	}
	last := f.messages(agent)
	m := last[len(last)-1]
	if len(m.ToolReturns) != 2 || !strings.Contains(m.ToolReturns[1].ToolReturn.String(), "The user cancelled") {
		t.Errorf("the last message is %+v", m)
	}
	reply := as[api.Response](f.call("POST", "/v1/agents/"+agent+"/messages", user("hello")))
	if reply.StopReason.StopReason != api.StopRequiresApproval {
		t.Error("the agent is stuck")
	}
}

func TestAProgramRunsItsOwnTools(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ context.Context, _ int, req core.ChatRequest) []any {
		if last := req.Messages[len(req.Messages)-1]; len(last.Returns) > 0 {
			return []any{"It is " + last.Returns[0].Text}
		}
		return calls("weather", `{"city":"Lisbon"}`)
	})
	agent := f.guardedAgent()
	messages := "/v1/agents/" + agent + "/messages"
	body := user("how is it outside?")
	tools := []any{map[string]any{"name": "weather", "description": "The weather.", "parameters": map[string]any{"type": "object"}}}
	body["client_tools"] = tools
	reply := as[api.Response](f.call("POST", messages, body))
	sameTypes(t, reply.Messages, api.MessageApprovalRequest)
	if reply.StopReason.StopReason != api.StopRequiresApproval {
		t.Errorf("the answer is %+v", reply)
	}
	image := map[string]any{"messages": []any{map[string]any{"type": "tool_return", "tool_returns": []any{map[string]any{
		"tool_call_id": "call_1", "status": "success",
		"tool_return": []any{map[string]any{"type": "image", "source": map[string]any{"type": "url", "url": "http://127.0.0.1:1/y.png"}}},
	}}}}}
	f.call("POST", messages, image).want(http.StatusForbidden)
	back := map[string]any{"client_tools": tools, "messages": []any{map[string]any{"type": "tool_return", "tool_returns": []any{
		map[string]any{"tool_call_id": "call_1", "status": "success", "tool_return": []any{
			map[string]any{"type": "text", "text": "sunny"}, map[string]any{"type": "image", "source": inBase64(pngOf(t, 3, 3))},
		}},
	}}}}
	reply = as[api.Response](f.call("POST", messages, back))
	sent := f.lastRequest().Messages
	if r := sent[len(sent)-1].Returns; len(r) != 1 || len(r[0].Pictures) != 1 || len(r[0].Pictures[0].Data) == 0 {
		t.Errorf("the model was sent %+v", r)
	}
	if parts := reply.Messages[0].ToolReturns[0].ToolReturn.Parts; len(parts) != 2 || parts[1].Source == nil || parts[1].Source.Data == "" {
		t.Errorf("the return is shown as %+v", parts)
	}
	if reply.StopReason.StopReason != api.StopEndTurn || !strings.Contains(reply.Messages[1].Content.String(), "sunny") {
		t.Errorf("the answer is %+v", reply)
	}
	bad := user("x")
	bad["client_tools"] = []any{map[string]any{"name": "no name at all"}}
	f.call("POST", messages, bad).want(http.StatusUnprocessableEntity)
}

func TestRulesForTheSessionCountFromTheAnswerThatWonOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, keeping)
	agent := f.guardedAgent()
	session := func() string {
		return as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: api.ClientChat}, "")).Client
	}
	winner, loser := session(), session()
	f.socket("POST", "/v1/agents/"+agent+"/messages", user("keep it"), winner).want(http.StatusOK)
	waits := as[api.ApprovalList](f.call("GET", api.PathApprovals, nil)).Approvals[0]
	path := api.PathConversations + "/" + agent + "/approvals"
	answer := func(scope string, approve bool, rules ...string) map[string]any {
		d := map[string]any{"type": "approval", "tool_call_id": "call_k", "approve": approve, "rules": rules, "scope": scope}
		d["request_id"], d["hash"] = waits.RequestID, waits.Calls[0].Hash
		return map[string]any{"approvals": []any{d}}
	}
	f.call("POST", path, answer("session", true, "shell(make *)")).want(http.StatusForbidden)
	f.socket("POST", path, answer("session", true, "shell(make *)"), "").want(http.StatusBadRequest)
	f.socket("POST", path, answer("session", false, "shell(make *)"), winner).want(http.StatusBadRequest)
	f.socket("POST", path, answer("session", true, "shell(make"), winner).want(http.StatusBadRequest)
	f.socket("POST", path, answer("folder", true, "shell(make *)"), winner).want(http.StatusBadRequest) // it asks each time
	f.socket("POST", path, answer("house", true, "shell(make *)"), winner).want(http.StatusUnprocessableEntity)
	rulesOf := func(session string) (texts string) {
		t.Helper()
		f.socket("POST", "/v1/agents/"+agent+"/messages", user("hello"), session)
		of := core.RunFilter{Agents: []core.AgentID{core.AgentID(agent)}}
		runs, err := f.store.Runs().List(t.Context(), of, core.Page{Limit: 1, Desc: true})
		if err != nil || len(runs) != 1 || string(runs[0].Client.ID) != session {
			t.Fatalf("%+v, %v", runs, err)
		}
		return strings.Join(runs[0].Client.Rules.Allow, "|")
	}
	f.socket("POST", path, answer("session", true, "shell(make *)"), winner).want(http.StatusOK)
	f.socket("POST", path, answer("session", true, "shell"), loser).want(http.StatusBadRequest)
	if got := rulesOf(winner); got != "shell(make *)" {
		t.Errorf("the winner's rules are %q", got)
	}
	f.call("DELETE", api.PathApprovals+"/"+as[api.ApprovalList](f.call("GET", api.PathApprovals, nil)).Approvals[0].RequestID, nil)
	if got := rulesOf(loser); got != "" {
		t.Errorf("the loser's rules are %q", got)
	}
}
