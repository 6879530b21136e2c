package service

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"loci/core"
)

const (
	maxSearch      = 100
	maxQueryChars  = 1_000_000
	messagesByPage = 100
)

// Messages are the use cases of stored messages. Hidden records are in none of them.
type Messages struct{ *parts }

// Window lists the messages of one conversation as the contract lists an agent's: oldest first within the page, After
// newer and Before older whatever the order, Desc picks the newest. The page is filled with messages that shown takes; nil
// takes all.
func (m *Messages) Window(
	ctx context.Context,
	f core.MessageFilter,
	pg core.Page,
	shown func(core.Message) bool,
) ([]core.Message, error) {
	pg, err := pg.Sized(messagesByPage)
	if err != nil {
		return nil, err
	}
	if f.Conversation != "" {
		if err := m.refresh(ctx, f.Conversation); err != nil {
			return nil, err
		}
	}
	if shown == nil {
		return m.Store.Messages().List(ctx, f, pg)
	}
	return m.fill(ctx, f, pg, shown)
}

// refresh compiles the system message anew where its text is stale. Where that cannot be stored, as on a full disk, the
// messages are shown with the text as it is.
func (m *Messages) refresh(ctx context.Context, conv core.ConversationID) error {
	err := m.Engine.Prompts().Refresh(ctx, conv)
	if core.KindOf(err) == core.Unavailable {
		m.Logger.WarnContext(ctx, "a system message stays stale", slog.Any("error", err))
		return nil
	}
	return err
}

// fill reads on, a bounded part at a time, until the page is full, the list ends or whoever asked has left: clients take an
// empty page for the end of the list.
func (m *Messages) fill(
	ctx context.Context,
	f core.MessageFilter,
	pg core.Page,
	shown func(core.Message) bool,
) (found []core.Message, err error) {
	for ask := pg; ; ask.Limit = core.MaxPage {
		some, err := m.Store.Messages().List(ctx, f, ask)
		if err != nil {
			return nil, err
		}
		last := len(some) < ask.Limit
		if len(some) > 0 {
			ask.After, ask.Before = beyond(ask, some)
		}
		some = slices.DeleteFunc(some, func(msg core.Message) bool { return !shown(msg) })
		if pg.Desc {
			found = append(some, found...)
			found = found[max(0, len(found)-pg.Limit):]
		} else {
			found = append(found, some...)
			found = found[:min(len(found), pg.Limit)]
		}
		if last || len(found) == pg.Limit {
			return found, nil
		}
	}
}

// beyond returns the cursors of what follows a page of a window.
func beyond(pg core.Page, page []core.Message) (after, before string) {
	if pg.Desc {
		return pg.After, string(page[0].ID)
	}
	return string(page[len(page)-1].ID), pg.Before
}

// Ordered lists messages in the requested order: After is later in it and Before earlier, and with Desc the newest comes first.
func (m *Messages) Ordered(
	ctx context.Context,
	f core.MessageFilter,
	pg core.Page,
	shown func(core.Message) bool,
) ([]core.Message, error) {
	if !pg.Desc {
		return m.Window(ctx, f, pg, shown)
	}
	pg.After, pg.Before = pg.Before, pg.After
	pg.Desc = pg.After == "" // what lies next to a cursor, else the newest
	msgs, err := m.Window(ctx, f, pg, shown)
	slices.Reverse(msgs)
	return msgs, err
}

// Get returns a message a person may see.
func (m *Messages) Get(ctx context.Context, id core.MessageID) (core.Message, error) {
	msg, err := m.Store.Messages().Get(ctx, id)
	if err == nil && msg.Hidden != core.NotHidden {
		return core.Message{}, core.E(core.NotFound, "there is no message %s", id)
	}
	return msg, err
}

// Reset empties an agent's default conversation except for its system message and, if requested, its type's first
// messages.
func (m *Messages) Reset(ctx context.Context, agent core.AgentID, boot bool) (core.Agent, error) {
	if _, err := m.Store.Agents().Get(ctx, agent); err != nil {
		return core.Agent{}, err
	}
	conv := core.DefaultConversation(agent)
	err := m.Engine.Exclusive(ctx, conv, func(ctx context.Context, tx core.Store) error {
		return m.Engine.Prompts().Reset(ctx, tx, conv, boot)
	})
	if err != nil {
		return core.Agent{}, err
	}
	m.changed(agent)
	return m.Store.Agents().Get(ctx, agent)
}

// Search finds messages by words and meaning, best first; ten by default. Without a text it returns those that match the
// filter, newest first.
func (m *Messages) Search(ctx context.Context, query string, f core.MessageFilter, limit int) (core.Results[core.MessageHit], error) {
	q, err := searchQuery(query, limit)
	if err == nil {
		q.Today, err = m.today(ctx, f.Agent)
	}
	if err != nil {
		return core.Results[core.MessageHit]{}, err
	}
	return m.Config.Search.Messages(ctx, q, f)
}

// today returns the current time on an agent's clock or, without an agent, on this machine's.
func (p *parts) today(ctx context.Context, agent core.AgentID) (time.Time, error) {
	if agent == "" {
		return p.Clock(), nil
	}
	a, err := p.Store.Agents().Get(ctx, agent)
	return p.Clock().In(a.Location()), err
}

// searchQuery checks a query. One without words is allowed.
func searchQuery(query string, limit int) (core.SearchQuery, error) {
	switch {
	case len(query) > maxQueryChars:
		return core.SearchQuery{}, core.E(core.Invalid, "a search has at most %d bytes", maxQueryChars)
	case limit < 0 || limit > maxSearch:
		return core.SearchQuery{}, core.E(core.Invalid, "a search returns 1 to %d results", maxSearch)
	}
	return core.SearchQuery{Text: query, Limit: limit}, nil
}
