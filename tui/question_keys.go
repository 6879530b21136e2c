package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// pressed notes that a key was pressed, or something pasted, and what of the
// question was on the screen by then.
func (q *question) pressed(name string) {
	if name != "enter" { // which people press after an answer as well
		q.release()
	}
	now := q.now()
	q.quiet, q.last = now.Sub(q.last) >= armAfter, now
	if p := q.onTop(); p != nil && p.AtEnd() {
		q.sawAll()
	}
}

// pasted notes that something was pasted: it goes into the prompt.
func (q *question) pasted() {
	q.pressed("")
	q.typing = q.stands()
}

// armed reports whether the key just pressed was meant for what is asked.
func (q *question) armed() bool {
	return q.quiet && !q.since.IsZero() && q.now().Sub(q.since) >= armAfter
}

// key takes a key that answers. Any other one begins a message.
func (q *question) key(msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	if !q.stands() || q.typing {
		return nil, false
	}
	name := msg.String()
	do, ours := q.handler(name)
	switch {
	case ours && q.armed():
		q.took = true
		return q.hold(do, msg.Text), true
	case ours && q.took: // too soon after another answer
		return nil, true
	case msg.Text != "":
		q.typing, q.took = true, false
	}
	return nil, false
}

// heldKey is an answer that counts once no other key has followed it.
type heldKey struct {
	do   func(*question) tea.Cmd
	text string // goes into the prompt if it begins a word
}

// settledMsg says that a moment passed since a key was held.
type settledMsg struct{ held *heldKey }

// hold waits whether a key is the beginning of a word. One that writes nothing
// acts at once.
func (q *question) hold(do func(*question) tea.Cmd, text string) tea.Cmd {
	if q.onTop() == nil && text == "" {
		return do(q)
	}
	held := &heldKey{do, text}
	q.held = held
	return tea.Tick(settleAfter, func(time.Time) tea.Msg { return settledMsg{held} })
}

// release lets a held key be what it is when another one follows: the beginning
// of a word. In a panel it is nothing.
func (q *question) release() {
	if q.held == nil {
		return
	}
	if text := q.held.text; text != "" {
		q.prompt.Paste(text)
		q.typing, q.took = true, false
	}
	q.held = nil
}

// settled does what a held key answers.
func (q *question) settled(msg settledMsg) tea.Cmd {
	if q.held == nil || q.held != msg.held {
		return nil
	}
	q.held = nil
	return msg.held.do(q)
}

// handler is what a key does at this question.
func (q *question) handler(name string) (do func(*question) tea.Cmd, ok bool) {
	if (name == "up" || name == "down") && len(q.replies) < 2 {
		return nil, false
	}
	for _, k := range answerKeys() {
		if do, ok := k.on[name]; ok {
			return do, true
		}
	}
	return nil, false
}

// toggle gives the keys to the prompt, or back.
func (q *question) toggle() tea.Cmd {
	if q.stands() {
		q.typing, q.took = !q.typing, true
	}
	return nil
}
