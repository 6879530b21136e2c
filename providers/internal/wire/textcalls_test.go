package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/internal/textcalls"
)

// readAs passes deltas through a reader of a form and returns what comes out, without the ids of calls.
func readAs(t *testing.T, w TextCalls, form string, deltas ...core.Delta) []core.Delta {
	t.Helper()
	req := core.ChatRequest{
		Tools: []core.ToolSpec{{Name: "clock"}}, Info: core.ModelInfo{TextCalls: form, Handle: "box/org/my-model"},
	}
	var out []core.Delta
	next := w.Read(req, func(d core.Delta) bool {
		if d.Call != nil {
			if !strings.HasPrefix(d.Call.ID, "call_") {
				t.Errorf("the id of a call is %q", d.Call.ID)
			}
			c := *d.Call
			c.ID = ""
			d.Call = &c
		}
		out = append(out, d)
		return true
	})
	for _, d := range deltas {
		if !next(d) {
			t.Fatal("it left")
		}
	}
	return out
}

func TestCallsInTheTextTakeTheirPlaceInTheAnswer(t *testing.T) {
	t.Parallel()
	const call = "<tool_call>{\"name\":\"clock\"}</tool_call>"
	asked := core.Delta{Call: &core.CallDelta{Name: "clock", Arguments: "{}"}}
	own := core.Delta{Call: &core.CallDelta{Name: "clock", Arguments: `{"a":1}`}}
	own.Call.ID = "call_own"
	ownBare := core.Delta{Call: &core.CallDelta{Name: "clock", Arguments: `{"a":1}`}}
	text := func(s string) core.Delta { return core.Delta{Text: s} }
	last := core.Delta{End: true, Native: json.RawMessage("{}")}
	bare := core.Delta{End: true}
	told := core.Delta{Notice: &core.Notice{Kind: NoticeCalls, Text: `box/org/my-model wrote a call of a tool as text, ` +
		`and it was not run. Set text_calls = "hermes" under [providers.box.models."org/my-model"] in config.toml, ` +
		`and restart the daemon: loci daemon restart.`}}
	middle := core.Delta{Notice: &core.Notice{
		Kind: NoticeCalls, Text: "box/org/my-model wrote a call of clock into the middle of its answer: it was not run.",
	}}
	for name, c := range map[string]struct {
		wire TextCalls
		form string
		in   []core.Delta
		want []core.Delta
	}{
		"a call": {
			TextCalls{}, "hermes", []core.Delta{text("Look.\n<tool"), text(call[5:]), last}, []core.Delta{text("Look.\n"), asked, last},
		},
		"a call on a wire that keeps the whole turn": {
			TextCalls{Items: true}, "hermes", []core.Delta{text(call), last}, []core.Delta{asked, bare},
		},
		"words on a wire that keeps the whole turn": {
			TextCalls{Items: true}, "hermes", []core.Delta{text("Hi."), last}, []core.Delta{text("Hi."), last},
		},
		"the wire's own form": {TextCalls{Default: textcalls.Hermes}, "", []core.Delta{text(call), last}, []core.Delta{asked, last}},
		"no form":             {TextCalls{}, "", []core.Delta{text(call), last}, []core.Delta{text(call), told, last}},
		"another form":        {TextCalls{}, "mistral", []core.Delta{text(call), last}, []core.Delta{text(call), told, last}},
		"off": {
			TextCalls{Default: textcalls.Hermes}, "off", []core.Delta{text(call), last}, []core.Delta{text(call), last},
		},
		"words behind it": {
			TextCalls{}, "hermes", []core.Delta{text(call + " Done."), last}, []core.Delta{text(call + " Done."), middle, last},
		},
		"the server sends calls too": {TextCalls{}, "hermes", []core.Delta{text(call), own, last}, []core.Delta{text(call), ownBare, last}},
		"what was said were thoughts": {
			TextCalls{},
			"hermes",
			[]core.Delta{text("<tool_call>{"), {Thought: true}, text(call), last},
			[]core.Delta{text("<tool_call>{"), {Thought: true}, asked, last},
		},
		"thoughts in channels": {
			TextCalls{},
			"gpt-oss",
			[]core.Delta{text("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi."), last},
			[]core.Delta{{Reasoning: "hm"}, text("Hi."), last},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, readAs(t, c.wire, c.form, c.in...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACallThatIsNotReadIsToldInOneLine(t *testing.T) {
	t.Parallel()
	const who = "box/org/my-model wrote "
	const call = `<tool_call>{"name":"clock","arguments":{}}</tool_call>`
	const other = `<tool_call>{"name":"other","arguments":{}}</tool_call>`
	for text, want := range map[string]string{
		call + "\n" + other:                 "calls of clock and other: none was run, as it is not offered other.",
		other:                               "a call of other, a tool that it is not offered: it was not run.",
		other + "\n" + call:                 "a call of other, a tool that it is not offered: it was not run.",
		`{"name":"other","arguments":{}}`:   "a call of other, a tool that it is not offered: it was not run.",
		"<tool_call>{'name'}\n</tool_call>": "a call that cannot be read: it was not run. It wrote: <tool_call>{'name'} </tool_call>",
		"I look.\n<tool_call>{\"name\":": "a call that breaks off at the end of its answer: it was not run. " +
			"It wrote: <tool_call>{\"name\":",
		`[TOOL_CALLS][{"name":"other"}]`:            "a call of other, a tool that it is not offered: it was not run.", // in another form
		"Hermes writes " + call:                     "a call of clock into a line of its text: it was not run.",
		"It says \"" + call + "\".":                 "",
		"```\n" + other + "\n```":                   "",
		"It was `" + call + "`. Now:\n" + call:      "",
		"Hermes writes " + call + ". Now:\n" + call: "",
		"Hello.": "",
	} {
		var got []string
		for _, d := range readAs(t, TextCalls{}, "hermes", core.Delta{Text: text}, core.Delta{End: true}) {
			if d.Notice != nil {
				got = append(got, d.Notice.Text)
			}
		}
		if want != "" {
			want = who + want
		}
		if len(got) > 1 || strings.Join(got, "") != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
	}
}

func TestNoCallIsReadWhereNoToolIsOffered(t *testing.T) {
	t.Parallel()
	const call = "<tool_call>{\"name\":\"clock\"}</tool_call>"
	for name, req := range map[string]core.ChatRequest{
		"no tools":           {},
		"tools, but no call": {Tools: []core.ToolSpec{{Name: "clock"}}, Choice: core.ToolChoice{Mode: core.ChoiceNone}},
	} {
		req.Info.TextCalls = "hermes"
		var got string
		next := TextCalls{}.Read(req, func(d core.Delta) bool { got += d.Text; return d.Call == nil && d.Notice == nil })
		if !next(core.Delta{Text: call}) || !next(core.Delta{End: true}) || got != call {
			t.Errorf("%s: %q", name, got)
		}
	}
}
