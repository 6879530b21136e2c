package engine

import (
	"slices"

	"loci/core"
)

// requestOf takes the calls that wait for somebody out of the record of a response and returns the request for approval that
// they make, which stands right behind it.
func requestOf(m *core.Message, calls []*pendingCall) *core.Message {
	r := &core.Message{
		ID: core.RequestID(m.ID), Agent: m.Agent, Conversation: m.Conversation, Run: m.Run, Step: m.Step, Role: core.RoleApproval,
		Model: m.Model, CreatedAt: m.CreatedAt, Approval: &core.Approval{},
	}
	waits := map[string]bool{}
	for _, p := range calls {
		r.Approval.Order = append(r.Approval.Order, p.call.ID)
		switch {
		case p.refusal != "":
			refused := core.ToolReturn{CallID: p.call.ID, Name: p.call.Name, Text: p.refusal, IsError: true, Hooked: p.hooked}
			refused.Dropped = p.call.Dropped
			r.Approval.Refused = append(r.Approval.Refused, refused)
		case p.asks():
			waits[p.call.ID] = true
			r.Approval.Waits = append(r.Approval.Waits, core.WaitingCall{
				CallID: p.call.ID, Arguments: p.call.Arguments, Why: p.why, Client: p.client, Always: p.always, Hooked: p.hooked,
				Uncaged: p.offers, Code: p.tool.Info.Code(),
			})
		}
	}
	var rest []core.Content
	for _, c := range m.Content {
		if c.Type == core.ContentCall && waits[c.Call.ID] {
			r.Content = append(r.Content, c)
		} else {
			rest = append(rest, c)
		}
	}
	m.Content = rest
	return r
}

// misshown returns what watchers must be told of calls that were shown as what they did not become: one whose tool always
// asks may be refused, and one of another tool may ask. They are dropped where they were shown, and shown where they are.
func (c *commit) misshown() (also []core.Event, dropped []string) {
	if c.answer == nil || c.callsIn {
		return nil, nil
	}
	for _, p := range c.calls {
		i := slices.IndexFunc(c.answer.calls, func(b *callBuffer) bool { return b.id == p.call.ID })
		if i < 0 || c.answer.calls[i].asks == p.asks() {
			continue
		}
		dropped = append(dropped, p.call.ID)
		m := c.assistant
		if p.asks() {
			m = c.request
		}
		for _, part := range m.Parts(c.win.run.Config.Speak) {
			at := slices.IndexFunc(part.Calls, func(call core.ToolCall) bool { return call.ID == p.call.ID })
			if at < 0 {
				continue
			}
			call := part.Calls[at]
			also = append(also, core.Event{
				Step: m.Step, Message: m.ID, OTID: part.OTID, Part: part.Index,
				Body: core.ToolCallDelta{Index: at, ID: call.ID, Name: call.Name, Arguments: call.Arguments, Asks: p.asks()},
			})
		}
	}
	if c.answer.inAsks > 0 && c.request == nil {
		id := core.RequestID(c.answer.message)
		also = append([]core.Event{discarded(c.sent.ID, id, "None of these calls waits for an approval.")}, also...)
	}
	return also, dropped
}
