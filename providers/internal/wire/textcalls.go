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
	seen seen              // what came
	left seen              // what of it was handed on as text
	own  bool              // the server sends calls itself
}

// seen is a text, as long as it may be looked through at the end of an answer.
type seen struct{ strings.Builder }

func (s *seen) add(text string) {
	const most = 1<<20 + 1
	s.WriteString(text[:min(len(text), most-min(s.Len(), most))])
}

func (r *callReader) begin() {
	r.seen.Reset()
	r.left.Reset()
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
		r.seen.add(d.Text)
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
	r.left.add(o.Text)
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
	if words := r.missed(len(calls) > 0); words != "" && !r.out(core.Delta{Notice: &core.Notice{Kind: NoticeCalls, Text: words}}) {
		return false
	}
	return r.out(last)
}

// missed says what to know or to do about calls that were not read; "" if there are none.
func (r *callReader) missed(called bool) string {
	if r.own {
		return ""
	}
	who := string(r.info.Handle)
	if who == "" {
		who = "the model"
	}
	if called {
		text := &r.left
		if r.form == textcalls.GPTOSS {
			text = &r.seen
		}
		m := textcalls.Unread(r.form, text.String(), r.tools, false)
		if m.Why == textcalls.Middle || m.Why == textcalls.Inline {
			return "" // words about calls, before those that were made
		}
		return told(who, m)
	}
	if form, ok := textcalls.In(r.seen.String(), r.tools, r.bare); ok && form != r.form {
		provider, name, _ := r.info.Handle.Split()
		return fmt.Sprintf("%s wrote a call of a tool as text, and it was not run. Set text_calls = %q under [providers.%s.models.%q] "+
			"in config.toml, and restart the daemon: loci daemon restart.", who, form, provider, name)
	}
	return told(who, r.unread())
}

// unread looks for what was meant as a call: in the model's form, and where it stands behind a mark also in the others.
func (r *callReader) unread() textcalls.Missed {
	text := r.seen.String()
	if r.form != "" {
		if m := textcalls.Unread(r.form, text, r.tools, r.bare); m.Why != "" {
			return m
		}
	}
	for _, form := range textcalls.Forms() {
		if m := textcalls.Unread(form, text, r.tools, false); m.Why != "" && form != r.form {
			return m
		}
	}
	return textcalls.Missed{}
}

// told says in one line what was written and not run; "" if nothing was.
func told(who string, m textcalls.Missed) string {
	switch called := listed(m.Names); m.Why {
	case textcalls.NotOffered:
		if len(m.Names) == 1 {
			return fmt.Sprintf("%s wrote a call of %s, a tool that it is not offered: it was not run.", who, called)
		}
		return fmt.Sprintf("%s wrote calls of %s: none was run, as it is not offered %s.", who, called, listed(m.Unknown))
	case textcalls.Broken:
		return fmt.Sprintf("%s wrote a call that cannot be read: it was not run. It wrote: %s", who, m.Text)
	case textcalls.Cut:
		return fmt.Sprintf("%s wrote a call that breaks off at the end of its answer: it was not run. It wrote: %s", who, m.Text)
	case textcalls.Middle:
		return fmt.Sprintf("%s wrote a call of %s into the middle of its answer: it was not run.", who, called)
	case textcalls.Inline:
		return fmt.Sprintf("%s wrote a call of %s into a line of its text: it was not run.", who, called)
	}
	return ""
}

// listed returns names in a row, as many as a line holds.
func listed(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
