package recall

import (
	"context"
	"iter"
	"slices"
	"strings"

	"loci/core"
)

// How many messages are read to find a neighbour: an agent that calls many tools stores many that say nothing.
const (
	nearPage  = 10
	nearPages = 6
)

// neighbour is a message beside a hit.
type neighbour struct {
	id   core.MessageID
	text string
}

// is reports whether there is a neighbour, and it is this message.
func (n *neighbour) is(id core.MessageID) bool { return n != nil && n.id == id }

// exchange returns what a hit answers, and what answers it: the question before an answer, the last answer to a question.
// Either may be missing.
func exchange(ctx context.Context, env core.ToolEnv, m *core.Message) (before, after *neighbour, err error) {
	if m.Role == core.RoleUser {
		if before, err = first(ctx, env, m, true, func(n *core.Message, text string) bool {
			return n.Role == core.RoleAssistant && asks(text)
		}); err == nil {
			after, err = reply(ctx, env, m)
		}
		return before, after, err
	}
	for n, err := range near(ctx, env, m, true) {
		if err != nil {
			return nil, nil, err
		}
		if n.Role == core.RoleUser {
			before = &neighbour{n.ID, spoken(&n, env)}
			break
		}
	}
	if asks(spoken(m, env)) {
		after, err = first(ctx, env, m, false, func(n *core.Message, _ string) bool { return n.Role == core.RoleUser })
	}
	return before, after, err
}

// first returns the nearest message on one side, if it belongs to the exchange.
func first(
	ctx context.Context,
	env core.ToolEnv,
	m *core.Message,
	back bool,
	belongs func(n *core.Message, text string) bool,
) (*neighbour, error) {
	for n, err := range near(ctx, env, m, back) {
		if err != nil {
			return nil, err
		}
		if text := spoken(&n, env); belongs(&n, text) {
			return &neighbour{n.ID, text}, nil
		}
		break
	}
	return nil, nil
}

// reply returns the last thing an agent said before the person spoke again: what it says while it works is no answer yet.
func reply(ctx context.Context, env core.ToolEnv, m *core.Message) (last *neighbour, err error) {
	for n, err := range near(ctx, env, m, false) {
		if err != nil {
			return nil, err
		}
		if n.Role == core.RoleUser {
			break
		}
		last = &neighbour{n.ID, spoken(&n, env)}
	}
	return last, nil
}

// near gives the messages before or after one in its conversation that say something, the nearest first. There are none
// where its conversation no longer shows it.
func near(ctx context.Context, env core.ToolEnv, m *core.Message, back bool) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		filter := core.MessageFilter{Agent: env.Agent.ID, Conversation: m.Conversation, Roles: speakers()}
		at := string(m.ID)
		for range nearPages {
			page := core.Page{After: at, Limit: nearPage}
			if back {
				page = core.Page{Before: at, Limit: nearPage, Desc: true}
			}
			list, err := env.Read.Messages.List(ctx, filter, page)
			if core.KindOf(err) == core.NotFound {
				return
			}
			if err != nil {
				yield(core.Message{}, err)
				return
			}
			if back {
				slices.Reverse(list)
			}
			for i := range list {
				if spoken(&list[i], env) != "" && !yield(list[i], nil) {
					return
				}
			}
			if len(list) < page.Limit {
				return
			}
			at = string(list[len(list)-1].ID)
		}
	}
}

// asks reports whether a text ends with a question.
func asks(text string) bool {
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.ContainsAny(last, "?？؟")
}
