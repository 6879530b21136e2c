package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/prompt"
	"loci/tui/transcript"
)

// questionBackend knows what shell lines ask while they run.
type questionBackend interface {
	// Questions returns what lines of an agent ask, the oldest first.
	Questions(ctx context.Context, agent string) ([]api.Question, error)
	// AnswerQuestion answers one. Whoever is first counts.
	AnswerQuestion(ctx context.Context, id, allow string) error
}

// hostQuestion is the hosts that shell lines of the open conversation wait for,
// the oldest first. The run goes on meanwhile: only the line waits.
type hostQuestion struct {
	ui      *display
	conv    *conversation
	prompt  *prompt.Prompt
	backend questionBackend
	now     func() time.Time
	alert   alert

	asked  []api.Question
	looks  int       // only what the newest one found counts
	typing bool      // keys are the prompt's; tab gives them back
	quiet  bool      // no key was pressed for a moment before this one
	last   time.Time // when a key was pressed
	since  time.Time // when what is asked now was first drawn
	seen   bool      // all of its host is on the screen
	held   *heldHost
}

// heldHost is an answer that counts once no other key has followed it.
type heldHost struct {
	id, allow, text string
}

// hostSettledMsg says that a moment passed since a key was held.
type hostSettledMsg struct{ held *heldHost }

// hostKeys are the keys that answer, in the order in which they are named.
var hostKeys = []struct{ key, allow, help string }{
	{"y", api.ScopeOnce, "y this once"},
	{"s", api.ScopeSession, "s for this session"},
	{"a", api.ScopeFolder, "a always in this folder"},
	{"n", api.ScopeNo, "n no"},
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
	h.since, h.held = time.Time{}, nil
	if h.stands() && stood == "" {
		h.typing = !h.prompt.Empty()
		if h.now().Sub(h.last) >= awayAfter {
			h.ui.screen.Send(h.alert.sequence(h.conv.name() + " waits for your answer: " + h.asked[0].Host))
		}
	}
}

// current is the id of what is asked now.
func (h *hostQuestion) current() string {
	if !h.stands() {
		return ""
	}
	return h.asked[0].ID
}

func (h *hostQuestion) drop() { h.asked, h.held, h.since = nil, nil, time.Time{} }

// pressed notes that a key was pressed. One that was held begins a word then.
func (h *hostQuestion) pressed(name string) {
	now := h.now()
	h.quiet, h.last = now.Sub(h.last) >= armAfter, now
	if h.held != nil && name != "enter" { // which people press after an answer as well
		h.prompt.Paste(h.held.text)
		h.typing, h.held = true, nil
	}
}

// key takes a key that answers. Any other one begins a message.
func (h *hostQuestion) key(msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	if !h.stands() || h.typing || msg.Text == "" {
		return nil, false
	}
	armed := h.quiet && !h.since.IsZero() && h.now().Sub(h.since) >= armAfter
	for _, k := range hostKeys {
		if k.key != msg.Text || k.allow != api.ScopeNo && (!h.seen || !slices.Contains(h.asked[0].Scopes, k.allow)) {
			continue
		}
		if armed {
			held := &heldHost{h.current(), k.allow, msg.Text}
			h.held = held
			return tea.Tick(settleAfter, func(time.Time) tea.Msg { return hostSettledMsg{held} }), true
		}
	}
	h.typing = true
	return nil, false
}

// settled sends the answer that a key was held for.
func (h *hostQuestion) settled(msg hostSettledMsg) tea.Cmd {
	if h.held == nil || h.held != msg.held {
		return nil
	}
	h.held = nil
	if msg.held.id != h.current() {
		return nil
	}
	h.asked, h.since = h.asked[1:], time.Time{}
	return func() tea.Msg {
		err := h.backend.AnswerQuestion(h.ui.ctx, msg.held.id, msg.held.allow)
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

// rows draws what is asked now in at most room rows. Where the host doesn't fit,
// no key allows it.
func (h *hostQuestion) rows(room int) []string {
	if !h.stands() {
		return nil
	}
	if h.since.IsZero() {
		h.since = h.now()
	}
	th, width, q := h.ui.theme, h.ui.width(), h.asked[0]
	var rows []string
	for i, row := range strings.Split(wrapTo(h.wish(q), width-2), "\n") {
		mark := "  "
		if i == 0 {
			mark = th.Warn.Render("? ")
		}
		rows = append(rows, mark+th.Strong.Render(row))
	}
	h.seen = len(rows) < room
	rows = rows[:min(len(rows), max(room-1, 1))]
	if len(rows)+2 <= room {
		rows = append(rows, transcript.Short(th.Dim.Render("  of: "+transcript.OneLine(transcript.Reveal(q.Command))), width))
	}
	if len(rows)+2 <= room {
		rows = append([]string{""}, rows...)
	}
	return append(rows, th.Accent.Render(transcript.Short(h.keys(q), width)))
}

func (h *hostQuestion) keys(q api.Question) string {
	switch {
	case h.typing:
		return "tab: answer the question above"
	case !h.seen:
		return "n no · a larger terminal shows all of it"
	}
	keys := ""
	for _, k := range hostKeys {
		if k.allow == api.ScopeNo || slices.Contains(q.Scopes, k.allow) {
			keys += k.help + " · "
		}
	}
	return keys + "tab type"
}

// wish says what the line wants, the host first of all: it must not be cut.
func (h *hostQuestion) wish(q api.Question) string {
	host, more := transcript.OneLine(transcript.Reveal(q.Host)), ""
	if q.Port > 0 {
		more = fmt.Sprintf(" (port %d)", q.Port)
	}
	if q.Behind != "" {
		more += ", where " + transcript.OneLine(transcript.Reveal(q.Behind)) + " leads"
	}
	text := "May its line reach " + host + more + "?"
	if n := len(h.asked) - 1; n > 0 {
		text += fmt.Sprintf(" And %d more.", n)
	}
	return text
}
