package term

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// written is an Output on a file, and a function that returns what was written.
func written(t *testing.T) (*Output, func() string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return NewOutput(f), func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatal(n, err)
	}
}

func TestAFrameBeforeItsPrintWaitsForTheFrameAfterIt(t *testing.T) {
	t.Parallel()
	o, got := written(t)
	o.note(3, shape{})
	write(t, o, "first")
	o.Expect(2)
	write(t, o, syncBegin+"early"+syncEnd)
	_, _ = io.WriteString(o, "one")
	write(t, o, "middle")
	_, _ = io.WriteString(o, "two")
	if s := got(); s != "first" {
		t.Fatalf("written too early: %q", s)
	}
	write(t, o, syncBegin+"last"+syncEnd)
	write(t, o, "next")
	want := "first" + syncBegin + "earlyonemiddletwolast" + syncEnd + "next"
	if diff := cmp.Diff(want, got()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestAPrintWithoutAFrameIsReleasedByTheNet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, got := written(t)
		o.Expect(2)
		_, _ = io.WriteString(o, "print")
		time.Sleep(patience - 1) //nolint:forbidigo // the bubble's own clock
		synctest.Wait()
		if s := got(); s != "" {
			t.Errorf("released early: %q", s)
		}
		time.Sleep(time.Nanosecond) //nolint:forbidigo // the same
		synctest.Wait()
		if s := got(); s != syncBegin+"print"+syncEnd {
			t.Errorf("got %q", s)
		}
		write(t, o, "frame")
		if s := got(); !strings.HasSuffix(s, syncEnd+"frame") {
			t.Errorf("the net did not reset the count: %q", s)
		}
	})
}

func TestQueriesOfTheProgramAreNoFrames(t *testing.T) {
	t.Parallel()
	o, got := written(t)
	o.note(3, shape{})
	write(t, o, "\x1b[?2026$p\x1b[?2027$p")
	if ready, _ := o.Ready(); ready {
		t.Error("ready after a query")
	}
	_, _ = io.WriteString(o, "print")
	write(t, o, "\x1b]52;c;QQ==\x07")
	if s := got(); strings.Contains(s, "print") {
		t.Errorf("a query released the print: %q", s)
	}
	write(t, o, "frame")
	if s := got(); !strings.HasSuffix(s, syncBegin+"print\x1b]52;c;QQ==\x07frame"+syncEnd) {
		t.Errorf("got %q", s)
	}
}

func TestTheTallestViewThatMayBeDrawnCounts(t *testing.T) {
	t.Parallel()
	o, _ := written(t)
	o.note(9, shape{})
	write(t, o, "frame")
	o.note(4, shape{})
	if got := o.LiveRows(); got != 9 {
		t.Errorf("LiveRows = %d before the smaller view was drawn", got)
	}
	write(t, o, "frame")
	write(t, o, "frame")
	if got := o.LiveRows(); got != 4 {
		t.Errorf("LiveRows = %d after it was drawn twice", got)
	}
}

func TestAFrameThatChangesLittleAboveItsLastRowsWrapsNowhere(t *testing.T) {
	t.Parallel()
	const off, on = ansi.ResetModeAutoWrap, ansi.SetModeAutoWrap
	drawn := shape{widths: []int{70, 2, 45}, col: 2, row: 1}
	for name, c := range map[string]struct {
		view shape
		want string
	}{
		"a longer status":             {shape{widths: []int{70, 2, 48}, col: 2, row: 1}, off + "frame" + on + "\x1b[3G"},
		"and a few letters more":      {shape{widths: []int{70, 9, 48}, col: 9, row: 1}, off + "frame" + on},
		"the caret elsewhere":         {shape{widths: []int{70, 2, 45}, col: 1, row: 1}, off + "frame" + on},
		"a row above that grows":      {shape{widths: []int{78, 2, 45}, col: 2, row: 1}, "frame"},
		"many letters more":           {shape{widths: []int{70, 50, 45}, col: 50, row: 1}, "frame"},
		"the caret in another row":    {shape{widths: []int{70, 2, 45}, col: 2, row: 2}, "frame"},
		"no caret":                    {shape{widths: []int{70, 2, 45}, col: -1, row: 1}, "frame"},
		"a row above that is missing": {shape{widths: []int{70}, col: 2, row: 1}, "frame"},
	} {
		o, got := written(t)
		frame := func(text string, views ...shape) {
			for _, v := range views {
				o.note(3, v)
			}
			write(t, o, text)
		}
		frame("1", drawn)
		frame("2", drawn)
		frame("3", drawn)
		said := got()
		frame("frame", c.view)
		if diff := cmp.Diff(said+c.want, got()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		said = got()
		frame("frame", c.view) // in which the renderer may take what was handed over before the last
		if diff := cmp.Diff(said+c.want, got()); diff != "" {
			t.Errorf("%s, a frame later (-want +got):\n%s", name, diff)
		}
		said = got()
		frame("again "+ansi.SetModeBracketedPaste, c.view)
		if diff := cmp.Diff(said+"again "+ansi.SetModeBracketedPaste, got()); diff != "" {
			t.Errorf("%s, after a stop (-want +got):\n%s", name, diff)
		}
		frame(eraseDown, c.view)
		if s := got(); !strings.HasSuffix(s, gentleErase) {
			t.Errorf("%s: drawn anew, got %q", name, s)
		}
	}
}

func TestCloseWritesWhatIsHeld(t *testing.T) {
	t.Parallel()
	o, got := written(t)
	o.Expect(5)
	_, _ = io.WriteString(o, "print")
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if s := got(); s != syncBegin+"print"+syncEnd {
		t.Errorf("got %q", s)
	}
}

func TestRowsAreWholeInThemselves(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text string
		width      int
		want       []string
	}{
		{"a style is closed and opened again", "\x1b[31mab漢d\x1b[m", 3, []string{"\x1b[31mab\x1b[m", "\x1b[31m漢d\x1b[m"}},
		{"a style over lines", "\x1b[1ma\nb\x1b[0mc", 9, []string{"\x1b[1ma\x1b[m", "\x1b[1mb\x1b[0mc"}},
		{"tabs", "a\tb", 9, []string{"a   b"}},
		{"an exact multiple is cut", "abcdef", 3, []string{"abc", "def"}},
		{"a long line stays", "abcdefg", 3, []string{"abcdefg"}},
		{"too long for the limit", strings.Repeat("a", 40), 3, strings.Split(strings.Repeat("aaa ", 13)+"a", " ")},
		{"empty lines", "a\n\nb", 3, []string{"a", "", "b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Rows(c.text, c.width, 10)); diff != "" {
				t.Errorf("Rows (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzRows(f *testing.F) {
	f.Add("漢\tabc\x1b[31mdef\x1b]8;;http://x\x07link\x1b]8;;\x07", 7, 5)
	f.Fuzz(func(t *testing.T, text string, width, limit int) {
		width, limit = 2+abs(width)%200, 1+abs(limit)%60
		for _, row := range Rows(text, width, limit) {
			if strings.ContainsAny(row, "\t\n\r") {
				t.Errorf("%q", row)
			}
			if h := Height(row, width); h > limit {
				t.Errorf("%d rows of %d: %q", h, limit, row)
			}
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestALiveRegionThatGrowsWhileAPrintIsUnderWayLeavesRoomForIt(t *testing.T) {
	t.Parallel()
	o, _ := written(t)
	s := NewScreen(o, 80, 24)
	s.View(strings.Repeat("row\n", 5)+"row", nil)
	write(t, o, "frame")
	s.Print(strings.Repeat("line\n", 29) + "line")
	if s.Pump() == nil {
		t.Fatal("nothing is printed")
	}
	if got := strings.Count(s.View(strings.Repeat("row\n", 11)+"row", nil).Content, "\n") + 1; got != 6 {
		t.Errorf("%d rows beside a piece of %d", got, 24-6)
	}
	s.Update(landedMsg{})
	if got := strings.Count(s.View(strings.Repeat("row\n", 11)+"row", nil).Content, "\n") + 1; got != 12 {
		t.Errorf("%d rows when it has landed", got)
	}
}

func TestTheLiveRegionIsClippedFromItsTopAndTheCaretMovesWithIt(t *testing.T) {
	t.Parallel()
	o, _ := written(t)
	s := NewScreen(o, 10, 5)
	v := s.View("1\n2\n3\n4\n5\n"+strings.Repeat("6", 12), tea.NewCursor(3, 5))
	if diff := cmp.Diff(CutMark+"\n4\n5\n6666666666", v.Content); diff != "" {
		t.Errorf("View (-want +got):\n%s", diff)
	}
	if v.Cursor.Y != 3 {
		t.Errorf("cursor row %d", v.Cursor.Y)
	}
}
