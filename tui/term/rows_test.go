package term

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
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
