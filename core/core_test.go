package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestIDsAreAPrefixAndALowerCaseUUIDv4(t *testing.T) {
	t.Parallel()
	want := regexp.MustCompile(`^agent-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	good := string(core.NewAgentID())
	if !want.MatchString(good) || !core.ValidID("agent", good) {
		t.Fatalf("%s is no agent id", good)
	}
	for i := range good {
		for _, c := range []string{"", "-", "g", "A", "4", "0", "é"} {
			s := good[:i] + c + good[i+1:]
			if got := core.ValidID("agent", s); got != want.MatchString(s) {
				t.Errorf("ValidID(%q) = %v", s, got)
			}
		}
	}
	if core.ValidID("block", good) || core.ValidID("agent", good+"0") || core.ValidID("agent", "agent-") {
		t.Error("a wrong id is valid")
	}
	if id := core.BuiltinToolID("send_message"); id != core.BuiltinToolID("send_message") || !core.ValidID("tool", string(id)) {
		t.Errorf("built-in tool id %s", id)
	}
	if !core.DefaultConversation(core.AgentID(good)).IsDefault() || core.NewConversationID().IsDefault() {
		t.Error("default conversations are not told apart")
	}
}

func TestAnErrorHasTheKindAndTheHintOfItsChain(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	err := fmt.Errorf("save: %w", core.E(core.Unavailable, "write block: %w", cause).WithHint("free some space"))
	if core.KindOf(err) != core.Unavailable || core.HintOf(err) != "free some space" || !errors.Is(err, cause) {
		t.Errorf("kind %s, hint %q, cause %v", core.KindOf(err), core.HintOf(err), errors.Is(err, cause))
	}
	if got := err.Error(); got != "save: write block: disk full" {
		t.Errorf("message %q", got)
	}
	if core.KindOf(cause) != core.Internal || core.KindOf(nil) != "" || core.HintOf(cause) != "" {
		t.Error("errors without a kind")
	}
}

func TestAPatchTellsAbsentNullAndSetApart(t *testing.T) {
	t.Parallel()
	type patch struct {
		A core.Opt[string] `json:"a,omitzero"`
		B core.Opt[string] `json:"b,omitzero"`
		C core.Opt[string] `json:"c,omitzero"`
	}
	var p patch
	if err := json.Unmarshal([]byte(`{"b":null,"c":""}`), &p); err != nil {
		t.Fatal(err)
	}
	if p.A.Present || !p.B.Null || p.B.Set() || !p.C.Set() || p.A.Or("x") != "x" {
		t.Errorf("got %+v", p)
	}
	again, err := json.Marshal(p)
	if err != nil || string(again) != `{"b":null,"c":""}` {
		t.Errorf("written %s, %v", again, err)
	}
}

func TestASecretPrintsAsDots(t *testing.T) {
	t.Parallel()
	s := core.Secret("sk-very-secret")
	raw, err := json.Marshal(map[string]any{"key": s})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), string(raw), s.LogValue().String()} {
		if strings.Contains(text, "very") {
			t.Errorf("the secret shows in %s", text)
		}
	}
}

func TestAPartsIdentityIsTheMessagesUUIDWithItsLowestSevenBitsReplaced(t *testing.T) {
	t.Parallel()
	id := core.MessageID("message-123e4567-e89b-42d3-8456-4266141740ff")
	for index, want := range map[int]string{
		0: "123e4567-e89b-42d3-8456-426614174080", 1: "123e4567-e89b-42d3-8456-426614174081", 127: "123e4567-e89b-42d3-8456-4266141740ff",
	} {
		if got := core.OTIDOf(id, index); got != want {
			t.Errorf("otid of part %d is %s, want %s", index, got, want)
		}
	}
}

func TestAMessageFansOutIntoItsParts(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) core.Content {
		return core.Content{Type: core.ContentCall, Call: &core.ToolCall{ID: id, Name: name, Arguments: args}}
	}
	m := core.Message{ID: core.NewMessageID(), Role: core.RoleAssistant, Content: []core.Content{
		{
			Type: core.ContentReasoning,
			Text: "hm",
		},
		call("a", "search", `{}`),
		core.Text("words"),
		call("b", "send_message", `{"message":"hello"}`),
		call("c", "search", `{}`),
	}}
	kinds := func(parts []core.Part) (out []string) {
		for i, p := range parts {
			if p.Index != i || p.OTID != core.OTIDOf(m.ID, i) {
				t.Errorf("part %d has index %d and otid %s", i, p.Index, p.OTID)
			}
			out = append(out, fmt.Sprint(p.Kind, " ", p.Text, " ", len(p.Calls)))
		}
		return out
	}
	want := []string{"reasoning_message hm 0", "tool_call_message  2", "assistant_message words 0", "assistant_message hello 0"}
	if diff := cmp.Diff(want, kinds(m.Parts(core.DefaultSpeak))); diff != "" {
		t.Errorf("with speech (-want +got):\n%s", diff)
	}
	want = []string{"reasoning_message hm 0", "tool_call_message  3", "assistant_message words 0"}
	if diff := cmp.Diff(want, kinds(m.Parts(core.Speak{}))); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
}

func TestEventsSurviveTheirStoredForm(t *testing.T) {
	t.Parallel()
	bodies := []core.EventBody{
		core.Said{Text: "a"},
		core.Reasoning{Text: "b", Signature: "s", Prompted: true},
		core.ToolCallDelta{Index: 1, ID: "c", Name: "n", Arguments: "{}"},
		core.ToolReturned{Returns: []core.ToolReturn{{CallID: "c", Name: "n", Text: "t", IsError: true}}},
		core.ToolCallDelta{ID: "x", Name: "n", Asks: true},
		core.UserInput{Role: core.RoleUser, Text: "hi"},
		core.Summary{Text: "s"},
		core.Notice{Kind: "model", Text: "t", Data: map[string]any{"a": "b"}},
		core.Saved{Messages: []core.MessageID{"message-1"}},
		core.UsageReport{Usage: core.Usage{Prompt: 1}, Steps: 2},
		core.Failure{Error: core.RunError{Type: "x"}},
		core.Stop{Reason: core.StopEndTurn, Status: core.RunCompleted},
	}
	for _, body := range bodies {
		want := core.Event{Step: "step-1", Message: "message-1", OTID: "o", Part: 3, Body: body}
		raw, err := core.EncodeEvent(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := core.DecodeEvent(raw)
		if err != nil {
			t.Fatalf("%T: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", body, diff)
		}
	}
	if _, err := core.DecodeEvent([]byte(`{"k":"new","b":{}}`)); core.KindOf(err) != core.Internal {
		t.Errorf("an unknown kind: %v", err)
	}
}

func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(`{"k":"text","b":{"text":"x"}}`))
	f.Add([]byte(`{"k":"stop","b":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := core.DecodeEvent(data)
		if err != nil {
			return
		}
		if _, err := core.EncodeEvent(ev); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

func TestAgentsAndBlocksRefuseWhatTheyMayNotHold(t *testing.T) {
	t.Parallel()
	agent := core.Agent{Name: "Zoë-2 O'Hara_李", Type: core.AgentLettaV1, Model: "openai/gpt", Timezone: "Europe/Berlin"}
	if err := agent.Validate(); err != nil {
		t.Errorf("a good agent: %v", err)
	}
	for name, change := range map[string]func(*core.Agent){
		"name":  func(a *core.Agent) { a.Name = "a/b" },
		"empty": func(a *core.Agent) { a.Name = "" },
		"type":  func(a *core.Agent) { a.Type = "voice_agent" },
		"zone":  func(a *core.Agent) { a.Timezone = "Mars/Base" },
		"model": func(a *core.Agent) { a.Model = "gpt" },
		"rule":  func(a *core.Agent) { a.ToolRules = []core.ToolRule{{Type: "odd"}} },
	} {
		a := agent
		change(&a)
		if err := a.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for label, good := range map[string]bool{
		"human": true, "system/persona": true, "a.b-c_d": true, "": false, "/x": false, "a b": false, "a\nb": false,
		strings.Repeat("x", 101): false,
	} {
		b := core.Block{Label: label, Limit: 1}
		if err := b.Validate(); (err == nil) != good {
			t.Errorf("label %q: %v", label, err)
		}
	}
}

func TestUsageAddsWhatIsKnown(t *testing.T) {
	t.Parallel()
	three := 3
	sum := core.Usage{Prompt: 1, Total: 1}.Add(core.Usage{Completion: 2, Total: 2, Cached: &three}).Add(core.Usage{Cached: &three})
	if sum.Prompt != 1 || sum.Completion != 2 || sum.Total != 3 || *sum.Cached != 6 || sum.Reasoning != nil {
		t.Errorf("got %+v", sum)
	}
	if three != 3 {
		t.Error("adding changed a part")
	}
	if core.EstimateTokens(strings.Repeat("abcd", 10)) != 10 || core.EstimateTokens("李雷") != 2 {
		t.Error("estimate")
	}
	if core.StopEndTurn.Status() != core.RunCompleted || core.StopCancelled.Status() != core.RunCancelled ||
		core.StopReason("new").Status() != core.RunFailed {
		t.Error("statuses of stop reasons")
	}
}
