package tui

import (
	"image/color"
	"testing"

	"loci/daemon/api"
	"loci/tui/theme"

	tea "charm.land/bubbletea/v2"
)

func TestTheHistoryIsDrawnInTheColoursOfTheTerminalsBackground(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer tea.Msg
		want   theme.Kind
	}{
		"light":       {tea.BackgroundColorMsg{Color: color.White}, theme.Light},
		"dark":        {tea.BackgroundColorMsg{Color: color.Black}, theme.Dark},
		"not telling": {groundMsg{}, theme.Dark},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.history = []api.Message{{MessageType: api.MessageUser, ID: "u", Content: api.Text("an earlier question")}}
			r := newRobot(t, f, 80, 24, func(o *Options) { o.NoColor = false })
			r.until("the answer of the daemon", func() bool { return r.m.early != nil || r.m.link.connected })
			if r.m.link.connected || len(r.m.ui.items) > 0 {
				t.Fatalf("shown before the background is known:\n%s", r.said())
			}
			r.feed(c.answer)
			if !r.m.link.connected || len(r.m.ui.items) == 0 || r.m.ui.theme.Kind != c.want {
				t.Errorf("connected %v, theme %d, items:\n%s", r.m.link.connected, r.m.ui.theme.Kind, r.said())
			}
			r.connect()
		})
	}
}
