package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"loci/tui/panel"
)

// openWhole shows all of the calls in a panel, with the keys that answer.
func (q *question) openWhole() tea.Cmd {
	if q.onTop() != nil {
		return nil
	}
	p := &panel.Text{Theme: q.ui.theme, Title: "Waits for you", Draw: q.whole, Foot: q.panelKeys()}
	if q.asks() != nil { // is answered outside, where the answer is typed
		p.Foot = ""
		q.open(p, nil)
		return nil
	}
	p.Keys = func(msg tea.KeyPressMsg) (panel.Action, bool) {
		_, ours := q.handler(msg.String())
		ours = ours && msg.Text != "" || msg.String() == "enter" // which must not close a question
		return panel.Action{Kind: panel.Choose, Text: msg.String()}, ours
	}
	q.open(p, func(a panel.Action) tea.Cmd {
		if a.Text == "enter" {
			return q.confirmed()
		}
		do, ok := q.handler(a.Text)
		if !ok || !q.quiet {
			return nil
		}
		cmd := q.hold(do, a.Text, "")
		p.Foot = q.panelKeys()
		return cmd
	})
	return nil
}

// onTop is the panel with the whole question, if it has the screen.
func (q *question) onTop() *panel.Text {
	top, _ := q.ui.top()
	text, _ := top.Panel.(*panel.Text)
	if text == nil || !slices.Contains(q.panels, panel.Panel(text)) {
		return nil
	}
	return text
}

func (q *question) sawAll() {
	for i := range q.replies {
		q.replies[i].seen = true
	}
}
