package api

import (
	"bytes"
	"encoding/json"
	"testing"
)

// fuzzUnion feeds a type of several shapes what nobody wrote. What it reads, it writes so that it reads the same again.
func fuzzUnion[T any](f *testing.F, seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first T
		if json.Unmarshal(data, &first) != nil {
			return
		}
		once, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%q is read, and cannot be written: %v", data, err)
		}
		var second T
		if err := json.Unmarshal(once, &second); err != nil {
			t.Fatalf("%q is written as %s, which cannot be read: %v", data, once, err)
		}
		if twice, err := json.Marshal(second); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q is written as %s, then as %s: %v", data, once, twice, err)
		}
	})
}

func FuzzMessage(f *testing.F) {
	kinds := append(ListTypes(), MessagePing, MessageStopReason, MessageUsage, MessageError, MessageUserInput, MessageNotice)
	seeds := []string{
		`null`,
		`{}`,
		`{"message_type":"of_later","x":1}`,
		`{"message_type":"tool_return_message","tool_return":[{"type":"text"}]}`,
		`{"message_type":"tool_call_message","tool_calls":{"name":"a","arguments":null}}`,
		`{"message_type":"assistant_message","content":null,"date":"x"}`,
	}
	for _, kind := range kinds {
		full := fullMessage()
		full.MessageType = kind
		b, err := json.Marshal(full)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, string(b))
	}
	fuzzUnion[Message](f, seeds...)
}

func FuzzContent(f *testing.F) {
	fuzzUnion[Content](
		f,
		`null`,
		`""`,
		`"text"`,
		`[]`,
		`[{}]`,
		`[{"type":"text","text":""}]`,
		` [ {"type":"image","source":{"type":"url","url":"x"}} ] `,
		`[{"type":"tool_call","id":"a","name":"b","input":{"c":[1]}},{"type":"tool_return","is_error":true}]`,
		`[{"type":"summarized_reasoning","summary":[{"index":1,"text":"t"}]},{"type":"of_later","text":"t"}]`,
	)
}

func FuzzSentMessages(f *testing.F) {
	fuzzUnion[StreamingRequest](
		f,
		`{"input":"x"}`,
		`{"input":[{"type":"text","text":"x"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
		`{"messages":[{"type":"approval","approvals":[{"type":"tool","tool_call_id":"a","tool_return":"x","status":"success"}]}]}`,
	)
}
