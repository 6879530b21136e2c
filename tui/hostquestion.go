package tui

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

// questionBackend knows what shell lines ask while they run.
type questionBackend interface {
	// Questions returns what lines of an agent ask, the oldest first.
	Questions(ctx context.Context, agent string) ([]api.Question, error)
	// AnswerQuestion answers one. Whoever is first counts.
	AnswerQuestion(ctx context.Context, id, allow string) error
}

// hostQuestion is what shell lines of the open conversation ask while they run, the oldest first: hosts, folders, ports, the way out
// of the sandbox, and the git settings that they want to leave behind. The run goes on meanwhile: only the line waits.
type hostQuestion struct {
	arming

	conv    *conversation
	backend questionBackend
	caller  *caller

	asked []api.Question
	looks int  // only what the newest one found counts
	seen  bool // the end of what is asked was on the screen
	fits  bool // all of it is, in the live region
	read  bool // the panel's end was, where every rule stands
	room  int  // rows that it may take
	rung  bool
}

// hostKey is a key that allows or refuses what a line asks.
type hostKey struct{ key, allow, help, short, lasts string }

// hostKeys are in the order in which they are named.
var hostKeys = []hostKey{
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
	h.another()
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

func (h *hostQuestion) drop() {
	h.asked = nil
	h.another()
}

// another begins to ask about what is first now.
func (h *hostQuestion) another() {
	h.rest()
	h.seen, h.fits, h.read = false, false, false
}

// pressed notes that a key was pressed, or something pasted, and what was on the screen by then.
func (h *hostQuestion) pressed(name, text string) {
	h.arming.pressed(name, text)
	if h.atEnd() {
		h.seen, h.read = true, true
	}
}

// pasted notes that something was pasted: it goes into the prompt.
func (h *hostQuestion) pasted(text string) {
	h.pressed("", text)
	h.typing = h.stands()
}

// key takes a key that answers. Any other one begins a message.
func (h *hostQuestion) key(msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	if !h.stands() {
		return nil, false
	}
	return h.press(msg, h.handler(msg.String()))
}

// handler is what a key does at what is asked now; nil: nothing.
func (h *hostQuestion) handler(name string) func() tea.Cmd {
	if name == "v" {
		return h.openWhole
	}
	for _, k := range h.answers() {
		if k.key != name {
			continue
		}
		id := h.current()
		if k.allow == api.ScopeNo {
			return func() tea.Cmd { return h.answer(id, k.allow) }
		}
		return func() tea.Cmd { return h.allow(id, k) }
	}
	return nil
}

// answers are the keys that answer what is asked now.
func (h *hostQuestion) answers() []hostKey {
	return slices.DeleteFunc(slices.Clone(hostKeys), func(k hostKey) bool {
		return k.allow != api.ScopeNo && !slices.Contains(h.asked[0].Scopes, k.allow)
	})
}

// allow asks for the Enter that allows what was seen to its end, and with it the rule that would be kept.
func (h *hostQuestion) allow(id string, k hostKey) tea.Cmd {
	if !h.seen || k.lasts != "" && h.onTop() && !h.read {
		h.ui.flash = "v shows the rest of it; then " + k.key + " allows it"
		return nil
	}
	says := "enter allows it"
	if k.lasts != "" {
		says += " " + k.lasts
	}
	h.confirm = &confirmation{text: k.key, says: says, rule: h.rule(k), do: func() tea.Cmd {
		if k.lasts != "" && !h.read && (!h.fits || h.onTop()) {
			h.ui.flash = "v shows the rule that would be kept; then " + k.key + " allows it"
			return nil
		}
		return h.answer(id, k.allow)
	}}
	if k.lasts != "" && !h.read && !h.onTop() && len(h.body(h.ui.width())) >= h.room {
		h.confirm = nil
		return h.openWhole()
	}
	return nil
}

func (h *hostQuestion) answer(id, allow string) tea.Cmd {
	if id != h.current() {
		return nil
	}
	h.asked = h.asked[1:]
	h.another()
	return func() tea.Msg {
		err := h.backend.AnswerQuestion(h.ui.ctx, id, allow)
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
