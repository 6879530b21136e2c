package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// trustQuestion is what the folder brings that doesn't count before a person trusts it, asked about when the chat opens and
// when it changes. It waits for the other questions and for the run, and nothing waits for it.
type trustQuestion struct {
	arming

	backend trustBackend
	free    func() bool // whether nothing else has the keys

	items  []api.FolderItem
	later  map[string]string // what the person put off in this chat: hashes, by path
	looks  int               // only what the newest one found counts
	looked time.Time         // when that was
	lasted time.Duration
	seen   bool // the end of the list was on the screen
}

// lookShare is how much of the time is spent on looking through the folder, at most: a twentieth.
const lookShare = 20

// look reads what waits for trust: when the chat opens, and whenever it may have changed, by what the agent did or by the person.
// What changed counts for nothing until then, whoever looks.
func (q *trustQuestion) look() tea.Cmd {
	began := q.now()
	if began.Sub(q.looked) < lookShare*q.lasted {
		return nil
	}
	q.looks++
	newest := q.looks
	return func() tea.Msg {
		found, err := q.backend.Brought(q.ui.ctx)
		return loadedMsg{func() tea.Cmd {
			q.looked, q.lasted = q.now(), q.now().Sub(began)
			if err == nil && newest == q.looks { // else /trust says why, or the person has answered meanwhile
				q.found(found.Items)
			}
			return nil
		}}
	}
}

// found asks about what waits, but for what the person put off, as it was then.
func (q *trustQuestion) found(items []api.FolderItem) {
	items = slices.DeleteFunc(items, func(it api.FolderItem) bool { return !it.Waits() || q.later[it.Path] == it.Hash })
	if q.onTop() || slices.Equal(items, q.items) {
		return
	}
	q.items, q.typing = items, !q.prompt.Empty()
	q.rest()
	q.seen = false
}

// stands reports whether it is being asked.
func (q *trustQuestion) stands() bool { return len(q.items) > 0 && q.free() }

// rows draws what waits in at most room rows.
func (q *trustQuestion) rows(room int) []string {
	if !q.stands() {
		q.since, q.confirm, q.held = time.Time{}, nil, nil
		return nil
	}
	if q.since.IsZero() {
		q.since = q.now()
	}
	room = roomFor(q.ui.height(), room)
	keys := q.keys()
	list := q.list(q.ui.width())
	if over := len(list) - max(room-len(keys), 1); over > 0 {
		list = list[:max(room-len(keys), 1)]
		list[len(list)-1] = q.ui.theme.Dim.Render(fmt.Sprintf("  %s %s", term.CutMark, count(over+1, "more row")))
	} else {
		q.seen = true
	}
	return append(list, keys...)
}

// list names what waits, and what trusting it would mean. Nothing is cut from it.
func (q *trustQuestion) list(width int) []string {
	th := q.ui.theme
	var rows []string
	head := "This folder brings what doesn't count before you trust it:"
	for i, row := range strings.Split(wrapTo(head, width-2), "\n") {
		mark := "  "
		if i == 0 {
			mark = th.Warn.Render("? ")
		}
		rows = append(rows, mark+th.Strong.Render(row))
	}
	for _, it := range q.items {
		path := transcript.OneLine(transcript.Reveal(it.Path))
		text := path + dot + it.Kind + ", " + it.State + dot + counts(it.Kind)
		for i, row := range strings.Split(wrapTo(text, width-4), "\n") {
			if i > 0 {
				row = "  " + row
			}
			rows = append(rows, "  "+row)
		}
	}
	return rows
}

// keys names the keys, on as few rows as the width allows.
func (q *trustQuestion) keys() []string {
	texts := []string{"y trust all of it · n not now · v read it · tab type", "y trust · n not now · v read it", "y n v"}
	switch {
	case q.confirm != nil:
		texts = []string{"enter trusts all of it, as it is · esc goes back", "enter trusts it · esc back", "enter trusts it"}
	case q.typing:
		texts = []string{"tab: answer the question above", "tab answers"}
	case !q.seen:
		texts = []string{"v shows all, then y trusts it · n not now · tab type", "v all, then y · n not now", "v n"}
	}
	for _, text := range texts {
		if term.Width(text) <= q.ui.width() {
			return []string{q.ui.theme.Accent.Render(text)}
		}
	}
	return []string{q.ui.theme.Accent.Render(transcript.Short(texts[len(texts)-1], q.ui.width()))}
}

// pressed notes that a key was pressed, or something pasted, and what was on the screen by then.
func (q *trustQuestion) pressed(name, text string) {
	q.arming.pressed(name, text)
	if q.atEnd() {
		q.seen = true
	}
}

// pasted notes that something was pasted: it goes into the prompt.
func (q *trustQuestion) pasted(text string) {
	q.pressed("", text)
	q.typing = q.typing || q.stands()
}

// key takes a key that answers. Any other one begins a message.
func (q *trustQuestion) key(msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	switch {
	case !q.stands() || q.typing:
		return nil, false
	case msg.String() == "tab":
		q.toggle()
		return nil, true
	}
	return q.press(msg, q.handler(msg.String()))
}

// handler is what a key does at this question; nil: nothing.
func (q *trustQuestion) handler(name string) func() tea.Cmd {
	switch name {
	case "y":
		return q.allow
	case "n":
		return q.putOff
	case "v":
		return q.read
	}
	return nil
}

// allow asks for the Enter that trusts what was listed to its end.
func (q *trustQuestion) allow() tea.Cmd {
	if !q.seen {
		q.ui.flash = "v shows the rest of it; then y trusts it"
		return nil
	}
	q.confirm = &confirmation{text: "y", says: "enter trusts all of it, as it is", do: q.trust}
	return nil
}

// putOff asks no more about what waits, as it is now.
func (q *trustQuestion) putOff() tea.Cmd {
	for _, it := range q.items {
		if q.later == nil {
			q.later = map[string]string{}
		}
		q.later[it.Path] = it.Hash
	}
	q.drop("not trusted now, and asked about when it changes or the chat opens again: " + q.names() + " · /trust")
	return nil
}

func (q *trustQuestion) toggle() { q.typing = !q.typing }

// drop stops asking.
func (q *trustQuestion) drop(why string) {
	q.rest()
	q.looks++
	q.items = nil
	if why != "" {
		q.ui.notice(why)
	}
}

// decided notes that the person has decided about an item elsewhere in the chat.
func (q *trustQuestion) decided(path string) {
	q.items = slices.DeleteFunc(q.items, func(it api.FolderItem) bool { return it.Path == path })
	q.looks++
	q.since, q.seen = time.Time{}, false
}

// names are the paths of what waits, the first of them.
func (q *trustQuestion) names() string {
	const most = 3
	var names []string
	for _, it := range q.items[:min(len(q.items), most)] {
		names = append(names, transcript.OneLine(transcript.Reveal(it.Path)))
	}
	text := strings.Join(names, ", ")
	if n := len(q.items) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// trust says that what was listed counts, as it was then.
func (q *trustQuestion) trust() tea.Cmd {
	items := q.items
	names := q.names()
	q.drop("")
	return func() tea.Msg {
		var err error
		for i := 0; i < len(items) && err == nil; i++ {
			it := &items[i]
			err = q.backend.Decide(q.ui.ctx, api.TrustDecision{Path: it.Path, Hash: it.Hash, Trusted: true})
		}
		return loadedMsg{func() tea.Cmd {
			if err != nil {
				q.ui.flash = explain(err)
				return q.look() // it may have changed since it was listed
			}
			q.ui.notice("trusted, as it is: " + names)
			return nil
		}}
	}
}

// read shows what waits with its texts.
func (q *trustQuestion) read() tea.Cmd {
	items := q.items
	texts := func(ctx context.Context) ([]api.FolderText, error) {
		var out []api.FolderText
		for _, it := range items {
			text, err := q.backend.ItemText(ctx, it.Path)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
		return out, nil
	}
	return load(q.ui, texts, func(all []api.FolderText) tea.Cmd {
		if len(q.items) == 0 || q.onTop() {
			return nil
		}
		q.openPanel("What the folder brings", func(width int) string {
			rows := q.list(width)
			for _, it := range all {
				title := transcript.OneLine(transcript.Reveal(it.Path)) + ", sha256 " + it.Hash[:min(len(it.Hash), 12)]
				rows = append(rows, "", q.ui.theme.Strong.Render(wrapTo(title, width)))
				rows = append(rows, wrapTo(transcript.Reveal(it.Text), width))
			}
			return strings.Join(rows, "\n")
		}, q.panelKeys, q.handler)
		return nil
	})
}

func (q *trustQuestion) panelKeys() string {
	if q.confirm != nil {
		return q.confirm.says
	}
	return "y trust, at its end · n not now"
}
