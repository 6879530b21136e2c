package tui

import tea "charm.land/bubbletea/v2"

// waitsTitle stands above all of what is asked, in its panel.
const waitsTitle = "Waits for you"

// openWhole shows all of the calls in a panel, with the keys that answer.
func (q *question) openWhole() tea.Cmd {
	switch {
	case q.onTop():
	case q.asks() != nil: // is answered outside, where the answer is typed
		q.openPanel(waitsTitle, q.whole, func() string { return "" }, nil)
	default:
		q.openPanel(waitsTitle, q.whole, q.panelKeys, q.handler)
	}
	return nil
}

func (q *question) sawAll() {
	for i := range q.replies {
		q.replies[i].seen = true
	}
}
