package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// period is the time range of a search. Dates are days in this machine's zone, like all printed times.
type period struct{ since, until string }

func (p *period) add(c *cobra.Command) {
	c.Flags().StringVar(&p.since, "since", "", "only from this `DATE` or time on, like 2026-05-01")
	c.Flags().StringVar(&p.until, "until", "", "only up to this `DATE`, that day included, or time")
}

// bounds are the range as a request takes it; nil for an open end.
func (p *period) bounds() (from, until *string, err error) {
	since, err := p.moment("--since", p.since, func(day time.Time) time.Time { return day })
	if err != nil {
		return nil, nil, err
	}
	end, err := p.moment("--until", p.until, func(day time.Time) time.Time { return day.AddDate(0, 0, 1).Add(-time.Microsecond) })
	if err != nil {
		return nil, nil, err
	}
	if since != nil && end != nil && since.After(*end) {
		return nil, nil, invalid("--since is later than --until")
	}
	return written(since), written(end), nil
}

// moment parses a time, or a date, which day turns into a time.
func (p *period) moment(flag, text string, day func(time.Time) time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, dateOnly, err := api.ParseTime(text, time.Local)
	if err != nil {
		return nil, invalid("%s: %q is neither a date nor a time", flag, clip(text, 40)).withHint("like 2026-05-01 or 2026-05-01T18:30")
	}
	if dateOnly {
		t = day(t)
	}
	return &t, nil
}

func written(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return api.PtrTo(t.UTC().Format(time.RFC3339Nano))
}

// noteFound says if a search found nothing, or may have missed something.
func (a *app) noteFound(n int, partial api.Partial) {
	stalled, since, isStalled := partial.Stalled()
	switch {
	case partial == api.PartialBuilding && n == 0 && !a.json:
		a.note("nothing found yet: the search index is still being built; try again in a while")
	case partial == api.PartialBuilding:
		a.note("the search index is still being built: results may be missing; try again in a while")
	case isStalled:
		found := "results may be missing"
		if n == 0 {
			found = "nothing found"
		}
		const why = "not everything was searched by meaning, because %s has stalled: it has not answered since %s; see loci doctor"
		a.note(fmt.Sprintf("%s: "+why, found, stalled, moment(&since)))
	case partial != "" && n == 0 && !a.json:
		a.note("nothing found yet: some texts are still being indexed; try again in a moment")
	case partial != "":
		a.note("some texts are still being indexed: results may be missing; try again in a moment")
	case n == 0 && !a.json:
		a.note("nothing found")
	}
}

// messageFlags are the flags of `loci messages search`.
type messageFlags struct {
	limit  int
	all    bool
	roles  []string
	period period
}

func (a *app) messagesSearch(agent *string) *cobra.Command {
	var f messageFlags
	c := &cobra.Command{
		Use: "search WORDS...", Short: "Search messages, the best first", Args: atLeast("what to search for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := searchable(args); err != nil {
				return err
			}
			return a.searchMessages(cmd.Context(), *agent, f, strings.Join(args, " "))
		},
	}
	c.Flags().IntVar(&f.limit, "limit", 0, "how many at most (20)")
	c.Flags().BoolVar(&f.all, "all", false, "of all agents")
	c.Flags().StringSliceVar(&f.roles, "role", nil, "only of this `ROLE`: user or assistant; may be repeated")
	f.period.add(c)
	return c
}

func (a *app) searchMessages(ctx context.Context, agent string, f messageFlags, words string) error {
	from, until, err := f.period.bounds()
	if err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	q := api.SearchAgentMessages{Query: &words, Roles: f.roles, Limit: api.PtrTo(orDefault(f.limit, 20)), StartDate: from, EndDate: until}
	if !f.all {
		g, err := a.findAgent(ctx, c, agent)
		if err != nil {
			return err
		}
		q.AgentID = &g.ID
	}
	found, partial, err := c.SearchAgentMessages(ctx, q)
	if err != nil {
		return err
	}
	a.noteFound(len(found), partial)
	if a.json {
		return writeJSON(a.out, nonNil(found))
	}
	names := map[string]string{}
	t := table{head: []string{"WHEN", "WHO", "WHY", "TEXT"}}
	if f.all {
		t.head = []string{"WHEN", "AGENT", "WHO", "WHY", "TEXT"}
		if names, err = agentNames(ctx, c); err != nil {
			return err
		}
	}
	for _, r := range found {
		row := []string{local(r.Message.CreatedAt.Time)}
		if f.all {
			id := api.Val(r.Message.AgentID)
			row = append(row, cmp.Or(names[id], id))
		}
		t.add(append(row, speaker(r), why(r.Metadata), foundText(r))...)
	}
	return t.write(a.out)
}

// agentNames maps the ids of agents to their names.
func agentNames(ctx context.Context, c *client.Client) (map[string]string, error) {
	agents, err := c.Agents(ctx, api.ListAgents{Page: api.Page{Limit: 1000}})
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(agents))
	for _, g := range agents {
		names[g.ID] = g.Name
	}
	return names, nil
}

// speaker names the author of a message in the same words as the message lists.
func speaker(r api.AgentMessageResult) string {
	switch {
	case r.Message.Role == "user":
		return "you"
	case r.Message.Role == "assistant" && r.EmbeddedText == "" && len(r.Message.ToolCalls) > 0:
		return "calls"
	case r.Message.Role == "assistant":
		return "agent"
	case r.Message.Role == "tool":
		return "returns"
	default:
		return r.Message.Role
	}
}

// foundText is what a found message says, or else what it calls or returns.
func foundText(r api.AgentMessageResult) string {
	if r.EmbeddedText != "" {
		return r.EmbeddedText
	}
	var parts []string
	for _, p := range r.Message.Content {
		parts = append(parts, p.Text)
	}
	for _, call := range r.Message.ToolCalls {
		parts = append(parts, call.Function.Name+" "+call.Function.Arguments)
	}
	for _, ret := range r.Message.ToolReturns {
		parts = append(parts, ret.ToolReturn.String())
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
