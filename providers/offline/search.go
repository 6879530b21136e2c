package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxListed is how many results an answer lists.
const maxListed = 10

// search looks for a text in the messages, then in the archive, and lists the results.
func (d *decider) search(text string) string {
	query := clip(strings.Trim(text, `"' `), 200)
	if !d.s.offers("conversation_search") && !d.s.offers("archival_memory_search") {
		if hits := newQuestion(text).find(slices.Concat(d.p.facts, d.threadFacts())); len(hits) > 0 {
			return d.tell(hits)
		}
		return "I have no search tool here, and memory shows nothing about that."
	}
	lines := d.listed(func(x deed) bool { return x.arg("query") == query }, false)
	if len(lines) > 0 {
		return fmt.Sprintf("Found for %q:\n%s", query, strings.Join(lines, "\n"))
	}
	before := len(d.searches)
	d.plan(query)
	if len(d.searches) > before {
		return ""
	}
	if hits := newQuestion(text).find(d.p.facts); len(hits) > 0 {
		return "The search found nothing. Memory has: " + d.tell(hits)
	}
	return fmt.Sprintf("I searched for %q and found nothing.", query)
}

// onDay lists what was said on a day if the search takes dates; otherwise it searches for the question like any other.
func (d *decider) onDay(text string) string {
	const tool = "conversation_search"
	ws := tokenise(text)
	for i := range ws {
		t, n := d.s.clock.relative(ws[i:])
		if n == 0 || !d.s.offers(tool) || !d.s.tools[tool]["start_date"] {
			continue
		}
		date := t.Format(time.DateOnly)
		asked := func(x deed) bool { return x.name == tool && x.arg("start_date") == date }
		if lines := d.listed(asked, true); len(lines) > 0 {
			return fmt.Sprintf("From %s:\n%s", day(t), strings.Join(lines, "\n"))
		}
		if slices.ContainsFunc(d.s.done, asked) {
			return fmt.Sprintf("I find nothing that was said on %s.", day(t))
		}
		c := call{name: tool, args: []arg{{"start_date", date}, {"end_date", date}}}
		if d.s.tools[tool]["roles"] {
			c.args = append(c.args, arg{"roles", []string{"user"}})
		}
		if d.s.tools[tool]["limit"] {
			c.args = append(c.args, arg{"limit", maxListed})
		}
		d.searches = append(d.searches, c)
		return ""
	}
	return d.ask(text)
}

// listed shows the results of this turn's searches, one per line; told leaves out what the agent said.
func (d *decider) listed(wanted func(deed) bool, told bool) []string {
	var lines []string
	ended := d.ended()
	for _, x := range d.s.done {
		if !strings.HasSuffix(x.name, "_search") || !wanted(x) {
			continue
		}
		if x.failed {
			lines = append(lines, "- the search failed: "+reason(x.ret))
			continue
		}
		for _, f := range findings(x.ret) {
			_, content := cutPreface(f.content)
			if strings.TrimSpace(content) == strings.TrimSpace(d.s.input) || f.role == "tool" || f.role == "system" ||
				told && f.role == "assistant" ||
				len(lines) >= maxListed ||
				hushed(ended, content, f.time()) {
				continue
			}
			line := "- " + clip(strings.Join(strings.Fields(content), " "), 200)
			if f.role == "assistant" {
				line = "- I said: " + strings.TrimPrefix(line, "- ")
			}
			if len(f.at) >= len(time.DateOnly) {
				line += " (" + f.at[:len(time.DateOnly)] + ")"
			}
			lines = append(lines, line)
		}
	}
	return lines
}
