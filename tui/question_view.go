package tui

import (
	"fmt"
	"strings"
	"time"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// A question takes two fifths of the screen at most, but the rows that it takes
// to name the tool and the keys: when a terminal shrinks, it pushes rows off its top
// for good, and rows of the live region must not be among them.
const leastAsked = 5

// roomFor is how many rows a question takes at most on a screen, of those that there are.
func roomFor(height, room int) int { return min(room, max(2*height/5, leastAsked)) }

// toolName is the name of a tool, which a model may have made up.
func toolName(c api.WaitingCall) string { return transcript.OneLine(transcript.Reveal(c.Name)) }

// title says who asks for what.
func (q *question) title() string {
	who := transcript.OneLine(q.conv.name())
	if n := len(q.request.Calls); n > 1 {
		return fmt.Sprintf("%s asks to call %d tools", who, n)
	}
	return who + " asks " + q.deed(0).What
}

// rows draws the question in at most room rows: all of it if it fits, or else
// what fits of the call being asked about.
func (q *question) rows(room int) []string {
	room = roomFor(q.ui.height(), room)
	q.turn()
	keys := 1
	if room > leastAsked {
		keys = 2
	}
	var body []string
	if a := q.asks(); a != nil {
		body = q.askBody(a, max(room-keys, 1))
	} else {
		body = q.body(max(room-keys, 1))
	}
	return append(body, q.keys(keys)...)
}

// turn notes whether it is this question's turn to be answered. Once it is, the keys stay the prompt's if something stands there.
func (q *question) turn() {
	switch behind := q.behind(); {
	case behind:
		q.later, q.since, q.held, q.confirm = true, time.Time{}, nil, nil
		return
	case q.later:
		q.later, q.typing, q.took = false, q.typing || !q.prompt.Empty(), true
	}
	if q.since.IsZero() {
		q.since = q.now()
	}
}

// body draws what is asked: first of all what would run. Where there is too little room, only the call being asked about has
// details, then what is said about it is cut to a row, and at last what would run, which then can't be allowed from here.
func (q *question) body(budget int) []string {
	s := q.sheet(min(q.ui.width(), q.ui.render.Prose()))
	for _, d := range details() {
		rows := s.calls(d)
		if len(rows) > budget {
			continue
		}
		switch q.cut = d.notes != 0; {
		case d.most > 0:
		case d.calls == all:
			q.sawAll()
		default:
			q.replies[q.at].seen = true
		}
		return rows
	}
	q.cut = true
	rows := s.call(q.at, detail{calls: alone, notes: none, most: 1})
	if over := len(rows) - budget; over > 0 {
		rows = rows[:budget]
		if budget > 1 {
			rows[budget-1] = s.ui.theme.Dim.Render(fmt.Sprintf("%s %s", term.CutMark, count(over+1, "more row")))
		}
	}
	return rows
}

// detail is how much of a question is shown.
type detail struct {
	calls which
	most  int // rows of each text of a call; 0: all
	notes int // rows of what is said about it; 0: all
}

// which calls of several are shown.
type which int

const (
	all   which = iota
	one         // of the others only what they are
	alone       // and none of the others
)

// details are what is tried, the fullest first.
func details() []detail {
	out := []detail{{}, {notes: 1}, {calls: one}, {calls: one, notes: 1}, {calls: alone, notes: 1}, {calls: alone, notes: none}}
	for _, calls := range []which{one, alone} {
		for _, most := range []int{8, 6, 4, 3, 2} {
			out = append(out, detail{calls, most, 1})
		}
	}
	return append(out, detail{alone, 3, none}, detail{alone, 2, none})
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
func (q *question) whole(width int) string { return strings.Join(q.sheet(width).calls(detail{}), "\n") }

func (s sheet) calls(d detail) []string {
	if len(s.request.Calls) == 1 || d.calls == alone {
		return s.call(s.at, d)
	}
	rows := s.heading(s.title())
	for i := range s.request.Calls {
		if d.calls == one && i != s.at {
			rows = append(rows, s.name(i, d)...)
			continue
		}
		rows = append(rows, s.call(i, d)...)
	}
	return rows
}

func (s sheet) call(i int, d detail) []string {
	rows := append(s.name(i, d), s.rowsOf(i, d.most)...)
	return append(rows, s.notes(i, d.notes)...)
}

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

// name is which call it is and, of several, what was decided. A call that has no details says on one row what it does.
func (s sheet) name(i int, d detail) []string {
	r, th := s.replies[i], s.ui.theme
	var state []string
	switch {
	case r.given && r.approve && r.scope == api.ScopeSession:
		state = []string{"allowed for this session"}
	case r.given && r.approve && r.scope == api.ScopeFolder:
		state = []string{"always allowed"}
	case r.given && r.approve && r.uncaged:
		state = []string{"allowed, uncaged"}
	case r.given && r.approve:
		state = []string{"allowed"}
	case r.given && s.asked[i] != nil:
		state = []string{"answered"}
	case r.given:
		state = []string{"denied"}
	}
	if r.changed != "" {
		state = append(state, "changed by you")
	}
	if len(s.replies) == 1 {
		return s.heading(strings.Join(append([]string{s.title()}, state...), dot))
	}
	mark := "  "
	if i == s.at {
		mark = th.Accent.Render("▸ ")
	}
	number, what, brief := fmt.Sprint(i+1), strings.TrimPrefix(s.deed(i).What, "to "), d.calls == one && i != s.at
	if brief {
		what = s.deed(i).Brief()
	}
	if d.calls == alone {
		number = fmt.Sprintf("%d of %d:", i+1, len(s.replies))
	}
	rows := s.wrapped(mark, number+" "+strings.Join(append(state, what), dot))
	if brief && len(rows) > 1 {
		rows = []string{transcript.Short(rows[0], s.render.Width-1) + "…"}
	}
	return rows
}

// notes are what a call touches, why it waits and what the person said, in at most so many rows; 0: all, none: not at all.
func (s sheet) notes(i, most int) []string {
	c := s.request.Calls[i]
	why := c.Why
	if s.asked[i] != nil {
		why = ""
	}
	if c.Client {
		why = "the program that brought this tool runs it; here it can only be denied"
	}
	var notes []string
	for _, note := range []string{s.touches[i], why, s.replies[i].reason} {
		if note = transcript.OneLine(transcript.Reveal(note)); note != "" {
			notes = append(notes, note)
		}
	}
	if most == none {
		return nil
	}
	if most > 0 {
		notes = []string{transcript.Short(strings.Join(notes, " · "), s.render.Width-2)}
	}
	var rows []string
	for _, note := range notes {
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
	case q.behind():
		return []string{"the line below first", "line below first"}
	case q.confirm != nil:
		back := q.confirm.says + " · esc goes back"
		return []string{back + " · anything else begins a message", back, q.confirm.says}
	case q.asks() != nil:
		return q.askKeys(q.asks())
	case q.typing:
		return []string{"tab: answer the question above", "tab answers"}
	case q.request.Calls[q.at].Client:
		return []string{"n deny · r with a reason · v shows all · tab type", "n deny · v all"}
	case !r.seen:
		return []string{
			"v shows all, then y allows · n deny · r with a reason · e edit first · tab type",
			"v all, then y · n deny · r reason · e edit", "v, then y · n deny · r reason · e edit", "v all · n deny",
		}
	}
	all, more, typed := "", "", " · tab type"
	if q.cut {
		all, more = " · v shows all", " · v"
	}
	if len(q.replies) > 1 {
		all, more, typed = all+" · Y N all at once", more+" · Y N", ""
	}
	short := more
	if q.request.Calls[q.at].Uncaged {
		all, short = " · u uncaged"+all, " · u"+more
	}
	least := []string{q.allowKeys() + " allow · n r deny · e edit" + more, q.allowKeys() + " allow · n r · e" + more, "y allow · n deny"}
	if q.rulesFor(q.at) != nil {
		return append([]string{
			"y allow once · s for this session · a always · n deny · r with a reason · e edit first" + all + typed,
			"y once · s session · a always · n deny · r reason · e edit" + all,
			"y · s · a · n deny · r reason · e edit" + short,
		}, least...)
	}
	return append([]string{
		"y allow once · n deny · r with a reason · e edit first" + all + typed,
		"y allow · n deny · r reason · e edit" + all, "y · n deny · r reason · e edit" + short,
	}, least...)
}

// allowKeys are those that allow the call at hand.
func (q *question) allowKeys() string {
	keys := "y"
	if q.rulesFor(q.at) != nil {
		keys = "y s a"
	}
	if q.request.Calls[q.at].Uncaged {
		keys += " u"
	}
	return keys
}

// panelKeys are the keys in the panel with the whole question.
func (q *question) panelKeys() string {
	if q.confirm != nil {
		return q.confirm.says
	}
	all := ""
	if len(q.replies) > 1 {
		all = " · Y N all"
	}
	return q.allowKeys() + " allow, at its end · n deny · r reason · e edit" + all
}
