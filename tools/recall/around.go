package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/search"
	"loci/tools/internal/results"
)

// How much is shown around a message.
const (
	aroundDefault = 10 // messages besides it
	aroundChars   = 600
	askedChars    = 2000 // of the message itself
)

// around shows what was said around a message, in order.
func around(ctx context.Context, args TerminalArgs, env core.ToolEnv) (core.ToolResult, error) {
	if len(args.Roles) > 0 || args.Start != "" || args.End != "" {
		return core.ToolResult{}, core.E(core.Invalid, "around goes with query and limit alone: leave the other arguments out")
	}
	limit := aroundDefault
	if args.Limit != nil {
		var err error
		if limit, err = results.Limit("limit", args.Limit); err != nil {
			return core.ToolResult{}, err
		}
	}
	m, err := shownMessage(ctx, args.Around, env)
	if err != nil {
		return core.ToolResult{}, err
	}
	l := listing{env: env, titles: map[core.ConversationID]string{}}
	if err := l.title(ctx, m.Conversation); err != nil {
		return core.ToolResult{}, err
	}
	all := []core.Message{m}
	for _, back := range []bool{true, false} {
		n := 0
		for one, err := range near(ctx, env, &m, back) {
			if err != nil {
				return core.ToolResult{}, err
			}
			if n++; n > (limit+1)/2 {
				break
			}
			all = append(all, one)
		}
		if back {
			slices.Reverse(all)
		}
	}
	return l.around(all, m.ID, strings.Fields(args.Query))
}

// shownMessage reads a message that a search of the agent can show.
func shownMessage(ctx context.Context, id string, env core.ToolEnv) (core.Message, error) {
	if !core.ValidID("message", id) {
		return core.Message{}, core.E(
			core.Invalid, "%q is not the id of a message: the results of this search name them", search.Excerpt(id, nil, 60),
		)
	}
	filter := core.MessageFilter{Agent: env.Agent.ID, Roles: speakers()}
	list, err := env.Read.Messages.Among(ctx, filter, []core.MessageID{core.MessageID(id)})
	switch {
	case err != nil:
		return core.Message{}, err
	case len(list) == 0:
		return core.Message{}, core.E(core.Invalid,
			"nothing said to you or by you has the id %s: it may have been taken back since, search for it again", id)
	case list[0].Run == env.Run && env.Run != "":
		return core.Message{}, core.E(core.Invalid, "%s is part of this turn: you see what stands around it", id)
	}
	return list[0], nil
}

// around writes messages that stand around one, long ones shortened around words; what doesn't fit leaves from the farther end.
func (l *listing) around(all []core.Message, id core.MessageID, words []string) (core.ToolResult, error) {
	g := group{In: l.titles[all[0].Conversation]}
	for i := range all {
		m := &all[i]
		chars := aroundChars
		if m.ID == id {
			chars = askedChars
		}
		g.Messages = append(g.Messages, quote{
			ID: m.ID, Time: m.CreatedAt.In(l.env.Now.Location()).Format(time.RFC3339), Role: m.Role,
			Content: search.Excerpt(spoken(m, l.env), words, chars),
		})
	}
	for {
		text, err := results.JSON(page{Results: []group{g}})
		if err != nil || results.Fits(text) || len(g.Messages) == 1 {
			return core.ToolResult{Text: text}, err
		}
		at := slices.IndexFunc(g.Messages, func(q quote) bool { return q.ID == id })
		if at > len(g.Messages)-1-at {
			g.Messages = g.Messages[1:]
		} else {
			g.Messages = g.Messages[:len(g.Messages)-1]
		}
	}
}
