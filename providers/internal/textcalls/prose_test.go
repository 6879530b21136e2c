package textcalls

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forms returns a call of the clock as each form with a mark writes it.
func forms() map[Form]string {
	const call = `{"name":"clock","arguments":{}}`
	return map[Form]string{
		Hermes:     "<tool_call>" + call + "</tool_call>",
		Llama:      "<|python_tag|>" + call,
		Mistral:    "[TOOL_CALLS][" + call + "]",
		Qwen3Coder: "<tool_call><function=clock></function></tool_call>",
		GLM:        "<tool_call>clock</tool_call>",
		DeepSeek:   "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>clock<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	}
}

// prose is what may stand before a form that ends an answer and is shown by it.
func prose() []string {
	return []string{
		"Hermes writes ", "It is ", "Yes.", "So:", "It is\t", "**", "1. ", "- ", "* ", "+ ", "12) ", "| call | ", "|", "# ", "Äh… ",
		"1. First.\n2. ", "- Write:\n  ", "1. Write\n\n   ", "> ", "> Write:\n> ", "> Write:\n",
		`The user manual says: "Do not write `, "The user manual says: \"Do not write\n", "It says: “Never write:\n", "It says: „Nie:\n",
		"Il dit : «\n", "It says: 'Don't write\n", "It says (\"page 3):\n",
		"The manual: \"Never.\n\nNot even so:\n", "他说：“不要写\n", "他说\"不要写\n",
		"<think>hm</think> So I write ", "\"", "'", "(",
	}
}

func TestAFormThatIsShownInProseStaysText(t *testing.T) {
	t.Parallel()
	for form, call := range forms() {
		for _, before := range prose() {
			for _, behind := range []string{"", "\n", "<|im_end|>"} {
				text := before + call + behind
				if got := collect(form, text); len(got.Calls) > 0 || got.Text != text {
					t.Errorf("%s: %q became %+v", form, text, got)
				}
				if got := collect(form, strings.Split(text, "")...); len(got.Calls) > 0 || got.Text != text {
					t.Errorf("%s: %q by bytes became %+v", form, text, got)
				}
			}
		}
	}
}

func TestAFormOnALineOfItsOwnIsACall(t *testing.T) {
	t.Parallel()
	for form, call := range forms() {
		for _, before := range []string{
			"Let me look.\n", "Let me look.\n\n", "So:\r\n", "Look:\n  ", "I don't know it, so I look.\n", "It's the dogs' clock.\n",
			"You said \"now\".\n", "You said: \"Now!\"\n", "A 27\" screen.\n", "6'2\" is tall.\n", "The '90s.\n",
			"Say “now”.\n", "„Jetzt“.\n", "»Jetzt«\n",
			"«Maintenant»\n", "‘Don’t’ it is.\n", "The dogs’ clock.\n", "- One\n- Two\n\n", "1. I look.\n",
			"| a | b |\n", "> You asked\n\n", "`\"`\n", "```\n\"\n```\n",
			"He's 'fine'.\n", "hm</think>", "hm\n</think>\n\n", "hm[/THINK]",
		} {
			want := collected{Text: before, Calls: []Call{{"clock", "{}"}}}
			if diff := cmp.Diff(want, collect(form, before+call)); diff != "" {
				t.Errorf("%s behind %q: %s", form, before, diff)
			}
			if diff := cmp.Diff(want, collect(form, strings.Split(before+call, "")...)); diff != "" {
				t.Errorf("%s behind %q, by bytes: %s", form, before, diff)
			}
		}
	}
}

func TestChannelsThatAreShownAreText(t *testing.T) {
	t.Parallel()
	const call = "<|channel|>commentary to=functions.clock<|message|>{}<|call|>"
	for _, said := range []string{
		"It writes " + call, "```\n" + call, "- " + call, "\"Never\n" + call, "`" + call,
	} {
		got := collect(GPTOSS, "<|channel|>final<|message|>"+said)
		if len(got.Calls) > 0 || !strings.Contains(got.Text, "to=functions.clock") {
			t.Errorf("%q became %+v", said, got)
		}
	}
	for _, text := range []string{call + " is what it writes.", call + "\n```\nSo much for it."} {
		if got := collect(GPTOSS, text); len(got.Calls) > 0 || !strings.Contains(got.Text, "to=functions.clock") {
			t.Errorf("%q became %+v", text, got)
		}
	}
}
