package term

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// homeMark is a print that prints nothing: it moves the cursor to the top of the
// live region. Terminals ignore it; Output never lets it through.
const homeMark = "\x1b_home\x1b\\"

// CutMark stands where rows of a live region that is too tall were cut.
const CutMark = "⋮"

// Screen is the model's side of the terminal: what to print, what to show. Its
// methods are called from Update and View only. Every Update ends with Pump.
type Screen struct {
	out           *Output
	width, height int
	queue         []string // lines to print, in order
	flying        bool     // pieces are on their way to the renderer
	tallest       int      // rows of the tallest of them
	waiting       bool     // a command waits for the terminal to be ready
	watch         bool     // the command that waits for a nudge is to be started
	wanted        bool     // a panel is open
	panel         bool     // the view handed over last is a panel
	wipe          bool     // clear the screen before the next print
	resized       bool     // the frame after a resize has not been seen
	profile       colorprofile.Profile

	// The renderer loses the top of a region that becomes shorter than the row
	// its cursor is in. So a view is padded to floor, and a home or a print, both
	// of which leave the cursor at the top, lowers floor to the carets of the
	// views handed over since that set out.
	floor         int
	carets        int
	low           bool          // the view handed over last was padded
	nudged        bool          // a message that a view asked for is on its way
	leaving, left bool          // Leave was called; something set out after that
	nudges        chan struct{} // wakes Watch; has room for one
	nonce         bool          // makes the frame after a print differ from the one before
}

type (
	landedMsg struct{} // the pieces on their way have been inserted
	readyMsg  struct{} // the terminal may be ready now
	nudgeMsg  struct{} // a view wants to be followed by another
)

// NewScreen returns the screen of out, width by height cells.
func NewScreen(out *Output, width, height int) *Screen {
	out.sized(width)
	return &Screen{out: out, width: max(width, 1), height: max(height, 2), nudges: make(chan struct{}, 1), watch: true}
}

// Size is the screen's width and height in cells.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Resize takes a new size. Prints wait until a frame of that size is out.
func (s *Screen) Resize(width, height int) {
	if s.width == width && s.height == height {
		return
	}
	s.width, s.height = max(width, 1), max(height, 2)
	if ready, _ := s.out.Ready(); ready {
		s.resized = true
		s.out.Await()
	}
	s.nonce = !s.nonce
}

// Print queues text for the scrollback. Lines wider than the screen are cut to
// it; a trailing newline is not needed.
func (s *Screen) Print(text string) {
	s.queue = append(s.queue, strings.Split(text, "\n")...)
}

// Clear wipes the screen before what is printed next. The scrollback stays.
func (s *Screen) Clear() { s.wipe = true }

// SetProfile says which colours the terminal has; what is printed is brought
// down to them. Frames are by the renderer.
func (s *Screen) SetProfile(p colorprofile.Profile) { s.profile = p }

// Idle reports whether everything printed has reached the terminal.
func (s *Screen) Idle() bool {
	return !s.flying && !s.waiting && !s.panel && !s.low && !s.goes() && s.empty()
}

func (s *Screen) empty() bool { return len(s.queue) == 0 && !s.wipe }

// Leave makes sure that the next view that is empty leaves nothing of the live
// region behind. When the screen is idle after that, the program can end.
func (s *Screen) Leave() { s.leaving, s.wanted = true, false }

// goes reports that the cursor has still to be brought to the top for leaving.
func (s *Screen) goes() bool { return s.leaving && !s.left }

// Update takes the screen's own messages and reports whether msg was one.
func (s *Screen) Update(msg tea.Msg) bool {
	switch msg.(type) {
	case landedMsg:
		s.flying = false
		s.nonce = !s.nonce
		s.floor, s.low = s.carets, false // the next view knows
	case readyMsg:
		s.waiting = false
	case nudgeMsg:
		s.watch, s.nudged = true, false
	default:
		return false
	}
	return true
}

// Pump sends on what can be printed now. It is cheap when there is nothing.
func (s *Screen) Pump() tea.Cmd {
	if !s.watch {
		return s.pump()
	}
	s.watch = false
	return tea.Batch(s.pump(), s.waitNudge)
}

// waitNudge waits until a view asks for a message, or for the end.
func (s *Screen) waitNudge() tea.Msg {
	select {
	case <-s.nudges:
	case <-s.out.Done():
	}
	return nudgeMsg{}
}

func (s *Screen) pump() tea.Cmd {
	if s.flying || s.waiting || s.wanted || s.panel || (s.empty() && !s.low && !s.goes()) {
		return nil
	}
	s.nudged = false
	ready, changed := s.out.Ready()
	if !ready {
		return s.await(changed)
	}
	s.resized, s.flying, s.left = false, true, s.leaving
	s.carets = 0
	if s.wipe {
		s.wipe = false
		s.out.Wipe()
		return tea.Sequence(tea.ClearScreen, landed)
	}
	pieces := []string{homeMark}
	s.tallest = 0
	if len(s.queue) > 0 {
		pieces = s.pieces()
	}
	s.out.Expect(len(pieces))
	cmds := make([]tea.Cmd, 0, len(pieces)+1)
	for _, p := range pieces {
		cmds = append(cmds, tea.Println(p))
	}
	return tea.Sequence(append(cmds, landed)...)
}

// View makes the program's view of a live region. Rows that do not fit under
// the top row of the screen are cut from its top. A region that becomes shorter
// keeps its height for a moment, with empty rows below.
func (s *Screen) View(content string, cursor *tea.Cursor) tea.View {
	rows := strings.Split(content, "\n")
	most := s.height - 1
	if s.flying { // the pieces were cut to fit above the region as it was
		most = max(min(most, s.height-s.tallest), 1)
	}
	if over := len(rows) - most; over > 0 {
		rows = rows[over:]
		if len(rows) > 2 {
			rows[0] = CutMark
		}
		if cursor != nil {
			c := *cursor
			c.Y = max(c.Y-over, 0)
			cursor = &c
		}
	}
	for i, r := range rows {
		rows[i] = Clip(r, s.width)
	}
	caret := len(rows)
	if cursor != nil {
		caret = min(cursor.Y+1, caret)
	}
	s.carets = max(s.carets, caret)
	s.low = len(rows) < min(s.floor, s.height-1)
	for s.low && len(rows) < min(s.floor, s.height-1) {
		rows = append(rows, "")
	}
	if (s.low || s.panel) && !s.flying && !s.waiting && !s.nudged {
		s.nudge() // to shorten it, or to print what waited for the panel's end
	}
	s.panel = false
	s.floor = max(s.floor, len(rows))
	s.out.note(len(rows), shapeOf(rows, cursor))
	text := strings.Join(rows, "\n")
	if s.nonce && text != "" {
		text += ansi.ResetStyle // draws nothing, but is another view
	}
	v := tea.NewView(text)
	v.Cursor = cursor
	return v
}

func shapeOf(rows []string, cursor *tea.Cursor) shape {
	sh := shape{col: -1, row: len(rows) - 1}
	for _, r := range rows {
		sh.widths = append(sh.widths, Width(r))
	}
	if cursor != nil {
		sh.col, sh.row = cursor.X, cursor.Y
	}
	return sh
}

// Filter is given to the program, so that out hears of a size before the
// renderer does.
func Filter(out *Output) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if size, ok := msg.(tea.WindowSizeMsg); ok {
			size.Width, size.Height = SizeOr(size.Width, size.Height)
			out.Resized(size.Width)
			return size
		}
		return msg
	}
}

// SizeOr is a terminal's size, or the customary one where it has none, as a pty
// that nobody gave a size.
func SizeOr(width, height int) (w, h int) {
	if width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

func (s *Screen) nudge() {
	s.nudged = true
	select {
	case s.nudges <- struct{}{}:
	default:
	}
}

// Open and Shut say that a panel is shown from the next view on, or no more.
func (s *Screen) Open() { s.wanted = true }

// Shut ends what Open began.
func (s *Screen) Shut() { s.wanted = false }

// Panel makes the program's view of a panel on the alternate screen. It reports
// false while a print is on its way: then the live region must be shown.
func (s *Screen) Panel(content string, cursor *tea.Cursor) (tea.View, bool) {
	if s.flying {
		return tea.View{}, false
	}
	s.panel = true
	rows := strings.Split(content, "\n")
	rows = rows[:min(len(rows), s.height)]
	for i, r := range rows {
		rows[i] = Clip(r, s.width)
	}
	v := tea.NewView(strings.Join(rows, "\n"))
	v.AltScreen = true
	v.Cursor = cursor
	return v, true
}

// Clip cuts a row to width cells.
func Clip(row string, width int) string {
	row = ExpandTabs(row)
	if Width(row) <= width {
		return row
	}
	row = ansi.Truncate(row, width, "")
	if Width(row) > width {
		row = ansi.TruncateWc(row, width, "")
	}
	return row
}

func (s *Screen) pieces() []string {
	limit := max(s.height-s.out.LiveRows(), 1)
	lines := Rows(s.downsample(strings.Join(s.queue, "\n")), s.width, limit)
	s.queue = nil
	var (
		pieces []string
		piece  []string
		used   int
	)
	for _, line := range lines {
		h := Height(line, s.width)
		if used+h > limit && len(piece) > 0 {
			pieces = append(pieces, strings.Join(piece, "\n"))
			piece, used = nil, 0
		}
		piece, used = append(piece, line), used+h
		s.tallest = max(s.tallest, used)
	}
	pieces = append(pieces, strings.Join(piece, "\n"))
	for i, p := range pieces {
		if p == "" {
			pieces[i] = ansi.ResetStyle // the renderer drops an empty print
		}
	}
	return pieces
}

func (s *Screen) await(changed <-chan struct{}) tea.Cmd {
	s.waiting = true
	if !s.resized {
		return func() tea.Msg { <-changed; return readyMsg{} }
	}
	out := s.out
	return func() tea.Msg {
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-changed:
		case <-t.C:
			out.Settle() // nothing was left to draw at the new size
		}
		return readyMsg{}
	}
}

func (s *Screen) downsample(text string) string {
	if s.profile == colorprofile.Unknown || s.profile >= colorprofile.ANSI256 {
		return text // themes use no finer colours
	}
	var b strings.Builder
	w := colorprofile.Writer{Forward: &b, Profile: s.profile}
	if _, err := w.WriteString(text); err != nil {
		return ansi.Strip(text)
	}
	return b.String()
}

func landed() tea.Msg { return landedMsg{} }
