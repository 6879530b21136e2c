package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// rulesFor are the rules that would allow a call from now on. There are none for
// one that asks each time, or that the person changed.
func (q *question) rulesFor(i int) []string {
	if q.request.Calls[i].Client || q.replies[i].changed != "" {
		return nil
	}
	return q.request.Calls[i].Always
}

// openRules shows the rules that would allow a call and what is like it, to be
// edited before they are kept.
func (q *question) openRules(scope string) tea.Cmd {
	i := q.at
	rules := q.rulesFor(i)
	switch {
	case len(rules) == 0 && q.replies[i].changed != "":
		q.ui.flash = "you changed its arguments; y allows it, this once"
		return nil
	case len(rules) == 0:
		q.ui.flash = "this asks each time; y allows it, this once"
		return nil
	case !q.replies[i].seen:
		q.ui.flash = "v shows the rest of it; then s and a allow what is like it"
		return nil
	}
	title := "Allow for this session"
	if scope == api.ScopeFolder {
		title = "Always allow in this folder"
	}
	e := panel.NewEdit(q.ui.theme, title, strings.Join(rules, "\n"), len(rules) == 1)
	e.Note = "a rule of permission, as it is kept; * stands for what may differ"
	if len(rules) > 1 {
		e.Note = "rules of permission, one on each line, as they are kept"
	}
	request := q.request
	q.open(e, func(a panel.Action) tea.Cmd {
		kept := linesOf(a.Text)
		if len(kept) == 0 {
			e.Refuse("there is no rule; esc goes back")
			return nil
		}
		return q.check(kept, func(err error) tea.Cmd {
			switch {
			case q.request != request:
				return nil
			case err != nil:
				e.Refuse(explain(err))
				return nil
			}
			q.ui.remove(e)
			q.replies[i] = reply{given: true, approve: true, seen: true, rules: kept, scope: scope}
			return q.next()
		})
	})
	return nil
}

// check has the daemon say whether rules are valid.
func (q *question) check(rules []string, then func(error) tea.Cmd) tea.Cmd {
	in := api.CheckPermission{Does: q.request.Calls[q.at].Name, Allow: rules}
	return func() tea.Msg {
		_, err := q.backend.CheckPermission(q.ui.ctx, in)
		return loadedMsg{func() tea.Cmd { return then(err) }}
	}
}

// linesOf are the lines of a text that aren't empty.
func linesOf(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(transcript.Clean(line)); line != "" {
			out = append(out, line)
		}
	}
	return out
}
