package memory

import (
	"fmt"
	"unicode/utf8"
)

// MaxWhole is below how many characters an edit's return holds the whole value, whoever made it.
const MaxWhole = 1000

// Changed is what an agent of the terminal reads after an edit of a block whose earlier value its window shows: the whole
// value if it is short, else the lines that changed with those around them, if that is shorter.
func Changed(label, before, after string) string {
	n := utf8.RuneCountInString(after)
	diff := Diff(before, after)
	if n < MaxWhole || diff == "" {
		return after
	}
	text := fmt.Sprintf("The block %q now has %d characters. Only these lines changed (- is gone, + is new):\n<changes>\n%s</changes>",
		label, n, diff)
	if utf8.RuneCountInString(text) >= n {
		return after
	}
	return text
}
