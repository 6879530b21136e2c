package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

const (
	readMost   = 200  // messages per request
	readKept   = 4000 // messages kept: beyond that the far end is dropped, and reloaded when it is scrolled to
	readAround = 40   // messages loaded on either side of a search hit
)

// reader reads a conversation from end to end: the messages around a place and,
// once the two meet, what the chat itself has shown below them.
type reader struct {
	ctx     context.Context
	backend messageReader
	thread  Thread
	theme   theme.Theme
	scroll  *panel.Scroll

	messages    []api.Message
	tail        []transcript.Item // what the chat has shown, below the messages
	items       []transcript.Item // messages and tail
	top, bottom bool              // nothing more above, or below
	reading     bool
	found       transcript.Item // the item that was searched for
	words       []string        // what it was found by

	folded bool
	render *transcript.Renderer
	drawn  map[piece][]string
}

// piece is everything that the rows of an item depend on.
type piece struct {
	item transcript.Item
	gap  bool
}

func newReader(d *display, b messageReader, t Thread, title string) *reader {
	r := &reader{ctx: d.ctx, backend: b, thread: t, theme: d.theme}
	r.scroll = &panel.Scroll{
		Theme: d.theme,
		Title: title,
		Foot:  "tab folds",
		Len:   func() int { return len(r.items) },
		Rows:  r.rows,
		Keys:  r.keys,
	}
	return r
}

// openTranscript shows the conversation, with folds that open.
func (m *Model) openTranscript() tea.Cmd {
	r := newReader(m.ui, m.backend, m.conv.thread, m.conv.name())
	r.tail, r.bottom, r.top = slices.Clone(m.ui.items), true, !m.link.connected
	r.items = r.tail
	m.ui.push(r.scroll, r.act)
	return nil
}

// around reads what is above a message, and the message with what is below it.
func (r *reader) around(id string) (above, below []api.Message, err error) {
	if above, err = r.backend.Messages(r.ctx, r.thread, Span{Before: id, Limit: readAround}); err != nil {
		return nil, nil, err
	}
	below, err = r.backend.Messages(r.ctx, r.thread, Span{After: lastID(above), Oldest: true, Limit: readAround})
	return above, below, err
}

func (r *reader) act(a panel.Action) tea.Cmd {
	switch a.Kind {
	case panel.Above:
		return r.older()
	case panel.Below:
		return r.newer()
	case panel.First:
		if r.top {
			r.scroll.Show(0)
			return nil
		}
		return r.jump(Span{Oldest: true, Limit: readMost}, func() {
			r.top, r.bottom = true, false
			r.scroll.Show(0)
		})
	case panel.Last:
		if r.bottom {
			r.scroll.End()
			return nil
		}
		return r.jump(Span{Limit: readMost}, func() {
			r.top, r.bottom = false, true
			r.scroll.End()
		})
	case panel.None, panel.Close, panel.Choose, panel.New, panel.Save, panel.Query: // the reader has no use for these
	}
	return nil
}

// read fetches messages outside the loop, one request at a time.
func (r *reader) read(call func() ([]api.Message, error), then func([]api.Message)) tea.Cmd {
	if r.reading {
		return nil
	}
	r.reading, r.scroll.State = true, "reading …"
	return func() tea.Msg {
		page, err := call()
		return loadedMsg{func() tea.Cmd {
			r.reading, r.scroll.State = false, ""
			if err != nil {
				r.scroll.State = explain(err)
				return nil
			}
			then(page)
			return nil
		}}
	}
}

// jump replaces what is shown with another part of the conversation.
func (r *reader) jump(s Span, then func()) tea.Cmd {
	return r.read(func() ([]api.Message, error) { return r.backend.Messages(r.ctx, r.thread, s) }, func(page []api.Message) {
		if len(page) == 0 {
			then()
			return
		}
		r.tail = nil
		r.take(page)
		then()
	})
}

// older loads the next page above.
func (r *reader) older() tea.Cmd {
	if r.top {
		return nil
	}
	first, joined := firstID(r.messages), 0
	var anchors []int // items of the tail that the daemon may know
	if first == "" {
		for i, it := range r.tail {
			if it.ID != "" {
				anchors = append(anchors, i)
			}
		}
	}
	tail := r.tail
	return r.read(func() ([]api.Message, error) {
		if len(anchors) == 0 {
			joined = len(tail)
			return r.backend.Messages(r.ctx, r.thread, Span{Before: first, Limit: readMost})
		}
		var page []api.Message
		err := error(nil)
		for _, joined = range anchors { // some ids from the stream aren't stored records
			page, err = r.backend.Messages(r.ctx, r.thread, Span{Before: tail[joined].ID, Limit: readMost})
			if client.KindOf(err) != api.KindNotFound {
				break
			}
		}
		return page, err
	}, func(page []api.Message) {
		if r.top = len(page) == 0; r.top {
			return
		}
		gone := 0
		if first == "" {
			gone = storedBefore(r.tail, joined)
			r.tail = r.tail[gone:]
		}
		r.scroll.Shift(len(itemsOf(page)) - gone)
		all := slices.Concat(page, r.messages)
		if end := boundary(all, readKept); end < len(all) {
			all, r.tail, r.bottom = all[:end], nil, false
		}
		r.take(all)
	})
}

// storedBefore returns how many items before a known one are already among the
// messages above it, up to the last user message or call. Those items carry no
// ids of their own. Thoughts after them belong to the known message itself.
func storedBefore(items []transcript.Item, known int) int {
	for i := min(known, len(items)) - 1; i >= 0; i-- {
		if k := items[i].Kind; k == transcript.User || k == transcript.Tool {
			return i + 1
		}
	}
	return 0
}

// newer loads the next page below.
func (r *reader) newer() tea.Cmd {
	if r.bottom {
		return nil
	}
	last := lastID(r.messages)
	return r.read(func() ([]api.Message, error) {
		return r.backend.Messages(r.ctx, r.thread, Span{After: last, Oldest: true, Limit: readMost})
	}, func(page []api.Message) {
		if r.bottom = len(page) == 0; r.bottom {
			return
		}
		all := slices.Concat(r.messages, page)
		if over := len(all) - readKept; over > 0 {
			from := boundary(all, over)
			r.scroll.Shift(-len(itemsOf(all[:from])))
			all, r.top = all[from:], false
		}
		r.take(all)
	})
}

// boundary is the first index from n on that doesn't split messages of one
// record.
func boundary(messages []api.Message, n int) int {
	for n > 0 && n < len(messages) && messages[n].ID == messages[n-1].ID {
		n++
	}
	return min(n, len(messages))
}

// take shows messages, with the tail below them.
func (r *reader) take(messages []api.Message) {
	r.messages = messages
	r.items = slices.Concat(itemsOf(messages), r.tail)
}

func firstID(messages []api.Message) string {
	for _, x := range messages {
		if x.ID != "" {
			return x.ID
		}
	}
	return ""
}

func lastID(messages []api.Message) string {
	for _, x := range slices.Backward(messages) {
		if x.ID != "" {
			return x.ID
		}
	}
	return ""
}

func (r *reader) keys(msg tea.KeyPressMsg) (panel.Action, bool) {
	switch msg.String() {
	case "tab":
		r.folded, r.render = !r.folded, nil
		return panel.Action{}, true
	case "ctrl+o":
		return panel.Action{Kind: panel.Close}, true
	}
	return panel.Action{}, false
}

// drawnMost is how many drawn items are cached.
const drawnMost = 2000

// rows draws an item, followed by an empty row where one belongs.
func (r *reader) rows(i, width int) []string {
	if r.render == nil || r.render.Width != width || len(r.drawn) > drawnMost {
		r.render, r.drawn = transcript.NewRenderer(r.theme, width), map[piece][]string{}
	}
	it := r.items[i]
	p := piece{it, i+1 < len(r.items) && (!r.folded || transcript.Gap(it.Kind, r.items[i+1].Kind))}
	if rows, ok := r.drawn[p]; ok {
		return rows
	}
	rows := term.Rows(strings.TrimRight(r.render.Item(it, !r.folded), "\n"), width, 1)
	if it.ID != "" && it == r.found {
		rows = slices.Insert(rows, foundRow(rows, r.words), r.theme.Accent.Render("▸ found:"))
	}
	if p.gap {
		rows = append(rows, "")
	}
	r.drawn[p] = rows
	return rows
}

const (
	foundAbove = 3   // rows shown above those that have the words
	foundReach = 200 // characters within which the words of a search are looked for
)

// foundRow is the row of an item on which the words of a search stand.
func foundRow(rows, words []string) int {
	plain := []rune(ansi.Strip(strings.Join(rows, "\n")))
	return strings.Count(string(plain[:passage(plain, words, foundReach)]), "\n")
}

// showFound scrolls to where the words of a search stand in an item.
func (r *reader) showFound(i, width int) {
	it := r.items[i]
	rows := slices.IndexFunc(r.rows(i, width), func(row string) bool { return it == r.found && strings.Contains(row, "▸ found:") })
	r.scroll.ShowRow(i, max(rows, 0), foundAbove, width)
}
