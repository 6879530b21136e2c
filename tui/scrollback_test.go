package tui

import (
	"os"
	"testing"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
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
