// Package panel draws what takes over the whole screen for a moment: a list to
// choose from, a text to read, a text to edit, a search. Panels are plain
// structs that take keys and answer with an Action; the caller decides what an
// action does. At every size a panel fits or scrolls, and Escape closes it
// without losing text: it asks about unsaved changes first.
package panel

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// Kind says what a key asks for.
type Kind int

// The kinds of actions.
const (
	None   Kind = iota
	Close       // leave the panel
	Choose      // Action.Index was chosen
	New         // make something new
	Save        // save Action.Text
	Query       // search for Action.Text
	Above       // load what is above, soon to be scrolled to
	Below       // load what is below, soon to be scrolled to
	First       // go to the beginning
	Last        // go to the end
)

// Action is what a key asks for.
type Action struct {
	Kind  Kind
	Index int
	Text  string
}

// Panel is a full screen that takes keys.
type Panel interface {
	Key(msg tea.KeyPressMsg) Action
	Paste(text string)
	View(width, height int) (string, *tea.Cursor)
}

// frameRows is how many rows a panel needs besides its own: head, filter and
// foot, with an empty row above the foot if there is room.
func frameRows(height int) int {
	if height >= 10 {
		return 4
	}
	return 3
}

// frame puts the foot on the last row.
func frame(body []string, foot string, width, height int) string {
	body = body[:min(len(body), max(height-1, 1))]
	for i, row := range body {
		body[i] = transcript.Short(row, width)
	}
	for len(body) < height-1 {
		body = append(body, "")
	}
	if height > 1 {
		body = append(body, transcript.Short(foot, width))
	}
	return strings.Join(body, "\n")
}

// footRoom is how many cells the usual keys of a Text take.
const footRoom = 27

// Text is a text to read. Draw returns its lines for a width.
type Text struct {
	Theme theme.Theme
	Title string
	Draw  func(width int) string
	Foot  string // keys besides the usual ones
	End   bool   // start at the end
	Keys  func(msg tea.KeyPressMsg) (Action, bool)

	top, rows, room int
	seen            bool
}

// Key handles a key.
func (t *Text) Key(msg tea.KeyPressMsg) Action {
	if t.Keys != nil {
		if a, ok := t.Keys(msg); ok {
			return a
		}
	}
	switch msg.String() {
	case "esc", "q", "enter", "ctrl+c":
		return Action{Kind: Close}
	case "up", "k":
		t.top--
	case "down", "j":
		t.top++
	case "pgup", "b":
		t.top -= max(t.room-1, 1)
	case "pgdown", "space":
		t.top += max(t.room-1, 1)
	case "home", "g":
		t.top = 0
	case "end", "G":
		t.top = t.rows
	}
	t.top = max(0, min(t.top, t.rows-t.room))
	return Action{}
}

// AtEnd reports whether the end of the text was on the screen when it was drawn
// last.
func (t *Text) AtEnd() bool { return t.seen && t.top+t.room >= t.rows }

// Paste does nothing: there is nothing to edit.
func (t *Text) Paste(string) {}

// View draws the visible part.
func (t *Text) View(width, height int) (string, *tea.Cursor) {
	lines := term.Rows(t.Draw(width), width, 1)
	var above []string
	foot := "esc"
	t.rows, t.room = len(lines), max(1, height-2)
	if height >= 10 && term.Width(t.Foot)+footRoom > width && t.Foot != "" { // its keys get rows of their own
		above = strings.Split(term.Wrap(t.Foot, width), "\n")
		above = above[:min(len(above), 2)]
		t.room -= len(above)
	}
	if t.End && !t.seen {
		t.top = t.rows
	}
	t.seen = true
	t.top = max(0, min(t.top, t.rows-t.room))
	if t.rows > t.room {
		foot = fmt.Sprintf("↑↓ pgup pgdn · esc · %d%%", 100*min(t.top+t.room, t.rows)/t.rows)
	}
	if t.Foot != "" && above == nil {
		foot = t.Foot + " · " + foot
	}
	body := append([]string{t.Theme.Strong.Render(t.Title)}, lines[t.top:min(t.top+t.room, t.rows)]...)
	for above != nil && len(body) < height-1-len(above) {
		body = append(body, "")
	}
	for _, row := range above {
		body = append(body, t.Theme.Dim.Render(row))
	}
	return frame(body, t.Theme.Dim.Render(foot), width, height), nil
}

// Edit is a text to change.
type Edit struct {
	Title string
	Note  string // under the title
	Limit int    // characters; 0: none

	theme   theme.Theme
	area    textarea.Model
	before  string
	single  bool
	asked   bool
	problem string
}

// NewEdit edits text. If single is set, the text is one line and Enter saves
// it.
func NewEdit(th theme.Theme, title, text string, single bool) *Edit {
	a := textarea.New()
	a.ShowLineNumbers = false
	a.SetVirtualCursor(false)
	a.MaxHeight, a.MaxWidth, a.MaxContentHeight = 0, 0, 100_000
	a.Prompt = ""
	a.KeyMap.Paste, a.KeyMap.CopySelection = key.NewBinding(), key.NewBinding()
	s := a.Styles()
	s.Focused = textarea.StyleState{Text: th.Plain, CursorLine: th.Plain, Prompt: th.Accent, Selection: th.Strong.Reverse(true)}
	s.Blurred = s.Focused
	a.SetStyles(s)
	a.SetValue(transcript.Clean(text))
	a.Focus()
	return &Edit{theme: th, Title: title, area: a, before: a.Value(), single: single}
}

// Refuse says why the text wasn't saved. The text stays as it is.
func (e *Edit) Refuse(why string) { e.problem = why }

// Value is the current text.
func (e *Edit) Value() string { return e.area.Value() }

// SetValue replaces the text. The original still decides what counts as unsaved.
func (e *Edit) SetValue(text string) {
	e.area.SetValue(transcript.Clean(text))
	e.asked = false
}

// Key handles a key.
func (e *Edit) Key(msg tea.KeyPressMsg) Action {
	switch msg.String() {
	case "esc", "ctrl+c":
		if e.area.Value() == e.before || e.asked {
			return Action{Kind: Close}
		}
		e.asked = true
		return Action{}
	case "ctrl+s":
		return e.save()
	case "enter":
		if e.single {
			return e.save()
		}
	}
	e.asked = false
	e.area, _ = e.area.Update(msg) // the command only blinks a virtual cursor, which we don't use
	return Action{}
}

func (e *Edit) save() Action {
	if e.Limit > 0 && len([]rune(e.area.Value())) > e.Limit {
		e.problem = fmt.Sprintf("too long: %d of %d characters", len([]rune(e.area.Value())), e.Limit)
		return Action{}
	}
	e.problem, e.asked = "", false
	return Action{Kind: Save, Text: e.area.Value()}
}

// Paste inserts text.
func (e *Edit) Paste(text string) {
	text = transcript.Clean(text)
	if e.single {
		text = transcript.OneLine(text)
	}
	e.area.InsertString(text)
	e.asked = false
}

// View draws the title, the text and the available keys.
func (e *Edit) View(width, height int) (string, *tea.Cursor) {
	th := e.theme
	head := []string{th.Strong.Render(e.Title)}
	if e.Note != "" && height >= 8 {
		head = append(head, th.Dim.Render(e.Note), "")
	}
	foot := th.Dim.Render("ctrl+s saves · esc")
	if e.single {
		foot = th.Dim.Render("enter saves · esc")
	}
	if e.Limit > 0 {
		foot += th.Dim.Render(fmt.Sprintf(" · %d/%d", len([]rune(e.area.Value())), e.Limit))
	}
	var why []string
	switch {
	case e.asked:
		foot = th.Warn.Render("not saved: ctrl+s saves, esc again discards")
	case e.problem != "":
		why, foot = e.refusal(width, height-len(head)-1)
	}
	e.area.SetWidth(max(width, 4))
	e.area.SetHeight(max(1, height-len(head)-len(why)-1))
	body := head
	for row := range strings.SplitSeq(e.area.View(), "\n") {
		body = append(body, term.TrimRight(row))
	}
	body = append(body, why...)
	cursor := e.area.Cursor()
	if cursor != nil {
		cursor.Y += len(head)
		cursor.X = min(cursor.X, max(width-1, 0))
	}
	return frame(body, foot, width, height), cursor
}

// refusal is why the text wasn't saved: the last row of it, and those above,
// which leave the text at least half of the room.
func (e *Edit) refusal(width, room int) (above []string, last string) {
	rows := strings.Split(term.Wrap(e.problem, max(width, 1)), "\n")
	if most := max(1, room/2); len(rows) > most {
		rows[most-1] = strings.Join(rows[most-1:], " ") // cut by the frame
		rows = rows[:most]
	}
	for i, row := range rows {
		rows[i] = e.theme.Bad.Render(row)
	}
	return rows[:len(rows)-1], rows[len(rows)-1]
}

// Search is a query and its results. Enter searches or, once there are results,
// opens the selected one.
type Search struct {
	Theme   theme.Theme
	Title   string
	Results []Entry
	Busy    bool
	Problem string
	Note    string // shown above the results
	Hint    string // shown before the first search

	query, done string
	at          int
}

// Found sets the results of a query along with a note or problem. Results of an
// outdated query are dropped, and Found returns false.
func (s *Search) Found(query string, results []Entry, note, problem string) bool {
	if query != s.done {
		return false
	}
	s.Results, s.Note, s.Problem, s.Busy, s.at = results, note, problem, false, 0
	return true
}

// Ask starts with a query already entered.
func (s *Search) Ask(query string) Action {
	s.query, s.done, s.Busy = query, query, true
	return Action{Kind: Query, Text: query}
}

// Key handles a key.
func (s *Search) Key(msg tea.KeyPressMsg) Action {
	switch msg.String() {
	case "esc", "ctrl+c":
		return Action{Kind: Close}
	case "enter":
		if strings.TrimSpace(s.query) == "" {
			return Action{}
		}
		if s.query != s.done {
			return s.Ask(s.query)
		}
		if s.at < len(s.Results) {
			return Action{Kind: Choose, Index: s.at}
		}
	case "up", "ctrl+p":
		s.at = max(s.at-1, 0)
	case "down", "ctrl+n":
		s.at = max(min(s.at+1, len(s.Results)-1), 0)
	case "backspace":
		if r := []rune(s.query); len(r) > 0 {
			s.query = string(r[:len(r)-1])
		}
	default:
		s.query += msg.Text
	}
	return Action{}
}

// Paste appends to the query.
func (s *Search) Paste(text string) { s.query += transcript.OneLine(text) }

// View draws the query and the results.
func (s *Search) View(width, height int) (string, *tea.Cursor) {
	th := s.Theme
	body := []string{th.Strong.Render(s.Title), th.Accent.Render(transcript.Mark) + " " + s.query}
	switch {
	case s.Busy:
		body = append(body, th.Dim.Render("  searching…"))
	case s.Problem != "":
		body = append(body, "  "+th.Bad.Render(s.Problem))
	case s.Note != "" && s.done != "":
		body = append(body, "  "+th.Dim.Render(transcript.Short(s.Note, max(width-2, 1))))
	case s.done != "" && len(s.Results) == 0:
		body = append(body, th.Dim.Render("  nothing found"))
	case s.done == "" && s.Hint != "":
		body = append(body, "  "+th.Dim.Render(transcript.Short(s.Hint, max(width-2, 1))))
	}
	list := List{Theme: th}
	room := max(1, height-frameRows(height)-(len(body)-2))
	first := max(0, min(s.at-room/2, len(s.Results)-room))
	for i := first; i < min(first+room, len(s.Results)); i++ {
		body = append(body, list.row(s.Results[i], i == s.at, width))
	}
	x := min(2+term.Width(s.query), max(width-1, 0))
	return frame(body, th.Dim.Render("enter searches, then opens · ↑↓ · esc"), width, height), tea.NewCursor(x, 1)
}
