package cli

import (
	"strings"
	"testing"
)

func TestAnAnswerThatArrivesInPiecesIsWrappedAtWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"at once", []string{"one two three four five six"}, "one two three four\nfive six"},
		{"word by word", []string{"one ", "two ", "three ", "four ", "five"}, "one two three four\nfive"},
		{"a blank in front of each word", []string{"one", " two", " three", " four", " five"}, "one two three\nfour five"},
		{"what fills a row", []string{"one two three fours ", "five"}, "one two three fours\nfive"},
		{"words in pieces", []string{"one two three", " fo", "urteen ", "fi", "ve"}, "one two three\nfourteen five"},
		{"lines of its own", []string{"one\n", "\n  two\n", "three ", "\nfour"}, "one\n\n  two\nthree\nfour"},
		{"a word longer than a row", []string{"see ", "/a/path/longer/than/the/row", " it is"}, "see\n/a/path/longer/than/the/row it is"},
		{"indented code", []string{"    if a {\n\treturn", " b\n"}, "    if a {\n\treturn b\n"},
		{
			"text without blanks",
			[]string{strings.Repeat("漢", 8), strings.Repeat("字", 8)},
			strings.Repeat("漢", 8) + "字字\n" + strings.Repeat("字", 6),
		},
	} {
		var got strings.Builder
		w := wrapper{}
		for i, p := range c.pieces {
			out := w.wrap(p, 20)
			if strings.TrimSpace(p) != "" && out == "" {
				t.Errorf("%s: piece %d is held back", c.name, i)
			}
			got.WriteString(out)
		}
		if got.String() != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got.String(), c.want)
		}
	}
}

func TestAWordThatMayStillGrowLeavesTheEndOfARow(t *testing.T) {
	t.Parallel()
	w := wrapper{}
	out := w.wrap(strings.Repeat("word ", 13)+"cata", 80) // 65 columns, then a word to which there is room to grow
	out += w.wrap("log under", 80)                        // to which there is none
	out += w.wrap("standing", 80)
	lines := strings.Split(out, "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], " catalog") || lines[1] != "understanding" {
		t.Errorf("%q", lines)
	}
}
