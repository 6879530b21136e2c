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

// written returns an Output on a file, and a function that returns what was
// written since its last call.
func written(t *testing.T) (*Output, func() string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	at := 0
	return NewOutput(f), func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		s := string(b[at:])
		at = len(b)
		return s
	}
}

func shown(caret int, rows ...string) view {
	return view{rows: rows, row: caret, col: 2, caret: true}
}

func TestAFrameWritesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	const ends = caretShown + syncEnd
	long := strings.Repeat("l", 60)
	for name, c := range map[string]struct {
		to    view
		lines []string
		want  string
	}{
		"nothing": {to: shown(1, long, ">", "status")},
		"a longer status wraps never": {
			to:   shown(1, long, ">", "status!"),
			want: syncBegin + ansi.ResetModeAutoWrap + "\n\r\x1b[Kstatus!\x1b[A\r\x1b[3G" + ansi.SetModeAutoWrap + ends,
		},
		"a short row above": {
			to:   shown(1, long, "> a", "status"),
			want: syncBegin + ansi.ResetModeAutoWrap + "\r\x1b[K> a\r\x1b[3G" + ansi.SetModeAutoWrap + ends,
		},
		"a long row above": {
			to:   shown(1, long+"l", ">", "status"),
			want: syncBegin + "\x1b[A\r" + eraseDown + long + "l\r\n>\r\nstatus\x1b[A\r\x1b[3G" + ends,
		},
		"a row more": {
			to: shown(2, long, "new", ">", "status"), want: syncBegin + "\r" + eraseDown + "new\r\n>\r\nstatus\x1b[A\r\x1b[3G" + ends,
		},
		"a row less": {to: shown(0, ">", "status"), want: syncBegin + "\x1b[A\r" + eraseDown + ">\r\nstatus\x1b[A\r\x1b[3G" + ends},
		"the caret":  {to: shown(2, long, ">", "status"), want: syncBegin + "\n\r\x1b[3G" + ends},
		"a print": {
			to: shown(1, long, ">", "status"), lines: []string{"one", "two"},
			want: syncBegin + "\x1b[A\r" + eraseDown + "one\r\ntwo\r\n" + long + "\r\n>\r\nstatus\x1b[A\r\x1b[3G" + ends,
		},
	} {
		var r region
		r.paint(shown(1, long, ">", "status"), nil, false, 80, 24)
		if diff := cmp.Diff(c.want, r.paint(c.to, c.lines, false, 80, 24)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAFrameAtAnotherWidthBeginsWhereTheTerminalWrappedTheRegionTo(t *testing.T) {
	t.Parallel()
	for width, up := range map[int]string{120: "\x1b[A", 60: "\x1b[2A", 40: "\x1b[3A", 30: "\x1b[4A"} {
		var r region
		r.paint(shown(1, strings.Repeat("l", 100), ">"), nil, false, 120, 24)
		got := r.paint(shown(1, "row", ">"), nil, false, width, 25)
		if !strings.HasPrefix(got, syncBegin+up+"\r"+eraseDown) {
			t.Errorf("at %d: %q", width, got)
		}
	}
}

func TestFramesAreAtMostOneInEachGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, got := written(t)
		s := NewScreen(o, 80, 24)
		s.View("one", nil)
		if out := got(); !strings.Contains(out, "one") {
			t.Errorf("the first frame waits: %q", out)
		}
		s.Print("printed")
		s.View("two", nil)
		s.View("three", nil)
		if out := got(); out != "" {
			t.Errorf("a second frame at once: %q", out)
		}
		time.Sleep(gap) //nolint:forbidigo // the bubble's own clock
		synctest.Wait()
		if out := got(); !strings.Contains(out, "printed\r\nthree") || strings.Contains(out, "two") {
			t.Errorf("the second frame: %q", out)
		}
	})
}

func TestNothingIsDrawnUntilTheTerminalHasKeptItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, got := written(t)
		s := NewScreen(o, 80, 24)
		s.View("one", nil)
		got()
		wait := func(d time.Duration) string {
			time.Sleep(d) //nolint:forbidigo // the bubble's own clock
			synctest.Wait()
			return got()
		}
		wait(gap)
		for _, width := range []int{100, 60} {
			s.Resize(width, 24)
			s.Print("printed")
			s.View("two", nil)
			if out := got() + wait(settle-time.Millisecond); out != "" {
				t.Errorf("drawn too early at %d: %q", width, out)
			}
		}
		if out := wait(time.Millisecond); !strings.Contains(out, "printed\r\nprinted\r\ntwo") {
			t.Errorf("drawn when it has settled: %q", out)
		}
		s.Resize(50, 24)
		s.Panel("panel", nil)
		if out := got() + wait(gap); !strings.Contains(out, "panel") {
			t.Errorf("a panel waits: %q", out)
		}
	})
}

func TestWhatTheProgramSetsUpPassesAndWhatItDrawsDoesNot(t *testing.T) {
	t.Parallel()
	o, got := written(t)
	const setup = "\x1b[?2004h\x1b[>4;2m\x1b[>1u\x1b[?u\x1b[?2026$p\x1b]52;c;QQ==\x07"
	if _, err := io.WriteString(o, "\x1b[?25l\r\x1b[J\x1b[2A"+setup+"text\x1b[K\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(setup, got()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATerminalThatIsGivenBackHasNoRegionUntilItIsSetUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, got := written(t)
		s := NewScreen(o, 80, 24)
		s.View("row\n>", nil)
		s.Panel("panel", nil)
		time.Sleep(gap) //nolint:forbidigo // the bubble's own clock
		synctest.Wait()
		s.Print("late")
		got()
		_, _ = o.WriteString(keysOff)
		if out := got(); !strings.Contains(out, altLeave) ||
			!strings.HasSuffix(out, "\r"+eraseDown+caretShown+ansi.ResetModeFocusEvent+keysOff) {
			t.Errorf("given back: %q", out)
		}
		s.View("row\n>", nil)
		time.Sleep(gap) //nolint:forbidigo // the same
		synctest.Wait()
		if out := got(); out != "" {
			t.Errorf("drawn in a terminal that is somebody else's: %q", out)
		}
		_, _ = o.WriteString(keysOn)
		if out := got(); out != keysOn+ansi.SetModeFocusEvent+syncBegin+"\r"+eraseDown+"late\r\nrow\r\n>\r\x1b[1G"+syncEnd {
			t.Errorf("set up again: %q", out)
		}
		_, _ = o.WriteString(keysOff)
		got()
		o.Resume()
		_, _ = o.WriteString(keysOn + ansi.RequestKittyKeyboard) // the program comes later
		time.Sleep(gap)                                          //nolint:forbidigo // the same
		synctest.Wait()
		out := got()
		if !strings.HasPrefix(out, begin+syncBegin) || strings.Count(out, keysPush) != 1 || !strings.Contains(out, "row\r\n>") {
			t.Errorf("taken back: %q", out)
		}
	})
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
