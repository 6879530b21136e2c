// Package request builds a model request from what a conversation's window holds, and estimates its size.
//
// Promises: the same parts give the same request byte for byte, now and when a step is reproduced; gaps in a history are
// repaired here, once for every provider; the arguments that an agent type adds to its tools are added and removed here
// and nowhere else. Everything is a function of its values. Why a request may only grow at its end, and when it may not, is
// in docs/architecture.md, "The prefix rule".
//
// Layer 1: it imports core and core/memory, which words messages.
package request

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/memory"
)

// Parts are everything a request is made from. The same values give the same request, now and when a step is reproduced.
type Parts struct {
	Model        string
	Info         core.ModelInfo
	System       string
	Tools        []core.ToolSpec
	Offer        []string // names, if a rule reduced the offer; empty: all
	Choice       core.ToolChoice
	Parallel     bool
	Settings     core.ModelSettings
	Window       int
	Prefix       string
	Conversation core.ConversationID
	Rows         []core.InContext // by position, without message 0
	Policy       core.Policy
}

// Interrupted is the return of a call that was in progress when the daemon stopped.
const Interrupted = "The call was interrupted; it may or may not have run."

// Request builds the request. It repairs gaps in the history, once for every provider: a call without a return gets one;
// a return without a call and a message without content are left out.
func (p *Parts) Request() core.ChatRequest {
	req := core.ChatRequest{
		Model: p.Model, System: p.System, Choice: p.Choice, Parallel: p.Parallel, Settings: p.Settings, Window: p.Window,
		Prefix: p.Prefix, CacheKey: string(p.Conversation),
	}
	if p.Info.Tools {
		for _, t := range p.Tools {
			if len(p.Offer) == 0 || slices.Contains(p.Offer, t.Name) {
				req.Tools = append(req.Tools, t)
			}
		}
	}
	if len(req.Tools) == 0 {
		req.Choice = core.ToolChoice{}
	}
	rows := slices.Clone(p.Rows)
	slices.SortStableFunc(rows, func(a, b core.InContext) int { return rank(a) - rank(b) })
	rows = whole(rows)
	joins := joining(rows)
	see := newSight(p)
	var open []core.ToolCall // calls waiting for their returns
	for i := range rows {
		m, cut := &rows[i].Message, rows[i].Row.CutTo
		if m.Role == core.RoleTool {
			if msg, ok := returnsOf(m, open, cut, see); ok {
				req.Messages = append(req.Messages, msg)
			}
			open = nil
			continue
		}
		if len(open) > 0 {
			req.Messages = append(req.Messages, unanswered(open))
			open = nil
		}
		msg, ok := p.message(m, cut, see, joins[m.ID])
		if joins.carried(m) || !ok {
			continue
		}
		req.Messages = append(req.Messages, msg)
		open = msg.Calls
	}
	if len(open) > 0 {
		req.Messages = append(req.Messages, unanswered(open))
	}
	return req
}

// whole makes one message again of each response whose calls were divided by who had to approve them, in the order that the
// model made them, and leaves out the answers, which the returns tell of.
func whole(rows []core.InContext) []core.InContext {
	out := rows[:0]
	for _, r := range rows {
		n := len(out)
		switch {
		case r.Message.Answers():
			continue
		case r.Message.Asks() && n > 0 && out[n-1].Message.Role == core.RoleAssistant && out[n-1].Message.Step == r.Message.Step:
			first := out[n-1].Message
			first.Content = slices.Concat(first.Content, r.Message.Content)
			inOrder(first.Content, r.Message.Approval.Order)
			out[n-1].Message = first
		default:
			out = append(out, r)
		}
	}
	return out
}

// inOrder puts the calls of a response into the order in which the model made them; everything else keeps its place.
func inOrder(content []core.Content, order []string) {
	var places []int
	var calls []core.Content
	for i, c := range content {
		if c.Type == core.ContentCall {
			places, calls = append(places, i), append(calls, c)
		}
	}
	slices.SortStableFunc(calls, func(a, b core.Content) int {
		return slices.Index(order, a.Call.ID) - slices.Index(order, b.Call.ID)
	})
	for i, at := range places {
		content[at] = calls[i]
	}
}

// StandsForOthers reports whether a record stands for messages that left the window: a summary, or the marker of an
// eviction.
func StandsForOthers(r core.InContext) bool { return rank(r) < rankPlain }

// rank sorts a summary first and the marker of a later eviction after it; everything else keeps its order of arrival.
func rank(r core.InContext) int {
	switch {
	case r.Message.Role == core.RoleSummary:
		return 0
	case r.Message.Hidden == core.HiddenMarker:
		return 1
	default:
		return rankPlain
	}
}

// rankPlain is the rank of everything that is neither a summary nor a marker.
const rankPlain = 2

// joined is what joins user messages: the texts of the records, by the message that each is sent in.
type joined map[core.MessageID][]string

// joining collects the records whose message is in the window. Where that has left it, a record is sent on its own.
func joining(rows []core.InContext) joined {
	var joins joined
	for i := range rows {
		m := &rows[i].Message
		if m.Joins == "" {
			continue
		}
		if joins == nil {
			joins = joined{}
			for j := range rows {
				if u := &rows[j].Message; u.Role == core.RoleUser && u.Hidden == core.NotHidden {
					joins[u.ID] = nil
				}
			}
		}
		if texts, here := joins[m.Joins]; here {
			joins[m.Joins] = append(texts, Cut(m.PlainText(), rows[i].Row.CutTo))
		}
	}
	return joins
}

// carried reports whether a record is sent in another message.
func (j joined) carried(m *core.Message) bool {
	_, here := j[m.Joins]
	return here && m.Joins != ""
}

func (p *Parts) message(m *core.Message, cut int, see *sight, joins []string) (core.ChatMessage, bool) {
	whole, shown := see.told(m)
	text := Cut(whole, cut)
	switch {
	case m.Hidden != core.NotHidden || m.Role == core.RoleSystem || m.Role == core.RoleSummary:
		return core.ChatMessage{Role: core.ChatReminder, Text: text}, text != ""
	case m.Role == core.RoleUser:
		msg := core.Asked(m.Preface, text, joins...)
		msg.Name = m.Name
		before := len(msg.Text) - len(text)
		for i := range shown {
			shown[i].At = before + min(shown[i].At, len(text))
		}
		msg.Pictures = shown
		return msg, msg.Text != "" || len(shown) > 0
	default:
		msg := core.ChatMessage{Role: core.ChatAssistant, Text: text}
		thinking := ""
		for _, c := range m.Content {
			switch c.Type {
			case core.ContentReasoning:
				if c.Prompted {
					thinking += c.Text
				} else {
					msg.Reasoning += c.Text
				}
			case core.ContentCall:
				msg.Calls = append(msg.Calls, p.call(*c.Call, thinking))
				thinking = ""
			case core.ContentText, core.ContentImage:
			}
		}
		if len(msg.Calls) == 0 && msg.Text == "" {
			msg.Text = thinking // what a legacy agent thought without making a call
		}
		if p.replays(m.Native) {
			msg.Native = m.Native
		}
		return msg, msg.Text != "" || len(msg.Calls) > 0
	}
}

// replays reports whether a provider's own item may be sent back to it: it must have come from there and, if the model
// binds its prefix, follow the same one.
func (p *Parts) replays(n *core.Native) bool {
	return n != nil && n.Provider == p.Info.Provider && n.Model == p.Model && (n.Endpoint == "" || n.Endpoint == p.Info.Endpoint) &&
		(!p.Info.BindsPrefix || n.Prefix == p.Prefix)
}

func (p *Parts) call(c core.ToolCall, thinking string) core.ToolCall {
	if _, err := core.ParseArguments(c.Arguments); err != nil || strings.TrimSpace(c.Arguments) == "" {
		c.Arguments = "{}" // servers refuse a history with broken JSON; the return says what was wrong
	}
	if !core.LegalToolName(c.Name) { // from an imported conversation
		c.Name = core.NoToolName
	}
	if c.Via != "" {
		c = wrapped(c)
	}
	if p.Policy.ThinkingArg {
		c.Arguments = withThinking(c.Arguments, thinking)
	}
	return c
}

// returnsOf answers each open call, in call order.
func returnsOf(m *core.Message, open []core.ToolCall, cut int, see *sight) (core.ChatMessage, bool) {
	msg := core.ChatMessage{Role: core.ChatTool}
	for _, call := range open {
		i := slices.IndexFunc(m.Returns, func(r core.ToolReturn) bool { return r.CallID == call.ID })
		r := core.ToolReturn{CallID: call.ID, Name: call.Name, Text: Interrupted, IsError: true}
		if i >= 0 {
			r = m.Returns[i]
		}
		if call.Via != "" {
			r.Name = call.Name
		}
		r.Text = Cut(r.Text, cut)
		sent := chatReturn(r, m.CreatedAt)
		see.returned(&sent, r.Images)
		msg.Returns = append(msg.Returns, sent)
	}
	return msg, len(msg.Returns) > 0
}

// chatReturn packs a return in UTC, so that the bytes already sent don't change if the agent moves to another zone.
func chatReturn(r core.ToolReturn, at time.Time) core.ChatReturn {
	return core.ChatReturn{CallID: r.CallID, Name: r.Name, Text: memory.PackReturn(r, at.UTC()), IsError: r.IsError}
}

func unanswered(open []core.ToolCall) core.ChatMessage {
	msg := core.ChatMessage{Role: core.ChatTool}
	for _, c := range open {
		msg.Returns = append(
			msg.Returns,
			chatReturn(core.ToolReturn{CallID: c.ID, Name: c.Name, Text: Interrupted, IsError: true}, time.Unix(0, 0)),
		)
	}
	return msg
}

// Cut keeps the first limit characters of a text and says how many were left out; 0 keeps all.
func Cut(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text
	}
	kept := []rune(text)[:limit]
	return string(kept) + "\n[… " + strconv.Itoa(n-limit) + " more characters did not fit here and were left out; the whole is kept]"
}
