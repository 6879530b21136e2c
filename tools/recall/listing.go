package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/search"
	"loci/tools/internal/results"
)

// How much of a text is shown, in characters. Five hits with long texts cost about what five of the contract's cost, and one
// fits whatever its script. No text is cut below 64 bytes: one that is forgotten later is found in a quote of that length.
const (
	hitChars    = 1200
	besideChars = 400 // of what was said before or after a hit
	wideChars   = 100
	titleChars  = 64
)

// hit is a message found, in its exchange.
type hit struct {
	core.MessageHit
	excerpt       string
	rank          int // 0: the best
	before, after *neighbour
}

// words are those of its text that a hit was found by.
func (h *hit) words() []string { return slices.Concat(h.Words, h.Why.Also) }

// listing are the hits of a search for the terminal's agents.
type listing struct {
	env          core.ToolEnv
	wide, byTime bool
	cut          bool   // there is more
	hits         []*hit // best first
	notes        []string
	titles       map[core.ConversationID]string
}

// The JSON of a return. Each text is in a string of its own, so that no text can look like another result.
type (
	page struct {
		Message string  `json:"message,omitempty"`
		Results []group `json:"results"`
	}
	group struct {
		In       string  `json:"in"` // which conversation
		Messages []quote `json:"messages"`
	}
	quote struct {
		Before  string         `json:"before,omitempty"`
		ID      core.MessageID `json:"id"`
		Time    string         `json:"time"`
		Role    core.Role      `json:"role"`
		Content string         `json:"content"`
		Why     string         `json:"why,omitempty"`
		After   string         `json:"after,omitempty"`
	}
)

// add takes a hit that says something into the listing.
func (l *listing) add(found core.MessageHit, text string) {
	chars := hitChars
	if l.wide {
		chars = wideChars
	}
	h := &hit{MessageHit: found, rank: len(l.hits)}
	h.excerpt = search.Excerpt(text, h.words(), chars)
	l.hits = append(l.hits, h)
}

// write returns as many of the hits as fit, the best ones.
func (l *listing) write(ctx context.Context) (core.ToolResult, error) {
	if len(l.hits) == 0 {
		l.notes = append([]string{"No results found."}, l.notes...)
	}
	l.titles = map[core.ConversationID]string{}
	for _, h := range l.hits {
		if !l.wide {
			var err error
			if h.before, h.after, err = exchange(ctx, l.env, &h.Message); err != nil {
				return core.ToolResult{}, err
			}
		}
		if err := l.title(ctx, h.Message.Conversation); err != nil {
			return core.ToolResult{}, err
		}
	}
	for n := len(l.hits); ; n-- {
		text, err := results.JSON(l.page(n))
		if err != nil || results.Fits(text) || n <= 1 {
			return core.ToolResult{Text: text}, err
		}
	}
}

// page shows the first n hits.
func (l *listing) page(n int) page {
	notes := l.notes
	if l.cut || n < len(l.hits) {
		notes = append(slices.Clip(notes), results.LeftOut)
	}
	p := page{Message: strings.Join(notes, " "), Results: []group{}}
	shown := map[core.MessageID]bool{} // told once
	for _, h := range l.hits[:n] {
		shown[h.Message.ID] = true
	}
	for _, hits := range l.arranged(l.hits[:n]) {
		g := group{In: l.titles[hits[0].Message.Conversation]}
		for _, h := range hits {
			g.Messages = append(g.Messages, l.quote(h, shown))
		}
		p.Results = append(p.Results, g)
	}
	return p
}

// quote shows a hit with what stands beside it and is not shown yet.
func (l *listing) quote(h *hit, shown map[core.MessageID]bool) quote {
	m := &h.Message
	q := quote{ID: m.ID, Time: m.CreatedAt.In(l.env.Now.Location()).Format(time.RFC3339), Role: m.Role, Content: h.excerpt}
	if l.wide {
		return q
	}
	words := h.words()
	beside := func(n *neighbour) (id, text string) {
		if n == nil {
			return "", ""
		}
		id = string(n.id)
		if shown[n.id] {
			return id, ""
		}
		shown[n.id] = true
		for _, from := range h.Why.Inherited {
			if from.From == id {
				words = slices.Concat(from.Words, words)
			}
		}
		return id, search.Excerpt(n.text, words, besideChars)
	}
	var before, after string
	before, q.Before = beside(h.before)
	after, q.After = beside(h.after)
	q.Why = results.Reason(h.Words, h.Why, before, after)
	return q
}

// arranged groups hits by conversation, best or oldest first. Those of one exchange stand together, as they were said.
func (l *listing) arranged(hits []*hit) [][]*hit {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b *hit) int {
		return cmp.Or(
			strings.Compare(string(a.Message.Conversation), string(b.Message.Conversation)),
			a.Message.CreatedAt.Compare(b.Message.CreatedAt), cmp.Compare(a.Message.Seq, b.Message.Seq),
		)
	})
	var runs [][]*hit
	for i, h := range hits {
		if i > 0 && linked(hits[i-1], h) {
			runs[len(runs)-1] = append(runs[len(runs)-1], h)
			continue
		}
		runs = append(runs, []*hit{h})
	}
	slices.SortStableFunc(runs, func(a, b []*hit) int {
		if l.byTime {
			return cmp.Or(a[0].Message.CreatedAt.Compare(b[0].Message.CreatedAt), cmp.Compare(a[0].Message.Seq, b[0].Message.Seq))
		}
		return cmp.Compare(best(a), best(b))
	})
	var groups [][]*hit
	at := map[core.ConversationID]int{}
	for _, run := range runs {
		conv := run[0].Message.Conversation
		i, ok := at[conv]
		if !ok {
			i, groups = len(groups), append(groups, nil)
			at[conv] = i
		}
		groups[i] = append(groups[i], run...)
	}
	return groups
}

// linked reports whether two hits, one said after the other, belong to one exchange.
func linked(a, b *hit) bool {
	return a.Message.Conversation == b.Message.Conversation &&
		(a.after.is(b.Message.ID) || b.before.is(a.Message.ID) || b.before != nil && (a.before.is(b.before.id) || a.after.is(b.before.id)))
}

func best(hits []*hit) int {
	return slices.MinFunc(hits, func(a, b *hit) int { return cmp.Compare(a.rank, b.rank) }).rank
}

// title finds out what to call a conversation: by its title, or else by the first words that a person said in it.
func (l *listing) title(ctx context.Context, id core.ConversationID) error {
	if _, known := l.titles[id]; known {
		return nil
	}
	if id == l.env.Conversation {
		l.titles[id] = "this conversation"
		return nil
	}
	c, err := l.env.Read.Conversations.Get(ctx, id)
	if core.KindOf(err) == core.NotFound { // deleted meanwhile
		l.titles[id] = "a deleted conversation"
		return nil
	}
	if err != nil {
		return err
	}
	title := strings.TrimSpace(c.Summary)
	if title == "" {
		filter := core.MessageFilter{Agent: l.env.Agent.ID, Conversation: id, Roles: []core.Role{core.RoleUser}}
		list, err := l.env.Read.Messages.List(ctx, filter, core.Page{Limit: 1})
		if err != nil {
			return err
		}
		for i := range list {
			title = spoken(&list[i], l.env)
		}
	}
	l.titles[id] = search.Excerpt(title, nil, titleChars)
	return nil
}
