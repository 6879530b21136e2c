package transcript

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

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

func TestWhatMarkdownNamesDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"&#27;[2J &#x9b;31m &#8238;x &#0;", "[a](http://x/&#27;]0;t&#7;)", "![a&#27;[2J](http://x)", "`&#27;[2J`",
		"| &#27;[2J |\n|---|\n| &#x9b; |",
		"[a](<http://x/ b>)", "<http://x/&#27;>", "# &#27;c", "- &#27;c\n  > &#27;c",
	} {
		for _, kind := range []theme.Kind{theme.Dark, theme.None} {
			got := NewRenderer(theme.New(kind), 40).Markdown(Block{Source: source})
			ours := regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;(id=[0-9]+)?;[^\x00-\x1f]*\a")
			if plain := ours.ReplaceAllString(got, ""); strings.ContainsFunc(plain, Hostile) {
				t.Errorf("%q is drawn as %q", source, got)
			}
		}
	}
}

func TestAddressesAreShownAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"[the chat](chat.md#keys)":         "the chat chat.md#keys",
		"[up](../README.md)":               "up ../README.md",
		"[here](#below)":                   "here",
		"![a plan](plan.png)":              "a plan → plan.png",
		"![](plan.png)":                    "plan.png",
		"write to <ada@example.org>":       "write to ada@example.org",
		"www.example.org and http://a.b/c": "www.example.org and http://a.b/c",
		"[**bold** link](http://a.b)":      "bold link http://a.b",
		"[z]: z.md\n[y]: y.md\n[x]: x.md":  "[z]: z.md\n[y]: y.md\n[x]: x.md",
		"[d]: http://a.b/c\nand more":      "and more\n[d]: http://a.b/c",
		"[one]: <http://a.b> \"a title\"":  "[one]: http://a.b",
	} {
		if got := ansi.Strip(NewRenderer(theme.New(theme.Dark), 80).Markdown(Block{Source: source})); got != want {
			t.Errorf("%q is drawn as %q, want %q", source, got, want)
		}
	}
}

// FuzzMarkdown looks for texts that are drawn wider than there is room, drive the terminal, or are lost.
func FuzzMarkdown(f *testing.F) {
	for _, source := range []string{
		sample, "<pre><code>\tx\n</code></pre>", "> - a\n>   1. b\n>\n>      c", "| a | b |\n|:-|-:|\n| 漢 | `x|y` | z |",
		"&amp;\\*\\_", "- [ ] a\n- [x] b",
	} {
		f.Add(source, 30)
	}
	f.Fuzz(func(t *testing.T, source string, width int) {
		width = 8 + max(width, -width)%100
		r := NewRenderer(theme.New(theme.None), width)
		drawn := ansi.Strip(r.answer(source))
		if strings.ContainsFunc(drawn, Hostile) {
			t.Errorf("%q is drawn as %q", source, drawn)
		}
		letters := func(s string) (n int) {
			for _, c := range s {
				if unicode.IsLetter(c) {
					n++
				}
			}
			return n
		}
		if strings.ContainsAny(source, "&[]<|`~") { // references name letters; names of links, languages and cells too many go
			return
		}
		if got, want := letters(drawn), letters(Clean(source)); got < want {
			t.Errorf("%q has %d letters, and %d when drawn at %d: %q", source, want, got, width, drawn)
		}
	})
}
