package wire

import (
	"fmt"
	"strings"

	"loci/core"
	"loci/providers/internal/textcalls"
)

// NoticeCalls is the kind of notice of a call that was written as text and not run.
const NoticeCalls = "text_calls"

// TextCalls is how a wire wants the calls that a model writes into its text.
type TextCalls struct {
	Default textcalls.Form // where nothing is known of the model; empty: none is read
	Items   bool           // the native form is the whole turn, so that it can't be sent back without the calls
}

// Read returns a consumer of an answer that turns calls in its text into calls of tools and passes them on with everything
// else. If there are calls that it may not read, it says what to set.
func (t TextCalls) Read(req core.ChatRequest, out func(core.Delta) bool) func(core.Delta) bool {
	form := textcalls.Form(req.Info.TextCalls)
	if form == "" {
		form = t.Default
	}
	if form == core.TextCallsOff || len(req.Tools) == 0 || req.Choice.Mode == core.ChoiceNone {
		return out
	}
	r := &callReader{form: form, items: t.Items, info: req.Info, bare: req.Settings.ResponseFormat == nil, out: out}
	for _, tool := range req.Tools {
		r.tools = append(r.tools, textcalls.Tool{Name: tool.Name, Parameters: tool.Parameters})
	}
	r.begin()
	return r.delta
}

// callReader reads one answer.
type callReader struct {
	form  textcalls.Form
	items bool
	bare  bool
	info  core.ModelInfo
	tools []textcalls.Tool
	out   func(core.Delta) bool

	text *textcalls.Reader // nil: no form is set
	seen strings.Builder   // the text so far, as long as it may be looked through
	own  bool              // the server sends calls itself
}

// mostSeen is how much of an answer is kept to be looked through at its end.
const mostSeen = 64<<10 + 1

func (r *callReader) begin() {
	r.seen.Reset()
	if r.form != "" {
		r.text = textcalls.NewReader(r.form, r.tools, r.bare)
	}
}

func (r *callReader) delta(d core.Delta) bool {
	switch {
	case d.Thought: // what is held back is one, too
		if !r.flush() {
			return false
		}
		r.begin()
	case d.Call != nil:
		r.own = true
		if !r.flush() {
			return false
		}
	case d.Text != "":
		if r.seen.Len() < mostSeen {
			r.seen.WriteString(d.Text[:min(len(d.Text), mostSeen-r.seen.Len())])
		}
		if r.text != nil {
			return r.hand(r.text.Add(d.Text))
		}
	case d.End:
		return r.end(d)
	}
	return r.out(d)
}

// flush hands out what is held back, as text.
func (r *callReader) flush() bool { return r.text == nil || r.hand(r.text.Off()) }

func (r *callReader) hand(o textcalls.Out) bool {
	return (o.Reasoning == "" || r.out(core.Delta{Reasoning: o.Reasoning})) && (o.Text == "" || r.out(core.Delta{Text: o.Text}))
}

func (r *callReader) end(last core.Delta) bool {
	var calls []textcalls.Call
	if r.text != nil {
		var rest textcalls.Out
		rest, calls = r.text.End()
		if !r.hand(rest) {
			return false
		}
	}
	for i, c := range calls {
		if !r.out(core.Delta{Call: &core.CallDelta{Index: i, ID: NewCallID(), Name: c.Name, Arguments: c.Arguments}}) {
			return false
		}
	}
	if len(calls) > 0 && r.items {
		last.Native = nil
	}
	if words := r.missed(); len(calls) == 0 && words != "" && !r.out(core.Delta{Notice: &core.Notice{Kind: NoticeCalls, Text: words}}) {
		return false
	}
	return r.out(last)
}

// missed says what to do about calls that were not read; "" if there are none.
func (r *callReader) missed() string {
	if r.own {
		return ""
	}
	who := string(r.info.Handle)
	if who == "" {
		who = "the model"
	}
	if r.text != nil && r.text.Middle() != "" {
		return fmt.Sprintf("%s wrote a call of %s into the middle of its answer: it was not run.", who, r.text.Middle())
	}
	form, ok := textcalls.In(r.seen.String(), r.tools, r.bare)
	if !ok || form == r.form {
		return ""
	}
	provider, name, _ := r.info.Handle.Split()
	return fmt.Sprintf("%s wrote a call of a tool as text, and it was not run. Set text_calls = %q under [providers.%s.models.%q] "+
		"in config.toml, and restart the daemon: loci daemon restart.", who, form, provider, name)
}
