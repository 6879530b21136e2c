package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/tui/panel"
	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// display is all that a person sees besides the prompt: what was said, the
// panels over it, and a passing word on the status line, which panels cover.
type display struct {
	*scrollback
	ctx    context.Context // of what panels and commands load
	theme  theme.Theme
	panels []openPanel
	flash  string      // on the status line until the next key
	asks   func() bool // whether a question stands in the live region; may be nil
}

// openPanel is a panel with the handler of its actions.
type openPanel struct {
	panel.Panel
	act func(panel.Action) tea.Cmd
}

func newDisplay(ctx context.Context, th theme.Theme, screen *term.Screen) *display {
	d := &display{ctx: ctx, scrollback: newScrollback(screen)}
	d.setTheme(th)
	return d
}

// setTheme changes the colours of what is drawn from now on.
func (d *display) setTheme(th theme.Theme) {
	d.theme, d.render = th, transcript.NewRenderer(th, d.width())
}

func (d *display) resize(width, height int) {
	d.screen.Resize(width, height)
	d.render = transcript.NewRenderer(d.theme, d.width())
}

func (d *display) push(p panel.Panel, act func(panel.Action) tea.Cmd) {
	d.panels = append(d.panels, openPanel{p, act})
}

// top is the panel that has the screen, if one has.
func (d *display) top() (p openPanel, ok bool) {
	if n := len(d.panels); n > 0 {
		return d.panels[n-1], true
	}
	return openPanel{}, false
}

// remove closes a panel, wherever it is.
func (d *display) remove(p panel.Panel) {
	d.panels = slices.DeleteFunc(d.panels, func(o openPanel) bool { return o.Panel == p })
}

func (d *display) closePanels() { d.panels = nil }

// act does what a key in a panel asked for. Close works the same for all
// panels.
func (d *display) act(p openPanel, a panel.Action) tea.Cmd {
	switch a.Kind {
	case panel.None:
		return nil
	case panel.Close:
		d.panels = d.panels[:len(d.panels)-1]
		return nil
	case panel.Choose, panel.New, panel.Save, panel.Query, panel.Above, panel.Below, panel.First, panel.Last:
	}
	if p.act == nil {
		return nil
	}
	return p.act(a)
}

// refuse says in an editor why its text wasn't saved, or on the status line if
// the editor was closed in the meantime.
func (d *display) refuse(e *panel.Edit, err error) {
	if top, ok := d.top(); !ok || top.Panel != panel.Panel(e) {
		d.flash = explain(err)
		return
	}
	e.Refuse(explain(err))
}

// refused says why what a person wanted wasn't done. While a question stands it is
// said under the prompt: on a small screen the question hides what is printed above it.
func (d *display) refused(why string) {
	if d.asks != nil && d.asks() {
		d.flash = why
		return
	}
	d.failure(why)
}

// choice is one answer to a question in a panel.
type choice struct {
	key  rune
	help string
	do   func() tea.Cmd
}

// ask shows a question with its answers. Only the answers' own keys count, so a
// stray space or enter does nothing.
func (d *display) ask(title string, lines []string, choices []choice) {
	draw := func(width int) string {
		var rows []string
		if term.Width(title) > width { // which the head cuts
			rows = append(rows, d.theme.Strong.Render(wrapTo(title, width)), "")
		}
		for _, c := range choices {
			text := strings.ReplaceAll(wrapTo(c.help, max(width-3, 8)), "\n", "\n   ")
			rows = append(rows, d.theme.Accent.Render(string(c.key))+"  "+text)
		}
		rows = append(rows, "")
		for _, l := range lines {
			rows = append(rows, wrapTo(l, width))
		}
		return strings.Join(rows, "\n")
	}
	keys := func(msg tea.KeyPressMsg) (panel.Action, bool) {
		if msg.String() == "enter" {
			return panel.Action{}, true // Enter must not close a question
		}
		for i, c := range choices {
			if msg.String() == string(c.key) {
				return panel.Action{Kind: panel.Choose, Index: i}, true
			}
		}
		return panel.Action{}, false
	}
	d.push(
		&panel.Text{Theme: d.theme, Title: title, Draw: draw, Keys: keys, Foot: string(choices[0].key) + " " + choices[0].help},
		func(a panel.Action) tea.Cmd {
			return choices[a.Index].do()
		},
	)
}

// problemRows bounds the height of a problem under the prompt.
const problemRows = 4

// problem goes before everything else under the prompt, on a row of its own if
// it is long.
func (d *display) problem(text string) string {
	text = transcript.OneLine(text)
	if term.Width(text) <= d.width() {
		return d.theme.Warn.Render(text)
	}
	rows := strings.Split(wrapTo(text, d.width()), "\n")
	if len(rows) > problemRows {
		rows = rows[:problemRows]
		rows[problemRows-1] = transcript.Short(rows[problemRows-1], d.width()-1) + "…"
	}
	for i, r := range rows {
		rows[i] = d.theme.Warn.Render(r)
	}
	return strings.Join(rows, "\n")
}

// loadedMsg is what a panel or a command was waiting for.
type loadedMsg struct{ show func() tea.Cmd }

// load runs a call outside the loop and then shows the result inside it.
func load[T any](d *display, call func(context.Context) (T, error), then func(T) tea.Cmd) tea.Cmd {
	return func() tea.Msg {
		v, err := call(d.ctx)
		return loadedMsg{func() tea.Cmd {
			if err == nil {
				return then(v)
			}
			if len(d.panels) == 0 {
				d.flash = explain(err)
				return nil
			}
			d.closePanels() // they cover the status line
			d.refused(explain(err))
			return nil
		}}
	}
}
