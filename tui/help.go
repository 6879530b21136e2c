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
	rows = nil
	for _, k := range answerKeys() {
		rows = append(rows, [2]string{k.keys, k.help})
	}
	section("Keys while a tool call waits for you", rows)
	b.WriteString(wrapTo("Everything said stands in the terminal's own scrollback: scroll, select and search as always. "+
		"What the agent knows about you is in /memory.", width))
	return b.String()
}
