package request

import (
	"slices"
	"strconv"
	"time"

	"loci/core"
	"loci/core/memory"
)

// KeepShare is the share that an eviction keeps of the room left by system and tools.
const KeepShare = 0.6

// Limit returns how many tokens of a window a request may take, which leaves room for the answer.
func Limit(a *core.Agent, window int) int {
	reserve := window / 10
	if out := a.Settings.MaxOutputTokens; out > reserve {
		reserve = min(out, window/2)
	}
	return window - reserve
}

// MessageOverhead is what a message costs in addition to its text, in tokens.
const MessageOverhead = 4

// Tokens estimates a message's size in a request.
func Tokens(m *core.Message) int {
	n := MessageOverhead
	if m.Preface != "" {
		n += core.EstimateTokens(m.Preface)
	}
	if m.Joins != "" {
		n += core.EstimateTokens(core.Reminder(""))
	}
	for _, c := range m.Content {
		n += core.EstimateTokens(c.Text)
		if c.Call != nil {
			n += MessageOverhead + core.EstimateTokens(c.Call.Name) + core.EstimateTokens(c.Call.Arguments)
		}
		if c.Image != nil {
			n += c.Image.Tokens()
		}
	}
	for _, r := range m.Returns {
		n += 6*MessageOverhead + core.EstimateTokens(r.Text)
		for _, img := range r.Images {
			n += img.Tokens()
		}
	}
	return n
}

// TokensInContext is Tokens for what the row's cut leaves.
func TokensInContext(r *core.InContext) int {
	if r.Row.CutTo == 0 && r.Message.Tokens > 0 {
		return r.Message.Tokens
	}
	m := r.Message
	if cut := r.Row.CutTo; cut > 0 {
		m.Content, m.Returns = slices.Clone(m.Content), slices.Clone(m.Returns)
		for i := range m.Content {
			m.Content[i].Text = Cut(m.Content[i].Text, cut)
		}
		for i := range m.Returns {
			m.Returns[i].Text = Cut(m.Returns[i].Text, cut)
		}
	}
	return Tokens(&m)
}

// TokensOfRows returns the total size of rows.
func TokensOfRows(rows []core.InContext) int {
	n := 0
	for i := range rows {
		n += TokensInContext(&rows[i])
	}
	return n
}

// Marker returns the record that stands for messages that left a conversation.
func Marker(c *core.Conversation, count int, at time.Time) *core.Message {
	m := &core.Message{
		ID: core.NewMessageID(), Agent: c.Agent, Conversation: c.ID, Role: core.RoleUser, Hidden: core.HiddenMarker,
		Name: strconv.Itoa(count), Content: []core.Content{core.Text(memory.Marker(count))}, CreatedAt: at,
	}
	m.Tokens = Tokens(m)
	return m
}

// Visible counts the messages among the rows that a person may see.
func Visible(rows []core.InContext) int {
	n := 0
	for _, r := range rows {
		if r.Message.Hidden == core.NotHidden {
			n++
		}
	}
	return n
}

// MarkerCount returns how many messages a marker stands for: its name is that number.
func MarkerCount(m *core.Message) int {
	n, err := strconv.Atoi(m.Name)
	if err != nil {
		return 0
	}
	return n
}
