package textcalls

import (
	"strings"
	"testing"
)

func TestWhyACallWasNotReadIsKnown(t *testing.T) {
	t.Parallel()
	const clock = `{"name":"clock","arguments":{}}`
	const other = `{"name":"other","arguments":{}}`
	for _, c := range []struct {
		form  Form
		text  string
		why   Reason
		names string
	}{
		// of a tool that isn't offered
		{Hermes, "<tool_call>" + other + "</tool_call>", NotOffered, "other"},
		{Hermes, "I look.\n<tool_call>" + clock + "</tool_call>\n<tool_call>" + other + "</tool_call>", NotOffered, "clock other"},
		{Hermes, "<tool_call>" + other + "</tool_call><tool_call>" + clock + "</tool_call>", NotOffered, "other clock"},
		{Hermes, "```json\n" + other + "\n```", NotOffered, "other"},
		{Hermes, other, NotOffered, "other"},
		{JSON, "[" + clock + "," + other + "]", NotOffered, "clock other"},
		{Llama, "<|python_tag|>" + clock + "; " + other, NotOffered, "clock other"},
		{Llama, "<function=other>{}</function>", NotOffered, "other"},
		{Mistral, "[TOOL_CALLS][" + clock + "," + other + "]", NotOffered, "clock other"},
		{Mistral, "[TOOL_CALLS]clock[ARGS]{}[TOOL_CALLS]other[ARGS]{}", NotOffered, "clock other"},
		{Qwen3Coder, "<tool_call><function=other><parameter=a>1</parameter></function></tool_call>", NotOffered, "other"},
		{GLM, "<tool_call>other\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>", NotOffered, "other"},
		{DeepSeek, "<｜tool▁call▁begin｜>other<｜tool▁sep｜>{}<｜tool▁call▁end｜>", NotOffered, "other"},
		{DeepSeek, `<｜DSML｜function_calls><｜DSML｜invoke name="other"></｜DSML｜invoke></｜DSML｜function_calls>`, NotOffered, "other"},
		{GPTOSS, "<|channel|>commentary to=functions.other<|message|>{}<|call|>", NotOffered, "other"},
		// broken
		{Hermes, "<tool_call>{'name': 'clock'}</tool_call>", Broken, ""},
		{Hermes, `<tool_call>{"name":"clock","arguments":{"a":}}</tool_call>`, Broken, ""},
		{Hermes, `<tool_call>{"name":"clock","arguments":[]}</tool_call>`, Broken, ""},
		{Hermes, "<tool_call>clock()</tool_call>\nDone.", Broken, ""},
		{Hermes, "<tool_call>" + clock + "</tool_call>\n<tool_call>{'name': 'clock'}</tool_call>", Broken, ""},
		{Llama, `<|python_tag|>brave_search.call(query="x")`, Broken, ""},
		{Mistral, `[TOOL_CALLS]clock[ARGS]{"a":}`, Broken, ""},
		{Qwen3Coder, "<tool_call><function=clock><parameter=a>1</function></tool_call>", Broken, ""},
		{GLM, "<tool_call>clock<arg_key>a<arg_value>b</arg_value></tool_call>", Broken, ""},
		{DeepSeek, "<｜tool▁call▁begin｜>clock<｜tool▁sep｜>none<｜tool▁call▁end｜>", Broken, ""},
		{GPTOSS, "<|channel|>commentary to=functions.clock<|message|>{'a'}<|call|>", Broken, ""},
		// cut off
		{Hermes, "I look.\n<tool_call>{\"name\":\"clock\",\"argu", Cut, ""},
		{Hermes, "<tool_call>" + clock + "</tool_call>\n<tool_call>{\"na", Cut, ""},
		{Hermes, "<tool_call>{\"name\":\"other\",\"argu", Cut, ""},
		{Hermes, "<tool_call>", Cut, ""},
		{Hermes, `{"name":"clock","arguments":{`, Cut, ""},
		{JSON, "```json\n{\"name\":\"clock\",\"arguments\":{}", Cut, ""},
		{Llama, `<|python_tag|>{"name":"clock"`, Cut, ""},
		{Mistral, `[TOOL_CALLS]clock[ARGS]{"a":`, Cut, ""},
		{Qwen3Coder, "<tool_call>\n<function=clock>\n<parameter=a>\nb", Cut, ""},
		{GLM, "<tool_call>clock\n<arg_key>a</arg_key>\n<arg_value>b", Cut, ""},
		{DeepSeek, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>clock<｜tool▁sep｜>{", Cut, ""},
		{GPTOSS, `<|channel|>commentary to=functions.clock<|message|>{"a":`, Cut, ""},
		// in the middle
		{Hermes, "<tool_call>" + clock + "</tool_call> Done.", Middle, "clock"},
		{Hermes, "Hermes writes <tool_call>" + clock + "</tool_call>", Inline, "clock"},
		{Mistral, "Yes.[TOOL_CALLS][" + clock + "]", Inline, "clock"},
		{Hermes, "He said: \"Never\n<tool_call>" + clock + "</tool_call>", Inline, "clock"},
		{GPTOSS, "<|channel|>commentary to=functions.clock<|message|>{}<|call|> is it.", Middle, "clock"},
		// plainly shown, or nothing of the kind
		{Hermes, "```\n<tool_call>" + other + "</tool_call>\n```", "", ""},
		{Hermes, "```\n<tool_call>{\"name\":\"clock\",\"argu", "", ""},
		{Hermes, "`<tool_call>" + clock + "</tool_call>`", "", ""},
		{Hermes, "> <tool_call>{'a'}</tool_call>", "", ""},
		{Hermes, "It says \"<tool_call>" + clock + "</tool_call>\"", "", ""},
		{Hermes, "It says \"Never write <tool_call>" + clock + "</tool_call>\".", "", ""},
		{Hermes, "A call in the tag <tool_call> ends with </tool_call>.", "", ""},
		{Hermes, "The tag\n<tool_call> begins one.", "", ""},
		{Mistral, "[TOOL_CALLS] stands before a list.", "", ""},
		{DeepSeek, "<｜tool▁calls▁begin｜> is DeepSeek's mark.", "", ""},
		{JSON, `{"city":"Oslo"}`, "", ""},
		{JSON, `{"name":"Ada Lovelace","age":3}`, "", ""},
		{Hermes, "Hello.", "", ""},
	} {
		got := Unread(c.form, c.text, offered(), true)
		if got.Why != c.why || strings.Join(got.Names, " ") != c.names {
			t.Errorf("%s: %q is %+v, want %s %q", c.form, c.text, got, c.why, c.names)
		}
		if got := collect(c.form, c.text); len(got.Calls) > 0 {
			t.Errorf("%s: %q is read: %+v", c.form, c.text, got)
		}
	}
	for _, form := range Forms() {
		for name, a := range answers() {
			if got := Unread(form, a.text, offered(), true); form == a.form && got.Why != "" {
				t.Errorf("%s, whose calls are read, is told: %+v", name, got)
			}
		}
	}
	if got := Unread(JSON, other, offered(), false); got.Why != "" {
		t.Errorf("of the JSON that was asked for is told %+v", got)
	}
}

func TestWhatIsToldOfACallIsShort(t *testing.T) {
	t.Parallel()
	got := Unread(Hermes, "<tool_call>{\x1b[31m\n"+strings.Repeat("é", 500), offered(), true)
	if got.Why != Cut && got.Why != Broken || len([]rune(got.Text)) > 81 || strings.ContainsAny(got.Text, "\x1b\n") {
		t.Errorf("%+v", got)
	}
}
