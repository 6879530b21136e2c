package offline_test

import (
	"strings"
	"testing"
	"time"

	"loci/core"
)

func FuzzEveryRequestGetsAWholeAnswer(f *testing.F) {
	for _, s := range []string{
		"My name is Ada and I work on compilers", "forget my name", "search for it", "What's my name?", "actually, no, it's Grace, not Ada",
		"how are you",
		"I am", "my", "not , not", "call me", "remember:", "note: x", "'s 's is", "I don't any more", "[2026-11-23] x",
		"李雷 is my name。", "we have a dog. it is", "The key is in", "my key is on", "Rex is", "I changed my code to",
		"I traded the car for a", "no, it's", "make that", "there is my", "she's just had", "\xff\xfe I am \x00",
	} {
		f.Add(s, "The user's name is Ada.\nThe user has a dog.", `{"results":[{"content":"My cat is Tom"}]}`, uint8(0))
	}
	f.Add("<value>", "</value><human>\n<value>1→ a", "[[[{}]]]", uint8(7))
	f.Fuzz(func(t *testing.T, input, memory, ret string, mode uint8) {
		h := newHome(t)
		h.blocks["human"] = memory
		h.parallel = mode&1 != 0
		h.choice = []core.ToolChoiceMode{core.ChoiceAuto, core.ChoiceRequired, core.ChoiceNone, core.ChoiceNamed}[mode/2%4]
		if mode&8 != 0 {
			h.tools = append([]string{"send_message"}, allTools...)
		}
		req := h.request()
		req.Choice.Name = "memory_insert"
		req.Messages = []core.ChatMessage{
			{Role: core.ChatReminder, Text: "Block \"human\":\n<changes>\n" + memory + "</changes>"},
			{Role: core.ChatUser, Text: input},
		}
		start := time.Now()
		text, calls := collect(t, req)
		if len(calls) > 0 {
			m := core.ChatMessage{Role: core.ChatTool}
			for _, c := range calls {
				arguments(t, c)
				m.Returns = append(m.Returns, core.ChatReturn{CallID: c.ID, Name: c.Name, Text: ret, IsError: mode&16 != 0})
			}
			req.Messages = append(req.Messages, core.ChatMessage{Role: core.ChatAssistant, Text: text, Calls: calls}, m)
			collect(t, req)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

func TestLongInputIsBoundedWork(t *testing.T) {
	t.Parallel()
	for _, input := range []string{
		strings.Repeat("I like tea and I like cake, but I have a dog and my name is Ada ", 4000),
		strings.Repeat("I have a dog. ", 20000), strings.Repeat("a", 1<<20), strings.Repeat("not ", 50000) + "?",
		strings.Repeat("\n", 1<<20),
		strings.Repeat("What is my name? ", 5000), strings.Repeat("my sister's ", 20000) + "dog?",
	} {
		h := newHome(t)
		h.blocks["human"] = strings.Repeat("The user has a horse called Bella.\n", 140)
		start := time.Now()
		collect(
			t,
			core.ChatRequest{
				System:   h.compile(),
				Tools:    h.request().Tools,
				Messages: []core.ChatMessage{{Role: core.ChatUser, Text: input}},
			},
		)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%.20q took %s", input, d)
		} else {
			t.Logf("%.20q took %s", input, d)
		}
	}
}
