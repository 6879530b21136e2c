package tui

import (
	"encoding/json"
	"strings"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// itemsOf turns stored messages, oldest first, into items. A call and its
// return become one item.
func itemsOf(messages []api.Message) []transcript.Item {
	var items []transcript.Item
	calls := map[string]int{} // id of a call → its item
	for _, m := range messages {
		switch m.MessageType {
		case api.MessageUser:
			if text := m.Content.Shown(); !isMachine(text) {
				items = append(items, transcript.Item{Kind: transcript.User, ID: m.ID, Text: text})
			} else if end := jobEnd(text); end != "" {
				items = append(items, transcript.Item{Kind: transcript.Notice, ID: m.ID, Text: end})
			}
		case api.MessageAssistant:
			items = append(items, transcript.Item{Kind: transcript.Assistant, ID: m.ID, Text: m.Content.String()})
		case api.MessageReasoning:
			items = append(items, transcript.Item{Kind: transcript.Reasoning, ID: m.ID, Text: m.Reasoning})
		case api.MessageToolCall, api.MessageApprovalRequest:
			for _, c := range m.ToolCalls {
				calls[c.ToolCallID] = len(items)
				items = append(items, transcript.Item{Kind: transcript.Tool, ID: m.ID, Call: transcript.Call{
					ID: c.ToolCallID, Name: c.Name, Arguments: c.Arguments,
				}})
			}
		case api.MessageToolReturn:
			for _, r := range m.ToolReturns {
				if i, ok := calls[r.ToolCallID]; ok {
					finish(&items[i].Call, r)
				}
			}
		case api.MessageSummary:
			items = append(items, transcript.Item{Kind: transcript.Recalled, ID: m.ID, Text: m.Summary})
		case api.MessageNotice:
			if m.Notice != nil && m.Notice.Kind == api.NoticeRecalled {
				items = append(items, recalledItem(m.ID, m.Notice))
			}
		// These are not part of the conversation.
		case api.MessageSystem, api.MessageHiddenReasoning, api.MessageApprovalResponse, api.MessageEvent,
			api.MessagePing, api.MessageStopReason, api.MessageUsage, api.MessageError, api.MessageUserInput:
		}
	}
	return items
}

// recalledItem is what was recalled for a turn. Folded, it is a single line.
func recalledItem(id string, n *api.Notice) transcript.Item {
	record, _ := n.Data["text"].(string)
	return transcript.Item{Kind: transcript.Recalled, ID: id, Head: n.Text, Text: record}
}

func finish(c *transcript.Call, r api.ToolReturn) {
	c.Done, c.Failed, c.Return = true, r.Status == api.StatusError, r.ToolReturn.Shown()
}

// isMachine recognises messages that the loop itself says as the user.
func isMachine(text string) bool {
	var v struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	switch v.Type {
	case "heartbeat", "login", "system_alert", "reminder":
		return true
	}
	return false
}

// jobEnd is the first row of what tells an agent of the end of a shell line in
// the background; empty for all else.
func jobEnd(text string) string {
	var v struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(text), &v) != nil || !strings.HasPrefix(v.Message, "job-") {
		return ""
	}
	head, _, _ := strings.Cut(v.Message, "\n")
	return transcript.OneLine(head)
}

// withRecalled puts what was recalled after the input of its run, as the live
// run showed it. A notice isn't a message, so it loses its id here: nothing can
// be listed after it.
func withRecalled(messages, recalled []api.Message) []api.Message {
	of := map[string]api.Message{}
	for _, r := range recalled {
		if r.RunID != "" && r.Notice != nil && r.Notice.Kind == api.NoticeRecalled {
			r.ID = ""
			of[r.RunID] = r
		}
	}
	out := make([]api.Message, 0, len(messages)+len(of))
	for i, x := range messages {
		out = append(out, x)
		last := i+1 == len(messages) || messages[i+1].RunID != x.RunID || messages[i+1].MessageType != api.MessageUser
		if r, ok := of[x.RunID]; ok && last && x.MessageType == api.MessageUser {
			out = append(out, r)
		}
	}
	return out
}
