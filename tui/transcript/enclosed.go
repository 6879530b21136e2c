package transcript

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Enclosure is what goes along with a message: a file, or what a shell line of the person's wrote.
type Enclosure struct {
	Head string // what it is, on one line
	Text string
}

// The heads of enclosures begin so. They are for the model as well.
const (
	headRan  = "The person ran this"
	headFile = "File "
)

// Ran encloses a shell line that the person ran themselves.
func Ran(folder, line, end, output string) Enclosure {
	return Enclosure{
		Head: fmt.Sprintf("%s in %s: %s", headRan, OneLine(folder), OneLine(end)), Text: "$ " + Clean(line) + "\n" + Clean(output),
	}
}

// File encloses a file, by its lines as far as they go along.
func File(path, text string, shown, lines int) Enclosure {
	head := fmt.Sprintf("%s%s, %d lines", headFile, OneLine(Reveal(path)), lines)
	if lines == 1 {
		head = headFile + OneLine(Reveal(path)) + ", 1 line"
	}
	if shown < lines {
		head = fmt.Sprintf("%s%s, the first %d of %d lines", headFile, OneLine(Reveal(path)), shown, lines)
	}
	return Enclosure{head, text}
}

// String is the enclosure as it is sent: its head in brackets, and its text in a fence that no line of it ends.
func (e Enclosure) String() string {
	text := strings.ReplaceAll(e.Text, "[image /", "[image: /") // only a person's own words send images
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "[" + e.Head + "]\n" + fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// Enclose puts enclosures behind a message.
func Enclose(words string, enclosures []Enclosure) string {
	for _, e := range enclosures {
		words += "\n\n" + e.String()
	}
	return words
}

var enclosed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^\\[((?:" + headRan + " in |" + headFile + ")[^\n]*)\\]\n(`{3,})\n")
})

// Unfold tells a person's own words from what they sent along, of which only the heads are told.
func Unfold(text string) (words string, heads []string) {
	rest := text
	for {
		at := enclosed().FindStringSubmatchIndex(rest)
		if at == nil {
			return strings.TrimRight(words+rest, "\n"), heads
		}
		fence := rest[at[4]:at[5]]
		_, after, closed := strings.Cut(rest[at[1]-1:], "\n"+fence)
		if !closed || after != "" && after[0] != '\n' {
			return strings.TrimRight(words+rest, "\n"), heads
		}
		heads = append(heads, rest[at[2]:at[3]])
		words += strings.TrimRight(rest[:at[0]], "\n")
		rest = after
	}
}
