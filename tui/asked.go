package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// asked is a call by which the agent asks the person something. Its answer goes to the daemon as the reason of a denial,
// so nothing that is pressed here can let anything run.
type asked struct {
	transcript.Ask

	at     int          // the option that is marked; none: no one is
	chosen map[int]bool // where several may be
	typed  string       // digits that were pressed, which begin an answer in other words if a letter follows
}

// askedOf are the calls of a request that are questions; the others are nil.
func askedOf(calls []api.WaitingCall) []*asked {
	out := make([]*asked, len(calls))
	for i, c := range calls {
		if a, ok := transcript.AskOf(c.Name, c.Arguments); ok && !c.Client {
			out[i] = &asked{Ask: a, at: none, chosen: map[int]bool{}}
		}
	}
	return out
}

// asks is the question being asked, if the call at hand is one.
func (q *question) asks() *asked {
	if !q.stands() {
		return nil
	}
	return q.asked[q.at]
}

// takesText reports whether what is typed is the answer to a question. What was begun before it came is not.
func (q *question) takesText() bool { return q.asks() != nil && !q.early }

// answerTyped answers in the person's own words.
func (q *question) answerTyped(text string) tea.Cmd {
	if n := len([]rune(text)); n > reasonMost {
		q.ui.flash = fmt.Sprintf("an answer has at most %d characters; this one has %d", reasonMost, n)
		q.prompt.Set(text)
		return nil
	}
	q.typing = false
	return q.deny(q.at, text)
}

// offerToAnswer asks whether a text that was begun before the question came is the answer.
func (q *question) offerToAnswer(text string) {
	use := func(do func() tea.Cmd) func() tea.Cmd {
		return func() tea.Cmd {
			q.ui.closePanels()
			if q.prompt.Text() != text || q.asks() == nil {
				return nil
			}
			return do()
		}
	}
	q.ui.ask(q.conv.name()+" asks you something", []string{
		"You began to type before the question came. The text stays in the prompt until you have chosen.",
	}, []choice{
		{'a', "answer with it", use(func() tea.Cmd { return q.answerTyped(q.prompt.Take()) })},
		{'d', "answer nothing, and send it as a message", use(func() tea.Cmd { return q.denyAll("", q.prompt.Take()) })},
		{'b', "go back to the question", use(func() tea.Cmd { q.typing = false; return nil })},
	})
}

// askKey takes a key at a question: digits and arrows mark an option, Enter answers with it, Escape doesn't answer. Any
// other key begins an answer in other words.
func (q *question) askKey(a *asked, msg tea.KeyPressMsg) (cmd tea.Cmd, taken bool) {
	name, ready := msg.String(), q.armed() || a.at != none
	digit, err := strconv.Atoi(name)
	isOption := err == nil && digit >= 1 && digit <= len(a.Options)
	switch {
	case name == "enter":
		return q.answerMarked(a), true
	case name == "tab":
		return q.toggle(), true
	case name == "esc" && q.back:
	case name == "esc" && a.at != none:
		a.unmark()
	case name == "esc" && q.armed():
		return q.deny(q.at, ""), true
	case name == "up" && ready && len(a.Options) > 0:
		a.mark((max(a.at, 0) + len(a.Options) - 1) % len(a.Options))
	case name == "down" && ready && len(a.Options) > 0:
		a.mark((a.at + 1) % len(a.Options))
	case name == "space" && a.Multiple && a.at != none:
		a.chosen[a.at] = !a.chosen[a.at]
	case isOption && ready:
		a.typed += name
		a.mark(digit - 1)
		a.chosen[a.at] = !a.chosen[a.at]
	case name == "v" && q.armed() && q.cut && a.at == none:
		q.took = true
		return q.hold(q.openWhole, name, msg.Text), true
	case isOption && q.took: // too soon after another answer
	case msg.Text != "":
		q.prompt.Paste(a.typed)
		a.unmark()
		q.typing, q.took = true, false
		return nil, false
	case name != "esc" && name != "up" && name != "down":
		return nil, false
	}
	q.took = true
	return nil, true
}

func (a *asked) mark(i int) { a.at = i }

func (a *asked) unmark() { a.at, a.typed, a.chosen = none, "", map[int]bool{} }

// answerMarked answers with the option that is marked or, where several may be, with those that were chosen.
func (q *question) answerMarked(a *asked) tea.Cmd {
	labels := a.labels()
	switch {
	case len(labels) > 0:
		q.took = true
		return q.deny(q.at, strings.Join(labels, "; "))
	case len(a.Options) == 0:
		q.ui.flash = "type your answer; esc doesn't answer"
	default:
		q.ui.flash = "choose by a digit or an arrow, or type an answer of your own; esc doesn't answer"
	}
	return nil
}

// labels are what was chosen.
func (a *asked) labels() (out []string) {
	for i, o := range a.Options {
		if a.Multiple && a.chosen[i] {
			out = append(out, o.Label)
		}
	}
	if len(out) == 0 && a.at != none {
		out = []string{a.Options[a.at].Label}
	}
	return out
}

// askBody draws a question in at most budget rows: all of it if it fits, else without what is said about the options,
// and at last what fits of the question and the options around the one that is marked.
func (q *question) askBody(a *asked, budget int) []string {
	s := q.sheet(min(q.ui.width(), q.ui.render.Prose()))
	who := transcript.OneLine(q.conv.name()) + " asks: "
	if n := len(q.replies); n > 1 {
		who = fmt.Sprintf("%s asks (%d of %d): ", transcript.OneLine(q.conv.name()), q.at+1, n)
	}
	head := s.heading(who + a.Question)
	full := s.options(a, true)
	q.cut = len(head)+len(full) > budget
	if !q.cut {
		return append(head, full...)
	}
	brief := s.options(a, false)
	if len(head)+len(brief) <= budget {
		return append(head, brief...)
	}
	if most := max(budget-len(brief), (budget+1)/2); len(head) > most {
		cut := s.ui.theme.Dim.Render(fmt.Sprintf("  %s %s", term.CutMark, count(len(head)-most+1, "more row")))
		if head = head[:most]; most > 1 {
			head[most-1] = cut
		}
	}
	room := max(budget-len(head), 0)
	from := max(0, min(a.at-room/2, len(brief)-room))
	return append(head, brief[from:min(from+room, len(brief))]...)
}

// options draws the answers to choose from: each on a row or, in full, with what is said about it.
func (s sheet) options(a *asked, full bool) (rows []string) {
	th := s.ui.theme
	for i, o := range a.Options {
		mark, number := "  ", fmt.Sprint(i+1)
		if i == a.at {
			mark = th.Accent.Render("▸ ")
		}
		if a.Multiple {
			box := "[ ]"
			if a.chosen[i] {
				box = "[x]"
			}
			number += " " + box
		}
		label := number + " " + o.Label
		if !full {
			rows = append(rows, mark+transcript.Short(label, s.render.Width-2))
			continue
		}
		text := label
		if o.Description != "" {
			text += dot + o.Description
		}
		for n, row := range strings.Split(wrapTo(text, s.render.Width-4), "\n") {
			switch {
			case n > 0:
				row = "    " + th.Dim.Render(row)
			case len(row) > len(label) && strings.HasPrefix(row, label):
				row = mark + label + th.Dim.Render(row[len(label):])
			default:
				row = mark + row
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// askKeys name the keys of a question at more and more narrow screens.
func (q *question) askKeys(a *asked) []string {
	all := ""
	if q.cut {
		all = " · v shows all"
	}
	n := len(a.Options)
	switch {
	case q.typing && q.early:
		return []string{"enter asks what to do with what you typed · tab: the question above", "tab: the question above", "tab answers"}
	case q.typing && n == 0:
		return []string{"enter answers with what you typed", "enter answers"}
	case q.typing:
		return []string{"enter answers with what you typed · tab chooses above", "enter answers · tab chooses", "enter answers"}
	case n == 0:
		return []string{"type your answer, then enter · esc no answer" + all, "type the answer · esc none" + all, "type · esc none"}
	case a.Multiple:
		return []string{
			fmt.Sprintf("1–%d choose, also several · enter answers · or type another answer · esc no answer", n) + all,
			fmt.Sprintf("1–%d choose · enter · or type · esc none", n) + all, fmt.Sprintf("1–%d · enter · esc none", n),
			fmt.Sprintf("1–%d enter esc", n),
		}
	}
	return []string{
		fmt.Sprintf("1–%d or ↑↓ choose · enter answers · or type another answer · esc no answer", n) + all,
		fmt.Sprintf("1–%d choose · enter · or type · esc none", n) + all, fmt.Sprintf("1–%d · enter · esc none", n),
		fmt.Sprintf("1–%d enter esc", n),
	}
}
