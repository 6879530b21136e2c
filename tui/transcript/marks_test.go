package transcript

import (
	"testing"

	"github.com/charmbracelet/x/ansi"

	"loci/tui/theme"
)

func TestWithoutColoursCodeIsMarked(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 60)
	if got := ansi.Strip(
		r.answer("Run `go test` as\n\n```sh\ngo test ./...\n```\n"),
	); got != "Run `go test` as\n\n```sh\ngo test ./...\n```" {
		t.Errorf("%q", got)
	}
}

func TestAListBelowItsSentenceStaysTight(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 60)
	if got := ansi.Strip(r.answer("Buy:\n- milk\n- tea\n\nThen:\n\n- rest\n")); got != "Buy:\n• milk\n• tea\n\nThen:\n\n• rest" {
		t.Errorf("%q", got)
	}
}

func TestARowOfThoughtShowsNoMarks(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 80)
	text := "## Plan\n- look at **what** `she` said\n# done\n#4 is a number, 2 * 3 is six"
	if got := ansi.Strip(
		r.reasoning(Item{Text: text}, false),
	); got != "∴ thought · Plan look at what she said done #4 is a number, 2 * 3 is six" {
		t.Errorf("%q", got)
	}
}
