package server

import (
	"slices"
	"time"

	"loci/core"
	"loci/core/compact"
	"loci/core/memory"
	"loci/daemon/api"
)

// wireMessage converts a stored message: one record becomes several messages of the contract, with one id and the
// otids from core.Message.Parts, the same as in its stream. In reversed lists the parts are reversed too.
func wireMessage(m core.Message, show shows) []api.Message {
	head := api.Message{
		ID: string(
			m.ID,
		),
		Date:     api.On(m.CreatedAt),
		Name:     m.Name,
		SenderID: m.SenderID,
		StepID:   string(m.Step),
		RunID:    string(m.Run),
		IsErr:    m.IsError,
	}
	var out []api.Message
	for _, p := range m.Parts(show.speak) {
		if p.Kind == core.PartSummary {
			out = append(out, wireSummary(head, p, m.Compaction, m.CreatedAt, show.compaction))
			continue
		}
		out = append(out, wirePart(head, p))
	}
	if show.reversed {
		slices.Reverse(out)
	}
	return out
}

// wirePart converts one part of a message; head holds what all parts have in common.
func wirePart(head api.Message, p core.Part) api.Message {
	m := head
	m.MessageType, m.OTID = api.MessageType(p.Kind), p.OTID
	switch p.Kind {
	case core.PartSystem, core.PartUser, core.PartAssistant:
		m.Content = api.Text(p.Text)
		if p.Content != nil {
			m.Content = wireContent(p.Content)
		}
	case core.PartReasoning:
		m.Reasoning, m.Signature, m.Source = p.Text, p.Signature, api.SourceReasoner
		if p.Prompted {
			m.Source = api.SourceNonReasoner
		}
	case core.PartCalls, core.PartRequest:
		for _, c := range p.Calls {
			m.ToolCalls = append(m.ToolCalls, api.ToolCall{Name: c.Name, Arguments: c.Arguments, ToolCallID: c.ID})
		}
	case core.PartReturns:
		for _, r := range p.Returns {
			m.ToolReturns = append(m.ToolReturns, wireReturn(r))
		}
		if len(p.Returns) > 0 {
			m.Name = p.Returns[0].Name
		}
	case core.PartAnswer:
		m.Approvals = wireDecisions(p.Decisions)
		if len(m.Approvals) > 0 { // what clients from before batches read
			first := m.Approvals[0]
			m.ApprovalRequestID, m.Approve, m.Reason = first.ToolCallID, first.Approve, api.Val(first.Reason)
		}
	case core.PartSummary: // wireSummary makes it, knowing when and why
	}
	return m
}

// wireSummary converts a summary: as a summary, or, for clients that didn't ask for those, as the alert that the
// contract used before it had summaries.
func wireSummary(head api.Message, p core.Part, stats *core.CompactionStats, made time.Time, asked bool) api.Message {
	m := head
	m.OTID = p.OTID
	if !asked {
		m.MessageType, m.Content = api.MessageUser, api.Text(memory.SummaryAlert(p.Text, stats, made.UTC()))
		return m
	}
	m.MessageType, m.CompactionStats = api.MessageSummary, wireStats(stats)
	m.Summary, _ = compact.Summary(p.Text)
	return m
}

// wireStats reports what a compaction did; nil if unknown.
func wireStats(c *core.CompactionStats) *api.CompactionStats {
	if c == nil {
		return nil
	}
	return &api.CompactionStats{
		Trigger:             c.Trigger,
		ContextTokensBefore: api.PtrTo(c.TokensBefore),
		ContextTokensAfter:  api.PtrTo(c.TokensAfter),
		ContextWindow:       c.Window,
		MessagesCountBefore: c.MessagesBefore,
		MessagesCountAfter:  c.MessagesAfter,
	}
}

func wireReturn(r core.ToolReturn) api.ToolReturn {
	status := api.StatusSuccess
	if r.IsError {
		status = api.StatusError
	}
	return api.ToolReturn{
		Type: api.ApprovalReturn, ToolReturn: wireReturned(&r), Status: status, ToolCallID: r.CallID, Stdout: r.Stdout, Stderr: r.Stderr,
	}
}

func wireDecisions(in []core.Decision) []api.Approval {
	out := make([]api.Approval, len(in))
	for i, d := range in {
		out[i] = api.Approval{Type: api.ApprovalDecision, ToolCallID: d.CallID, Approve: &d.Approve, Reason: api.PtrTo(d.Reason)}
		if d.Return != nil {
			r := wireReturn(*d.Return)
			out[i] = api.Approval{
				Type: api.ApprovalReturn, ToolCallID: d.CallID, ToolReturn: &r.ToolReturn, Status: r.Status,
				Stdout: r.Stdout, Stderr: r.Stderr,
			}
		}
	}
	return out
}

// shows says which messages of a list or stream to show, and how.
type shows struct {
	speak      core.Speak
	types      []api.MessageType // empty: all
	reversed   bool
	compaction bool // show summaries as such
}

func (s shows) takes(t api.MessageType) bool { return len(s.types) == 0 || slices.Contains(s.types, t) }

// some reports whether anything of a message is shown.
func (s shows) some(m core.Message) bool { return len(wireMessages([]core.Message{m}, s)) > 0 }

// wireMessages converts a list of stored messages.
func wireMessages(in []core.Message, s shows) []api.Message {
	out := []api.Message{}
	for _, m := range in {
		for _, w := range wireMessage(m, s) {
			if s.takes(w.MessageType) {
				out = append(out, w)
			}
		}
	}
	return out
}

// roles returns whose records may hold something that is shown, so that others aren't read; nil: anybody's.
func (s shows) roles() []core.Role {
	var out []core.Role
	for _, t := range s.types {
		switch t { //nolint:exhaustive // the others are all of what an agent says
		case api.MessageSystem:
			out = append(out, core.RoleSystem)
		case api.MessageUser:
			out = append(out, core.RoleUser, core.RoleSummary) // whoever doesn't ask for summaries gets them as alerts
		case api.MessageSummary:
			out = append(out, core.RoleSummary)
		case api.MessageToolReturn:
			out = append(out, core.RoleTool)
		case api.MessageEvent:
			out = append(out, core.Role(t)) // nobody's: events are only in streams
		default:
			out = append(out, core.RoleAssistant, core.RoleApproval)
		}
	}
	return out
}

// speakOf returns the presentation that a request asks for.
func speakOf(use *bool, tool, arg string) core.Speak {
	if use != nil && !*use {
		return core.Speak{}
	}
	out := core.DefaultSpeak
	if tool != "" {
		out.Tool = tool
	}
	if arg != "" {
		out.Arg = arg
	}
	return out
}

// messageTypes validates a type filter against the types that lists have.
func messageTypes(location string, in []string) ([]api.MessageType, error) {
	var out []api.MessageType
	for _, t := range in {
		if !slices.Contains(api.ListTypes(), api.MessageType(t)) {
			return nil, unprocessable(location, "%q is not a message type", t)
		}
		out = append(out, api.MessageType(t))
	}
	return out, nil
}

// wireHit converts a message found by a search into the contract's shapes.
func wireHit(h core.MessageHit) []api.MessageResult {
	m := h.Message
	conversation := api.PtrTo(string(m.Conversation))
	if m.Conversation.IsDefault() {
		conversation = nil
	}
	agent := string(m.Agent)
	var out []api.MessageResult
	for _, p := range m.Parts(core.DefaultSpeak) {
		r := api.MessageResult{
			MessageType:    api.MessageType(p.Kind),
			MessageID:      string(m.ID),
			AgentID:        &agent,
			ConversationID: conversation,
			CreatedAt:      api.At(m.CreatedAt),
		}
		switch p.Kind {
		case core.PartSystem, core.PartUser, core.PartAssistant:
			r.Content = api.Text(p.Text)
		case core.PartReasoning:
			r.Reasoning = p.Text
		case core.PartCalls, core.PartReturns, core.PartSummary, core.PartRequest, core.PartAnswer:
			continue
		}
		out = append(out, r)
	}
	return out
}

// wireStored converts a message as it is stored.
func wireStored(in core.InContext) api.StoredMessage {
	m := in.Message
	agent := string(m.Agent)
	out := api.StoredMessage{
		ID: string(
			m.ID,
		),
		CreatedAt: api.At(m.CreatedAt),
		AgentID:   &agent,
		Model:     api.PtrTo(string(m.Model)),
		Role:      string(m.Role),
		Content:   []api.Part{},
		Name:      api.PtrTo(m.Name),
		StepID:    api.PtrTo(string(m.Step)),
		RunID:     api.PtrTo(string(m.Run)),
		OTID:      api.PtrTo(m.OTID),
	}
	for _, c := range m.Content {
		switch c.Type {
		case core.ContentText:
			out.Content = append(out.Content, api.TextPart(c.Text))
		case core.ContentImage:
			out.Content = append(out.Content, wireImage(*c.Image))
		case core.ContentReasoning:
			out.Content = append(out.Content, api.Part{Type: api.PartReasoning, Reasoning: c.Text, Signature: api.PtrTo(c.Signature)})
		case core.ContentCall:
			if c.Call.Dropped {
				continue
			}
			out.ToolCalls = append(out.ToolCalls, api.StoredCall{
				ID: c.Call.ID, Type: "function",
				Function: api.StoredFunction{Name: c.Call.Name, Arguments: c.Call.Arguments},
			})
		}
	}
	for _, r := range core.Listed(m.Returns) {
		out.ToolReturns = append(out.ToolReturns, wireReturn(r))
	}
	if m.Answers() {
		out.ApprovalRequestID = api.PtrTo(string(m.Approval.Request))
	}
	return out
}
