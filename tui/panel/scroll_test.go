package panel

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestALongTextIsDrawnAsFarAsItIsSeen opens a million pieces, draws only a few
// of them, and reaches both ends.
func TestALongTextIsDrawnAsFarAsItIsSeen(t *testing.T) {
	t.Parallel()
	const pieces = 1_000_000
	drawn := map[int]bool{}
	s := &Scroll{Title: "All", Len: func() int { return pieces }, Rows: func(i, _ int) []string {
		drawn[i] = true
		return []string{fmt.Sprint("piece ", i), ""}
	}}
	view := func() string {
		text, _ := s.View(80, 24)
		if n := strings.Count(text, "\n") + 1; n != 24 {
			t.Fatalf("%d rows", n)
		}
		return text
	}
	if !strings.Contains(view(), fmt.Sprint("piece ", pieces-1)) {
		t.Errorf("the end is not shown:\n%s", view())
	}
	for range 3 {
		s.Key(tea.KeyPressMsg{Code: tea.KeyPgUp})
	}
	if v := view(); strings.Contains(v, fmt.Sprint("piece ", pieces-1)) || len(drawn) > 200 {
		t.Errorf("%d pieces were drawn for\n%s", len(drawn), v)
	}
	for range 3 {
		s.Key(tea.KeyPressMsg{Code: tea.KeyPgDown})
	}
	if v := view(); !strings.Contains(v, fmt.Sprint("piece ", pieces-1)) {
		t.Errorf("back at the end:\n%s", v)
	}
	s.Show(0)
	if a := s.Key(tea.KeyPressMsg{Code: tea.KeyUp}); a.Kind != Above || !strings.HasPrefix(view(), "All\npiece 0\n") {
		t.Errorf("at the beginning: %v\n%s", a, view())
	}
}

// TestWhatComesAboveDoesNotMoveWhatIsRead adds pieces above and checks that the
// same row stays at the top.
func TestWhatComesAboveDoesNotMoveWhatIsRead(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "b", "c", "d", "e", "f"}
	s := &Scroll{
		Len:  func() int { return len(pieces) },
		Rows: func(i, _ int) []string { return []string{pieces[i] + "1", pieces[i] + "2"} },
	}
	s.View(20, 6)
	s.Key(tea.KeyPressMsg{Code: tea.KeyUp})
	before, _ := s.View(20, 6)
	pieces = append([]string{"x", "y"}, pieces...)
	s.Shift(2)
	if after, _ := s.View(20, 6); after != before || !strings.Contains(before, "d2") {
		t.Errorf("it moved from\n%s\nto\n%s", before, after)
	}
}
