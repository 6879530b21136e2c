package tui

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"

	"github.com/charmbracelet/x/ansi"
)

func TestAnAnswerThatGrowsOutlivesTheReplacementOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	out := term.NewOutput(os.Stderr)
	t.Cleanup(func() { _ = out.Close() })
	s := newDisplay(t.Context(), theme.New(theme.None), term.NewScreen(out, 80, 24)).scrollback
	s.keep(transcript.Item{Kind: transcript.User, Text: "hello"})
	s.startAnswer("a")
	s.setAnswer("half")
	history := []transcript.Item{
		{Kind: transcript.User, Text: "one"}, {Kind: transcript.User, Text: "two"}, {Kind: transcript.User, Text: "three"},
	}
	s.replace(history)
	s.setAnswer("whole")
	if n := len(s.items); n != 4 || s.items[1].Text != "two" || s.answer() != "whole" {
		t.Errorf("%d items: %+v", n, s.items)
	}
}

func TestOnlyWhatIsLongIsFoldedWhenAConversationIsDrawnAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		height, lines int
		folded        bool
	}{{50, 25, false}, {50, 50, false}, {50, 200, true}, {24, 25, false}, {24, 40, true}, {10, 6, false}, {10, 30, true}} {
		out := term.NewOutput(os.Stderr)
		t.Cleanup(func() { _ = out.Close() })
		s := newDisplay(t.Context(), theme.New(theme.None), term.NewScreen(out, 200, c.height)).scrollback
		var text strings.Builder
		for i := range c.lines {
			fmt.Fprintf(&text, "line %d\n", i)
		}
		older := transcript.Item{Kind: transcript.User, Text: text.String()}
		newer := transcript.Item{Kind: transcript.User, Text: strings.Repeat("newer\n", (c.height-liveRows)/3)}
		shown := ansi.Strip(strings.Join(s.lately([]transcript.Item{older, newer}), "\n"))
		if !strings.Contains(shown, "line 0\n") || !strings.Contains(shown, fmt.Sprintf("line %d", c.lines-1)) {
			t.Errorf("%d lines on %d rows have lost an end:\n%s", c.lines, c.height, shown)
		}
		if strings.Contains(shown, "more lines") != c.folded {
			t.Errorf("%d lines on %d rows became\n%s", c.lines, c.height, shown)
		}
	}
}
