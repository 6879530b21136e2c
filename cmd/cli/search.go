package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// period is what a search is bounded to. A date is a day of this machine's, as all times that are printed are.
type period struct{ since, until string }

func (p *period) add(c *cobra.Command) {
	c.Flags().StringVar(&p.since, "since", "", "only from this `DATE` or time on, like 2026-05-01")
	c.Flags().StringVar(&p.until, "until", "", "only up to this `DATE`, that day included, or time")
}

// bounds are the moments as a request takes them; nil where none is given.
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

// moment reads a date, of which day makes the moment that is meant, or a time.
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

// noteFound says that a search found nothing, or may have missed something: what it says of its first result, for it is
// the same index for all of them.
func (a *app) noteFound(n int, about api.Object) {
	switch {
	case n == 0 && !a.json:
		a.note("nothing found")
	case about["partial"] == true:
		a.note("the search index is still being built: results may be missing; try again in a while")
	}
}

// messageFlags are what `loci messages search` takes.
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
	found, err := c.SearchAgentMessages(ctx, q)
	if err != nil {
		return err
	}
	a.noteFound(len(found), first(found).Metadata)
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
			row = append(row, clip(cmp.Or(names[id], id), 40))
		}
		t.add(append(row, r.Message.Role, clip(why(r.Metadata), 40), clip(oneLine(foundText(r)), 120))...)
	}
	return t.write(a.out)
}

// agentNames are the names of agents by their ids.
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

// foundText is what a message that was found says, or else what it calls or returns.
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
