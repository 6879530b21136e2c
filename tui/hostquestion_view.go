package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// rows draws what is asked now in at most room rows. Where it doesn't fit, no key allows it before the panel showed the rest.
func (h *hostQuestion) rows(room int) []string {
	if !h.stands() {
		return nil
	}
	if h.since.IsZero() {
		h.since = h.now()
	}
	width := h.ui.width()
	room = roomFor(h.ui.height(), room)
	h.room = room
	rows := h.body(width)
	h.fits = len(rows) < room
	rows = rows[:min(len(rows), max(room-1, 1))]
	line := h.lineRows(width)
	whole := h.fits && (len(line) == 0 || len(rows)+len(line) < room)
	switch {
	case whole:
		h.seen = true
		rows = append(rows, line...)
	case len(line) > 0 && len(rows)+2 <= room:
		rows = append(rows, transcript.Short(h.ui.theme.Dim.Render(h.line()), width))
	}
	if len(rows)+2 <= room {
		rows = append([]string{""}, rows...)
	}
	return append(rows, h.ui.theme.Accent.Render(h.keys(width, whole)))
}

// openWhole shows all of what is asked in the panel, and the rules that would be kept.
func (h *hostQuestion) openWhole() tea.Cmd {
	if !h.onTop() {
		h.openPanel(waitsTitle, h.whole, h.panelKeys, h.handler)
	}
	return nil
}

// whole is all of what is asked, for the panel.
func (h *hostQuestion) whole(width int) string {
	rows := append(h.asks(width), "")
	rows = append(rows, h.lineRows(width)...)
	add := func(text string) { rows = append(rows, indented("  ", wrapTo(text, width-2))...) }
	for _, k := range h.answers() {
		if k.lasts != "" {
			add(k.key + ": " + h.rule(k))
		}
	}
	return strings.Join(rows, "\n")
}

// body is what is asked and, before Enter keeps it, the rule.
func (h *hostQuestion) body(width int) []string {
	rows := h.asks(width)
	if h.confirm != nil && h.confirm.rule != "" {
		rows = append(rows, indented("  ", wrapTo(h.confirm.rule, width-2))...)
	}
	return rows
}

// asks is what is asked, behind a question mark.
func (h *hostQuestion) asks(width int) []string {
	q := h.asked[0]
	rows := strings.Split(wrapTo(h.wish(q), width-2), "\n")
	for i, row := range rows {
		mark := "  "
		if i == 0 {
			mark = h.ui.theme.Warn.Render("? ")
		}
		rows[i] = mark + h.ui.theme.Strong.Render(row)
	}
	return append(rows, h.settings(q, width)...)
}

// line is the shell line that asks.
func (h *hostQuestion) line() string {
	return "  of: " + transcript.OneLine(transcript.Reveal(h.asked[0].Command))
}

// lineRows are all of that line; none where what is asked is about the line, and names it.
func (h *hostQuestion) lineRows(width int) []string {
	if h.asked[0].Opens == api.OpensUncaged {
		return nil
	}
	rows := indented("  ", wrapTo(strings.TrimSpace(h.line()), width-2))
	for i := range rows {
		rows[i] = h.ui.theme.Dim.Render(rows[i])
	}
	return rows
}

// indented are the lines of a text behind a margin.
func indented(margin, text string) []string {
	rows := strings.Split(text, "\n")
	for i := range rows {
		rows[i] = margin + rows[i]
	}
	return rows
}

// rule says what a key would keep; empty: nothing.
func (h *hostQuestion) rule(k hostKey) string {
	q := h.asked[0]
	switch {
	case k.lasts == "":
		return ""
	case q.Opens != "":
		return ruleText(q.Rules) + ", " + k.lasts + ": " + lasting(q.Opens)
	}
	host := transcript.OneLine(transcript.Reveal(q.Host))
	return "The rule fetch(" + host + "), " + k.lasts + ": shell lines and fetch reach this host without a question."
}

// keys says which keys answer, as fully as fits the width; whole: there is no more to see.
func (h *hostQuestion) keys(width int, whole bool) string {
	texts := h.keyTexts(whole)
	for _, text := range texts {
		if term.Width(text) <= width {
			return text
		}
	}
	return transcript.Short(texts[len(texts)-1], width)
}

// keyTexts name the keys at more and more narrow screens.
func (h *hostQuestion) keyTexts(whole bool) []string {
	switch {
	case h.confirm != nil && h.confirm.rule != "" && !h.fits && !h.read:
		return []string{"esc goes back · then v shows all of it", "esc goes back"}
	case h.confirm != nil:
		back := h.confirm.says + " · esc goes back"
		return []string{back + " · anything else begins a message", back, "enter allows it · esc goes back", "enter allows it"}
	case h.typing:
		return []string{"tab: answer the question above", "tab answers"}
	case !h.seen:
		return []string{"v shows all, then y allows · n no · tab type", "v all, then y · n no", "v n"}
	}
	var long, short, least []string
	for _, k := range h.answers() {
		long, short, least = append(long, k.help), append(short, k.short), append(least, k.key)
	}
	if len(h.asked[0].Settings) > 0 {
		long[0], short[0] = "y write it", "y write"
	}
	if !whole {
		long, short, least = append(long, "v shows all"), append(short, "v"), append(least, "v")
	}
	full := strings.Join(long, dot)
	return []string{full + dot + "tab type", full, strings.Join(short, dot), "y allow · n no", strings.Join(least, " ")}
}

// panelKeys are the keys in the panel.
func (h *hostQuestion) panelKeys() string {
	if h.confirm != nil {
		return h.confirm.says
	}
	var allow []string
	for _, k := range h.answers() {
		if k.allow != api.ScopeNo {
			allow = append(allow, k.key)
		}
	}
	return strings.Join(allow, " ") + " allow, at its end · n no"
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
