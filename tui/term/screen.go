package term

import (
	"context"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// CutMark marks where rows of a live region that is too tall were cut.
const CutMark = "⋮"

// wakeups is how many times a second the program's own renderer looks for
// something to draw, at least once. There never is anything, and Output sets up
// the keyboard without waiting for it.
const wakeups = 1

// Screen is the model's side of the terminal: what to print, what to show. Call
// its methods only from Update and View.
type Screen struct {
	out           *Output
	width, height int
	queue         []string // lines to print, in order
	clear         bool     // clear the screen first
	profile       colorprofile.Profile
}

// NewScreen returns a screen of width by height cells that draws on out.
func NewScreen(out *Output, width, height int) *Screen {
	s := &Screen{out: out}
	s.Resize(width, height)
	return s
}

// Run runs a model in the terminal out. The model makes its views with a Screen
// of out.
func Run(ctx context.Context, m tea.Model, in *os.File, out *Output) error {
	_, err := tea.NewProgram(hiddenModel{m}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithFPS(wakeups), tea.WithFilter(Filter)).Run()
	return err
}

// hiddenModel hides a model's views from the program's renderer.
type hiddenModel struct{ tea.Model }

func (h hiddenModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := h.Model.Update(msg)
	return hiddenModel{m}, cmd
}

func (h hiddenModel) View() tea.View {
	h.Model.View()
	return tea.View{}
}

// Size is the screen's width and height in cells.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Resize takes a new size.
func (s *Screen) Resize(width, height int) {
	s.width, s.height = max(width, 1), max(height, 2)
	s.out.sized(s.width, s.height)
}

// Print queues text for the scrollback. It is printed along with the next view
// that isn't a panel. A trailing newline isn't needed.
func (s *Screen) Print(text string) {
	s.queue = append(s.queue, strings.Split(text, "\n")...)
}

// Clear wipes the screen before the next print. The scrollback stays.
func (s *Screen) Clear() { s.queue, s.clear = nil, true }

// Send writes, at once, a sequence that draws nothing.
func (s *Screen) Send(seq string) { s.out.Send(seq) }

// Resume takes the terminal back from another program that has ended.
func (s *Screen) Resume() { s.out.Resume() }

// SetProfile says which colours the terminal has; output is downsampled to
// them.
func (s *Screen) SetProfile(p colorprofile.Profile) { s.profile = p }

// View shows a live region. Rows that don't fit below the screen's top row are
// cut from the region's top.
func (s *Screen) View(content string, cursor *tea.Cursor) tea.View {
	var lines []string
	if len(s.queue) > 0 {
		lines = strings.Split(s.downsample(strings.Join(s.queue, "\n")), "\n")
	}
	v := s.viewOf(content, cursor, false)
	s.out.show(v, lines, s.clear)
	s.queue, s.clear = nil, false
	return v.tea()
}

// Panel shows a panel on the alternate screen. Prints wait until it closes.
func (s *Screen) Panel(content string, cursor *tea.Cursor) tea.View {
	v := s.viewOf(content, cursor, true)
	s.out.show(v, nil, false)
	return v.tea()
}

func (s *Screen) viewOf(content string, cursor *tea.Cursor, panel bool) view {
	v := view{rows: closeStyles(strings.Split(s.downsample(content), "\n")), panel: panel}
	v.row = len(v.rows) - 1
	if cursor != nil {
		v.col, v.row, v.caret = cursor.X, cursor.Y, true
	}
	return v.fit(s.width, s.height)
}

// tea is the view in the form the program expects.
func (v view) tea() tea.View {
	t := tea.NewView(strings.Join(v.rows, "\n"))
	t.AltScreen = v.panel
	if v.caret {
		t.Cursor = tea.NewCursor(v.col, v.row)
	}
	return t
}

// Filter gives the conventional size to a terminal that has none.
func Filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		size.Width, size.Height = SizeOr(size.Width, size.Height)
		return size
	}
	return msg
}

// SizeOr is a terminal's size, or the conventional one if it has none, like a
// pty that was never given a size.
func SizeOr(width, height int) (w, h int) {
	if width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// Clip cuts a row to width cells.
func Clip(row string, width int) string {
	return Truncate(ExpandTabs(row), width, "")
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
