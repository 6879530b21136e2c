package transcript

import (
	"fmt"
	"strings"
	"testing"

	"loci/tui/term"
	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestProseAndTablesWithJoinedCharactersFitAndKeepTheirWords(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 60, 45} {
		for _, c := range []string{"👩‍👩‍👧", "🇫🇮", "👍🏽", "❤️", "é"} {
			r := NewRenderer(theme.New(theme.None), width)
			words := "one two three four five six " + c + " "
			table := "| who | what |\n|---|---|\n| a " + c + " b " + c + " | " + strings.Repeat(words, 3) + "|\n"
			drawn := map[string]string{
				"prose": r.Markdown(Block{Source: strings.Repeat(words, 12) + "\n"}),
				"item":  r.Markdown(Block{Source: "- " + strings.Repeat(words, 12) + "\n"}),
				"open":  r.Open(strings.Repeat(words, 12), 40),
				"table": r.Markdown(Block{Source: table}),
			}
			for kind, text := range drawn {
				name := fmt.Sprintf("%s of %s at %d", kind, c, width)
				count := map[string]int{}
				for row := range strings.SplitSeq(ansi.Strip(text), "\n") {
					if term.Width(row) > width {
						t.Errorf("%s: %d cells: %q", name, term.Width(row), row)
					}
					for _, w := range strings.Fields(row) {
						count[w]++
					}
				}
				if count["one"] != count["six"] || count["three"] != count["one"] || count["one"] == 0 || count[c] < count["one"] {
					t.Errorf("%s: a word was cut:\n%s", name, text)
				}
			}
		}
	}
}

func TestAStreamCutsBetweenTheWordsThatJoinedCharactersStandBeside(t *testing.T) {
	t.Parallel()
	s := Stream{Wide: 60, Long: 12}
	r := NewRenderer(theme.New(theme.None), 60)
	var rows []string
	text := strings.Repeat("one two three four five six 👩‍👩‍👧 ", 12)
	for part := range strings.SplitAfterSeq(text, " ") {
		for _, b := range s.Write(part) {
			rows = append(rows, strings.Split(r.Markdown(b), "\n")...)
		}
	}
	for _, b := range s.Close() {
		rows = append(rows, strings.Split(r.Markdown(b), "\n")...)
	}
	if got := strings.Join(rows, " "); got != strings.TrimSpace(text) {
		t.Errorf("became\n%s", strings.Join(rows, "\n"))
	}
	for i, row := range rows[:len(rows)-1] {
		if term.Width(row) > 60 || term.Width(row) < 40 {
			t.Errorf("row %d is %d wide: %q", i, term.Width(row), row)
		}
	}
}

func TestATableALittleTooWideLosesNoLetter(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"xxxxxx", "👩‍👩‍👧", "**xxxx**"} {
		table := "| who | what | why |\n|---|---|---|\n| " + name + " fam | words in the middle | and those at the end |\n"
		for width := 40; width < 64; width++ {
			r := NewRenderer(theme.New(theme.None), width)
			drawn := ansi.Strip(r.Markdown(Block{Source: table}))
			if got := strings.Join(strings.Fields(drawn), " "); !strings.Contains(got, "end") {
				t.Errorf("%s at %d:\n%s", name, width, drawn)
			}
			for row := range strings.SplitSeq(drawn, "\n") {
				if term.Width(row) > width {
					t.Errorf("%s at %d is %d wide: %q", name, width, term.Width(row), row)
				}
			}
		}
	}
}
