package term

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// joined are characters of several code points, with the width that text laid
// out for every terminal must give them.
var joined = map[string]int{
	"👩‍👩‍👧": 6, "🇫🇮": 2, "👍🏽": 4, "❤️": 2, "1️⃣": 2, "é": 1, "漢": 2, "✅": 2, "क्षि": 3, "\U00100001": 1,
}

func TestACharacterIsAsWideAsAnyTerminalShowsIt(t *testing.T) {
	t.Parallel()
	for c, want := range joined {
		if got := Width("a" + c + "\x1b[1mb\x1b[m"); got != want+2 {
			t.Errorf("%q is %d wide, want %d", c, got-2, want)
		}
	}
}

func TestWordsBesideJoinedCharactersAreNotCut(t *testing.T) {
	t.Parallel()
	for c := range joined {
		text := strings.TrimSpace(strings.Repeat("one two three four five six "+c+" ", 12))
		for _, width := range []int{20, 45, 60, 80} {
			var words []string
			for row := range strings.SplitSeq(Wrap(text, width), "\n") {
				if ansi.StringWidthWc(row) > width || ansi.StringWidth(row) > width {
					t.Errorf("%q at %d: too wide: %q", c, width, row)
				}
				words = append(words, strings.Fields(row)...)
			}
			if got := strings.Join(words, " "); got != text {
				t.Errorf("%q at %d became %q", c, width, got)
			}
		}
	}
}

func TestLinesAreBrokenWhereAReaderExpectsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one two three":                    "one two\nthree",
		"as before (--always: on)":         "as before\n(--always:\non)",
		"é touch x; ls -la; x":             "é touch x;\nls -la; x",
		"exactly ten":                      "exactly\nten",
		"ten chars: é":                     "ten chars:\né",
		"a self-hosted thing":              "a self-\nhosted\nthing",
		"see https://example.org":          "see\nhttps://ex\nample.org",
		"see 漢字漢字漢字":                       "see 漢字漢\n字漢字",
		"漢字漢字漢。漢":                          "漢字漢字\n漢。漢",
		"漢字漢字（漢）":                          "漢字漢字\n（漢）",
		"  indented by two":                "  indented\nby two",
		"                deep":             "deep",
		"one\n\n  two":                     "one\n\n  two",
		"\x1b[1mbold words here\x1b[m yes": "\x1b[1mbold words\nhere\x1b[m yes",
	} {
		if got := Wrap(text, 10); got != want {
			t.Errorf("%q is broken into %q, want %q", text, got, want)
		}
	}
}

func FuzzWrapKeepsTheText(f *testing.F) {
	f.Add(" 0    🏽000000", 39)
	f.Add("one 👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧 two\U00100001 ❤️", 7)
	f.Add("\x1b[31m👍🏽\x1b[m\U0010FFFD", 2)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 6 + abs(width)%80
		text = strings.Map(func(c rune) rune {
			if c < ' ' || c == '\u007f' || c == '\uFFFD' {
				return -1
			}
			return c
		}, text)
		plain := func(s string) string {
			return strings.Map(func(c rune) rune {
				if unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsSymbol(c) || c >= 0x100000 {
					return c
				}
				return -1 // spaces go where a line is broken, and what joins them
			}, s)
		}
		if got := Wrap(text, width); plain(got) != plain(text) {
			t.Errorf("%q became %q", text, got)
		}
		if got := Truncate(text, width, "…"); Width(got) > width {
			t.Errorf("%q was cut to %q, %d wide", text, got, Width(got))
		}
	})
}
