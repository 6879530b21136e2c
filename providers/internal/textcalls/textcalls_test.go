package textcalls

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func offered() []Tool {
	return []Tool{
		{Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},` +
			`"exact":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"tags":{"type":"array"}}}`)},
		{Name: "clock", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
}

// written is an answer and what it is.
type written struct {
	form  Form
	text  string
	said  string // the text that is left
	think string
	calls []Call
}

func oslo() []Call { return []Call{{"weather", `{"city":"Oslo"}`}} }

func both() []Call { return []Call{{"weather", `{"city":"Oslo"}`}, {"clock", `{}`}} }

func answers() map[string]written {
	return map[string]written{
		"hermes": {
			form: Hermes, text: "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Oslo\"}}\n</tool_call>", calls: oslo(),
		},
		"hermes, two and words before": {
			form: Hermes, said: "Let me look.\n", calls: both(),
			text: "Let me look.\n<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>\n" +
				"<tool_call>{\"name\":\"clock\"}</tool_call>",
		},
		"hermes without its end": {form: Hermes, text: `<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}`, calls: oslo()},
		"hermes, two without their ends": {
			form: Hermes, calls: both(),
			text: `<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}` + "\n" + `<tool_call>{"name":"clock","arguments":{}}`,
		},
		"hermes with the model's own end": {
			form: Hermes, text: `<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call><|im_end|>` + "\n", calls: oslo(),
		},
		"hermes with arguments in a text": {
			form: Hermes, text: `<tool_call>{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}</tool_call>`, calls: oslo(),
		},
		"hermes with a list": {
			form: Hermes, text: `<tool_call>[{"name":"weather","arguments":{"city":"Oslo"}},{"name":"clock"}]</tool_call>`, calls: both(),
		},
		"hermes with the arguments first": {
			form: Hermes, text: `<tool_call>{"arguments":{"city":"Oslo"},"name":"weather"}</tool_call>`, calls: oslo(),
		},
		"hermes with its own mark in an argument": {
			form: Hermes, text: `<tool_call>{"name":"weather","arguments":{"city":"</tool_call>"}}</tool_call>`,
			calls: []Call{{"weather", `{"city":"</tool_call>"}`}},
		},
		"hermes with a line break in a text": {
			form: Hermes, text: "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Os\nlo\"}}</tool_call>",
			calls: []Call{{"weather", `{"city":"Os\nlo"}`}},
		},
		"hermes behind a quote of it": {
			form: Hermes, said: "I call it with `<tool_call>`, so:\n", calls: oslo(),
			text: "I call it with `<tool_call>`, so:\n<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>",
		},
		"hermes behind a closed code block": {
			form: Hermes, said: "```\n<tool_call>{\"name\":\"clock\"}</tool_call>\n```\nSo:\n", calls: oslo(),
			text: "```\n<tool_call>{\"name\":\"clock\"}</tool_call>\n```\nSo:\n" +
				"<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>",
		},
		"granite": {form: Hermes, text: `<|tool_call|>[{"name":"weather","arguments":{"city":"Oslo"}}]`, calls: oslo()},
		"phi":     {form: Hermes, text: `<|tool_call|>[{"name":"weather","arguments":{"city":"Oslo"}}]<|/tool_call|>`, calls: oslo()},
		"llama":   {form: Llama, text: `<|python_tag|>{"name": "weather", "parameters": {"city":"Oslo"}}<|eom_id|>`, calls: oslo()},
		"llama, two": {
			form: Llama, calls: both(),
			text: `<|python_tag|>{"name":"weather","parameters":{"city":"Oslo"}}; {"name":"clock","parameters":{}}`,
		},
		"llama with a type": {
			form: Llama, text: `<|python_tag|>{"type":"function","name":"weather","parameters":{"city":"Oslo"}}`, calls: oslo(),
		},
		"llama in a tag": {form: Llama, text: `<function=weather>{"city":"Oslo"}</function>`, calls: oslo()},
		"llama in two tags": {
			form: Llama, text: `<function=weather>{"city":"Oslo"}</function>` + "\n<function=clock>{}</function>", calls: both(),
		},
		"llama without mark": {form: Llama, text: "\n" + `{"name": "weather", "parameters": {"city":"Oslo"}}`, calls: oslo()},
		"mistral": {
			form: Mistral, calls: both(),
			text: `[TOOL_CALLS] [{"name": "weather", "arguments": {"city":"Oslo"}}, {"name": "clock", "arguments": {}}]</s>`,
		},
		"mistral by name":    {form: Mistral, text: `[TOOL_CALLS]weather[ARGS]{"city":"Oslo"}[TOOL_CALLS]clock[ARGS]{}`, calls: both()},
		"mistral with an id": {form: Mistral, text: `[TOOL_CALLS]weather[CALL_ID]abcdefghi[ARGS]{"city":"Oslo"}`, calls: oslo()},
		"mistral, plainly":   {form: Mistral, said: "Yes.\n", text: "Yes.\n" + `[TOOL_CALLS]weather{"city":"Oslo"}`, calls: oslo()},
		"mistral without mark": {
			form: Mistral, text: `[{"name":"weather","arguments":{"city":"Oslo"}},{"name":"clock","arguments":{}}]`, calls: both(),
		},
		"qwen3-coder": {
			form: Qwen3Coder, said: "I look.\n\n", calls: []Call{{"weather", `{"city":"Oslo","days":3,"exact":true,"tags":["a"]}`}},
			text: "I look.\n\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n" +
				"<parameter=exact>\nTrue\n</parameter>\n<parameter=tags>\n[\"a\"]\n</parameter>\n</function>\n</tool_call>",
		},
		"qwen3-coder, two": {
			form: Qwen3Coder, calls: both(),
			text: "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>\n" +
				"<tool_call>\n<function=clock>\n</function>\n</tool_call>",
		},
		"qwen3-coder with its mark in a value": {
			form: Qwen3Coder, calls: []Call{{"weather", `{"city":"a </parameter> b\n\"c\" <d>"}`}},
			text: "<tool_call><function=weather><parameter=city>a </parameter> b\n\"c\" <d></parameter></function></tool_call>",
		},
		"qwen3-coder without the outer mark": {
			form: Qwen3Coder, calls: oslo(), text: "<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
		},
		"qwen3-coder as hermes": {
			form: Qwen3Coder, text: `<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>`, calls: oslo(),
		},
		"qwen3-coder: a text of digits": {
			form: Qwen3Coder, calls: []Call{{"weather", `{"city":"42"}`}},
			text: "<tool_call><function=weather><parameter=city>42</parameter></function></tool_call>",
		},
		"glm": {
			form: GLM, calls: []Call{{"weather", `{"city":"Oslo","days":3}`}},
			text: "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n" +
				"<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
		},
		"glm, two": {
			form: GLM, calls: both(),
			text: "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call><tool_call>clock</tool_call>",
		},
		"glm without its end": {form: GLM, calls: oslo(), text: "<tool_call>weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>\n"},
		"deepseek": {
			form: DeepSeek, calls: both(),
			text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\":\"Oslo\"}<｜tool▁call▁end｜>" +
				"<｜tool▁call▁begin｜>clock<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		},
		"deepseek of the first kind": {
			form: DeepSeek, calls: oslo(),
			text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\":\"Oslo\"}\n```" +
				"<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
		},
		"deepseek without its ends": {form: DeepSeek, calls: oslo(), text: "<｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\":\"Oslo\"}"},
		"deepseek of the newest kind": {
			form: DeepSeek, calls: []Call{{"weather", `{"city":"3","days":3}`}, {"clock", `{}`}},
			text: "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n" +
				"<｜DSML｜parameter name=\"city\" string=\"true\">3</｜DSML｜parameter>\n" +
				"<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"clock\">\n" +
				"</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		},
		"gpt-oss": {
			form: GPTOSS, think: "They ask for the weather.", calls: oslo(),
			text: "<|channel|>analysis<|message|>They ask for the weather.<|end|>" +
				"<|start|>assistant<|channel|>commentary to=functions.weather " +
				"<|constrain|>json<|message|>{\"city\":\"Oslo\"}<|call|>",
		},
		"gpt-oss with words": {
			form: GPTOSS, think: "hm", said: "I look.", calls: both(),
			text: "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>" +
				"<|start|>assistant to=functions.weather<|channel|>commentary json<|message|>{\"city\":\"Oslo\"}<|call|>" +
				"<|start|>assistant<|channel|>commentary to=functions.clock<|message|>{}",
		},
		"gpt-oss without call": {
			form: GPTOSS, think: "hm", said: "Hello <there>.",
			text: "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello <there>.<|return|>",
		},
		"gpt-oss without its first mark": {
			form: GPTOSS, calls: oslo(), text: `commentary to=functions.weather json<|message|>{"city":"Oslo"}`,
		},
		"json": {form: JSON, text: `{"name": "weather", "arguments": {"city":"Oslo"}}`, calls: oslo()},
		"json in a fence": {
			form: JSON, text: "```json\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Oslo\"}}\n```\n", calls: oslo(),
		},
		"json in a plain fence": {
			form: JSON, calls: both(),
			text: "```\n[{\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\"}},{\"name\":\"clock\",\"arguments\":{}}]\n```",
		},
		"json as it is on the wire": {
			form: JSON, text: `{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`, calls: oslo(),
		},
	}
}

// collected is what an answer became.
type collected struct {
	Text, Reasoning string
	Calls           []Call
}

func collect(form Form, pieces ...string) collected {
	r := NewReader(form, offered(), true)
	var c collected
	for _, p := range pieces {
		o := r.Add(p)
		c.Text, c.Reasoning = c.Text+o.Text, c.Reasoning+o.Reasoning
	}
	o, calls := r.End()
	return collected{c.Text + o.Text, c.Reasoning + o.Reasoning, calls}
}

func TestCallsInTextAreCalls(t *testing.T) {
	t.Parallel()
	for name, a := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(collected{a.said, a.think, a.calls}, collect(a.form, a.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHowAStreamIsCutChangesNothing(t *testing.T) {
	t.Parallel()
	texts := quotes()
	for _, a := range answers() {
		texts = append(texts, a.text, a.text+" ", "Well. "+a.text, a.text+"\n\nThat was it.")
	}
	for _, form := range Forms() {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				want := collect(form, text)
				if diff := cmp.Diff(want, collect(form, strings.Split(text, "")...)); diff != "" {
					t.Fatalf("%q by characters: %s", text, diff)
				}
				for i := 1; i < len(text); i++ {
					if diff := cmp.Diff(want, collect(form, text[:i], text[i:])); diff != "" {
						t.Fatalf("%q | %q: %s", text[:i], text[i:], diff)
					}
				}
			}
		})
	}
}

func TestNothingIsLostOfAnAnswerWithoutCalls(t *testing.T) {
	t.Parallel()
	for _, form := range Forms() {
		for _, text := range quotes() {
			if got := collect(form, strings.Split(text, "")...); got.Text != text || len(got.Calls) > 0 || got.Reasoning != "" {
				t.Errorf("%s: %q became %+v", form, text, got)
			}
		}
	}
}

func TestACallIsHeldBackAndNothingElse(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name":"clock"`
	for _, c := range []struct {
		form        Form
		text, shown string
	}{
		{Hermes, "Let me look.\n<tool", "Let me look.\n"},
		{Hermes, "Is 3 < 4? Yes", "Is 3 < 4? Yes"},
		{Hermes, "Let me look.\n" + call, "Let me look.\n"},
		{Hermes, "Let me look. " + call, "Let me look. " + call},
		{Hermes, "Write `" + call, "Write `" + call},
		{Hermes, "<tool_call>no JSON", "<tool_call>no JSON"},
		{Hermes, `<tool_call>{"name":"other","arg`, `<tool_call>{"name":"other","arg`},
		{Hermes, `<tool_call>{"name":"clock"}</tool_call> is`, `<tool_call>{"name":"clock"}</tool_call> is`},
		{JSON, `{"name":"weather","arg`, ""},
		{JSON, `{"name":"Ada","age`, `{"name":"Ada","age`},
		{JSON, `{"user`, ""},
		{JSON, `{"user":`, `{"user":`},
		{JSON, "```python\n", "```python\n"},
		{JSON, "```js", ""},
		{JSON, "[1, 2", "[1, 2"},
		{JSON, "Here: {\"name\":\"weather\"", "Here: {\"name\":\"weather\""},
		{Mistral, "See [TOOL", "See "},
		{Mistral, "See [1] and", "See [1] and"},
		{GLM, "<tool_call>other\n", "<tool_call>other\n"},
		{Qwen3Coder, "<tool_call>\n<function=other>", "<tool_call>\n<function=other>"},
		{DeepSeek, "<｜tool▁calls▁begin｜>Hello", "<｜tool▁calls▁begin｜>Hello"},
		{GPTOSS, "<|channel|>final<|message|>Hello", "Hello"},
		{GPTOSS, "Hello", "Hello"},
	} {
		r := NewReader(c.form, offered(), true)
		shown := ""
		for _, p := range strings.Split(c.text, "") {
			shown += r.Add(p).Text
		}
		if shown != c.shown {
			t.Errorf("%s: of %q is shown %q, want %q", c.form, c.text, shown, c.shown)
		}
	}
}

func TestWhatIsHeldBackIsBounded(t *testing.T) {
	t.Parallel()
	long := `<tool_call>{"name":"clock","arguments":{"a":"` + strings.Repeat("x", mostHeld)
	r := NewReader(Hermes, offered(), true)
	shown := 0
	for i := 0; i < len(long); i += 1000 {
		shown += len(r.Add(long[i:min(i+1000, len(long))]).Text)
	}
	if shown < mostHeld {
		t.Errorf("%d bytes of %d were shown", shown, len(long))
	}
	for _, hostile := range []string{
		"<tool_call>{", "<tool_call>", "[TOOL_CALLS]weather[", "<function=weather><parameter=a>", "<｜tool▁calls▁begin｜>", "`",
	} {
		for _, form := range Forms() {
			text := strings.Repeat(hostile, 1<<20/len(hostile))
			if got := collect(form, text); len(got.Calls) > 0 || got.Text != text {
				t.Errorf("%s: %q gave %d calls and %d of %d bytes", form, hostile, len(got.Calls), len(got.Text), len(text))
			}
			Unread(form, text, offered(), true)
		}
	}
}

func TestJSONThatWasAskedForIsNoCall(t *testing.T) {
	t.Parallel()
	r := NewReader(Llama, offered(), false)
	const text = `{"name":"weather","parameters":{"city":"Oslo"}}`
	if o := r.Add(text); o.Text != text {
		t.Errorf("shown is %q", o.Text)
	}
}

func TestAnAnswerInAnotherFormIsRecognised(t *testing.T) {
	t.Parallel()
	for name, a := range answers() {
		form, ok := In(a.text, offered(), true)
		if ok != (len(a.calls) > 0) {
			t.Errorf("%s: %q %v", name, form, ok)
		}
		if ok && len(collect(form, a.text).Calls) != len(a.calls) {
			t.Errorf("%s: told is %s, with which it has %+v", name, form, collect(form, a.text))
		}
	}
	for _, text := range quotes() {
		if form, ok := In(text, offered(), true); ok {
			t.Errorf("%q is taken for %s", text, form)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, a := range answers() {
		f.Add(a.text, 7)
	}
	for _, q := range quotes() {
		f.Add(q, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size&63)
		for _, form := range Forms() {
			var pieces []string
			for i := 0; i < len(text); i += size {
				pieces = append(pieces, text[i:min(i+size, len(text))])
			}
			want, got := collect(form, text), collect(form, pieces...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", form, diff)
			}
			for _, c := range got.Calls {
				if _, ok := find(offered(), c.Name); !ok || !json.Valid([]byte(c.Arguments)) || c.Arguments[0] != '{' {
					t.Errorf("%s: %+v", form, c)
				}
			}
			if form != GPTOSS && len(got.Calls) == 0 && got.Text != text {
				t.Errorf("%s: %q became %q", form, text, got.Text)
			}
		}
	})
}
