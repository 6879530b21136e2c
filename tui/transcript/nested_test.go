package transcript

import (
	"strings"
	"testing"

	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestListsHangBelowTheirFirstWord(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"- a\n  - b\n    - c\n- d\n- e\n":                    "• a\n  • b\n    • c\n• d\n• e",
		"- one two three four five six\n- b\n":               "• one two three four\n  five six\n• b",
		"9. nine\n10. ten eleven twelve thirteen\n    - x\n": "9. nine\n10. ten eleven\n    twelve thirteen\n    • x",
		"> - a\n> - b\n":                           "┃ • a\n┃ • b",
		"> quoted\n>\n> - a\n":                     "┃ quoted\n┃\n┃ • a",
		"- a\n\n  more\n\n- b\n":                   "• a\n\n  more\n• b",
		"- [x] done\n- [ ] open, and it is long\n": "☑ done\n☐ open, and it is\n  long",
		"-\ttab\n\n\tmore\n":                       "• tab\n\n  more",
		"-\n- b\n":                                 "•\n• b",
		"- - a\n  - b\n":                           "• • a\n  • b",
		"* a\nlazy\n* b\n":                         "• a lazy\n• b",
		"- a\n  > q\n- b":                          "• a\n  ┃ q\n• b",
		"- item\n  ```py\n  if x:\n      y\n\n  z\n  ```\n- next\n": "• item\n  ```py\n  if x:\n      y\n\n  z\n  ```\n• next",
		"1. step\n\n   ```\n   x\n   ```\n":                         "1. step\n\n   ```\n   x\n   ```",
		"-     code\n":                                              "• ```\n  code\n  ```",
	} {
		if got := ansi.Strip(NewRenderer(theme.New(theme.None), 20).answer(source)); got != want {
			t.Errorf("%q is drawn as\n%s\nwant\n%s", source, got, want)
		}
	}
}

func TestAListOfManyLevelsIsDrawnInTheEnd(t *testing.T) {
	t.Parallel()
	got := ansi.Strip(NewRenderer(theme.New(theme.None), 80).answer(strings.Repeat("- ", 200) + "end"))
	if !strings.HasSuffix(strings.Join(strings.Fields(got), ""), "•end") {
		t.Errorf("%.400q", got)
	}
}

func TestIndentedCodeIsDrawnAsCode(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"Run:\n\n    go test ./... -count=1\n\n      more\n\nThen": "Run:\n\n```\ngo test ./... -count=1\n\n  more\n```\n\nThen",
		"\ttab\n":             "```\ntab\n```",
		"    has ``` in it\n": "````\nhas ``` in it\n````",
	} {
		if got := ansi.Strip(NewRenderer(theme.New(theme.None), 20).answer(source)); got != want {
			t.Errorf("%q is drawn as\n%s\nwant\n%s", source, got, want)
		}
	}
}
