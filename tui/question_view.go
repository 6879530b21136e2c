package tui

import (
	"fmt"
	"strings"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// A question takes two fifths of the screen at most, but the rows that it takes
// to name the tool and the keys: when a terminal shrinks, it pushes rows off its top
// for good, and rows of the live region must not be among them.
const leastAsked = 5

// toolName is the name of a tool, which a model may have made up.
func toolName(c api.WaitingCall) string { return transcript.OneLine(transcript.Reveal(c.Name)) }

// title says who asks for what.
func (q *question) title() string {
	who := transcript.OneLine(q.conv.name())
	if n := len(q.request.Calls); n > 1 {
		return fmt.Sprintf("%s asks to call %d tools", who, n)
	}
	return who + " asks to call " + toolName(q.request.Calls[0])
}

// rows draws the question in at most room rows: all of it if it fits, or else
// what fits of the call being asked about.
func (q *question) rows(room int) []string {
	room = min(room, max(2*q.ui.height()/5, leastAsked))
	if q.since.IsZero() {
		q.since = q.now()
	}
	keys := 1
	if room > leastAsked {
		keys = 2
	}
	body := q.body(max(room-keys, 1))
	return append(body, q.keys(keys)...)
}

func (q *question) body(budget int) []string {
	s := q.sheet(min(q.ui.width(), q.ui.render.Prose()))
	if rows := s.calls(0, false); len(rows) <= budget {
		q.sawAll()
		return rows
	}
	for _, most := range []int{0, 8, 4, 2, 1} {
		if rows := s.calls(most, true); len(rows) <= budget {
			q.replies[q.at].seen = q.replies[q.at].seen || most == 0
			return rows
		}
	}
	rows := s.call(q.at, 1)
	if over := len(rows) - budget; over > 0 {
		rows = rows[:budget]
		if budget > 1 {
			rows[budget-1] = s.ui.theme.Dim.Render(fmt.Sprintf("%s %s", term.CutMark, count(over+1, "more row")))
		}
	}
	return rows
}

// sheet is the text of a question at a width.
type sheet struct {
	*question
	render *transcript.Renderer
}

func (q *question) sheet(width int) sheet {
	return sheet{q, transcript.NewRenderer(q.ui.theme, width)}
}

// whole is all of the question, for the panel.
func (q *question) whole(width int) string { return strings.Join(q.sheet(width).calls(0, false), "\n") }

// calls is every call, of each value at most so many rows. With one, only the
// call being asked about has details.
func (s sheet) calls(most int, one bool) []string {
	if len(s.request.Calls) == 1 {
		return s.call(0, most)
	}
	rows := s.heading(s.title())
	for i := range s.request.Calls {
		if one && i != s.at {
			rows = append(rows, s.name(i)...)
			continue
		}
		rows = append(rows, s.call(i, most)...)
	}
	return rows
}

func (s sheet) call(i, most int) []string { return append(s.name(i), s.details(i, most)...) }

func (s sheet) heading(text string) []string { return s.wrapped(s.ui.theme.Warn.Render("? "), text) }

// wrapped puts a mark before a text that nothing may be cut from.
func (s sheet) wrapped(mark, text string) []string {
	rows := strings.Split(wrapTo(text, s.render.Width-2), "\n")
	for i, row := range rows {
		if rows[i] = "  " + s.ui.theme.Strong.Render(row); i == 0 {
			rows[i] = mark + s.ui.theme.Strong.Render(row)
		}
	}
	return rows
}

// name is which call it is and, of several, what was decided.
func (s sheet) name(i int) []string {
	r, th := s.replies[i], s.ui.theme
	state := ""
	switch {
	case r.given && r.approve && r.scope == api.ScopeSession:
		state = " · allowed for this session"
	case r.given && r.approve && r.scope == api.ScopeFolder:
		state = " · always allowed"
	case r.given && r.approve:
		state = " · allowed"
	case r.given:
		state = " · denied"
	}
	if r.changed != "" {
		state += " · changed by you"
	}
	if len(s.replies) == 1 {
		return s.heading(s.title() + state)
	}
	mark := "  "
	if i == s.at {
		mark = th.Accent.Render("▸ ")
	}
	return s.wrapped(mark, fmt.Sprintf("%d %s%s", i+1, toolName(s.request.Calls[i]), state))
}

// details are the arguments of a call, and why it waits.
func (s sheet) details(i, most int) []string {
	c, r := s.request.Calls[i], s.replies[i]
	rows := s.render.Arguments(transcript.Arguments(s.arguments(i)), most)
	why := c.Why
	if c.Client {
		why = "the program that brought this tool runs it; here it can only be denied"
	}
	for _, note := range []string{why, r.reason} {
		if note = transcript.OneLine(transcript.Reveal(note)); note == "" {
			continue
		}
		mark := "· "
		for row := range strings.SplitSeq(wrapTo(note, s.render.Width-2), "\n") {
			rows = append(rows, s.ui.theme.Dim.Render(mark+row))
			mark = "  "
		}
	}
	return rows
}

// keys says which keys answer, in at most so many rows.
func (q *question) keys(rows int) []string {
	width := q.ui.width()
	for _, text := range q.keyTexts() {
		if lines := strings.Split(wrapTo(text, width), "\n"); len(lines) <= rows {
			for i, l := range lines {
				lines[i] = q.ui.theme.Accent.Render(l)
			}
			return lines
		}
	}
	return []string{q.ui.theme.Accent.Render(transcript.Short("y n r e v", width))}
}

// keyTexts name the keys at more and more narrow screens.
func (q *question) keyTexts() []string {
	r := q.replies[q.at]
	switch {
	case q.typing:
		return []string{"tab: answer the question above", "tab answers"}
	case q.request.Calls[q.at].Client:
		return []string{"n deny · r with a reason · v shows all · tab type", "n deny · v all"}
	case !r.seen:
		return []string{
			"v shows all, then y allows · n deny · r with a reason · e edit first · tab type",
			"v all, then y · n deny · r reason · e edit", "v all · n deny",
		}
	}
	all, typed := "", " · tab type"
	if len(q.replies) > 1 {
		all, typed = " · Y N all at once", ""
	}
	if q.rulesFor(q.at) != nil {
		return []string{
			"y allow once · s for this session · a always · n deny · r with a reason · e edit first" + all + typed,
			"y once · s session · a always · n deny · r reason · e edit" + all,
			"y once · s session · a always · n deny", "y allow · n deny",
		}
	}
	return []string{
		"y allow once · n deny · r with a reason · e edit first" + all + typed,
		"y allow · n deny · r reason · e edit" + all, "y allow · n deny",
	}
}

// panelKeys are the keys in the panel with the whole question.
func (q *question) panelKeys() string {
	allow, all := "y", ""
	if q.rulesFor(q.at) != nil {
		allow = "y s a"
	}
	if len(q.replies) > 1 {
		all = " · Y N all"
	}
	return allow + " allow, at its end · n deny · r reason · e edit" + all
}
