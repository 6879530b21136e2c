package tui

import tea "charm.land/bubbletea/v2"

// pressed notes that a key was pressed, or something pasted, and what of the
// question was on the screen by then.
func (q *question) pressed(name, text string) {
	q.arming.pressed(name, text)
	if q.prompt.Empty() {
		q.early = false
	}
	if q.atEnd() {
		q.sawAll()
	}
}

// pasted notes that something was pasted: it goes into the prompt.
func (q *question) pasted(text string) {
	q.pressed("", text)
	q.typing = q.stands()
}

// key takes a key that answers. Any other one begins a message.
func (q *question) key(msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	if !q.stands() || q.typing || q.behind() {
		return nil, false
	}
	if a := q.asks(); a != nil {
		return q.askKey(a, msg)
	}
	return q.press(msg, q.handler(msg.String()))
}

// handler is what a key does at this question; nil: nothing.
func (q *question) handler(name string) func() tea.Cmd {
	if (name == "up" || name == "down") && len(q.replies) < 2 {
		return nil
	}
	for _, k := range answerKeys() {
		if do, ok := k.on[name]; ok {
			return func() tea.Cmd { return do(q) }
		}
	}
	return nil
}

// toggle gives the keys to the prompt, or back.
func (q *question) toggle() tea.Cmd {
	if q.stands() {
		q.typing, q.took = !q.typing, true
	}
	return nil
}
