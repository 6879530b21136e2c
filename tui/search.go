package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/term"
	"loci/tui/transcript"
)

const (
	searchMost  = 50
	searchRoles = api.SearchMost // read when filtering by role
	searchHelp  = "from:me|agent|thoughts · after:2026-03-01 · before:yesterday"
)

// searchQuery is a search as a person wrote it: words, who said it, and when.
type searchQuery struct {
	words         string
	role          api.MessageType // empty: anyone
	after, before time.Time       // days; zero: any
}

// parseSearch takes the words that narrow a search out of the query.
func parseSearch(query string, now time.Time) (searchQuery, error) {
	var q searchQuery
	var words []string
	for word := range strings.FieldsSeq(query) {
		key, value, ok := strings.Cut(word, ":")
		var err error
		switch {
		case !ok || value == "" || strings.HasPrefix(value, "/"):
			words = append(words, word)
		case key == "from" || key == "role":
			q.role, err = roleOf(value)
		case key == "after" || key == "since":
			q.after, err = dayOf(value, now)
		case key == "before":
			q.before, err = dayOf(value, now)
		case key == "until": // includes that day, as on the command line
			if q.before, err = dayOf(value, now); err == nil {
				q.before = q.before.AddDate(0, 0, 1)
			}
		case key == "on":
			if q.after, err = dayOf(value, now); err == nil {
				q.before = q.after.AddDate(0, 0, 1)
			}
		default:
			words = append(words, word)
		}
		if err != nil {
			return q, err
		}
	}
	if q.words = strings.Join(words, " "); q.words == "" {
		return q, fmt.Errorf("it needs a word to look for, too")
	}
	return q, nil
}

func roleOf(name string) (api.MessageType, error) {
	switch strings.ToLower(name) {
	case "me", "user", "you":
		return api.MessageUser, nil
	case "agent", "assistant":
		return api.MessageAssistant, nil
	case "thought", "thoughts", "reasoning":
		return api.MessageReasoning, nil
	}
	return "", fmt.Errorf("from:%s is not known; me, agent or thoughts", transcript.OneLine(name))
}

// dayOf parses a day: a date, today, yesterday, or a number of days, such as
// 7d.
func dayOf(name string, now time.Time) (time.Time, error) {
	year, month, day := now.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	switch name = strings.ToLower(name); name {
	case "today":
		return today, nil
	case "yesterday":
		return today.AddDate(0, 0, -1), nil
	}
	if number, ok := strings.CutSuffix(name, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 16); err == nil {
			return today.AddDate(0, 0, -int(days)), nil
		}
	}
	t, _, err := api.ParseTime(name, now.Location())
	if err != nil {
		return t, fmt.Errorf("%s is not a day; write 2026-03-01, yesterday or 7d", transcript.OneLine(name))
	}
	return t, nil
}

// request is the search in the daemon's form.
func (q searchQuery) request(agent string) api.SearchMessages {
	limit := searchMost
	if q.role != "" {
		limit = searchRoles // the API searches all roles together
	}
	return api.SearchMessages{
		Query: q.words, AgentID: &agent, Limit: &limit, StartDate: api.AtText(q.after), EndDate: api.AtText(q.before),
	}
}

// keep filters the results by role, and limits how many there are.
func (q searchQuery) keep(found []api.MessageResult) []api.MessageResult {
	var out []api.MessageResult
	for _, r := range found {
		if (q.role == "" || r.MessageType == q.role) && len(out) < searchMost {
			out = append(out, r)
		}
	}
	return out
}

// searchBackend is what searching, and reading on from a result, needs.
type searchBackend interface {
	messageReader
	Search(ctx context.Context, q api.SearchMessages) ([]api.MessageResult, api.Partial, error)
	// Reasons says why a search finds what it finds, by the messages' ids.
	Reasons(ctx context.Context, q api.SearchMessages) (map[string]reason, error)
}

// reason is why a message was found.
type reason struct {
	words  []string // the query's words, or words near them in meaning, as the message has them
	beside []string // those that only its neighbours have
}

// searchPanel is /search.
type searchPanel struct {
	ui      *display
	conv    *conversation
	backend searchBackend
	now     func() time.Time
}

func (p searchPanel) open(query string) tea.Cmd {
	s := &panel.Search{Theme: p.ui.theme, Title: "Search what was said with " + p.conv.name(), Hint: searchHelp}
	agent := p.conv.thread.Agent
	var results []api.MessageResult
	var reasons map[string]reason
	p.ui.push(s, func(a panel.Action) tea.Cmd {
		if a.Kind == panel.Choose {
			hit := results[a.Index]
			return p.openResult(hit, reasons[hit.MessageID].words)
		}
		s.Ask(a.Text)
		q, err := parseSearch(a.Text, p.now().Local())
		if err != nil {
			results = nil
			s.Found(a.Text, nil, "", err.Error())
			return nil
		}
		return func() tea.Msg {
			found, partial, err := p.backend.Search(p.ui.ctx, q.request(agent))
			why := map[string]reason{}
			if err == nil && len(found) > 0 {
				why, _ = p.backend.Reasons(p.ui.ctx, q.request(agent)) // results without reasons are better than none
			}
			return loadedMsg{func() tea.Cmd {
				problem := ""
				if err != nil {
					problem = explain(err)
				}
				if found = q.keep(found); s.Found(a.Text, entriesOf(found, why), noteOf(len(found), partial), problem) {
					results, reasons = found, why
				}
				return nil
			}}
		}
	})
	if query != "" {
		top, _ := p.ui.top()
		return top.act(s.Ask(query))
	}
	return nil
}

// openResult shows a search hit together with what was said before and after
// it, from the row on that has the words.
func (p searchPanel) openResult(hit api.MessageResult, words []string) tea.Cmd {
	title := whose(hit.MessageType) + ", " + hit.CreatedAt.Local().Format("Mon 2 Jan 2006, 15:04")
	r := newReader(p.ui, p.backend, threadOf(cmp.Or(api.Val(hit.AgentID), p.conv.thread.Agent), api.Val(hit.ConversationID)), title)
	text := cmp.Or(hit.Content.String(), hit.Reasoning)
	return func() tea.Msg {
		above, below, err := r.around(hit.MessageID)
		return loadedMsg{func() tea.Cmd {
			r.take(slices.Concat(above, below))
			at := slices.IndexFunc(r.items, func(it transcript.Item) bool { return it.ID == hit.MessageID && it.Text == text })
			if at < 0 { // in no list, such as a message that was rewound
				r.items, r.tail = []transcript.Item{{Kind: transcript.Assistant, Text: text}}, nil
				at, r.top, r.bottom = 0, true, true
			} else {
				r.found = r.items[at]
			}
			if err != nil && client.KindOf(err) != api.KindNotFound {
				r.scroll.State = explain(err)
			}
			r.words = words
			r.showFound(at, p.ui.width())
			p.ui.push(r.scroll, r.act)
			return nil
		}}
	}
}

// noteOf says what a search had to leave out.
func noteOf(n int, partial api.Partial) string {
	if partial == "" {
		return ""
	}
	why := "some texts are still being indexed"
	if partial == api.PartialBuilding {
		why = "the search index is still being built"
	}
	if n == 0 {
		return "nothing found yet: " + why
	}
	return "results may be missing: " + why
}

// resultWidth leaves room for a result's date on a typical screen.
const resultWidth = 50

func entriesOf(results []api.MessageResult, reasons map[string]reason) []panel.Entry {
	var out []panel.Entry
	for _, r := range results {
		who, why := whose(r.MessageType)+": ", reasons[r.MessageID]
		if len(why.words) == 0 && len(why.beside) > 0 {
			who = transcript.Short("beside: "+strings.Join(why.beside, " "), resultWidth/2) + " · " + who
		}
		text := excerpt(cmp.Or(r.Content.String(), r.Reasoning), why.words, max(resultWidth+len("agent: ")-term.Width(who), resultWidth/2))
		out = append(out, panel.Entry{Title: who + text, Note: r.CreatedAt.Local().Format("2 Jan 2006 15:04")})
	}
	return out
}

func whose(t api.MessageType) string {
	names := map[api.MessageType]string{api.MessageUser: "you", api.MessageAssistant: "agent", api.MessageReasoning: "thought"}
	return cmp.Or(names[t], strings.TrimSuffix(string(t), "_message"))
}
