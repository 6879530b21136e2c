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

func TestARowOfThoughtShowsNoMarksWhereItIsCut(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 40)
	text := "First this, then: do *this and much more than fits* there; [a](http://b) <b> 1 \\* 2"
	if got := ansi.Strip(r.reasoning(Item{Text: text}, false)); got != "∴ thought · First this, then: do this a…" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]string{
		"then: do *this":                          "∴ then: do this",
		"**Considering the":                       "∴ Considering the",
		"see [the link](http://a/b) and `go":      "∴ see the link and go",
		"end** of it, `x":                         "∴ end of it, x",
		"a\n\n```sh\ngo *test*\n```\n\n2 * 3 _is": "∴ a go *test* 2 * 3 is",
		"List<String> &amp; 1 \\* 2":              "∴ List<String> & 1 * 2",
	} {
		if got := ansi.Strip(r.Thinking(text)); got != want {
			t.Errorf("%q is drawn as %q, want %q", text, got, want)
		}
	}
}

func TestAnOpenThoughtShowsNoMarks(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 60)
	text := "**Considering**\n\n## Plan\n\n- look at [the link](http://a/b)\n- rest"
	if got := ansi.Strip(
		r.reasoning(Item{Text: text}, true),
	); got != "∴ thought\n  Considering\n\n  Plan\n\n  • look at the link http://a/b\n  • rest" {
		t.Errorf("%q", got)
	}
}

func TestARowOfASummaryShowsNoMarks(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 60)
	it := Item{Kind: Recalled, Text: "Before:\n- one\n- two **bold** `code` and *more"}
	if got := ansi.Strip(r.Item(it, false)); got != "↺ Before: one two bold code and more" {
		t.Errorf("%q", got)
	}
}

func TestAnOpenSummaryShowsNoMarksAndMemoriesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.Dark), 60)
	it := Item{Kind: Recalled, Text: "## Before\n\n- one\n- two **bold**, `code`\n\nThe end."}
	if got := ansi.Strip(r.Item(it, true)); got != "↺ Before\n\n  • one\n  • two bold, code\n\n  The end." {
		t.Errorf("%q", got)
	}
	it = Item{Kind: Recalled, Head: "recalled 1 memory", Text: "Recalled from your memory.\n- note: 2*3*4 is 24"}
	if got := ansi.Strip(r.Item(it, true)); got != "↺ Recalled from your memory.\n  - note: 2*3*4 is 24" {
		t.Errorf("%q", got)
	}
}
