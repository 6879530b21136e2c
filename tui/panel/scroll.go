package panel

import (
	tea "charm.land/bubbletea/v2"

	"loci/tui/theme"
	"loci/tui/transcript"
)

// near is how close to either end a Scroll gets before it asks for more.
const near = 3

// Scroll is a long text in pieces that are drawn only when they come into view,
// so its length costs nothing. The caller may add pieces at either end: Above
// and Below ask for them, and First and Last ask for the two ends.
type Scroll struct {
	Theme theme.Theme
	Title string
	State string // what is going on or went wrong; comes first in the foot
	Foot  string // keys besides the usual ones
	Len   func() int
	Rows  func(i, width int) []string // of piece i
	Keys  func(msg tea.KeyPressMsg) (Action, bool)

	at, row     int // the top of the screen: a row of a piece
	width, room int
	placed      bool // at and row were set; otherwise the end is shown
}

// Show puts piece i at the top.
func (s *Scroll) Show(i int) { s.at, s.row, s.placed = i, 0, true }

// ShowRow puts a row of piece i near the top, below some of the rows before it.
func (s *Scroll) ShowRow(i, row, above, width int) {
	s.at, s.row, s.width, s.placed = i, row, width, true
	s.up(above)
}

// End shows the last pieces.
func (s *Scroll) End() { s.placed = false }

// Shift says that existing pieces have moved down by n because others were
// added before them.
func (s *Scroll) Shift(n int) { s.at += n }

// Key handles a key.
func (s *Scroll) Key(msg tea.KeyPressMsg) Action {
	if s.Keys != nil {
		if a, ok := s.Keys(msg); ok {
			return a
		}
	}
	switch msg.String() {
	case "esc", "q", "enter", "ctrl+c":
		return Action{Kind: Close}
	case "up", "k":
		return s.move(-1)
	case "down", "j":
		return s.move(1)
	case "pgup", "b":
		return s.move(-max(s.room-1, 1))
	case "pgdown", "space":
		return s.move(max(s.room-1, 1))
	case "home", "g":
		return Action{Kind: First}
	case "end", "G":
		return Action{Kind: Last}
	}
	return Action{}
}

// move scrolls by rows, and asks for more when it gets near an end.
func (s *Scroll) move(by int) Action {
	s.settle()
	s.placed = true
	if by < 0 {
		s.up(-by)
		if s.at < near {
			return Action{Kind: Above}
		}
		return Action{}
	}
	s.down(by)
	s.settle()
	if s.below(near+s.room) < near+s.room {
		return Action{Kind: Below}
	}
	return Action{}
}

func (s *Scroll) height(i int) int { return len(s.Rows(i, max(s.width, 1))) }

func (s *Scroll) up(n int) {
	for s.row -= n; s.row < 0 && s.at > 0; {
		s.at--
		s.row += s.height(s.at)
	}
	s.row = max(s.row, 0)
}

func (s *Scroll) down(n int) {
	for s.row += n; s.at < s.Len()-1; s.at++ {
		rows := s.height(s.at)
		if s.row < rows {
			return
		}
		s.row -= rows
	}
}

// below counts the rows from the top of the screen down, stopping at most.
func (s *Scroll) below(most int) int {
	rows := -s.row
	for i := s.at; i < s.Len() && rows < most; i++ {
		rows += s.height(i)
	}
	return min(rows, most)
}

// settle moves the top within range, so that no row stays empty that could be
// filled.
func (s *Scroll) settle() {
	n := s.Len()
	if !s.placed || s.at >= n {
		s.at, s.row = n, 0
	}
	if s.at < 0 {
		s.at, s.row = 0, 0
	}
	if s.at < n {
		s.row = min(s.row, max(s.height(s.at)-1, 0))
	}
	if rows := s.below(s.room); rows < s.room {
		s.up(s.room - rows)
	}
}

// Paste does nothing: there is nothing to edit.
func (s *Scroll) Paste(string) {}

// View draws the visible part.
func (s *Scroll) View(width, height int) (string, *tea.Cursor) {
	s.width, s.room = width, max(1, height-2)
	s.settle()
	body := []string{s.Theme.Strong.Render(s.Title)}
	skip := s.row
	for i := s.at; i < s.Len() && len(body) <= s.room; i++ {
		rows := s.Rows(i, width)
		body = append(body, rows[min(skip, len(rows)):]...)
		skip = 0
	}
	foot := "esc · ↑↓ pgup pgdn · g first · G last"
	if s.Foot != "" {
		foot += " · " + s.Foot
	}
	foot = s.Theme.Dim.Render(foot)
	if s.State != "" {
		foot = s.Theme.Warn.Render(transcript.OneLine(s.State)) + s.Theme.Dim.Render(" · ") + foot
	}
	return frame(body[:min(len(body), s.room+1)], foot, width, height), nil
}
