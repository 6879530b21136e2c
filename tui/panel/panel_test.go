package panel

import (
	"fmt"
	"strings"
	"testing"

	"loci/tui/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func th() theme.Theme { return theme.New(theme.None) }

func hit(p Panel, keys ...tea.Key) Action {
	var a Action
	for _, k := range keys {
		a = p.Key(tea.KeyPressMsg(k))
	}
	return a
}

func typed(p Panel, text string) {
	for _, c := range text {
		hit(p, tea.Key{Code: c, Text: string(c)})
	}
}

func panels() map[string]Panel {
	var entries []Entry
	for i := range 60 {
		entries = append(entries, Entry{
			Title: fmt.Sprintf("agent %d 漢字", i), Note: strings.Repeat("a long note ", 20), Current: i == 3,
		})
	}
	edit := NewEdit(th(), "human", strings.Repeat("A line of memory that is rather long.\n", 60), false)
	edit.Note, edit.Limit = "what the agent knows", 5000
	search := &Search{Theme: th(), Title: "Search"}
	search.Ask("tea")
	search.Found("tea", entries, "", "")
	return map[string]Panel{
		"list":   &List{Theme: th(), Title: "Agents", Entries: entries, NewKey: "makes one"},
		"empty":  &List{Theme: th(), Title: "Agents", Empty: "none yet"},
		"text":   &Text{Theme: th(), Title: "Help", Draw: func(int) string { return strings.Repeat("text of any length 漢字 ", 300) }},
		"edit":   edit,
		"single": NewEdit(th(), "name", "", true),
		"search": search,
	}
}

func TestEveryPanelFitsEveryScreen(t *testing.T) {
	t.Parallel()
	for name, p := range panels() {
		for _, size := range [][2]int{{80, 24}, {200, 50}, {20, 8}, {20, 2}, {3, 3}} {
			v, c := p.View(size[0], size[1])
			rows := strings.Split(ansi.Strip(v), "\n")
			if len(rows) != size[1] {
				t.Errorf("%s at %v: %d rows", name, size, len(rows))
			}
			for _, r := range rows {
				if ansi.StringWidth(r) > size[0] {
					t.Errorf("%s at %v: %q", name, size, r)
				}
			}
			if c != nil && c.X >= size[0] {
				t.Errorf("%s at %v: caret at %d", name, size, c.X)
			}
		}
	}
}

func TestEverythingInAListCanBeReached(t *testing.T) {
	t.Parallel()
	l := panels()["list"].(*List)
	for i := range 60 {
		v, _ := l.View(20, 8)
		if !strings.Contains(ansi.Strip(v), fmt.Sprintf("▸ agent %d ", i)) {
			t.Fatalf("entry %d is not shown:\n%s", i, v)
		}
		hit(l, tea.Key{Code: tea.KeyDown})
	}
	typed(l, "gent 42")
	if a := hit(l, tea.Key{Code: tea.KeyEnter}); a != (Action{Kind: Choose, Index: 42}) {
		t.Errorf("chose %+v", a)
	}
	typed(l, "zzz")
	if a := hit(l, tea.Key{Code: tea.KeyEnter}); a.Kind != None {
		t.Errorf("chose from nothing: %+v", a)
	}
	if a := hit(l, tea.Key{Code: 'n', Mod: tea.ModCtrl}); a.Kind != New {
		t.Errorf("ctrl+n: %+v", a)
	}
}

func TestATextScrollsToItsEndAndBack(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 50 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	x := &Text{Theme: th(), Title: "T", Draw: func(int) string { return strings.Join(lines, "\n") }}
	seen := map[string]bool{}
	for range 20 {
		v, _ := x.View(20, 8)
		for _, r := range strings.Split(ansi.Strip(v), "\n") {
			seen[r] = true
		}
		hit(x, tea.Key{Code: tea.KeyPgDown})
	}
	for _, l := range lines {
		if !seen[l] {
			t.Errorf("%q was never shown", l)
		}
	}
	hit(x, tea.Key{Code: tea.KeyHome})
	if v, _ := x.View(20, 8); !strings.Contains(v, "line 0") {
		t.Errorf("home:\n%s", v)
	}
}

func TestEscapeAsksBeforeChangedTextIsLost(t *testing.T) {
	t.Parallel()
	e := NewEdit(th(), "human", "old", false)
	if a := hit(e, tea.Key{Code: tea.KeyEscape}); a.Kind != Close {
		t.Errorf("unchanged: %+v", a)
	}
	typed(e, " new")
	if a := hit(e, tea.Key{Code: tea.KeyEscape}); a.Kind != None || e.Value() != "old new" {
		t.Errorf("changed: %+v %q", a, e.Value())
	}
	typed(e, "er")
	if a := hit(e, tea.Key{Code: tea.KeyEscape}); a.Kind != None {
		t.Errorf("typing on did not disarm: %+v", a)
	}
	if a := hit(e, tea.Key{Code: 's', Mod: tea.ModCtrl}); a != (Action{Kind: Save, Text: "old newer"}) {
		t.Errorf("save: %+v", a)
	}
	e.Refuse("someone else changed it")
	if v, _ := e.View(60, 8); !strings.Contains(v, "someone else") || e.Value() != "old newer" {
		t.Errorf("refused:\n%s", v)
	}
}

func TestTheReasonOfARefusalIsWholeWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	e := NewEdit(th(), "A rule", "shell(go test", true)
	e.Refuse("the permission rule shell(go test of this session is not valid: the bracket is not closed")
	for _, c := range []struct {
		width, height int
		want          string
	}{
		{
			40, 8, "A rule\nshell(go test\n\n\n\nthe permission rule shell(go test of\n" +
				"this session is not valid: the bracket\nis not closed",
		},
		{20, 4, "A rule\nshell(go test\n\nthe permission rule…"},
		{20, 2, "A rule\nthe permission rule…"},
	} {
		v, _ := e.View(c.width, c.height)
		if got := ansi.Strip(v); got != c.want {
			t.Errorf("%dx%d:\n%s", c.width, c.height, got)
		}
	}
}

func TestATextOverItsLimitIsNotSaved(t *testing.T) {
	t.Parallel()
	e := NewEdit(th(), "human", "漢字漢", false)
	e.Limit = 3
	if a := hit(e, tea.Key{Code: 's', Mod: tea.ModCtrl}); a.Kind != Save {
		t.Errorf("at the limit: %+v", a)
	}
	typed(e, "x")
	if a := hit(e, tea.Key{Code: 's', Mod: tea.ModCtrl}); a.Kind != None {
		t.Errorf("over the limit: %+v", a)
	}
}

func TestASearchShowsOnlyWhatWasAskedLast(t *testing.T) {
	t.Parallel()
	s := &Search{Theme: th(), Title: "Search"}
	typed(s, "tea")
	if a := hit(s, tea.Key{Code: tea.KeyEnter}); a != (Action{Kind: Query, Text: "tea"}) {
		t.Fatalf("%+v", a)
	}
	typed(s, "s")
	hit(s, tea.Key{Code: tea.KeyEnter})
	s.Found("tea", []Entry{{Title: "late"}}, "", "")
	s.Found("teas", []Entry{{Title: "wanted"}}, "", "")
	v, _ := s.View(60, 10)
	if strings.Contains(v, "late") || !strings.Contains(v, "wanted") {
		t.Errorf("results:\n%s", v)
	}
	want := Action{Kind: Choose, Index: 0}
	if diff := cmp.Diff(want, hit(s, tea.Key{Code: tea.KeyEnter})); diff != "" {
		t.Error(diff)
	}
}

func TestALongTitleLeavesAShortNoteWhole(t *testing.T) {
	t.Parallel()
	l := &List{Theme: theme.New(theme.None), Entries: []Entry{
		{Title: strings.Repeat("漢字", 40), Note: "12 turns back", Current: true},
		{Title: strings.Repeat("word ", 30), Note: "1 turn back"},
		{Title: "short", Note: strings.Repeat("a long note ", 20)},
	}}
	text, _ := l.View(80, 24)
	text = ansi.Strip(text)
	for _, want := range []string{"… ●   12 turns back\n", "…   1 turn back\n", "short   a long note"} {
		if !strings.Contains(text+"\n", want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for row := range strings.SplitSeq(text, "\n") {
		if ansi.StringWidth(row) > 80 {
			t.Errorf("a row of %d columns: %s", ansi.StringWidth(row), row)
		}
	}
}
