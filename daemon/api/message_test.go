package api

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
)

// fullMessage has every field set.
func fullMessage() Message {
	call := ToolCall{Name: "memory_insert", Arguments: `{"label":"human"}`, ToolCallID: "call-1"}
	return Message{
		ID: "message-1", Date: On(time.Date(2026, 8, 1, 9, 0, 0, 5000, time.UTC)), Name: "ada", OTID: "otid-1",
		SenderID: "agent-2", StepID: "step-1", RunID: "run-1", IsErr: true, SeqID: 7, Content: Text("hello"),
		Reasoning: "because", Source: SourceReasoner, Signature: "sig", State: StateRedacted, HiddenReasoning: "xx",
		ToolCalls: []ToolCall{call},
		ToolReturns: []ToolReturn{{
			Type: ApprovalReturn, ToolReturn: Text("done"), Status: StatusSuccess, ToolCallID: "call-1",
			Stdout: []string{"out"}, Stderr: []string{"err"},
		}},
		Approvals: []Approval{{Type: ApprovalDecision, ToolCallID: "call-1", Approve: new(true)}}, Approve: new(true),
		ApprovalRequestID: "message-0", Reason: "fine", Summary: "short", CompactionStats: &CompactionStats{Trigger: "x"},
		EventType: "compaction", EventData: Object{"trigger": "x"}, StopReason: StopEndTurn,
		Usage:     &Usage{MessageType: MessageUsage, TotalTokens: 3, CachedInputTokens: new(1)},
		ErrorType: "llm_error", ErrorText: "no", Detail: "more", Notice: &Notice{Kind: NoticeModel, Text: "offline"},
	}
}

func TestAMessageReadsWhatItWrites(t *testing.T) {
	t.Parallel()
	kinds := append(ListTypes(), MessagePing, MessageStopReason, MessageUsage, MessageError, MessageUserInput, MessageNotice)
	for _, kind := range kinds {
		full := fullMessage()
		full.MessageType = kind
		first, err := json.Marshal(full)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var m Message
		if err := json.Unmarshal(first, &m); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if m.Raw != nil || m.MessageType != kind {
			t.Errorf("%s was not understood: %s", kind, first)
		}
		second, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("%s changed on the way:\n%s", kind, diff)
		}
	}
}

func TestAnUnknownMessagePassesThrough(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"message_type":"hologram","seq_id":9,"run_id":"run-1","shape":[1,2]}`,
		`{"message_type":"user_message","content":{"new":"shape"},"id":"message-1"}`,
	} {
		var m Message
		if err := json.Unmarshal([]byte(in), &m); err != nil {
			t.Fatal(err)
		}
		if string(m.Raw) != in {
			t.Errorf("raw is %s, want %s", m.Raw, in)
		}
	}
	var m Message
	if err := json.Unmarshal([]byte(`{"message_type":"hologram","seq_id":9,"run_id":"run-1"}`), &m); err != nil {
		t.Fatal(err)
	}
	if m.SeqID != 9 || m.RunID != "run-1" {
		t.Errorf("an unknown message must still be numbered: %+v", m)
	}
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
}

func TestAToolCallDeltaIsAnObjectAndAWholeCallAnArray(t *testing.T) {
	t.Parallel()
	m := Message{
		MessageType: MessageToolCall,
		ID:          "message-1",
		ToolCalls:   []ToolCall{{Arguments: `{"la`, ToolCallID: "call-1"}},
		Delta:       true,
	}
	got, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"message-1","message_type":"tool_call_message","tool_call":{"arguments":"{\"la","tool_call_id":"call-1"},` +
		`"tool_calls":{"arguments":"{\"la","tool_call_id":"call-1"}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	var back Message
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, m) {
		t.Errorf("read back %+v, want %+v", back, m)
	}
	m.Delta = false
	got, err = json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		ToolCalls []ToolCall `json:"tool_calls"`
	}
	if err := json.Unmarshal(got, &whole); err != nil || len(whole.ToolCalls) != 1 {
		t.Errorf("a whole call is no array: %s (%v)", got, err)
	}
}

func TestAnOptTellsAbsentFromNullFromSet(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Opt[string]{
		`{}`:                     {},
		`{"description":null}`:   Null[string](),
		`{"description":""}`:     Some(""),
		`{"description":"text"}`: Some("text"),
	} {
		var u UpdateBlock
		if err := json.Unmarshal([]byte(in), &u); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, u.Description); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		out, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != in {
			t.Errorf("wrote %s, want %s", out, in)
		}
	}
}

func TestContentIsAStringOrParts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Content{
		`"hi"`:                         Text("hi"),
		`""`:                           {},
		`[]`:                           {Parts: []Part{}},
		`[{"type":"text","text":"a"}]`: {Parts: []Part{TextPart("a")}},
		`[{"type":"text","text":""}]`:  {Parts: []Part{TextPart("")}},
	} {
		var c Content
		if err := json.Unmarshal([]byte(in), &c); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
		out, err := json.Marshal(c)
		if err != nil || string(out) != in {
			t.Errorf("wrote %s (%v), want %s", out, err, in)
		}
	}
	if err := json.Unmarshal([]byte(`{"a":1}`), new(Content)); err == nil {
		t.Error("an object is no content")
	}
}

func TestAnswersToAToolCallSayTheirType(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		`{"type":"approval","tool_call_id":"c","approve":false}`: Approval{ToolCallID: "c", Approve: new(false)},
		`{"type":"tool","tool_call_id":"c","tool_return":"r","status":"success"}`: Approval{
			ToolCallID: "c", ToolReturn: &Content{Text: "r"}, Status: StatusSuccess,
		},
		`{"type":"tool","tool_return":"","status":"error","tool_call_id":"c"}`: ToolReturn{ToolCallID: "c", Status: StatusError},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
	}
}

func TestTimesAreWrittenAsTheContractDoesAndReadAsClientsWrite(t *testing.T) {
	t.Parallel()
	moment := time.Date(2024, 1, 15, 10, 0, 0, 123456789, time.FixedZone("", 3600))
	if got, _ := json.Marshal(At(moment)); string(got) != `"2024-01-15T09:00:00.123456Z"` {
		t.Errorf("a time is %s", got)
	}
	if got, _ := json.Marshal(On(moment)); string(got) != `"2024-01-15T09:00:00Z"` {
		t.Errorf("a message's date is %s", got)
	}
	for _, in := range []string{
		"2024-01-15T09:00:00Z", "2024-01-15T10:00:00+01:00", "2024-01-15T09:00:00", "2024-01-15 09:00:00",
		"2024-01-15T09:00:00.000000", "2024-01-15T09:00",
	} {
		got, dateOnly, err := ParseTime(in, nil)
		if err != nil || dateOnly || !got.Equal(time.Date(2024, 1, 15, 9, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: %v %v %v", in, got, dateOnly, err)
		}
	}
	if _, dateOnly, err := ParseTime("2024-01-15", time.UTC); err != nil || !dateOnly {
		t.Errorf("a date alone: %v %v", dateOnly, err)
	}
	if _, _, err := ParseTime("soon", time.UTC); err == nil {
		t.Error("soon is no time")
	}
}

func TestAMessageResultHasContentOrReasoning(t *testing.T) {
	t.Parallel()
	for kind, lacks := range map[MessageType]string{MessageReasoning: "content", MessageUser: "reasoning"} {
		data, err := json.Marshal(MessageResult{MessageType: kind, MessageID: "message-1", Content: Text("c"), Reasoning: "r"})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if _, ok := got[lacks]; ok || len(got) != 6 {
			t.Errorf("%s: %s", kind, data)
		}
	}
}

func TestAnErrorHasAText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"detail":"no such agent"}`:                                      "no such agent",
		`{"detail":{"code":"PENDING_APPROVAL","message":"answer first"}}`: "answer first",
		`{"detail":[{"msg":"bad"}]}`:                                      `[{"msg":"bad"}]`,
		`{"error":{"type":"llm_error","message":"provider down"}}`:        "provider down",
		`{}`: "",
	} {
		var e ErrorBody
		if err := json.Unmarshal([]byte(in), &e); err != nil {
			t.Fatal(err)
		}
		if got := e.Text(); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}

func TestEveryTypeHasASchema(t *testing.T) {
	t.Parallel()
	config := huma.DefaultConfig("test", "1")
	config.FieldsOptionalByDefault = true
	registry := config.Components.Schemas
	for name, typ := range schemas() {
		if s := registry.Schema(typ, true, name); s == nil {
			t.Errorf("%s has no schema", name)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Response](), reflect.TypeFor[Status](), reflect.TypeFor[Client](),
		reflect.TypeFor[Session](), reflect.TypeFor[ModelChoice](), reflect.TypeFor[Check](), reflect.TypeFor[MessageResult](),
	} {
		registry.Schema(typ, true, typ.Name())
	}
	user := registry.Map()["UserMessage"]
	if user == nil || user.Properties["content"] == nil || user.Properties["otid"] == nil {
		t.Errorf("a user message's schema lacks keys: %+v", user)
	}
}
