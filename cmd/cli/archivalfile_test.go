package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestATextIsSplitAtItsHeadingsAndParagraphs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The ferry leaves at nine. ", 60) // 1,560 characters
	for text, want := range map[string][]string{
		"":                          nil,
		" \n\t\n ":                  nil,
		"one\n\ntwo\r\n\r\nthree\n": {"one\n\ntwo\n\nthree"},
		"# A\n\nabout a\n\n## B\nabout b\n# C\n## D\n\nabout d": {"# A\n\nabout a", "## B\nabout b", "# C\n\n## D\n\nabout d"},
		"#1 is no heading\n\n#nor this":                         {"#1 is no heading\n\n#nor this"},
		"# Ferry\n\n" + long + "\n\nEnd.": {
			"# Ferry\n\n" + strings.TrimSpace(strings.Repeat("The ferry leaves at nine. ", 46)),
			strings.TrimSpace(strings.Repeat("The ferry leaves at nine. ", 14)) + "\n\nEnd.",
		},
	} {
		if diff := cmp.Diff(want, passagesOf(text)); diff != "" {
			t.Errorf("%.40q (-want +got):\n%s", text, diff)
		}
	}
}

func TestSplittingATextLosesNothingOfIt(t *testing.T) {
	t.Parallel()
	bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for _, text := range []string{
		strings.Repeat("x", 5000), strings.Repeat("é界😀", 3000), strings.Repeat("word ", 4000), strings.Repeat("# h\n", 3000),
		strings.Repeat("a line\n", 2000),
		strings.Repeat("# "+strings.Repeat("heading ", 400)+"\n\ntext\n\n", 5), strings.Repeat(strings.Repeat(" ", 2000)+"x", 5),
		strings.Repeat("一句话。", 2000),
		strings.Repeat("One paragraph of some words.\n\n", 1000),
	} {
		got := passagesOf(text)
		if bare(strings.Join(got, "\n")) != bare(text) {
			t.Errorf("%.20q…: not the same text", text)
		}
		for _, p := range got {
			if n := utf8.RuneCountInString(p); n == 0 || n > 3*aimOfPassage || !utf8.ValidString(p) {
				t.Errorf("%.20q…: a passage of %d characters", text, n)
			}
		}
		if most := 2*utf8.RuneCountInString(text)/aimOfPassage + 6; len(got) > most && !strings.HasPrefix(text, "#") {
			t.Errorf("%.20q…: %d passages", text, len(got))
		}
	}
}
