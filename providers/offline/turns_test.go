package offline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/offline"
)

const monday = "[Monday 2026-11-23 09:15 CET (UTC+01:00)]"

func TestANoteIsWrittenOnceWhereThereIsNoArchive(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.tools = []string{"memory_insert", "memory_replace", "conversation_search"}
	if answer := h.say(
		"note: buy  milk",
	); h.blocks["human"] != "Note: buy milk" || strings.Contains(answer, "Not stored") ||
		len(h.calls) != 1 {
		t.Errorf("made %q in %d calls (answer %q)", h.blocks["human"], len(h.calls), answer)
	}
	if answer := h.say("note: buy milk"); h.blocks["human"] != "Note: buy milk" || !strings.Contains(answer, "already know") {
		t.Errorf("made %q of it again (answer %q)", h.blocks["human"], answer)
	}
}

func TestForgettingTakesTheFactOut(t *testing.T) {
	t.Parallel()
	have := "The user's name is Ada.\nThe user lives in Oslo.\nThe user's dog is called Biscuit."
	for _, c := range []struct{ say, want string }{
		{"forget my name", "The user lives in Oslo.\nThe user's dog is called Biscuit."},
		{"Please forget that I live in Oslo.", "The user's name is Ada.\nThe user's dog is called Biscuit."},
		{"forget about the dog", "The user's name is Ada.\nThe user lives in Oslo."},
		{"delete my name from your memory", "The user lives in Oslo.\nThe user's dog is called Biscuit."},
		{"forget my shoe size", have},
	} {
		h := newHome(t)
		h.blocks["human"] = have
		answer := h.say(c.say)
		if got := h.blocks["human"]; got != c.want {
			t.Errorf("%q made %q, want %q (answer %q)", c.say, got, c.want, answer)
		}
		if gone := c.want != have; gone != strings.Contains(answer, "Forgotten") {
			t.Errorf("%q was answered %q", c.say, answer)
		}
	}
	h := newHome(t)
	h.say("My name is Ada")
	h.say("forget my name")
	if answer := h.say("What's my name?"); !strings.Contains(answer, "do not know") {
		t.Errorf("a forgotten name is still told: %q", answer)
	}
}

func TestStatementsAndQuestionsMayShareAMessage(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	answer := h.say("Hi! I live in Oslo. My name is Ada. What's my name and where do I live?")
	if want := "The user lives in Oslo.\nThe user's name is Ada."; h.blocks["human"] != want {
		t.Errorf("stored %q, want %q", h.blocks["human"], want)
	}
	for _, want := range []string{"Hello", "Your name is Ada.", "You live in Oslo."} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer %q lacks %q", answer, want)
		}
	}
}

func TestAgentsThatSpeakThroughAToolAreAnsweredThroughIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.choice = core.ChoiceRequired
	h.tools = []string{
		"send_message",
		"core_memory_append",
		"core_memory_replace",
		"conversation_search",
		"archival_memory_search",
		"archival_memory_insert",
	}
	h.messages = []core.ChatMessage{
		{
			Role:  core.ChatAssistant,
			Calls: []core.ToolCall{{ID: "call_boot", Name: "send_message", Arguments: `{"message":"Hello, I am here."}`}},
		},
		{
			Role: core.ChatTool,
			Returns: []core.ChatReturn{
				{CallID: "call_boot", Name: "send_message", Text: `{"status":"OK","message":"Sent message successfully.","time":"now"}`},
			},
		},
		{Role: core.ChatUser, Text: `{"type":"login","last_login":"never before","time":"now"}`},
	}
	h.say("My name is Ada and I work on compilers")
	h.say("Actually my name is Grace")
	if want := "The user's name is Grace.\nThe user works on compilers."; h.blocks["human"] != want {
		t.Errorf("stored %q, want %q", h.blocks["human"], want)
	}
	if answer := h.say("who am I?"); !strings.Contains(answer, "Grace") {
		t.Errorf("answered %q", answer)
	}
	for _, c := range h.calls {
		args := arguments(t, c)
		if beat, ok := args["request_heartbeat"].(bool); !ok || beat == (c.Name == "send_message") {
			t.Errorf("%s has the heartbeat %v", c.Name, args["request_heartbeat"])
		}
		if thinking, _ := args["thinking"].(string); thinking == "" {
			t.Errorf("%s has no thinking: %s", c.Name, c.Arguments)
		}
	}
}

func TestTheToolChoiceIsObeyed(t *testing.T) {
	t.Parallel()
	tool := func(name, schema string) core.ToolSpec {
		return core.ToolSpec{Name: name, Parameters: []byte(schema)}
	}
	weather := tool(
		"weather",
		`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"unit":{"type":"string","enum":["C","F"]}},`+
			`"required":["city","days","unit"]}`,
	)
	req := core.ChatRequest{
		Messages: []core.ChatMessage{{Role: core.ChatUser, Text: "My name is Ada"}},
		Tools:    []core.ToolSpec{tool("memory_insert", `{}`), tool("send_message", `{}`), weather},
	}
	for _, c := range []struct {
		choice core.ToolChoice
		want   string
		args   map[string]any
	}{
		{core.ToolChoice{Mode: core.ChoiceNone}, "", nil},
		{
			core.ToolChoice{},
			"memory_insert",
			map[string]any{"label": "human", "new_string": "The user's name is Ada.", "insert_line": -1.0},
		},
		{
			core.ToolChoice{Mode: core.ChoiceNamed, Name: "weather"},
			"weather",
			map[string]any{"city": "My name is Ada", "days": 1.0, "unit": "C"},
		},
		{
			core.ToolChoice{Mode: core.ChoiceNamed, Name: "memory_insert"},
			"memory_insert",
			map[string]any{"label": "human", "new_string": "The user's name is Ada.", "insert_line": -1.0},
		},
	} {
		req.Choice = c.choice
		_, calls := collect(t, req)
		got, args := "", map[string]any(nil)
		if len(calls) > 0 {
			got, args = calls[0].Name, arguments(t, calls[0])
		}
		if got != c.want || cmp.Diff(c.args, args) != "" {
			t.Errorf("with %+v it calls %q %v, want %q %v", c.choice, got, args, c.want, c.args)
		}
	}
	req.Choice = core.ToolChoice{Mode: core.ChoiceNamed, Name: "send_message"}
	if _, calls := collect(t, req); len(calls) != 1 || calls[0].Name != "send_message" {
		t.Errorf("a named send_message gives %v", calls)
	}
}

func TestWithoutMemoryToolsItSaysSoAndAnswersFromTheThread(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.tools = nil
	if answer := h.say("My name is Ada and I live in Oslo"); !strings.Contains(answer, "cannot store") {
		t.Errorf("answered %q", answer)
	}
	h.say("Actually I live in Porto")
	if answer := h.say("where do I live?"); !strings.Contains(answer, "Porto") || strings.Contains(answer, "Oslo") {
		t.Errorf("answered %q", answer)
	}
	h.say("forget my name")
	if answer := h.say("What's my name?"); !strings.Contains(answer, "do not know") {
		t.Errorf("answered %q", answer)
	}
}

func TestSearchesComeBeforeNotKnowing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		messages, arch string
		want           string
		calls          []string
	}{
		{
			"found in messages", `{"message":"Showing 2 results:","results":[
			{"timestamp":"2026-11-20T10:00:00+01:00","time_ago":"3d","role":"user","content":"What's my cat called?","relevance":{}},
			{"timestamp":"2026-11-19T10:00:00+01:00","time_ago":"4d","role":"user","content":"My cat is called Tom","relevance":{}}]}`, "",
			"cat is called Tom",
			[]string{"conversation_search"},
		},
		{
			"found in the archive", `{"message":"No results found.","results":[]}`,
			`[{"timestamp":"2026-11-19","content":"The user's cat is called Tom.","tags":[]}]`, "cat is called Tom",
			[]string{"conversation_search", "archival_memory_search"},
		},
		{
			"in another shape", `{"message":"No results found.","results":[]}`,
			`{"results":[{"passage":{"text":"Cats: our cat is called Tom"}}]}`, "cat is called Tom",
			[]string{"conversation_search", "archival_memory_search"},
		},
		{
			"own words are no source", `{"results":[{"role":"assistant","content":"The user's cat is called Zed."}]}`, "No results",
			"do not know",
			[]string{"conversation_search", "archival_memory_search"},
		},
		{
			"nowhere", `{"message":"No results found.","results":[]}`, `[]`, "do not know",
			[]string{"conversation_search", "archival_memory_search"},
		},
	} {
		h := newHome(t)
		h.found["conversation_search"], h.found["archival_memory_search"] = c.messages, c.arch
		answer := h.say("What's my cat called?")
		var calls []string
		for _, call := range h.calls {
			calls = append(calls, call.Name)
		}
		if !strings.Contains(answer, c.want) || cmp.Diff(c.calls, calls) != "" {
			t.Errorf("%s: answered %q after %v, want %q after %v", c.name, answer, calls, c.want, c.calls)
		}
	}
	h := newHome(t)
	h.found["conversation_search"] = `{"results":[{"timestamp":"2026-11-20T10:00:00Z","role":"user","content":"We should visit Lisbon"}]}`
	if answer := h.say(
		"What did I say about Lisbon?",
	); !strings.Contains(answer, "We should visit Lisbon (2026-11-20)") ||
		arguments(t, h.calls[0])["query"] != "Lisbon" {
		t.Errorf("a search was answered %q", answer)
	}
	h = newHome(t)
	h.found["archival_memory_search"] = `[{"timestamp":"2026-11-20","content":"the harbour office opens at nine"}]`
	if answer := h.say("when does the harbour office open?"); !strings.Contains(answer, "at nine") {
		t.Errorf("a note was answered %q", answer)
	}
	h = newHome(t)
	if answer := h.say("search for Atlantis"); !strings.Contains(answer, "found nothing") || len(h.calls) != 2 {
		t.Errorf("a vain search was answered %q after %v", answer, h.calls)
	}
}

func TestWhatWasSaidOnADayIsSearchedByItsDate(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.preface = monday
	h.schemas = map[string]string{
		"conversation_search": `{"type":"object","properties":{"query":{},"start_date":{},"end_date":{},"limit":{}}}`,
	}
	h.found["conversation_search"] = `{"results":[{"timestamp":"2026-11-22T10:00:00+01:00","role":"user",` +
		`"content":"The boiler is broken"}]}`
	answer := h.say("What did I tell you yesterday?")
	want := map[string]any{"start_date": "2026-11-22", "end_date": "2026-11-22", "limit": 10.0}
	if diff := cmp.Diff(
		want,
		arguments(t, h.calls[0]),
	); diff != "" || !strings.Contains(answer, "The boiler is broken") ||
		!strings.Contains(answer, "Sunday 2026-11-22") {
		t.Errorf("answered %q, arguments (-want +got):\n%s", answer, diff)
	}
}

func TestAToolErrorIsSaidPlainly(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.readOnly["human"] = true
	if answer := h.say(
		"My name is Ada",
	); !strings.Contains(answer, "Kept in archival memory") && !strings.Contains(answer, "read-only") ||
		h.blocks["human"] != "" {
		t.Errorf("a read-only block was answered %q", answer)
	}
	h = newHome(t)
	h.tools, h.readOnly["human"] = []string{"memory_insert", "memory_replace"}, true
	h.blocks["human"] = "The user's name is Ada."
	if answer := h.say("My name is Grace"); !strings.Contains(answer, "read-only") || len(h.calls) > 0 {
		t.Errorf("a correction of a read-only block was answered %q after %v", answer, h.calls)
	}
	h = newHome(t)
	h.tools, h.limit = []string{"memory_insert"}, 10
	if answer := h.say("My name is Ada"); !strings.Contains(answer, "over its limit") || len(h.calls) != 1 {
		t.Errorf("a full block was answered %q after %v", answer, h.calls)
	}
	h = newHome(t)
	h.limit = 10
	if answer := h.say("My name is Ada"); !strings.Contains(answer, "archival memory") || len(h.archive) != 1 {
		t.Errorf("a full block was answered %q, the archive is %q", answer, h.archive)
	}
}

func TestLongNotesGoToTheArchive(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	long := strings.Repeat("The harbour office opens at nine. ", 40)
	if answer := h.say(
		"note: " + long,
	); len(h.archive) != 1 || !strings.HasPrefix(h.archive[0], "The harbour office") ||
		!strings.Contains(answer, "archival memory") {
		t.Errorf("answered %q, the archive is %q", answer, h.archive)
	}
}

func TestTheDateComesFromTheNewestPreface(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ask, want string }{
		{"What day is it?", "Monday 2026-11-23"},
		{"what is the date today", "Monday 2026-11-23"},
		{"What was yesterday's date?", "Sunday 2026-11-22"},
		{"what was yesterday?", "Sunday 2026-11-22"},
		{"What day is tomorrow?", "Tuesday 2026-11-24"},
		{"what time is it?", "09:15 CET (UTC+01:00)"},
		{"Which year is it?", "2026"},
		{"what was the date three days ago?", "Friday 2026-11-20"},
		{"What date was last Friday?", "Friday 2026-11-20"},
		{"when did we last talk?", "2 days 14 hours"},
	} {
		h := newHome(t)
		h.preface = "[Friday 2026-11-20 19:00 CET (UTC+01:00)]"
		h.say("hello")
		h.preface = "[Monday 2026-11-23 09:15 CET (UTC+01:00); 2 days 14 hours since the last message; folder /home/ada]"
		if answer := h.say(c.ask); !strings.Contains(answer, c.want) {
			t.Errorf("%q was answered %q, want %q", c.ask, answer, c.want)
		}
	}
	h := newHome(t)
	if answer := h.say("What day is it?"); !strings.Contains(answer, "no clock") {
		t.Errorf("without a preface it says %q", answer)
	}
}

func TestItSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ say, want string }{
		{"what can you do?", "My name is Ada"},
		{"help", "forget my name"},
		{"How do I connect a real model?", "OPENAI_API_KEY"},
		{"how can I use ollama", "loci models"},
		{"who are you?", "no language model"},
		{"Are you a language model?", "no language model"},
		{"Write me a poem", "no language model"},
		{"thanks!", "welcome"},
		{"Hello", "offline model"},
		{"blue fish the", "no fact"},
		{"Wo wohnst du eigentlich", "only understand English"},
		{"你好吗", "only understand English"},
	} {
		h := newHome(t)
		if answer := h.say(c.say); !strings.Contains(answer, c.want) {
			t.Errorf("%q was answered %q, want %q", c.say, answer, c.want)
		}
	}
}

func TestTheSameRequestGivesTheSameDeltas(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.parallel = true
	h.blocks["human"] = "The user hates tea.\nThe user lives in Oslo."
	for _, say := range []string{"My name is Ada, I like tea and I live in Rome", "What do you know about me?"} {
		h.messages = append(h.messages, core.ChatMessage{Role: core.ChatUser, Text: say})
		var runs [2][]string
		for i := range runs {
			for d, err := range offline.New().Stream(context.Background(), h.request()) {
				call := core.CallDelta{}
				if d.Call != nil {
					call = *d.Call
				}
				runs[i] = append(runs[i], fmt.Sprint(d.Text, call, d.End, d.Finish, err))
			}
		}
		if diff := cmp.Diff(runs[0], runs[1]); diff != "" || len(runs[0]) < 5 {
			t.Errorf("%q gives different deltas:\n%s", say, diff)
		}
	}
}

func TestAnEndedContextStopsTheStream(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.messages = []core.ChatMessage{{Role: core.ChatUser, Text: "help"}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var last error
	for d, err := range offline.New().Stream(ctx, h.request()) {
		if n++; n == 2 {
			cancel()
		}
		if last = err; err == nil && d.End {
			t.Error("a cancelled stream came to its end")
		}
	}
	var e *core.Error
	if !errors.As(last, &e) || e.Kind != core.Cancelled || !e.Provider || n != 3 {
		t.Errorf("after %d deltas the error is %v", n, last)
	}
}

func TestAReadingThatIsKeptChangesNoAnswer(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.blocks["human"] = notes(50) + "\nThe user's sister is called Zoë.\nThe user lives in Tampere."
	for _, say := range []string{
		"What is my sister's name?", "Actually I left Tampere, I'm in Oulu now", "Where do I live?", "What is my sister's name?",
	} {
		h.messages = nil
		h.say(say)
		req := h.request()
		kept, _ := answerOf(t, h.model, req)
		if fresh, _ := collect(t, req); kept != fresh {
			t.Errorf("%q: %q, and of a new model %q", say, kept, fresh)
		}
	}
}

// BenchmarkQuestionOverNotes measures a question that no note answers, over as many as a block may hold.
func BenchmarkQuestionOverNotes(b *testing.B) {
	for _, n := range []int{5, 2_400, 5_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := newHome(b)
			h.limit = 1 << 20
			h.blocks["human"] = notes(n)
			for b.Loop() {
				h.messages = nil
				h.say("What is my sister's name?")
			}
		})
	}
}

// notes are lines of a block as notes are kept there.
func notes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Note: in week %d call shop %d about the delivery of part %d.\n", i%52, i%97, i)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
