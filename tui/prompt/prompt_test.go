package prompt

import (
	"fmt"
	"strings"
	"testing"

	"loci/tui/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func commands() []Command {
	return []Command{
		{Name: "context-limit", Help: "set the limit"},
		{Name: "context", Help: "show it"},
		{Name: "help", Help: "keys and commands"},
		{Name: "quit", Help: "leave"},
	}
}

func fresh() *Prompt { return New(theme.New(theme.None), commands()) }

func press(p *Prompt, keys ...string) Event {
	var last Event
	for _, k := range keys {
		last = p.Key(keyOf(k))
	}
	return last
}

func keyOf(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter":     tea.KeyEnter,
		"up":        tea.KeyUp,
		"down":      tea.KeyDown,
		"tab":       tea.KeyTab,
		"esc":       tea.KeyEscape,
		"left":      tea.KeyLeft,
		"right":     tea.KeyRight,
		"delete":    tea.KeyDelete,
		"backspace": tea.KeyBackspace,
	}
	k := tea.Key{}
	rest := name
	for {
		switch {
		case strings.HasPrefix(rest, "ctrl+"):
			k.Mod, rest = k.Mod|tea.ModCtrl, rest[5:]
			continue
		case strings.HasPrefix(rest, "alt+"):
			k.Mod, rest = k.Mod|tea.ModAlt, rest[4:]
			continue
		case strings.HasPrefix(rest, "shift+"):
			k.Mod, rest = k.Mod|tea.ModShift, rest[6:]
			continue
		}
		break
	}
	if c, ok := codes[rest]; ok {
		k.Code = c
		return tea.KeyPressMsg(k)
	}
	k.Code = []rune(rest)[0]
	if k.Mod == 0 {
		k.Text = rest
	}
	return tea.KeyPressMsg(k)
}

func write(p *Prompt, text string) {
	for _, c := range text {
		p.Key(keyOf(string(c)))
	}
}

func view(p *Prompt) string {
	v, _ := p.View()
	return ansi.Strip(v)
}

func TestEachNewlineKeyMakesALineAndEnterSends(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"ctrl+j", "alt+enter", "shift+enter"} {
		p := fresh()
		write(p, "a")
		press(p, k)
		write(p, "b")
		if ev := press(p, "enter"); ev != Submit {
			t.Errorf("%s: enter is %v", k, ev)
		}
		if got := p.Take(); got != "a\nb" {
			t.Errorf("%s: %q", k, got)
		}
		if !p.Empty() {
			t.Error("not empty after Take")
		}
	}
}

func TestEscapeNeverDestroysText(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Queue = []string{"queued"}
	write(p, "/he")
	press(p, "esc", "esc", "esc")
	if p.Text() != "/he" || len(p.Queue) != 1 {
		t.Errorf("%q, queue %v", p.Text(), p.Queue)
	}
}

func TestHistoryKeepsTheDraft(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Remember("one", "two", "two\nlines")
	write(p, "draft")
	press(p, "up")
	if p.Text() != "two\nlines" {
		t.Errorf("after up: %q", p.Text())
	}
	press(p, "up") // to the first of the two lines
	press(p, "up", "up", "up")
	if p.Text() != "one" {
		t.Errorf("at the top: %q", p.Text())
	}
	press(p, "down", "down", "down", "down")
	if p.Text() != "draft" {
		t.Errorf("back down: %q", p.Text())
	}
}

func TestTheQueueComesBackForEditingNewestFirst(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Queue = []string{"first", "second"}
	if got := view(p); got != "⋯ first\n⋯ second  ↑ edits\n›" {
		t.Errorf("view %q", got)
	}
	press(p, "up")
	if p.Text() != "second" || !cmp.Equal(p.Queue, []string{"first"}) {
		t.Errorf("%q, %v", p.Text(), p.Queue)
	}
	if next, ok := p.Next(); !ok || next != "first" {
		t.Errorf("next %q %v", next, ok)
	}
}

func TestTheQueueComesBackForEditingAndWhatWasTypedStaysInTheHistory(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Remember("second")
	p.Queue = []string{"first", "second"}
	write(p, "draft")
	if got := view(p); !strings.Contains(got, "⋯ second  ↑ edits") {
		t.Errorf("view %q", got)
	}
	press(p, "up")
	if p.Text() != "second" || !cmp.Equal(p.Queue, []string{"first"}) {
		t.Errorf("%q, %v", p.Text(), p.Queue)
	}
	if got := view(p); !strings.Contains(got, "⋯ first  editing 2 of 2 · ↑↓") {
		t.Errorf("view %q", got)
	}
	press(p, "up")
	if p.Text() != "first" || !cmp.Equal(p.Queue, []string{"second"}) {
		t.Errorf("%q, %v", p.Text(), p.Queue)
	}
	press(p, "up") // there is nothing before it
	write(p, "!")
	p.Enqueue(p.Take())
	if !cmp.Equal(p.Queue, []string{"first!", "second"}) {
		t.Errorf("queue %v", p.Queue)
	}
	if p.Text() != "draft" {
		t.Errorf("the draft is now %q", p.Text())
	}
	press(p, "up", "up")
	press(p, "down")
	if p.Text() != "second" || !cmp.Equal(p.Queue, []string{"first!"}) {
		t.Errorf("back to %q, %v", p.Text(), p.Queue)
	}
	if next, _ := p.Next(); next != "first!" {
		t.Errorf("sent %q", next)
	}
	press(p, "down")
	if p.Text() != "draft" || !cmp.Equal(p.Queue, []string{"second"}) {
		t.Errorf("back to what was typed: %q, %v", p.Text(), p.Queue)
	}
	p.Enqueue("third")
	if !cmp.Equal(p.Queue, []string{"second", "third"}) {
		t.Errorf("queue %v", p.Queue)
	}
}

func TestAFoldedPasteIsOneUnit(t *testing.T) {
	t.Parallel()
	paste := strings.Repeat("line\n", 20)
	const name = "[paste 1: 20 lines]"
	for keys, want := range map[string]string{
		"backspace":                    "ab",
		"ctrl+w":                       "ab",
		"left backspace":               name + "b",
		"left delete":                  "ab",
		"left left delete":             name + "b",
		"left right backspace":         "ab",
		"left x":                       "ax" + name + "b",
		"left left right right x":      "a" + name + "xb",
		"left left right left right x": "ax" + name + "b",
	} {
		p := fresh()
		write(p, "ab")
		press(p, "left")
		p.Paste(paste)
		for key := range strings.FieldsSeq(keys) {
			if key == "x" {
				write(p, "x")
				continue
			}
			press(p, key)
		}
		if got := p.area.Value(); got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

func TestAFoldedPasteThatComesBackIsStillOneUnit(t *testing.T) {
	t.Parallel()
	paste := strings.Repeat("line\n", 40)
	bring := map[string]func(p *Prompt){
		"aside": func(p *Prompt) { press(p, "ctrl+s", "ctrl+s") },
		"sent": func(p *Prompt) {
			p.Take()
			press(p, "up")
		},
		"queued": func(p *Prompt) {
			p.Enqueue(p.Take())
			press(p, "up")
		},
		"a draft of the history": func(p *Prompt) {
			p.history, p.at = []string{"old"}, 1
			press(p, "up", "down")
		},
		"given back": func(p *Prompt) { p.Offer(p.Take()) },
	}
	for name, back := range bring {
		p := fresh()
		write(p, "see ")
		p.Paste(paste)
		want := strings.TrimRight(p.Text(), "\n")
		back(p)
		if got := p.area.Value(); got != "see [paste 1: 40 lines]" {
			t.Errorf("%s: %.60q", name, got)
		}
		if got := strings.TrimRight(p.Text(), "\n"); got != want {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(want))
		}
	}
}

func TestACharacterOfSeveralCodePointsIsOneUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"👨‍👩‍👧", "👍🏽", "🇩🇪", "🇪🇪", "e\u0301"} {
		for keys, want := range map[string]string{
			"backspace":                  "a" + c + "b",
			"left backspace":             "a" + c + "b",
			"left delete":                "a" + c + "b",
			"left x":                     "a" + c + "x" + c + "b",
			"left left x":                "ax" + c + c + "b",
			"left left right x":          "a" + c + "x" + c + "b",
			"left left delete x":         "ax" + c + "b",
			"left left left right right": "a" + c + c + "b",
			"right backspace":            "a" + c + c,
		} {
			p := fresh()
			p.Set("a" + c + c + "b")
			press(p, "left")
			for key := range strings.FieldsSeq(keys) {
				press(p, key)
			}
			if got := p.area.Value(); got != want {
				t.Errorf("%s: %q, want %q", keys, got, want)
			}
		}
	}
}

func TestADraftIsPutAsideAndComesBack(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Set("two\nlines")
	press(p, "ctrl+s")
	if p.Text() != "" || p.Aside() != "two\nlines" {
		t.Errorf("%q, aside %q", p.Text(), p.Aside())
	}
	write(p, "other")
	press(p, "ctrl+s")
	if p.Text() != "two\nlines" || p.Aside() != "other" {
		t.Errorf("%q, aside %q", p.Text(), p.Aside())
	}
}

func TestAListOfCommandsThatGoesOnSaysSo(t *testing.T) {
	t.Parallel()
	var many []Command
	for i := range 12 {
		many = append(many, Command{Name: fmt.Sprint("c", i)})
	}
	p := New(theme.New(theme.None), many)
	write(p, "/c")
	if got := view(p); !strings.Contains(got, "1 of 12 · ↑↓") {
		t.Errorf("list:\n%s", got)
	}
}

func TestAnExactCommandBeatsAPrefix(t *testing.T) {
	t.Parallel()
	p := fresh()
	write(p, "/context")
	if got := view(p); !strings.HasPrefix(got, "▸ /context ") {
		t.Errorf("list:\n%s", got)
	}
	press(p, "enter")
	if got := p.Take(); got != "/context" {
		t.Errorf("%q", got)
	}
	write(p, "/q")
	press(p, "enter")
	if got := p.Take(); got != "/quit" {
		t.Errorf("a prefix became %q", got)
	}
	write(p, "/context")
	press(p, "down", "enter")
	if got := p.Take(); got != "/context-limit" {
		t.Errorf("the chosen one became %q", got)
	}
	write(p, "/nonsense")
	if got := p.Take(); got != "/nonsense" {
		t.Errorf("an unknown word became %q", got)
	}
	write(p, "/h")
	press(p, "tab")
	if got := view(p); got != "› /help" {
		t.Errorf("after tab: %q", got)
	}
}

func TestALongPasteIsFoldedAndSentInFull(t *testing.T) {
	t.Parallel()
	p := fresh()
	long := strings.Repeat("line\r\n", 120)
	write(p, "see ")
	p.Paste(long)
	write(p, " ok")
	if got := view(p); got != "› see [paste 1: 120 lines] ok" {
		t.Errorf("view %q", got)
	}
	if got, want := p.Take(), "see "+strings.Repeat("line\n", 120)+" ok"; got != want {
		t.Errorf("sent %d bytes, want %d", len(got), len(want))
	}
	p.Paste("short\x1b]52;c;eA==\x07 text")
	if got := p.Text(); got != "short text" {
		t.Errorf("a short paste: %q", got)
	}
}

func TestAHugeTextThatComesBackIsFoldedAndSentWhole(t *testing.T) {
	t.Parallel()
	p := fresh()
	huge := strings.Repeat("words ", 20_000) + "end"
	p.Remember(huge)
	press(p, "up")
	v, _ := p.View()
	if n := strings.Count(v, "\n"); n > 0 || !strings.Contains(ansi.Strip(v), "[paste 1: 120003 characters]") {
		t.Errorf("%d rows: %.200q", n, ansi.Strip(v))
	}
	if got := p.Take(); got != huge {
		t.Errorf("%d bytes are sent", len(got))
	}
}

func TestOfferedTextLeavesWhatIsTypedAlone(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Remember("old")
	write(p, "typing")
	press(p, "up")
	if p.Offer("returned\n") {
		t.Error("it says that it is in the prompt")
	}
	press(p, "down")
	if got := p.Text(); got != "returned\n" {
		t.Errorf("after the old one comes %q", got)
	}
	press(p, "down")
	if got := p.Text(); got != "typing" {
		t.Errorf("and then %q", got)
	}
}

func TestTheCaretIsWhereTheTextIs(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.Resize(20, 24)
	p.Queue = []string{"q"}
	write(p, "漢字")
	press(p, "ctrl+j")
	write(p, "a漢")
	_, c := p.View()
	if c == nil || c.X != 2+1+2 || c.Y != 2 {
		t.Errorf("caret %+v", c)
	}
}

func TestNothingIsWiderThanTheScreenAndNoRowEndsInSpaces(t *testing.T) {
	t.Parallel()
	for _, width := range []int{6, 20, 80, 200} {
		p := fresh()
		p.Resize(width, 8)
		p.Queue = []string{strings.Repeat("queued words ", 30), "b", "c", "d"}
		for _, text := range []string{strings.Repeat("word ", 100), "/", strings.Repeat("漢", 100)} {
			p.Set(text)
			v, c := p.View()
			for row := range strings.SplitSeq(ansi.Strip(v), "\n") {
				if ansi.StringWidth(row) > width || strings.HasSuffix(row, " ") {
					t.Errorf("width %d: %q", width, row)
				}
			}
			if c.X >= width {
				t.Errorf("caret at %d of %d", c.X, width)
			}
		}
	}
}
