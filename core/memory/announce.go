package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
)

// MaxAnnounced is the longest value, in characters, that is announced whole.
const MaxAnnounced = 2000

// Announce returns the text that tells a model about a block version newer than the one in its window: the whole value
// up to MaxAnnounced characters, else the lines that differ from the shown value if that is shorter. If no value was
// shown, the whole one is given; if only description or limit changed, those are. The texts of several blocks are joined
// by blank lines into one record.
func Announce(block core.Block, shown string, haveShown bool) string {
	if haveShown && shown == block.Value {
		return fmt.Sprintf(
			"The memory block %q was changed outside of this thread, but not its value. It is described as %q and may have %d characters.",
			block.Label,
			block.Description,
			block.Limit,
		)
	}
	whole := fmt.Sprintf(
		"The memory block %q was changed outside of this thread. Its value is now:\n<value>\n%s\n</value>",
		block.Label,
		block.Value,
	)
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
	return fmt.Sprintf(
		"The memory block %q was changed outside of this thread. Only these lines differ from what you were shown (- is gone, + is new):\n"+
			"<changes>\n%s</changes>",
		block.Label,
		diff,
	)
}

// maxTakenBack bounds what is told of the text of one passage, in characters.
const maxTakenBack = 500

// TakenBack returns the record that tells a model which passages of its archival memory a person gave an earlier content
// again, the last one first; more of them than are told of is a positive number.
func TakenBack(passages []core.PassageVersion, more int, zone *time.Location) string {
	var b strings.Builder
	b.WriteString("Changes in your archival memory were undone or redone outside of this thread. These passages say now:")
	for i := range passages {
		p := &passages[i]
		text := firstChars(strings.TrimSpace(p.Text), maxTakenBack)
		if p.Gone {
			text = "(it is deleted)"
		}
		fmt.Fprintf(&b, "\n- %s, of %s: %s", p.Passage, p.Created.In(zone).Format(time.DateOnly), text)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nand %d more; archival_memory_search returns what they say.", more)
	}
	return b.String()
}

// Hooked returns the record that tells a model what programs of the person's add to a message; empty: nothing.
func Hooked(texts ...string) string {
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if text == "" {
		return ""
	}
	return "A hook, a program of the person's, adds to the message:\n" + text
}

// Skills returns the record that lists what the client of a request knows how to do; with no skills it revokes an
// earlier list.
func Skills(skills []core.Skill) string {
	if len(skills) == 0 {
		return "The client offers no skills any more."
	}
	var b strings.Builder
	b.WriteString(
		"The client offers these skills now, in place of any that it offered before. To use one, first read the " +
			"instructions at its location.\n" +
			"<available_skills>\n",
	)
	for _, s := range skills {
		fmt.Fprintf(
			&b,
			"<skill>\n<name>%s</name>\n<description>%s</description>\n<location>%s</location>\n</skill>\n",
			s.Name,
			s.Description,
			s.Location,
		)
	}
	b.WriteString("</available_skills>")
	return b.String()
}

// Folders returns the record that lists the folders which a person opened beside the open one; with none it revokes an earlier
// list.
func Folders(dirs []core.WorkspaceDir) string {
	if len(dirs) == 0 {
		return "No folder is open beside the open one any more."
	}
	var b strings.Builder
	b.WriteString("The person opened these folders beside the open one, in place of any before. Name what is in them by its absolute " +
		"path.\n")
	for _, d := range dirs {
		may := "to read"
		if d.Writable {
			may = "to read and to change"
		}
		fmt.Fprintf(&b, "%s (%s)\n", oneLine(d.Path), may)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Marker returns the record that replaces messages that left a window.
func Marker(total int) string {
	if total == 1 {
		return "1 earlier message of this thread no longer fits here and was left out. It is kept; conversation_search finds it."
	}
	return fmt.Sprintf(
		"%d earlier messages of this thread no longer fit here and were left out. They are kept; conversation_search finds them.",
		total,
	)
}
