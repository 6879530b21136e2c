package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/memory"
)

// sending is everything a request is made from. The same values give the same request, now and when a step is reproduced.
type sending struct {
	model    string
	info     core.ModelInfo
	system   string
	tools    []core.ToolSpec
	offer    []string // names, where a rule shrank the offer; empty: all
	choice   core.ToolChoice
	parallel bool
	settings core.ModelSettings
	window   int
	prefix   string
	conv     core.ConversationID
	rows     []core.InContext // by position, message 0 left out
	policy   core.Policy
}

// request makes the request. It repairs what a history may lack, once for every provider: a call without a return gets
// one, a return without a call is left out, a message without content is left out.
func (s *sending) request() core.ChatRequest {
	req := core.ChatRequest{
		Model: s.model, System: s.system, Choice: s.choice, Parallel: s.parallel, Settings: s.settings, Window: s.window,
		Prefix: s.prefix, CacheKey: string(s.conv),
	}
	if s.info.Tools {
		for _, t := range s.tools {
			if len(s.offer) == 0 || slices.Contains(s.offer, t.Name) {
				req.Tools = append(req.Tools, t)
			}
		}
	}
	if len(req.Tools) == 0 {
		req.Choice = core.ToolChoice{}
	}
	rows := slices.Clone(s.rows)
	slices.SortStableFunc(rows, func(a, b core.InContext) int { return rank(a) - rank(b) })
	var open []core.ToolCall // calls that wait for their returns
	for i := range rows {
		m, cut := &rows[i].Message, rows[i].Row.CutTo
		if m.Role == core.RoleTool {
			if msg, ok := returnsOf(m, open, cut); ok {
				req.Messages = append(req.Messages, msg)
			}
			open = nil
			continue
		}
		if len(open) > 0 {
			req.Messages = append(req.Messages, unanswered(open))
			open = nil
		}
		msg, ok := s.message(m, cut)
		if !ok {
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

// rank puts a summary first and the marker of a later eviction behind it; everything else keeps its order of arrival.
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

// rankPlain is the rank of what is neither a summary nor a marker.
const rankPlain = 2

func (s *sending) message(m *core.Message, cut int) (core.ChatMessage, bool) {
	text := cutText(m.PlainText(), cut)
	switch {
	case m.Hidden != core.NotHidden || m.Role == core.RoleSystem || m.Role == core.RoleSummary:
		return core.ChatMessage{Role: core.ChatReminder, Text: text}, text != ""
	case m.Role == core.RoleUser:
		if m.Preface != "" {
			text = m.Preface + "\n" + text
		}
		return core.ChatMessage{Role: core.ChatUser, Text: text, Name: m.Name}, text != ""
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
				msg.Calls = append(msg.Calls, s.call(*c.Call, thinking))
				thinking = ""
			case core.ContentText:
			}
		}
		if len(msg.Calls) == 0 && msg.Text == "" {
			msg.Text = thinking // what a legacy agent said without a call
		}
		if n := m.Native; n != nil && n.Provider == s.info.Provider && n.Model == s.model && (!s.info.BindsPrefix || n.Prefix == s.prefix) {
			msg.Native = n
		}
		return msg, msg.Text != "" || len(msg.Calls) > 0
	}
}

func (s *sending) call(c core.ToolCall, thinking string) core.ToolCall {
	if _, err := core.ParseArguments(c.Arguments); err != nil || strings.TrimSpace(c.Arguments) == "" {
		c.Arguments = "{}" // servers refuse a history with broken JSON; the return says what was wrong
	}
	if s.policy.ThinkingArg {
		c.Arguments = withThinking(c.Arguments, thinking)
	}
	return c
}

// returnsOf answers each open call, in call order.
func returnsOf(m *core.Message, open []core.ToolCall, cut int) (core.ChatMessage, bool) {
	msg := core.ChatMessage{Role: core.ChatTool}
	for _, call := range open {
		i := slices.IndexFunc(m.Returns, func(r core.ToolReturn) bool { return r.CallID == call.ID })
		r := core.ToolReturn{CallID: call.ID, Name: call.Name, Text: interrupted, IsError: true}
		if i >= 0 {
			r = m.Returns[i]
		}
		r.Text = cutText(r.Text, cut)
		msg.Returns = append(msg.Returns, chatReturn(r, m.CreatedAt))
	}
	return msg, len(msg.Returns) > 0
}

// chatReturn packs a return in UTC, so that an agent that moves to another zone keeps the bytes already sent.
func chatReturn(r core.ToolReturn, at time.Time) core.ChatReturn {
	return core.ChatReturn{CallID: r.CallID, Name: r.Name, Text: memory.PackReturn(r, at.UTC()), IsError: r.IsError}
}

func unanswered(open []core.ToolCall) core.ChatMessage {
	msg := core.ChatMessage{Role: core.ChatTool}
	for _, c := range open {
		msg.Returns = append(msg.Returns, chatReturn(core.ToolReturn{CallID: c.ID, Name: c.Name, Text: interrupted, IsError: true}, time.Unix(0, 0)))
	}
	return msg
}

// cutText keeps the first limit characters of a text, and says how many are left out; 0 keeps all.
func cutText(text string, limit int) string {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text
	}
	kept := []rune(text)[:limit]
	return string(kept) + "\n[… " + strconv.Itoa(n-limit) + " more characters did not fit here and were left out; the whole is kept]"
}

// messageOverhead is what a message costs beside its text, in tokens.
const messageOverhead = 4

// tokensOf estimates what a message takes in a request.
func tokensOf(m *core.Message) int {
	n := messageOverhead
	if m.Preface != "" {
		n += core.EstimateTokens(m.Preface)
	}
	for _, c := range m.Content {
		n += core.EstimateTokens(c.Text)
		if c.Call != nil {
			n += messageOverhead + core.EstimateTokens(c.Call.Name) + core.EstimateTokens(c.Call.Arguments)
		}
	}
	for _, r := range m.Returns {
		n += 6*messageOverhead + core.EstimateTokens(r.Text)
	}
	return n
}

// tokensInContext is tokensOf for what the row's cut leaves.
func tokensInContext(r *core.InContext) int {
	if r.Row.CutTo == 0 && r.Message.Tokens > 0 {
		return r.Message.Tokens
	}
	m := r.Message
	if cut := r.Row.CutTo; cut > 0 {
		m.Content, m.Returns = slices.Clone(m.Content), slices.Clone(m.Returns)
		for i := range m.Content {
			m.Content[i].Text = cutText(m.Content[i].Text, cut)
		}
		for i := range m.Returns {
			m.Returns[i].Text = cutText(m.Returns[i].Text, cut)
		}
	}
	return tokensOf(&m)
}
