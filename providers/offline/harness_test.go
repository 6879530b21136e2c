package offline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"loci/core"
	"loci/providers/offline"
)

// home emulates a model's surroundings: blocks, their tools, a prompt compiled for every request, and a thread.
type home struct {
	t        testing.TB
	model    *offline.Model
	blocks   map[string]string
	readOnly map[string]bool
	limit    int
	tools    []string
	choice   core.ToolChoiceMode
	parallel bool
	pinned   string // a prompt that stays; empty: compiled for every request
	preface  string
	joins    []string // what joins the next message
	messages []core.ChatMessage
	found    map[string]string // what the search tools return, by tool
	archive  []string
	denied   map[string]string // why a person allows no call, by tool
	schemas  map[string]string // of tools, where they matter
	calls    []core.ToolCall
}

var allTools = []string{"memory_insert", "memory_replace", "conversation_search", "archival_memory_search", "archival_memory_insert"}

func newHome(tb testing.TB) *home {
	tb.Helper()
	return &home{
		t:        tb,
		model:    offline.New(),
		blocks:   map[string]string{"human": "", "persona": "I am calm."},
		readOnly: map[string]bool{},
		limit:    5000,
		tools:    allTools,
		found:    map[string]string{},
	}
}

func (h *home) compile() string {
	var b strings.Builder
	b.WriteString("You are an agent.\n\n<memory_blocks>\nThese blocks are in your memory:\n\n")
	for _, label := range []string{"persona", "human"} {
		fmt.Fprintf(&b, "<%s>\n<description>\nabout %s\n</description>\n<metadata>\n", label, label)
		if h.readOnly[label] {
			b.WriteString("- read_only=true\n")
		}
		fmt.Fprintf(
			&b,
			"- chars_current=%d\n- chars_limit=%d\n</metadata>\n<value>\n%s\n</value>\n</%s>\n\n",
			utf8.RuneCountInString(h.blocks[label]),
			h.limit,
			h.blocks[label],
			label,
		)
	}
	b.WriteString(
		"</memory_blocks>\n\n<memory_metadata>\n- AGENT_ID: agent-1\n- 3 previous messages between you and the user are stored in " +
			"recall memory\n</memory_metadata>",
	)
	return b.String()
}

func (h *home) request() core.ChatRequest {
	req := core.ChatRequest{
		Model:    "loci",
		System:   h.pinned,
		Messages: slices.Clone(h.messages),
		Parallel: h.parallel,
		Choice:   core.ToolChoice{Mode: h.choice},
	}
	if req.System == "" {
		req.System = h.compile()
	}
	for _, name := range h.tools {
		schema := `{"type":"object","properties":{}}`
		if h.choice == core.ChoiceRequired {
			schema = `{"type":"object","properties":{"thinking":{"type":"string"},"request_heartbeat":{"type":"boolean"}}}`
		}
		if own, ok := h.schemas[name]; ok {
			schema = own
		}
		req.Tools = append(req.Tools, core.ToolSpec{Name: name, Parameters: json.RawMessage(schema)})
	}
	return req
}

// say sends a message and runs the loop until the turn ends; it returns the answer.
func (h *home) say(input string) string {
	h.t.Helper()
	h.messages = append(h.messages, core.Asked(h.preface, input, h.joins...))
	h.joins = nil
	for range 16 {
		text, calls := answerOf(h.t, h.model, h.request())
		h.messages = append(h.messages, core.ChatMessage{Role: core.ChatAssistant, Text: text, Calls: calls})
		if len(calls) == 0 {
			return text
		}
		h.calls = append(h.calls, calls...)
		var returns []core.ChatReturn
		spoken := ""
		for _, c := range calls {
			ret, failed := h.execute(c)
			returns = append(returns, core.ChatReturn{CallID: c.ID, Name: c.Name, Text: ret, IsError: failed})
			if c.Name == "send_message" {
				spoken = arguments(h.t, c)["message"].(string)
			}
		}
		h.messages = append(h.messages, core.ChatMessage{Role: core.ChatTool, Returns: returns})
		if spoken != "" {
			return spoken
		}
		if h.choice == core.ChoiceRequired {
			h.messages = append(
				h.messages,
				core.ChatMessage{Role: core.ChatUser, Text: `{"type":"heartbeat","reason":"go on","time":"now"}`},
			)
		}
	}
	h.t.Fatalf("the turn for %q does not end", input)
	return ""
}

func (h *home) execute(c core.ToolCall) (string, bool) {
	args := arguments(h.t, c)
	str := func(k string) string { s, _ := args[k].(string); return s }
	fail := func(text string) (string, bool) {
		return "Error executing function " + c.Name + ": ValueError: " + text, true
	}
	label := str("label")
	value := h.blocks[label]
	if why, denied := h.denied[c.Name]; denied {
		return core.DenialText(why), true
	}
	switch c.Name {
	case "send_message":
		return "Sent message successfully.", false
	case "conversation_search", "archival_memory_search", "semantic_search_files":
		if ret, ok := h.found[c.Name]; ok {
			return ret, false
		}
		return `{"message":"No results found.","results":[]}`, false
	case "archival_memory_insert":
		h.archive = append(h.archive, str("content"))
		return "None", false
	}
	if h.readOnly[label] {
		return fail("This block is read-only and cannot be edited.")
	}
	switch c.Name {
	case "memory_insert", "core_memory_append":
		value = strings.TrimPrefix(value+"\n"+str("new_string")+str("content"), "\n")
	case "memory_replace", "core_memory_replace":
		old := str("old_string") + str("old_content")
		if n := strings.Count(value, old); old == "" || n != 1 {
			return fail(fmt.Sprintf("%q occurs %d times in %q", old, n, value))
		}
		value = strings.Replace(value, old, str("new_string")+str("new_content"), 1)
	default:
		return fail("there is no such tool")
	}
	if utf8.RuneCountInString(value) > h.limit {
		return fail("the block would be over its limit")
	}
	h.blocks[label] = value
	return value, false
}

func arguments(tb testing.TB, c core.ToolCall) map[string]any {
	tb.Helper()
	args := map[string]any{}
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		tb.Fatalf("%s has arguments %q: %v", c.Name, c.Arguments, err)
	}
	return args
}

// collect reads a whole stream from a new model.
func collect(tb testing.TB, req core.ChatRequest) (string, []core.ToolCall) {
	tb.Helper()
	return answerOf(tb, offline.New(), req)
}

func answerOf(tb testing.TB, m *offline.Model, req core.ChatRequest) (string, []core.ToolCall) {
	tb.Helper()
	var text strings.Builder
	var calls []core.ToolCall
	ended := false
	for d, err := range m.Stream(context.Background(), req) {
		if err != nil {
			tb.Fatalf("stream: %v", err)
		}
		if ended {
			tb.Fatal("a delta follows the end")
		}
		text.WriteString(d.Text)
		if d.Call != nil {
			if d.Call.Index == len(calls) {
				calls = append(calls, core.ToolCall{ID: d.Call.ID, Name: d.Call.Name})
			}
			calls[d.Call.Index].Arguments += d.Call.Arguments
		}
		if d.End {
			ended = true
			if d.Finish != core.FinishStop || d.Usage == nil || d.Usage.Total != d.Usage.Prompt+d.Usage.Completion {
				tb.Fatalf("the end is %+v", d)
			}
		}
	}
	if !ended {
		tb.Fatal("the stream has no end")
	}
	if text.Len() == 0 && len(calls) == 0 {
		tb.Fatal("the answer is empty")
	}
	return text.String(), calls
}
