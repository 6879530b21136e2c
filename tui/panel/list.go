package panel

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// Entry is one row of a List. Where the row is too short for it, all of it is
// shown at the bottom while it is marked.
type Entry struct {
	Title, Note string
	Whole       string // what to show there; empty: title and note
	Current     bool
}

// List is a list to choose from. Typing filters it.
type List struct {
	Theme   theme.Theme
	Title   string
	Entries []Entry
	Empty   string // shown when there are none
	NewKey  string // what ctrl+n creates; empty: nothing

	filter string
	at     int // position in the filtered list
}

// Select moves the bar to an entry.
func (l *List) Select(index int) { l.at = max(0, min(index, len(l.Entries)-1)) }

func (l *List) shown() []int {
	var out []int
	want := strings.ToLower(l.filter)
	for i, e := range l.Entries {
		if strings.Contains(strings.ToLower(e.Title+" "+e.Note), want) {
			out = append(out, i)
		}
	}
	return out
}

// Key handles a key.
func (l *List) Key(msg tea.KeyPressMsg) Action {
	shown := l.shown()
	switch msg.String() {
	case "esc", "ctrl+c":
		return Action{Kind: Close}
	case "enter":
		if l.at < len(shown) {
			return Action{Kind: Choose, Index: shown[l.at]}
		}
	case "ctrl+n":
		if l.NewKey != "" {
			return Action{Kind: New, Text: l.filter}
		}
		l.move(1, len(shown))
	case "down", "tab":
		l.move(1, len(shown))
	case "up", "ctrl+p", "shift+tab":
		l.move(-1, len(shown))
	case "pgdown":
		l.at = min(l.at+10, max(len(shown)-1, 0))
	case "pgup":
		l.at = max(l.at-10, 0)
	case "home":
		l.at = 0
	case "end":
		l.at = max(len(shown)-1, 0)
	case "backspace":
		if r := []rune(l.filter); len(r) > 0 {
			l.filter, l.at = string(r[:len(r)-1]), 0
		}
	default:
		if msg.Text != "" {
			l.filter, l.at = l.filter+msg.Text, 0
		}
	}
	return Action{}
}

func (l *List) move(by, n int) {
	if n > 0 {
		l.at = (l.at + by + n) % n
	}
}

// Paste filters by a pasted text.
func (l *List) Paste(text string) { l.filter, l.at = l.filter+transcript.OneLine(text), 0 }

// View draws the list.
func (l *List) View(width, height int) (string, *tea.Cursor) {
	th := l.Theme
	head := th.Strong.Render(l.Title)
	filter := th.Accent.Render(transcript.Mark) + " " + l.filter
	if l.filter == "" {
		filter += th.Dim.Render("type to filter")
	}
	foot := "↑↓ · enter · esc"
	if l.NewKey != "" {
		foot += " · ctrl+n " + l.NewKey
	}
	shown := l.shown()
	var whole []string
	if l.at < len(shown) {
		whole = l.whole(l.Entries[shown[l.at]], width, height)
	}
	room := max(1, height-frameRows(height)-len(whole))
	first := max(0, min(l.at-room/2, len(shown)-room))
	var rows []string
	for n := first; n < min(first+room, len(shown)); n++ {
		rows = append(rows, l.row(l.Entries[shown[n]], n == l.at, width))
	}
	if len(shown) == 0 {
		empty := l.Empty
		if l.filter != "" {
			empty = "nothing matches"
		}
		rows = append(rows, "  "+th.Dim.Render(empty))
	}
	more := ""
	if len(shown) > room {
		more = fmt.Sprintf(" · %d of %d", l.at+1, len(shown))
	}
	body := append([]string{head, filter}, rows...)
	for len(whole) > 0 && len(body) < height-1-len(whole) {
		body = append(body, "")
	}
	body = append(body, whole...)
	x := min(2+term.Width(l.filter), max(width-1, 0))
	return frame(body, th.Dim.Render(foot+more), width, height), tea.NewCursor(x, 1)
}

// wholeRows bounds what is shown of an entry below the list.
const wholeRows = 4

// whole is all of an entry whose row is cut, if the screen has room for it.
func (l *List) whole(e Entry, width, height int) []string {
	text := e.Title
	if e.Note != "" {
		text += "   " + e.Note
	}
	if e.Whole != "" {
		text = e.Whole
	}
	if height < 10 || term.Width(text)+4 <= width {
		return nil
	}
	rows := strings.Split(term.Wrap(text, max(width-2, 1)), "\n")
	if len(rows) > wholeRows {
		rows = rows[:wholeRows]
		rows[wholeRows-1] = transcript.Short(rows[wholeRows-1], width-3) + "…"
	}
	for i, row := range rows {
		rows[i] = "  " + l.Theme.Dim.Render(row)
	}
	return rows
}

func (l *List) row(e Entry, at bool, width int) string {
	th := l.Theme
	mark, title := "  ", e.Title
	if note := term.Width(e.Note); width >= 40 && note > 0 && note <= width/4 { // keep a short note rather than the end of a title
		title = transcript.Short(title, max(width-note-7, 1))
	}
	if at {
		mark, title = th.Accent.Render("▸ "), th.Accent.Render(title)
	}
	if e.Current {
		title += th.Good.Render(" ●")
	}
	row := mark + title
	if e.Note != "" {
		if room := width - term.Width(row) - 3; room > 8 {
			row += "   " + th.Dim.Render(transcript.Short(e.Note, room))
		}
	}
	return transcript.Short(row, width)
}
