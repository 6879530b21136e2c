package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestEveryCallOfARequestHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	answer := func(ids ...string) core.ChatMessage {
		m := core.ChatMessage{Role: core.ChatAssistant, Native: &core.Native{Data: json.RawMessage(`{}`)}}
		for _, id := range ids {
			m.Calls = append(m.Calls, core.ToolCall{ID: id})
		}
		return m
	}
	returns := func(ids ...string) core.ChatMessage {
		m := core.ChatMessage{Role: core.ChatTool}
		for _, id := range ids {
			m.Returns = append(m.Returns, core.ChatReturn{CallID: id})
		}
		return m
	}
	in := []core.ChatMessage{
		{Role: core.ChatUser, Text: "go"},
		answer("call_0", "call_1"), returns("call_0", "call_1"), answer("call_0"), returns("call_0"),
		answer("call_0_1", "same", "same"), returns("call_0_1", "same", "same"), answer("call_1"),
		{Role: core.ChatUser},
		returns("nobody"),
	}
	want := [][]string{
		nil,
		{"call_0", "call_1"},
		{"call_0", "call_1"},
		{"call_0_1"},
		{"call_0_1"},
		{"call_0_1_1", "same", "same_1"},
		{"call_0_1_1", "same", "same_1"},
		{"call_1_1"},
		nil,
		{"nobody"},
	}
	ids := func(messages []core.ChatMessage) [][]string {
		var all [][]string
		for _, m := range messages {
			var of []string
			for _, c := range m.Calls {
				of = append(of, c.ID)
			}
			for _, r := range m.Returns {
				of = append(of, r.CallID)
			}
			all = append(all, of)
		}
		return all
	}
	before := ids(in)
	out := UniqueCalls(in, true)
	if diff := cmp.Diff(want, ids(out)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, ids(in)); diff != "" {
		t.Errorf("the request itself was changed: %s", diff)
	}
	if out[1].Native == nil || out[3].Native != nil || out[5].Native != nil || UniqueCalls(in, false)[3].Native == nil {
		t.Error("items with other ids go back, or items with the same ones do not")
	}
	for n := 1; n < len(in); n++ {
		if diff := cmp.Diff(want[:n], ids(UniqueCalls(in[:n], true))); diff != "" {
			t.Errorf("a thread of %d messages: %s", n, diff)
		}
	}
}
