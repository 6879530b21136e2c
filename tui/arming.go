package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/tui/panel"
	"loci/tui/prompt"
)

const (
	// settleAfter is how long no other key must follow one that answers: a word
	// that is typed answers nothing.
	settleAfter = 400 * time.Millisecond
	// armAfter is how long a question must have stood, and no key been pressed,
	// before a key answers it: whoever was typing goes on typing.
	armAfter = 300 * time.Millisecond
)

// arming is the one rule by which keys answer what is asked, in the live region and in the panel that shows all of it: after a
// quiet moment, if no other key follows, and what allows something once Enter confirms it. So nothing that is written answers.
type arming struct {
	ui     *display
	prompt *prompt.Prompt
	now    func() time.Time

	typing bool      // keys are the prompt's; tab gives them back
	took   bool      // the last key was ours
	back   bool      // the key just pressed took an answer back
	quiet  bool      // no key was pressed for a moment before this one
	last   time.Time // when a key was pressed
	since  time.Time // when what is asked now was first drawn

	held    *heldKey      // an answer, unless it turns out to begin a word
	confirm *confirmation // allowing, once Enter confirms it
	panel   *panel.Text   // shows all of what is asked
	foot    func() string // its keys
}

// heldKey is an answer that counts once no other key has followed it.
type heldKey struct {
	do   func() tea.Cmd
	text string // goes into the prompt if it begins a word
}

// settledMsg says that a moment passed since a key was held.
type settledMsg struct{ held *heldKey }

// confirmation is an answer that allows something: Enter confirms it, and any
// other key takes it back. So nothing that is written can allow a call, however
// slowly: a message that begins with the letter, and has an Enter at its end, has
// other letters between the two.
type confirmation struct {
	text string // of the key; goes into the prompt if it turns out to begin a word
	says string // what Enter does
	rule string // what would be kept; empty: nothing
	do   func() tea.Cmd
}

// pressed notes that a key was pressed, or something pasted. What was held, or not confirmed, begins a word then, but in a panel,
// and Escape takes it back.
func (a *arming) pressed(name, text string) {
	now := a.now()
	a.quiet, a.last, a.back = now.Sub(a.last) >= armAfter, now, false
	_, covered := a.ui.top()
	if name == "enter" && (!covered || a.onTop()) { // which people press after an answer as well
		return
	}
	begun := ""
	switch {
	case a.held != nil:
		begun = a.held.text
	case a.confirm == nil:
		return
	case text != "":
		begun = a.confirm.text
	}
	a.held, a.confirm = nil, nil
	switch {
	case name == "esc" || covered:
		a.back = true
		a.refoot()
	case begun != "":
		a.prompt.Paste(begun)
		a.typing, a.took = true, false
	}
}

// armed reports whether the key just pressed was meant for what is asked.
func (a *arming) armed() bool {
	return a.quiet && !a.since.IsZero() && a.now().Sub(a.since) >= armAfter
}

// press takes a key that answers; do is what it does here, if anything. Any other one begins a message.
func (a *arming) press(msg tea.KeyPressMsg, do func() tea.Cmd) (cmd tea.Cmd, taken bool) {
	name := msg.String()
	switch {
	case name == "enter" && a.confirm != nil:
		return a.confirmed(), true
	case name == "enter" && a.held != nil, name == "esc" && a.back: // the first would send, the second stop the agent
		return nil, true
	case a.typing:
	case do != nil && a.armed():
		a.took = true
		return a.hold(do, name, msg.Text), true
	case do != nil && a.took: // too soon after another answer
		return nil, true
	case msg.Text != "":
		a.typing, a.took = true, false
	}
	return nil, false
}

// hold waits whether a key is the beginning of a word. One that writes nothing
// acts at once, and so does one that Enter confirms.
func (a *arming) hold(do func() tea.Cmd, name, text string) tea.Cmd {
	if !a.onTop() && text == "" || name == "y" || name == "Y" || name == "u" {
		return do()
	}
	held := &heldKey{do, text}
	a.held = held
	return tea.Tick(settleAfter, func(time.Time) tea.Msg { return settledMsg{held} })
}

// settled does what a held key answers, unless something else covers the question by now.
func (a *arming) settled(msg settledMsg) tea.Cmd {
	if a.held == nil || a.held != msg.held {
		return nil
	}
	a.held = nil
	if _, covered := a.ui.top(); covered && !a.onTop() {
		return nil
	}
	cmd := msg.held.do()
	a.refoot()
	return cmd
}

// confirmed does what Enter confirms, if anything.
func (a *arming) confirmed() tea.Cmd {
	c := a.confirm
	if a.confirm = nil; c == nil {
		return nil
	}
	return c.do()
}

// rest takes back what was held or not confirmed, and closes the panel: something else is asked, or nothing.
func (a *arming) rest() {
	if a.panel != nil {
		a.ui.remove(a.panel)
	}
	a.since, a.held, a.confirm, a.panel = time.Time{}, nil, nil, nil
}

// openPanel shows all of what is asked. The keys that answer do so there, too: handler says what each does; nil: none answers.
func (a *arming) openPanel(title string, draw func(width int) string, foot func() string, handler func(name string) func() tea.Cmd) {
	p := &panel.Text{Theme: a.ui.theme, Title: title, Draw: draw, Foot: foot()}
	a.panel, a.foot = p, foot
	if handler == nil {
		a.ui.push(p, nil)
		return
	}
	p.Keys = func(msg tea.KeyPressMsg) (panel.Action, bool) {
		name := msg.String()
		ours := handler(name) != nil && msg.Text != "" || name == "enter" // which must not close a question
		return panel.Action{Kind: panel.Choose, Text: name}, ours
	}
	a.ui.push(p, func(act panel.Action) tea.Cmd {
		defer a.refoot()
		if act.Text == "enter" {
			return a.confirmed()
		}
		do := handler(act.Text)
		if do == nil || !a.quiet {
			return nil
		}
		return a.hold(do, act.Text, "")
	})
}

// onTop reports whether the panel has the screen.
func (a *arming) onTop() bool {
	top, _ := a.ui.top()
	return a.panel != nil && top.Panel == panel.Panel(a.panel)
}

// atEnd reports whether the end of what is asked was on the screen, in the panel.
func (a *arming) atEnd() bool { return a.onTop() && a.panel.AtEnd() }

// refoot says in the panel which keys answer now.
func (a *arming) refoot() {
	if a.onTop() {
		a.panel.Foot = a.foot()
	}
}
