package transcript

import (
	"strings"
	"testing"

	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestWhatLooksLikeHTMLIsShown(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"Replace <your-key> with it.":             "Replace <your-key> with it.",
		"A List<String> of <b>bold</b> things":    "A List<String> of <b>bold</b> things",
		"- Vec<T>\n- `Vec<T>`":                    "• Vec<T>\n• Vec<T>",
		"## About <html>":                         "About <html>",
		"<div>\n  <p>hi</p>\n</div>\n\nafter <i>": "<div>\n<p>hi</p>\n</div>\n\nafter <i>",
		"<details>\n\nmore\n\n</details>":         "<details>\n\nmore\n\n</details>",
		"a <!-- note --> b":                       "a <!-- note --> b",
		"<!-- one\n\ntwo -->\nthree":              "<!-- one\n\ntwo --> three",
		"<script>\nlet a = 1 < 2\n</script>":      "<script>\nlet a = 1 < 2\n</script>",
		"> <b>\n> quoted":                         "┃ <b>\n┃ quoted",
		"see <http://a.b/c> and 1 < 2 > 0":        "see http://a.b/c and 1 < 2 > 0",
		"\\<already\\>":                           "<already>",
		"<think>\nhm\n</think>\nyes":              "<think>\nhm\n</think>\nyes",
	} {
		for _, kind := range []theme.Kind{theme.Dark, theme.None} {
			got := ansi.Strip(NewRenderer(theme.New(kind), 80).Markdown(Block{Source: source}))
			if kind == theme.None {
				got = strings.ReplaceAll(got, "`", "")
			}
			if got != want {
				t.Errorf("%q is drawn as %q, want %q", source, got, want)
			}
		}
	}
}

func TestALineThatEndsByItsMarkEndsThere(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"An old pond,  \na frog leaps in:  \nthe sound.": "An old pond,\na frog leaps in:\nthe sound.",
		"one\\\ntwo\\\n**three**":                        "one\ntwo\nthree",
		"soft\nbreaks join":                              "soft breaks join",
		"> quoted  \n> lines":                            "┃ quoted\n┃ lines",
		"end  \n":                                        "end",
	} {
		if got := ansi.Strip(NewRenderer(theme.New(theme.None), 80).Markdown(Block{Source: source})); got != want {
			t.Errorf("%q is drawn as %q, want %q", source, got, want)
		}
	}
}

func TestATextOfManyTagsIsDrawnInTheEnd(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		strings.Repeat("<a>\n", 300), strings.Repeat("<a> ", 3000), strings.Repeat("<", 3000), strings.Repeat("> <b>\n\n", 200),
	} {
		got := ansi.Strip(NewRenderer(theme.New(theme.None), 80).Markdown(Block{Source: source}))
		if a, b := strings.Count(source, "<"), strings.Count(got, "<"); a != b {
			t.Errorf("%.20q: %d brackets of %d are drawn", source, b, a)
		}
	}
}
