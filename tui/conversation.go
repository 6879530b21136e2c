package tui

import (
	"cmp"
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

const (
	offlinePrefix = "offline/" // prefix of handles for models that need no provider

	// windowShown is the size at which the contract caps context windows: larger
	// ones have to be measured.
	windowShown = 128_000
)

// conversationBackend is what a conversation asks the daemon about itself.
type conversationBackend interface {
	messageReader
	Agent(ctx context.Context, id string) (api.AgentState, error)
	Context(ctx context.Context, t Thread) (api.ContextWindow, error)
}

// conversation is the one that is open: with whom, how full its window is, and
// how much of it this chat has seen.
type conversation struct {
	ctx     context.Context
	backend conversationBackend

	thread      Thread // zero until the daemon has answered
	agentName   string
	greet       string // above the prompt while nothing is said; empty: the usual words
	model       string
	offline     bool
	override    string // this chat's model, from a flag
	contextUsed int
	contextMost int // 0: not known

	lastID  string          // newest known message
	seen    map[string]bool // runs already shown
	foreign []string        // other terminals' runs, waiting to be shown
}

type (
	contextMsg struct {
		thread Thread
		window api.ContextWindow
		err    error
	}
	agentMsg struct {
		agent api.AgentState
		err   error
	}
)

// name is what the agent is called.
func (c *conversation) name() string { return cmp.Or(c.agentName, "the agent") }

// threadName is the open conversation's name as /resume lists it.
func (c *conversation) threadName() string {
	if c.thread.Conversation == "" {
		return "the first conversation"
	}
	return "this conversation"
}

// openThread reads a conversation of an agent, to switch to it.
func (c *conversation) openThread(a api.AgentState, t Thread) tea.Cmd {
	if t == c.thread {
		return nil
	}
	return func() tea.Msg {
		messages, err := c.backend.Messages(c.ctx, t, lately())
		return threadMsg{thread: t, name: a.Name, model: api.Val(a.Model), history: messages, err: err}
	}
}

// switchTo opens another conversation, of which nothing has been seen yet.
func (c *conversation) switchTo(t Thread, agent, model string) {
	if t.Agent != c.thread.Agent {
		c.contextMost, c.offline = 0, false
	}
	c.thread, c.agentName, c.model, c.contextUsed = t, agent, cmp.Or(model, c.model), 0
	c.lastID, c.foreign = "", nil
}

// answers sets the model shown on the status line.
func (c *conversation) answers(handle string) {
	if c.model != handle {
		c.contextMost = 0 // belongs to the other model
	}
	c.model, c.offline = handle, strings.HasPrefix(handle, offlinePrefix)
}

func (c *conversation) loadAgent() tea.Cmd {
	id := c.thread.Agent
	return func() tea.Msg {
		a, err := c.backend.Agent(c.ctx, id)
		return agentMsg{a, err}
	}
}

func (c *conversation) onAgent(msg agentMsg) tea.Cmd {
	if msg.err != nil || msg.agent.ID != c.thread.Agent {
		return nil
	}
	c.agentName = msg.agent.Name
	if c.override != "" { // another model answers here, with its own window
		return nil
	}
	before := c.model
	if h := api.Val(msg.agent.Model); h != "" {
		c.answers(h)
	}
	if w := msg.agent.LLMConfig.ContextWindow; w > 0 && w < windowShown {
		c.contextMost = w
	}
	if c.model != before {
		return c.loadContext()
	}
	return nil
}

// loadContext measures the window, unless its size and use are known.
func (c *conversation) loadContext() tea.Cmd {
	thread := c.thread
	if thread == (Thread{}) || c.contextMost > 0 && c.contextUsed > 0 {
		return nil
	}
	return func() tea.Msg {
		w, err := c.backend.Context(c.ctx, thread)
		return contextMsg{thread, w, err}
	}
}

func (c *conversation) onContext(msg contextMsg) {
	if msg.err == nil && msg.thread == c.thread {
		c.contextUsed, c.contextMost = msg.window.ContextWindowSizeCurrent, msg.window.ContextWindowSizeMax
	}
}

// note remembers stored messages as shown.
func (c *conversation) note(messages []api.Message) {
	for _, x := range messages {
		c.lastID = cmp.Or(x.ID, c.lastID)
		if x.RunID != "" {
			c.seen[x.RunID] = true
		}
	}
}

// replace replaces what is kept of the conversation with its current state.
func (c *conversation) replace(s *scrollback, history []api.Message) {
	c.lastID, c.contextMost = "", 0
	s.replace(itemsOf(history))
	c.note(history)
}

// missed returns the messages that no run has shown.
func (c *conversation) missed(messages []api.Message) []api.Message {
	var out []api.Message
	for _, x := range messages {
		if x.RunID == "" || !c.seen[x.RunID] {
			out = append(out, x)
		}
	}
	return out
}

// nextForeign is the next run of another terminal that wasn't shown yet.
func (c *conversation) nextForeign() (run string, ok bool) {
	for len(c.foreign) > 0 {
		run, c.foreign = c.foreign[0], c.foreign[1:]
		if !c.seen[run] {
			return run, true
		}
	}
	return "", false
}
