package memory

import (
	"fmt"
	"unicode/utf8"

	"loci/core"
)

// MaxAnnounced is up to how many characters a newer value is announced whole.
const MaxAnnounced = 2000

// Announce returns the text that tells a model of a block version newer than the one its window shows: the whole value
// up to MaxAnnounced characters, else the lines that differ from the shown value if that is shorter. Without a shown
// value the whole is given; where only description or limit changed, those are. The texts of several blocks are joined by blank lines into one record.
func Announce(block core.Block, shown string, haveShown bool) string {
	if haveShown && shown == block.Value {
		return fmt.Sprintf("The memory block %q was changed outside of this thread, but not its value. It is described as %q and may have %d characters.",
			block.Label, block.Description, block.Limit)
	}
	whole := fmt.Sprintf("The memory block %q was changed outside of this thread. Its value is now:\n<value>\n%s\n</value>", block.Label, block.Value)
	if !haveShown {
		whole = fmt.Sprintf("The memory block %q was added to your memory. Its value is:\n<value>\n%s\n</value>", block.Label, block.Value)
	}
	if !haveShown || utf8.RuneCountInString(block.Value) <= MaxAnnounced {
		return whole
	}
	diff := Diff(shown, block.Value)
	if utf8.RuneCountInString(diff) >= utf8.RuneCountInString(block.Value) {
		return whole
	}
	return fmt.Sprintf("The memory block %q was changed outside of this thread. Only these lines differ from what you were shown (- is gone, + is new):\n"+
		"<changes>\n%s</changes>", block.Label, diff)
}

// Marker returns the record that stands for the messages that left a window.
func Marker(total int) string {
	if total == 1 {
		return "1 earlier message of this thread no longer fits here and was left out. It is kept; conversation_search finds it."
	}
	return fmt.Sprintf("%d earlier messages of this thread no longer fit here and were left out. They are kept; conversation_search finds them.", total)
}
