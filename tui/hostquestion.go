package tui

import (
	"cmp"
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/prompt"
)

// questionBackend knows what shell lines ask while they run.
type questionBackend interface {
	// Questions returns what lines of an agent ask, the oldest first.
	Questions(ctx context.Context, agent string) ([]api.Question, error)
	// AnswerQuestion answers one. Whoever is first counts.
	AnswerQuestion(ctx context.Context, id, allow string) error
}

// hostQuestion is the hosts that shell lines of the open conversation wait for, and the git settings that they
// want to leave behind, the oldest first. The run goes on meanwhile: only the line waits.
type hostQuestion struct {
	ui      *display
	conv    *conversation
	prompt  *prompt.Prompt
	backend questionBackend
	now     func() time.Time
	caller  *caller

	asked  []api.Question
	looks  int       // only what the newest one found counts
	typing bool      // keys are the prompt's; tab gives them back
	quiet  bool      // no key was pressed for a moment before this one
	last   time.Time // when a key was pressed
	since  time.Time // when what is asked now was first drawn
	seen   bool      // all of its host is on the screen
	rung   bool
	held   *heldHost

	confirm *heldHost // allows, once Enter confirms it
	back    bool      // the key just pressed took an answer back
}

// heldHost is an answer that counts once no other key has followed it. One that allows
// counts only once Enter confirms it: nothing that is written can allow a host, however slowly.
type heldHost struct {
	id, allow, text string
}

// hostSettledMsg says that a moment passed since a key was held.
type hostSettledMsg struct{ held *heldHost }

// hostKeys are the keys that answer, in the order in which they are named, and what they allow.
var hostKeys = []struct{ key, allow, help, short, lasts string }{
	{"y", api.ScopeOnce, "y this once", "y once", ""},
	{"s", api.ScopeSession, "s for this session", "s session", "for this session"},
	{"a", api.ScopeFolder, "a always in this folder", "a always", "always in this folder"},
	{"n", api.ScopeNo, "n no", "n no", ""},
}

func (h *hostQuestion) stands() bool { return len(h.asked) > 0 }

// look reads what is asked.
func (h *hostQuestion) look() tea.Cmd {
	thread := h.conv.thread
	if thread.Agent == "" {
		return nil
	}
	h.looks++
	newest := h.looks
	return func() tea.Msg {
		all, err := h.backend.Questions(h.ui.ctx, thread.Agent)
		return loadedMsg{func() tea.Cmd {
			if err == nil && newest == h.looks && thread == h.conv.thread { // an old daemon asks nothing
				h.found(all, thread)
			}
			return nil
		}}
	}
}

func (h *hostQuestion) found(all []api.Question, thread Thread) {
	stood := h.current()
	h.asked = slices.DeleteFunc(all, func(q api.Question) bool { return threadOf(q.AgentID, q.ConversationID) != thread })
	if h.current() == stood {
		return
	}
	h.since, h.held, h.confirm = time.Time{}, nil, nil
	if h.stands() && stood == "" {
		h.typing = !h.prompt.Empty()
		if h.rung = false; h.caller.away() <= 0 {
			h.ring()
		}
	}
}

// ring calls the person, once.
func (h *hostQuestion) ring() {
	if h.stands() && !h.rung {
		h.rung = true
		h.caller.call(h.conv.name() + " waits for your answer: " + cmp.Or(h.asked[0].Host, h.wish(h.asked[0])))
	}
}

// current is the id of what is asked now.
func (h *hostQuestion) current() string {
	if !h.stands() {
		return ""
	}
	return h.asked[0].ID
}

func (h *hostQuestion) drop() { h.asked, h.held, h.confirm, h.since = nil, nil, nil, time.Time{} }

// pressed notes that a key was pressed, or something pasted. What was held, or not confirmed, begins a word then.
func (h *hostQuestion) pressed(name, text string) {
	now := h.now()
	h.quiet, h.last, h.back = now.Sub(h.last) >= armAfter, now, false
	_, covered := h.ui.top()
	if name == "enter" && !covered { // which people press after an answer as well
		return
	}
	held, confirm := h.held, h.confirm
	h.held, h.confirm = nil, nil
	switch {
	case held == nil && confirm == nil:
	case name == "esc" || covered:
		h.back = true
	case held != nil:
		h.prompt.Paste(held.text)
		h.typing = true
	case text != "":
		h.prompt.Paste(confirm.text)
		h.typing = true
	}
}

// pasted notes that something was pasted: it goes into the prompt.
func (h *hostQuestion) pasted(text string) {
	h.pressed("", text)
	h.typing = h.stands()
}

// key takes a key that answers. Any other one begins a message.
func (h *hostQuestion) key(msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	name := msg.String()
	switch {
	case name == "enter" && h.confirm != nil:
		return h.confirmed(), true
	case name == "enter" && h.held != nil, name == "esc" && h.back: // the first would send, the second stop the agent
		return nil, true
	case !h.stands() || h.typing || msg.Text == "":
		return nil, false
	}
	armed := h.quiet && !h.since.IsZero() && h.now().Sub(h.since) >= armAfter
	for _, k := range hostKeys {
		if k.key != msg.Text || k.allow != api.ScopeNo && (!h.seen || !slices.Contains(h.asked[0].Scopes, k.allow)) {
			continue
		}
		held := &heldHost{h.current(), k.allow, msg.Text}
		switch {
		case !armed:
		case k.allow == api.ScopeOnce:
			h.confirm = held
			return nil, true
		default:
			h.held = held
			return tea.Tick(settleAfter, func(time.Time) tea.Msg { return hostSettledMsg{held} }), true
		}
	}
	h.typing = true
	return nil, false
}

// settled sends the refusal that a key was held for, or shows the rule that would allow the host.
func (h *hostQuestion) settled(msg hostSettledMsg) tea.Cmd {
	held := h.held
	if held == nil || held != msg.held {
		return nil
	}
	h.held = nil
	if _, covered := h.ui.top(); held.allow != api.ScopeNo {
		if !covered {
			h.confirm = held
		}
		return nil
	}
	return h.answer(held)
}

// confirmed sends what Enter confirms, if all of it is on the screen.
func (h *hostQuestion) confirmed() tea.Cmd {
	c := h.confirm
	if h.confirm = nil; !h.seen {
		h.ui.flash = "a larger terminal shows all of it; then it can be allowed"
		return nil
	}
	return h.answer(c)
}

func (h *hostQuestion) answer(given *heldHost) tea.Cmd {
	if given.id != h.current() {
		return nil
	}
	h.asked, h.since = h.asked[1:], time.Time{}
	return func() tea.Msg {
		err := h.backend.AnswerQuestion(h.ui.ctx, given.id, given.allow)
		return loadedMsg{func() tea.Cmd {
			if err != nil {
				h.ui.flash = explain(err)
			}
			return h.look()
		}}
	}
}

// toggle gives the keys to the prompt, or back.
func (h *hostQuestion) toggle() { h.typing = !h.typing }
