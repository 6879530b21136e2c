package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/tui/panel"
	"loci/tui/theme"
)

// help shows what can be typed and pressed.
func help(m *Model, _ string) tea.Cmd {
	draw := func(width int) string { return helpText(m.ui.theme, width) }
	m.ui.push(&panel.Text{Theme: m.ui.theme, Title: "Help", Draw: draw}, nil)
	return nil
}

// helpText is the help page for a given width.
func helpText(th theme.Theme, width int) string {
	var b strings.Builder
	section := func(title string, rows [][2]string) {
		b.WriteString(th.Strong.Render(title) + "\n")
		widest := 0
		for _, r := range rows {
			widest = max(widest, len([]rune(r[0])))
		}
		for _, r := range rows {
			if widest+4+16 > width { // too narrow for two columns
				b.WriteString(th.Accent.Render(r[0]) + "\n")
				b.WriteString(wrapTo("  "+r[1], width) + "\n")
				continue
			}
			pad := strings.Repeat(" ", widest-len([]rune(r[0])))
			text := strings.ReplaceAll(wrapTo(r[1], width-widest-4), "\n", "\n"+strings.Repeat(" ", widest+4))
			b.WriteString("  " + th.Accent.Render(r[0]) + pad + "  " + text + "\n")
		}
		b.WriteString("\n")
	}
	var rows [][2]string
	for _, c := range commands() {
		name := strings.TrimSpace("/" + c.name + " " + c.args)
		if c.alias != "" {
			name += ", /" + c.alias
		}
		rows = append(rows, [2]string{name, c.help})
	}
	section("Commands", rows)
	rows = nil
	for _, k := range bindings() {
		rows = append(rows, [2]string{k.keys, k.help})
	}
	section("Keys", rows)
	for _, asked := range waitingKeys() {
		rows = nil
		for _, k := range asked.keys {
			rows = append(rows, [2]string{k.keys, k.help})
		}
		section("Keys while "+asked.while, rows)
	}
	b.WriteString(wrapTo("Everything said stands in the terminal's own scrollback: scroll, select and search as always. "+
		"What the agent knows about you is in /memory.", width))
	return b.String()
}

// keysWhile are the keys of one kind of question.
type keysWhile struct {
	while string
	keys  []answerKey
}

// waitingKeys are the keys of all that can wait for the person.
func waitingKeys() []keysWhile {
	return []keysWhile{
		{"a tool call waits for you", answerKeys()},
		{"the agent asks you something", []answerKey{
			{keys: "1–9, ↑ ↓", help: "choose an answer"},
			{keys: "space, at the one that is marked", help: "choose it too, where several may be; so does its digit"},
			{keys: "enter", help: "answer with what is chosen, or with what you typed"},
			{keys: "any letter", help: "begin an answer in your own words"},
			{keys: "esc", help: "give no answer; the agent goes on without"},
		}},
		{"a shell line waits for you", []answerKey{
			{keys: "y, then enter", help: "allow it to this line; works when its end was shown and no key was pressed for a moment"},
			{keys: "s or a, then enter", help: "allow it for this session, or always in this folder"},
			{keys: "n", help: "don't allow it"},
			{keys: "v", help: "see all of it, and the rules that would be kept; the other keys work there as well"},
		}},
		{"what the folder brings waits for your trust", []answerKey{
			{keys: "y, then enter", help: "trust all that is listed, as it is; works when its end was shown"},
			{keys: "n", help: "not now"},
			{keys: "v", help: "read it; y and n work there as well"},
		}},
	}
}
