package tui

import (
	"cmp"
	"fmt"
	"strings"

	"loci/daemon/api"
)

const (
	waitForever api.MessageType = "wait"
	cutOff      api.MessageType = "cut"
)

func say(text string) []api.Message {
	var out []api.Message
	for part := range strings.SplitAfterSeq(text, " ") {
		out = append(out, api.Message{MessageType: api.MessageAssistant, Content: api.Text(part)})
	}
	return out
}

func done(used int) []api.Message {
	return []api.Message{
		{MessageType: api.MessageStopReason, StopReason: api.StopEndTurn},
		{MessageType: api.MessageUsage, Usage: &api.Usage{ContextTokens: &used}},
	}
}

// script is what the daemon does in response to a text.
func script(text string) []api.Message {
	ping := []api.Message{{MessageType: api.MessagePing}}
	word, arg, _ := strings.Cut(text, " ")
	switch word {
	case "motley", "rapid":
		return sayMotley(arg)
	case "ask":
		return asks(arg)
	case "full":
		return append(ping, api.Message{MessageType: api.MessageEvent, ID: "message-of-no-record", EventType: "compaction"},
			api.Message{MessageType: waitForever})
	case "tools":
		out := append(ping,
			api.Message{MessageType: api.MessageReasoning, Reasoning: "The person said "},
			api.Message{MessageType: api.MessageReasoning, Reasoning: "something worth keeping."},
			api.Message{
				MessageType: api.MessageToolCall, Delta: true,
				ToolCalls: []api.ToolCall{{Name: "memory_insert", ToolCallID: "c1", Arguments: `{"label":"human",`}},
			},
			api.Message{MessageType: api.MessageToolCall, Delta: true, ToolCalls: []api.ToolCall{{Arguments: `"new_str":"Likes tea"}`}}},
			api.Message{
				MessageType: api.MessageToolReturn,
				ToolReturns: []api.ToolReturn{{ToolCallID: "c1", Status: api.StatusSuccess, ToolReturn: api.Text("ok")}},
			})
		return append(append(out, say("I will **remember** that.")...), done(20000)...)
	case "long":
		var b strings.Builder
		b.WriteString("# Numbers\n\n")
		for i := range 40 {
			fmt.Fprintf(&b, "Paragraph %d has some words in it.\n\n", i)
		}
		b.WriteString("```go\n")
		for i := range 60 {
			fmt.Fprintf(&b, "line(%d)\n", i)
		}
		b.WriteString("```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.")
		return append(append(ping, say(b.String())...), done(60000)...)
	case "moved":
		out := append(ping, api.Message{MessageType: api.MessageNotice, Notice: &api.Notice{
			Kind: api.NoticeModel, Text: "This agent now uses openai/gpt-5.", Data: api.Object{"model": "openai/gpt-5"},
		}})
		return append(append(out, say("By the new one.")...), done(10)...)
	case "remembered":
		out := append(ping, api.Message{MessageType: api.MessageNotice, Notice: &api.Notice{
			Kind: api.NoticeRecalled, Text: "recalled 2 memories",
			Data: api.Object{"text": "Recalled from your memory.\n- 2026-11-20 12:00 note: Odd keeps the light."},
		}})
		return append(append(out, say("Odd does.")...), done(10)...)
	case "prose":
		out := ping
		for i := range 130 {
			out = append(out, api.Message{MessageType: api.MessageAssistant, Content: api.Text(fmt.Sprintf("word%03d ", i))})
		}
		return append(out, api.Message{MessageType: waitForever})
	case "marks":
		out := append(ping, api.Message{MessageType: api.MessageAssistant, Content: api.Text("**Bold** ")})
		for i := range 60 {
			out = append(out, api.Message{MessageType: api.MessageAssistant, Content: api.Text(fmt.Sprintf("word%03d ", i))})
		}
		return append(out, api.Message{MessageType: waitForever})
	case "openmark", "bar", "number", "item":
		out := append(ping, api.Message{MessageType: api.MessageAssistant, Content: api.Text(map[string]string{
			"openmark": "Some **bold ", "bar": "Either | or ", "number": "1984 was ", "item": "- an item ",
		}[word])})
		for i := range 300 {
			out = append(out, api.Message{MessageType: api.MessageAssistant, Content: api.Text(fmt.Sprintf("word%03d ", i))})
		}
		return append(out, api.Message{MessageType: waitForever})
	case "fence":
		out := append(ping, say("```go\n")...)
		for i := range 40 {
			out = append(out, say(fmt.Sprintf("line(%d)\n", i))...)
		}
		return append(out, api.Message{MessageType: waitForever})
	case "cut":
		return append(append(ping, say("Before ")...), api.Message{MessageType: cutOff})
	case "line":
		return append(ping, api.Message{MessageType: api.MessageToolCall, ToolCalls: []api.ToolCall{
			{Name: cmp.Or(arg, "shell"), ToolCallID: "call-line", Arguments: `{"command":"make all"}`},
		}}, api.Message{MessageType: waitForever})
	case "todo":
		return append(ping, api.Message{MessageType: api.MessageToolCall, ToolCalls: []api.ToolCall{{
			Name: "todo", ToolCallID: "call-todo", Arguments: `{"todos":[{"content":"read 茶","status":"completed"},` +
				`{"content":"change all of it","status":"in_progress"},{"content":"test it","status":"pending"}]}`,
		}}}, api.Message{MessageType: api.MessageToolReturn, ToolReturns: []api.ToolReturn{
			{ToolCallID: "call-todo", Status: api.StatusSuccess, ToolReturn: api.Text("1 of 3 done")},
		}}, api.Message{MessageType: api.MessageAssistant, ID: "m", Content: api.Text("I go on.\n\n")},
			api.Message{MessageType: waitForever})
	case "slow":
		return append(append(ping, say("This much was said")...), api.Message{MessageType: waitForever})
	case "mute":
		return append(ping, api.Message{MessageType: waitForever})
	case "fail":
		return append(ping, api.Message{MessageType: api.MessageError, ErrorType: "llm_error", ErrorText: "the provider is down"},
			api.Message{MessageType: api.MessageStopReason, StopReason: api.StopLLMAPIError})
	case "boom":
		return append(ping,
			api.Message{MessageType: api.MessageError, ErrorType: "llm_error", ErrorText: "vllm: boom", Detail: "ask again in a moment"},
			api.Message{MessageType: api.MessageStopReason, StopReason: api.StopLLMAPIError})
	case "broken":
		return append(append(append(ping, say("Before ")...),
			api.Message{
				MessageType: api.MessageNotice,
				Notice:      &api.Notice{Kind: api.NoticeBroken, Text: "The connection to the daemon broke; reconnecting."},
			}),
			append(say("and after."), done(10)...)...)
	case "restarted":
		return append(append(append(ping, say("Before ")...),
			api.Message{
				MessageType: api.MessageNotice,
				Notice:      &api.Notice{Kind: api.NoticeBroken, Text: "The connection to the daemon broke; reconnecting."},
			},
			api.Message{
				MessageType: api.MessageNotice,
				Notice:      &api.Notice{Kind: api.NoticeDiscard, Text: "The daemon restarted; the answer starts over."},
			}),
			append(say("Anew."), done(10)...)...)
	case "retried":
		out := append(ping, api.Message{MessageType: api.MessageReasoning, ID: "m1", Reasoning: "Tea, then."},
			api.Message{
				MessageType: api.MessageToolCall, ID: "m1", Delta: true,
				ToolCalls: []api.ToolCall{{Name: "memory_insert", ToolCallID: "c1", Arguments: `{"label":"hu`}},
			},
			api.Message{
				MessageType: api.MessageNotice,
				Notice:      &api.Notice{Kind: api.NoticeDiscard, Text: "The answer broke off; the model is asked again."},
			},
			api.Message{MessageType: api.MessageReasoning, ID: "m2", Reasoning: "Tea it is."})
		return append(append(out, say("You like tea.")...), done(10)...)
	case "late": // what the log has beyond what was seen comes before the notice that discards it
		return append(append(append(append(append(ping, say("Before ")...),
			api.Message{
				MessageType: api.MessageNotice,
				Notice:      &api.Notice{Kind: api.NoticeBroken, Text: "The connection to the daemon broke; reconnecting."},
			}),
			say("and")...),
			api.Message{
				MessageType: api.MessageNotice,
				Notice:      &api.Notice{Kind: api.NoticeDiscard, Text: "The daemon restarted; the answer starts over."},
			}),
			append(say("Anew."), done(10)...)...)
	default:
		return append(append(ping, say("You said: "+text)...), done(15360)...)
	}
}
