package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"loci/core"
	"loci/core/request"
)

// answer collects one assistant turn from its deltas. It numbers the parts while they come exactly as
// core.Message.Parts will number them when they are read back.
type answer struct {
	message core.MessageID
	policy  core.Policy
	one     bool // only the first call counts, the others are dropped
	speak   core.Speak
	content []core.Content
	parts   int // how many parts are open so far
	part    int // index of the part that the last content belongs to
	calls   []*callBuffer
	inCalls int // calls in the calls part
	callsAt int // index of the calls part, -1: none yet
	native  json.RawMessage
	finish  core.Finish
	usage   *core.Usage
	tokens  *core.Tokens
	ended   bool
	said    bool                   // something was announced
	spoke   bool                   // … and some of it was text
	renamed bool                   // the provider's own form holds a call that can't be replayed, by its name or id
	asks    func(tool string) bool // whether calls of a tool wait for somebody, whatever they say; nil: none does
	inAsks  int                    // calls of the request for approval
	behind  []string               // the tools that are called through core.MoreToolsName; nil: none is
}

// callBuffer is a call while it comes.
type callBuffer struct {
	index     int // the provider's
	id, name  string
	wrong     string // what it was called by, where that is no name
	arguments strings.Builder
	scan      *argScanner // where an argument is shown while it comes
	held      bool        // the content is made when the call is whole
	wraps     bool        // it may stand for the call of another tool, which shows when it is whole
	via       string      // … and that it does
	asks      bool        // it is shown as part of a request for approval
	dropped   bool        // it comes beside the first where one alone is wanted: nothing of it is shown
	content   int         // where it stands in the content, unless held
	part      int
	ordinal   int // within the calls part
	spoken    int // index of the content that holds what is said through it, -1: none
	thinking  int // … and its inner thoughts
}

// piece is something to announce: a body and the part it belongs to.
type piece struct {
	part int // core.RequestPart: of the request for approval
	body core.EventBody
}

func newAnswer(policy core.Policy, speak core.Speak) *answer {
	return &answer{policy: policy, one: policy.OneCall, speak: speak, callsAt: -1}
}

// add takes a delta and returns what it announces.
func (a *answer) add(d core.Delta) []piece {
	var out []piece
	if d.Reasoning != "" || d.Signature != "" {
		out = append(out, a.reasoning(d.Reasoning, d.Signature, false))
	}
	if d.Text != "" {
		if a.policy.SpeakTool != "" { // what stands beside the calls of a legacy agent is its thinking
			out = append(out, a.reasoning(d.Text, "", true))
		} else {
			out = append(out, a.text(d.Text))
		}
	}
	if d.Call != nil {
		out = append(out, a.call(*d.Call)...)
	}
	if d.Native != nil && !a.renamed {
		a.native = d.Native
	}
	if d.End {
		a.ended, a.finish, a.usage, a.tokens = true, d.Finish, d.Usage, d.Tokens
		out = append(out, a.close()...)
	}
	for _, p := range out {
		_, text := p.body.(core.Said)
		a.said, a.spoke = true, a.spoke || text
	}
	return out
}

// thoughts returns all that was said so far, where it may be taken for reasoning: not beside calls.
func (a *answer) thoughts() (string, bool) {
	var b strings.Builder
	for _, c := range a.content {
		if c.Prompted || c.Type != core.ContentText && c.Type != core.ContentReasoning {
			return "", false
		}
		b.WriteString(c.Text)
	}
	return b.String(), b.Len() > 0
}

func (a *answer) open() int {
	a.part = a.parts
	a.parts++
	return a.part
}

func (a *answer) reasoning(text, signature string, prompted bool) piece {
	if n := len(a.content); n > 0 && a.content[n-1].Type == core.ContentReasoning && a.content[n-1].Prompted == prompted {
		a.content[n-1].Text += text
		a.content[n-1].Signature += signature
	} else {
		a.open()
		a.content = append(a.content, core.Content{Type: core.ContentReasoning, Text: text, Signature: signature, Prompted: prompted})
	}
	return piece{a.part, core.Reasoning{Text: text, Signature: signature, Prompted: prompted}}
}

func (a *answer) text(text string) piece {
	if n := len(a.content); n > 0 && a.content[n-1].Type == core.ContentText {
		a.content[n-1].Text += text
	} else {
		a.open()
		a.content = append(a.content, core.Text(text))
	}
	return piece{a.part, core.Said{Text: text}}
}

func (a *answer) call(d core.CallDelta) []piece {
	c := a.find(d)
	if c == nil {
		return nil
	}
	c.arguments.WriteString(d.Arguments)
	if c.scan != nil {
		return a.scanned(c, d.Arguments)
	}
	if c.held || c.wraps || c.dropped {
		return nil
	}
	body := core.ToolCallDelta{Index: c.ordinal, Arguments: d.Arguments, Asks: c.asks}
	if d.Name != "" {
		body.ID, body.Name = c.id, c.name
	}
	return []piece{{c.part, body}}
}

// find returns the buffer of a call, opened by its first piece; nil before that.
func (a *answer) find(d core.CallDelta) *callBuffer {
	for _, c := range a.calls {
		if c.index == d.Index {
			return c
		}
	}
	if d.Name == "" {
		return nil
	}
	c := &callBuffer{index: d.Index, id: d.ID, name: d.Name, spoken: -1, thinking: -1, dropped: a.one && len(a.calls) > 0}
	if !core.LegalToolName(d.Name) {
		c.name, c.wrong, a.renamed = core.NoToolName, d.Name[:min(len(d.Name), mostWrong)], true
	}
	if slices.ContainsFunc(a.calls, func(b *callBuffer) bool { return b.id == c.id }) {
		c.id, a.renamed = "", true // its return could not be told from the other's
	}
	if c.id == "" {
		c.id = "call_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:24]
	}
	a.calls = append(a.calls, c)
	if c.dropped {
		if c.held = a.policy.ThinkingArg; !c.held {
			a.stand(c)
		}
		return c
	}
	c.asks = a.asks != nil && a.asks(c.name)
	c.wraps = len(a.behind) > 0 && c.name == core.MoreToolsName
	speaks := a.speak.Tool != "" && c.name == a.speak.Tool && !c.asks
	if speaks || a.policy.ThinkingArg {
		c.scan = &argScanner{}
	}
	if a.policy.ThinkingArg {
		c.held = true // its thoughts come first
		return c
	}
	a.stand(c)
	if speaks {
		c.part, c.spoken = a.open(), c.content
		return c
	}
	c.part, c.ordinal = a.callsPart(c.asks)
	return c
}

// stand gives a call its place in the content.
func (a *answer) stand(c *callBuffer) {
	c.content = len(a.content)
	a.content = append(a.content, core.Content{
		Type: core.ContentCall, Call: &core.ToolCall{ID: c.id, Name: c.name, Dropped: c.dropped},
	})
}

// callsPart returns the one part of all calls, opened by the first, and the next place in it. Those that ask have theirs in
// a message of their own.
func (a *answer) callsPart(asks bool) (part, ordinal int) {
	if asks {
		a.inAsks++
		return core.RequestPart, a.inAsks - 1
	}
	if a.callsAt < 0 {
		a.callsAt = a.open()
	}
	ordinal = a.inCalls
	a.inCalls++
	return a.callsAt, ordinal
}

// scanned announces inner thoughts and speech while the arguments that hold them come.
func (a *answer) scanned(c *callBuffer, fragment string) []piece {
	var out []piece
	c.scan.feed(fragment, func(key, text string) {
		switch {
		case a.policy.ThinkingArg && key == request.ThinkingArg:
			if c.spoken >= 0 {
				return // too late to come before the speech: it is kept, not shown
			}
			out = append(out, a.reasoning(text, "", true))
			c.thinking = len(a.content) - 1
		case c.name == a.speak.Tool && key == a.speak.Arg && !c.asks:
			if c.spoken < 0 {
				c.spoken, c.held = len(a.content), false
				c.part = a.open()
				a.stand(c)
			}
			out = append(out, piece{c.part, core.Said{Text: text}})
		}
	})
	return out
}

// close makes every call whole and announces those that were held.
func (a *answer) close() []piece {
	var out []piece
	for _, c := range a.calls {
		arguments := c.arguments.String()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		if a.policy.ThinkingArg {
			arguments, _, _ = request.SplitArguments(arguments)
		}
		if c.wraps {
			arguments = a.unwrap(c, arguments)
		}
		switch {
		case c.wraps && !c.held:
			out = append(out, piece{c.part, core.ToolCallDelta{Index: c.ordinal, ID: c.id, Name: c.name, Arguments: arguments}})
		case c.arguments.Len() == 0 && !c.held && !c.dropped && c.spoken < 0: // what is stored is what was streamed
			out = append(out, piece{c.part, core.ToolCallDelta{Index: c.ordinal, Arguments: arguments, Asks: c.asks}})
		}
		if c.held {
			c.held = false
			if a.stand(c); !c.dropped {
				c.part, c.ordinal = a.callsPart(c.asks)
				out = append(out, piece{c.part, core.ToolCallDelta{
					Index: c.ordinal, ID: c.id, Name: c.name, Arguments: arguments, Asks: c.asks,
				}})
			}
		}
		*a.content[c.content].Call = core.ToolCall{ID: c.id, Name: c.name, Arguments: arguments, Via: c.via, Dropped: c.dropped}
	}
	return out
}

// mostWrong bounds what of a wrong name is told to the model.
const mostWrong = 100

// wrong returns what a call was called by, where that was no name; else nothing.
func (a *answer) wrong(id string) string {
	for _, c := range a.calls {
		if c.id == id {
			return c.wrong
		}
	}
	return ""
}

// heartbeat reports whether a call asked to go on.
func (a *answer) heartbeat(id string) bool {
	for _, c := range a.calls {
		if c.id == id {
			_, _, heartbeat := request.SplitArguments(c.arguments.String())
			return heartbeat
		}
	}
	return false
}

// cut keeps what may be saved of an answer that was interrupted: what was said, and the calls that are whole. Half
// arguments are dropped, and so is the provider's own form. It returns the ids of the dropped calls.
func (a *answer) cut() (dropped []string) {
	a.native = nil
	a.close()
	kept := a.content[:0]
	for _, c := range a.content {
		if c.Type == core.ContentCall {
			if a.half(c.Call) {
				if c.Call.Dropped { // nobody was shown it
					continue
				}
				dropped = append(dropped, c.Call.ID)
				if said := a.saidThrough(c.Call.ID); said != "" {
					kept = append(kept, core.Text(said))
				}
				continue
			}
		}
		kept = append(kept, c)
	}
	a.content = kept
	return dropped
}

// half reports whether a call was interrupted before its arguments were whole. One of which no argument had come is half,
// too: only the end of the answer would have said that it has none.
func (a *answer) half(call *core.ToolCall) bool {
	if _, err := core.ParseArguments(call.Arguments); err != nil {
		return true
	}
	return !a.ended && slices.ContainsFunc(a.calls, func(c *callBuffer) bool {
		return c.id == call.ID && strings.TrimSpace(c.arguments.String()) == ""
	})
}

// saidThrough returns what was shown of a speech whose call never became whole.
func (a *answer) saidThrough(id string) string {
	for _, c := range a.calls {
		if c.id == id && c.spoken >= 0 {
			var text strings.Builder
			scan := &argScanner{}
			scan.feed(c.arguments.String(), func(key, piece string) {
				if key == a.speak.Arg {
					text.WriteString(piece)
				}
			})
			return text.String()
		}
	}
	return ""
}

// spoken is the text of the answer.
func (a *answer) spoken() string {
	m := core.Message{Content: a.content}
	return m.PlainText()
}

// empty reports whether the model said and called nothing.
func (a *answer) empty() bool {
	for _, c := range a.content {
		if c.Type == core.ContentCall || c.Text != "" && c.Type == core.ContentText || c.Type == core.ContentReasoning && c.Prompted {
			return false
		}
	}
	return true
}
