package ollama

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// reader reads the lines of one answer.
type reader struct {
	who      wire.Who
	out      func(core.Delta) bool
	offered  []string
	split    wire.Splitter
	calls    int
	ids      []string // ids of the calls
	answered bool
	thought  strings.Builder
	done     bool
	last     reply
}

// reply is a line of an answer.
type reply struct {
	Message struct {
		Content   string      `json:"content"`
		Thinking  string      `json:"thinking"`
		ToolCalls []replyCall `json:"tool_calls"`
	} `json:"message"`
	Done       bool      `json:"done"`
	DoneReason string    `json:"done_reason"`
	Prompt     wire.Size `json:"prompt_eval_count"`
	Eval       wire.Size `json:"eval_count"`
}

type replyCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func newReader(who wire.Who, req core.ChatRequest, out func(core.Delta) bool) *reader {
	r := &reader{who: who, out: out}
	for _, t := range req.Tools {
		r.offered = append(r.offered, t.Name)
	}
	return r
}

// line reads one line of the stream. A call arrives whole, in its own line.
func (r *reader) line(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	var failed struct {
		Error string `json:"error"`
	}
	if bytes.Contains(data, []byte(`"error"`)) && json.Unmarshal(data, &failed) == nil && failed.Error != "" {
		return r.who.InBand(data)
	}
	var resp reply
	if json.Unmarshal(data, &resp) != nil {
		return r.who.E(core.Unavailable, "%s sent a line that cannot be read", r.who.Provider)
	}
	split := r.split.Add(resp.Message.Content)
	split.Reasoning = resp.Message.Thinking + split.Reasoning
	if !r.say(split) {
		return errBreak
	}
	for _, call := range resp.Message.ToolCalls {
		if !r.call(call.ID, call.Function.Name, wire.Unquoted(wire.Arguments(call.Function.Arguments))) {
			return errBreak
		}
	}
	if resp.Done {
		r.done, r.last = true, resp
	}
	return nil
}

func (r *reader) say(p wire.Split) bool {
	if p.Flip && r.answered {
		r.answered = false
		if !r.out(core.Delta{Thought: true}) {
			return false
		}
	}
	if p.Reasoning != "" {
		r.thought.WriteString(p.Reasoning)
		if !r.out(core.Delta{Reasoning: p.Reasoning}) {
			return false
		}
	}
	if p.Text == "" {
		return true
	}
	r.answered = true
	return r.out(core.Delta{Text: p.Text})
}

func (r *reader) call(id, name, arguments string) bool {
	if id == "" || slices.Contains(r.ids, id) {
		id = wire.NewCallID()
	}
	r.ids = append(r.ids, id)
	r.calls++
	return r.out(core.Delta{Call: &core.CallDelta{Index: r.calls - 1, ID: id, Name: wire.ToolName(name, r.offered), Arguments: arguments}})
}

// end yields what was held back, then the last delta.
func (r *reader) end() error {
	if !r.say(r.split.End()) {
		return errBreak
	}
	last := core.Delta{End: true, Finish: core.FinishStop}
	if prompt, eval := int(r.last.Prompt), int(r.last.Eval); prompt > 0 || eval > 0 {
		last.Usage = &core.Usage{Prompt: prompt, Completion: eval, Total: prompt + eval}
	}
	switch {
	case r.last.DoneReason == "length":
		last.Finish = core.FinishLength
	case !r.answered && r.calls == 0:
		return r.who.Empty()
	}
	if r.thought.Len() > 0 && len(r.offered) > 0 { // sent back only beside calls, of which the text may have some
		if raw, err := wire.Encode(native{Thinking: r.thought.String()}); err == nil {
			last.Native = raw
		}
	}
	if !r.out(last) {
		return errBreak
	}
	return nil
}
