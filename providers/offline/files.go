package offline

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// fileSearch is the tool that searches attached files.
const fileSearch = "semantic_search_files"

// How much of the results of a file search is shown.
const (
	maxFileHits  = 3
	maxFileQuote = 300 // characters per passage
)

// fileNouns are the words for attached files.
const fileNouns = " file files folder folders document documents docs attachment attachments "

// ofFiles reports whether a question or search is about attached files, and what to look for in them, which may be
// empty.
func ofFiles(asked string) (query string, ok bool) {
	ws := trim(tokenise(asked))
	var rest []word
	for _, w := range ws {
		if listed(fileNouns, w.low) {
			ok = true
			for len(rest) > 0 && rest[len(rest)-1].is("the", "my", "your", "our", "these", "those", "this", "any", "all", "attached",
				"of", "in", "from", "through", "inside", "within") {
				rest = rest[:len(rest)-1]
			}
			continue
		}
		rest = append(rest, w)
	}
	if !ok {
		return "", false
	}
	rest = slices.DeleteFunc(trim(rest), func(w word) bool {
		return w.punct() || listed(stopwords, w.low) ||
			w.is(
				"say",
				"says",
				"said",
				"mention",
				"mentions",
				"tell",
				"tells",
				"contain",
				"contains",
				"hold",
				"holds",
				"search",
				"find",
				"look",
				"attached",
				"have",
				"has",
				"got",
				"see",
				"show",
				"list",
				"read",
			)
	})
	return clip(text(rest), 200), true
}

// files answers questions about attached files with the passages that a file search finds, verbatim.
func (d *decider) files(query string) string {
	if query == "" {
		return d.fileNames()
	}
	for _, x := range d.s.done {
		if x.name != fileSearch || x.arg("query") != query {
			continue
		}
		if x.failed {
			return "The search of the files failed: " + reason(x.ret)
		}
		if lines := quotes(x.ret, query); len(lines) > 0 {
			return fmt.Sprintf("Passages of the attached files that match %q, word for word:\n%s", query, strings.Join(lines, "\n"))
		}
		return fmt.Sprintf("I searched the attached files for %q and found nothing.", query)
	}
	c := call{name: fileSearch, args: []arg{{"query", query}}}
	if d.s.tools[fileSearch]["limit"] {
		c.args = append(c.args, arg{"limit", maxFileHits})
	}
	d.searches = append(d.searches, c)
	return ""
}

// How prompts list a file, and how results of a file search start; compiled on first use.
var (
	fileInPrompt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^<file status="[a-z]+" name="([^"\n]*)">`) })
	passageHead  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^=== (.+) \(passage #\d+\)(?: (lines \d+-\d+))?.* ===$`)
	})
)

// fileNames lists the files that the prompt mentions.
func (d *decider) fileNames() string {
	var lines []string
	for _, m := range fileInPrompt().FindAllStringSubmatch(d.s.req.System, maxListed) {
		lines = append(lines, "- "+clip(html.UnescapeString(m[1]), 200))
	}
	if len(lines) == 0 {
		return "I see no attached files."
	}
	return "Attached files, as my prompt lists them:\n" + strings.Join(
		lines,
		"\n",
	) + "\nAsk what they say about something, and I search them."
}

// quotes shows the results of a search, each with its location and the sentences closest to the query.
func quotes(ret, query string) []string {
	var lines []string
	heads := passageHead().FindAllStringSubmatchIndex(ret, maxFileHits)
	for i, h := range heads {
		end := len(ret)
		if next := passageHead().FindStringIndex(ret[h[1]:]); next != nil {
			end = h[1] + next[0]
		}
		passage, _, _ := strings.Cut(ret[h[1]:end], "\n\nNote: ")
		name, place := ret[h[2]:h[3]], ""
		if h[4] >= 0 {
			place = ", " + ret[h[4]:h[5]]
		}
		lines = append(lines, fmt.Sprintf("- %s%s: %s", clip(name, 120), place, nearest(passage, query)))
		if i+1 == maxFileHits {
			break
		}
	}
	return lines
}

// nearest returns the part of a passage that starts with the sentence sharing the most words with the query.
func nearest(passage, query string) string {
	parts := sentences(passage)
	best, most := 0, -1
	wanted := map[string]bool{}
	for _, w := range tokenise(query) {
		wanted[stem(w.low)] = !w.punct()
	}
	for i, p := range parts {
		seen := map[string]bool{}
		for _, w := range tokenise(p) {
			if k := stem(w.low); wanted[k] {
				seen[k] = true
			}
		}
		if n := len(seen); n > most {
			best, most = i, n
		}
	}
	if len(parts) == 0 {
		return clip(strings.Join(strings.Fields(passage), " "), maxFileQuote)
	}
	return clip(strings.Join(strings.Fields(strings.Join(parts[best:], " ")), " "), maxFileQuote)
}
