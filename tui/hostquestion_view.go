package tui

import (
	"fmt"
	"slices"
	"strings"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// rows draws what is asked now in at most room rows. Where the host doesn't fit,
// no key allows it.
func (h *hostQuestion) rows(room int) []string {
	if !h.stands() {
		return nil
	}
	if h.since.IsZero() {
		h.since = h.now()
	}
	th, width, q := h.ui.theme, h.ui.width(), h.asked[0]
	rows := append(h.marked(h.wish(q)), h.settings(q)...)
	if rule := h.rule(q); rule != "" {
		for row := range strings.SplitSeq(wrapTo(rule, width-2), "\n") {
			rows = append(rows, "  "+row)
		}
	}
	h.seen = len(rows) < room
	rows = rows[:min(len(rows), max(room-1, 1))]
	if len(rows)+2 <= room {
		rows = append(rows, transcript.Short(th.Dim.Render("  of: "+transcript.OneLine(transcript.Reveal(q.Command))), width))
	}
	if len(rows)+2 <= room {
		rows = append([]string{""}, rows...)
	}
	return append(rows, th.Accent.Render(h.keys(q, width)))
}

// marked is a text behind a question mark.
func (h *hostQuestion) marked(text string) []string {
	rows := strings.Split(wrapTo(text, h.ui.width()-2), "\n")
	for i, row := range rows {
		mark := "  "
		if i == 0 {
			mark = h.ui.theme.Warn.Render("? ")
		}
		rows[i] = mark + h.ui.theme.Strong.Render(row)
	}
	return rows
}

// rule says what would be kept, before Enter keeps it.
func (h *hostQuestion) rule(q api.Question) string {
	if h.confirm == nil {
		return ""
	}
	for _, k := range hostKeys {
		if k.allow == h.confirm.allow && k.lasts != "" && q.Opens != "" {
			return ruleText(q.Rules) + ", " + k.lasts + ": " + lasting(q.Opens)
		}
		if k.allow == h.confirm.allow && k.lasts != "" {
			host := transcript.OneLine(transcript.Reveal(q.Host))
			return "The rule fetch(" + host + "), " + k.lasts + ": shell lines and fetch reach this host without a question."
		}
	}
	return ""
}

// keys says which keys answer, as fully as fits the width.
func (h *hostQuestion) keys(q api.Question, width int) string {
	texts := h.keyTexts(q)
	for _, text := range texts {
		if term.Width(text) <= width {
			return text
		}
	}
	return transcript.Short(texts[len(texts)-1], width)
}

// keyTexts name the keys at more and more narrow screens.
func (h *hostQuestion) keyTexts(q api.Question) []string {
	const larger = " · a larger terminal shows all of it"
	switch {
	case h.confirm != nil && !h.seen:
		return []string{"esc goes back" + larger, "esc goes back"}
	case h.confirm != nil:
		back := "enter allows it · esc goes back"
		return []string{back + " · anything else begins a message", back, "enter allows it"}
	case h.typing:
		return []string{"tab: answer the question above", "tab answers"}
	case !h.seen:
		return []string{"n no" + larger, "n no"}
	}
	var long, short []string
	for _, k := range hostKeys {
		if k.allow == api.ScopeNo || slices.Contains(q.Scopes, k.allow) {
			long, short = append(long, k.help), append(short, k.short)
		}
	}
	if len(q.Settings) > 0 {
		long[0], short[0] = "y write it", "y write"
	}
	full := strings.Join(long, dot)
	return []string{full + dot + "tab type", full, strings.Join(short, dot), "y allow · n no", "y n"}
}

// ruleText names rules that would be kept.
func ruleText(rules []string) string {
	text := "The rule " + strings.Join(rules, " and ")
	if len(rules) > 1 {
		text = "The rules " + strings.Join(rules, " and ")
	}
	return transcript.OneLine(transcript.Reveal(text))
}

// lasting says what a rule opens from now on.
func lasting(opens string) string {
	switch opens {
	case api.OpensFolder:
		return "the agent's tools and shell lines see this folder."
	case api.OpensPort:
		return "this machine reaches lines that listen there."
	case api.OpensLocalPort:
		return "shell lines reach this port of the machine."
	}
	return "such lines run outside of the sandbox, and can do whatever you can."
}

// opening says what the sandbox kept from a line, and what it would get.
func opening(q api.Question) string {
	path := transcript.OneLine(transcript.Reveal(q.Path))
	switch {
	case q.Opens == api.OpensFolder && q.Write:
		return "Its line failed: it may not change " + path + ". Open this folder to be read and changed, and run the line again?"
	case q.Opens == api.OpensFolder:
		return "Its line failed: it does not see " + path + ". Open this folder to be read, and run the line again?"
	case q.Opens == api.OpensLocalPort:
		return fmt.Sprintf("Its line failed: it does not reach port %d of this machine. Open it, and run the line again?", q.Port)
	case q.Opens == api.OpensPort:
		return fmt.Sprintf("Its line listens on port %d. May this machine reach it, at 127.0.0.1:%d?", q.Port, q.Port)
	}
	return "Its line failed, maybe because of the sandbox. Run it again outside? There it can do whatever you can: " +
		transcript.OneLine(transcript.Reveal(q.Command))
}

// wish says what the line wants, the host first of all: it must not be cut.
func (h *hostQuestion) wish(q api.Question) string {
	if q.Opens != "" {
		return opening(q) + h.others()
	}
	if len(q.Settings) > 0 {
		return "May its line change these git settings of the project?" + h.others()
	}
	host, more := transcript.OneLine(transcript.Reveal(q.Host)), ""
	if q.Port > 0 {
		more = fmt.Sprintf(" (port %d)", q.Port)
	}
	if q.Behind != "" {
		more += ", where " + transcript.OneLine(transcript.Reveal(q.Behind)) + " leads"
	}
	return "May its line reach " + host + more + "?" + h.others()
}

// others says how much more is asked.
func (h *hostQuestion) others() string {
	if n := len(h.asked) - 1; n > 0 {
		return fmt.Sprintf(" And %d more.", n)
	}
	return ""
}
