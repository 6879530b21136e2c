package offline

import (
	"regexp"
	"strings"
	"sync"
)

// hookedHead begins what programs of the person's add to a message: nothing that the person said.
const hookedHead = "A hook, a program of the person's, adds to the message:"

// enclosure matches the head of a file, or of a shell line with what it wrote, that goes along with a message.
var enclosure = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^\\[(?:The person ran this in |File )[^\n]*\\]\n(`{3,})\n")
})

// ownWords are a message without the files and the output that go along with it: these say nothing about the person.
func ownWords(text string) string {
	words := ""
	for {
		at := enclosure().FindStringSubmatchIndex(text)
		if at == nil {
			return words + text
		}
		_, after, closed := strings.Cut(text[at[1]-1:], "\n"+text[at[2]:at[3]])
		if !closed {
			return words + text[:at[0]]
		}
		words, text = words+text[:at[0]], after
	}
}
