package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func TestSpacesAtTheEndGoAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"plain  ":                                "plain",
		"plain":                                  "plain",
		"   ":                                    "",
		"\x1b[1mbold\x1b[m   ":                   "\x1b[1mbold\x1b[m",
		"a \x1b[38;5;110m   \x1b[m  ":            "a\x1b[m",
		"it is \x1b[1m42\x1b[m   ":               "it is \x1b[1m42\x1b[m",
		"run \x1b[38;5;146mgo\x1b[m:   ":         "run \x1b[38;5;146mgo\x1b[m:",
		"\x1b[1ma\x1b[m; \x1b[3mb\x1b[m;  ":      "\x1b[1ma\x1b[m; \x1b[3mb\x1b[m;",
		"at \x1b[38:5:110m12:30\x1b[m\u00a0\x20": "at \x1b[38:5:110m12:30\x1b[m",
		"\x1b[1mm\x1b[m ":                        "\x1b[1mm\x1b[m",
		"\x1b[1m5;5m\x1b[m ":                     "\x1b[1m5;5m\x1b[m",
	} {
		got := TrimRight(line)
		if ansi.Strip(got) != ansi.Strip(want) {
			t.Errorf("%q became the text %q, want %q", line, ansi.Strip(got), ansi.Strip(want))
		} else if got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestRowsAreWholeInThemselves(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text string
		width      int
		want       []string
	}{
		{"a style is closed and opened again", "\x1b[31mab漢d\x1b[m", 3, []string{"\x1b[31mab\x1b[m", "\x1b[31m漢d\x1b[m"}},
		{"a style over lines", "\x1b[1ma\nb\x1b[0mc", 9, []string{"\x1b[1ma\x1b[m", "\x1b[1mb\x1b[0mc"}},
		{"tabs", "a\tb", 9, []string{"a   b"}},
		{"an exact multiple stays", "abcdef", 3, []string{"abcdef"}},
		{"a long line stays", "abcdefg", 3, []string{"abcdefg"}},
		{"too long for the limit", strings.Repeat("a", 40), 3, strings.Split(strings.Repeat("aaa ", 13)+"a", " ")},
		{"empty lines", "a\n\nb", 3, []string{"a", "", "b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Rows(c.text, c.width, 10)); diff != "" {
				t.Errorf("Rows (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzRows(f *testing.F) {
	f.Add(strings.Repeat("👩\u200d", 40), 7, 1)
	f.Add("漢\tabc\x1b[31mdef\x1b]8;;http://x\x07link\x1b]8;;\x07", 7, 5)
	f.Fuzz(func(t *testing.T, text string, width, limit int) {
		width, limit = 2+abs(width)%200, 1+abs(limit)%60
		for _, row := range Rows(text, width, limit) {
			if strings.ContainsAny(row, "\t\n\r") {
				t.Errorf("%q", row)
			}
			if w := Width(row); w > width*limit {
				t.Errorf("%d cells in %d rows of %d: %q", w, limit, width, row)
			}
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }
