package panel

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"loci/tui/theme"
)

func TestAMarkedEntryIsShownWholeWhereItsRowIsCut(t *testing.T) {
	t.Parallel()
	l := &List{Theme: theme.New(theme.None), Title: "Rules", Entries: []Entry{
		{Title: "deny  shell(git push --force-with-lease origin *)", Note: "this folder's configuration"},
		{Title: "ask   fetch(*)"},
		{Title: "short", Whole: "go test ./... with all of the flags that there are · runs, 3s"},
	}}
	view := func() string {
		v, _ := l.View(40, 12)
		if rows := strings.Split(v, "\n"); len(rows) != 12 {
			t.Errorf("%d rows", len(rows))
		}
		return strings.Join(strings.Fields(ansi.Strip(v)), " ")
	}
	if v := view(); !strings.Contains(v, "deny shell(git push --force-with- lease origin *) this folder's configuration ↑↓") {
		t.Errorf("the first:\n%s", v)
	}
	l.Select(1)
	if v := view(); strings.Count(v, "fetch(*)") != 1 {
		t.Errorf("one that fits is shown twice:\n%s", v)
	}
	l.Select(2)
	if v := view(); !strings.Contains(v, "with all of the flags that there are · runs, 3s ↑↓") {
		t.Errorf("the last:\n%s", v)
	}
}

func TestTheKeysOfATextAreWholeOnANarrowScreen(t *testing.T) {
	t.Parallel()
	x := &Text{
		Theme: theme.New(theme.None), Title: "Waits", Foot: "y s a allow, at its end · n deny · r reason · e edit",
		Draw: func(int) string { return strings.Repeat("row\n", 40) + "end" },
	}
	v, _ := x.View(40, 12)
	rows := strings.Split(ansi.Strip(v), "\n")
	if got := strings.Join(rows[len(rows)-3:], " "); len(rows) != 12 || !strings.Contains(got, x.Foot) || !strings.Contains(got, "esc") {
		t.Errorf("%d rows:\n%s", len(rows), v)
	}
	x.Key(keyEnd())
	if v, _ = x.View(40, 12); !strings.Contains(v, "end\n") || !x.AtEnd() {
		t.Errorf("its end is not reached:\n%s", v)
	}
}

func keyEnd() tea.KeyPressMsg { return tea.KeyPressMsg{Code: tea.KeyEnd} }
