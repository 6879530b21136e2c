package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// pressed notes that a key was pressed, or something pasted, and what of the
// question was on the screen by then.
func (q *question) pressed(name, text string) {
	if name != "enter" { // which people press after an answer as well
		q.release()
		q.takeBack(text)
	}
	if q.prompt.Empty() {
		q.early = false
	}
	now := q.now()
	q.quiet, q.last = now.Sub(q.last) >= armAfter, now
	if p := q.onTop(); p != nil && p.AtEnd() {
		q.sawAll()
	}
}

// pasted notes that something was pasted: it goes into the prompt.
func (q *question) pasted(text string) {
	q.pressed("", text)
	q.typing = q.stands()
}

// confirmation is an answer that allows something: Enter confirms it, and any
// other key takes it back. So nothing that is written can allow a call, however
// slowly: a message that begins with the letter, and has an Enter at its end, has
// other letters between the two.
type confirmation struct {
	text string // of the key; goes into the prompt if it turns out to begin a word
	says string // what Enter does
	do   func() tea.Cmd
}

// confirmed does what Enter confirms, if anything.
func (q *question) confirmed() tea.Cmd {
	c := q.confirm
	if q.confirm = nil; c == nil {
		return nil
	}
	return c.do()
}

// takeBack makes of an answer that wasn't confirmed what it was: the beginning of
// a message, if a text follows. In a panel it is nothing.
func (q *question) takeBack(text string) {
	c := q.confirm
	if q.confirm = nil; c == nil {
		return
	}
	if p := q.onTop(); p != nil {
		p.Foot = q.panelKeys()
		return
	}
	if text != "" {
		q.prompt.Paste(c.text)
		q.typing, q.took = true, false
	}
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
	if a := q.asks(); a != nil {
		return q.askKey(a, msg)
	}
	name := msg.String()
	do, ours := q.handler(name)
	switch {
	case name == "enter" && q.confirm != nil:
		return q.confirmed(), true
	case ours && q.armed():
		q.took = true
		return q.hold(do, name, msg.Text), true
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
// acts at once, and so does one that Enter confirms.
func (q *question) hold(do func(*question) tea.Cmd, name, text string) tea.Cmd {
	if q.onTop() == nil && text == "" || name == "y" || name == "Y" || name == "u" {
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
