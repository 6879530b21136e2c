package tui

import (
	"cmp"
	"context"
	"iter"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
)

// A failed connection says nothing about the run behind it: once a run was
// accepted, it is followed again until the daemon says what became of it.

// said is something that was said in a conversation.
type said struct {
	thread Thread
	text   string
}

// followMsg says it is time to follow a run again.
type followMsg struct{ turn *turn }

// otidOf picks a message's otid. A text that may already have arrived keeps its
// old one, so that it doesn't arrive twice.
func (m *Model) otidOf(text string) string {
	return cmp.Or(m.unsure[said{m.conv.thread, text}], client.NewOTID())
}

// lose records that the feed of a run ended with an error of its own. It
// reports whether to follow the run again.
func (m *Model) lose(t *turn, err error) bool {
	kind := client.KindOf(err)
	cut := kind == api.KindUnavailable || kind == api.KindTimeout
	switch {
	case t.run == "":
		t.unsure = cut
	case cut:
		t.feed, t.away = nil, explain(err)
		m.broke(t)
		return true
	default:
		t.unheard = kind != api.KindNotFound // not found: the daemon never accepted it for good
	}
	return false
}

func (m *Model) followFeed(run string, after int64) *feed[api.Message] {
	return startFeed(m.ctx, m.wg, func(ctx context.Context) iter.Seq2[api.Message, error] {
		return m.backend.Follow(ctx, run, after)
	})
}

// followOn follows a lost run from where it left off.
func (m *Model) followOn(t *turn) tea.Cmd {
	if t == nil || t != m.turn || t.feed != nil || m.quitting {
		return nil
	}
	t.feed = m.followFeed(t.run, t.seq)
	return t.feed.next
}

// undelivered gives back the text of a run that didn't take it. If that isn't
// certain, the text keeps its otid, so that sending it again is harmless.
func (m *Model) undelivered(t *turn) {
	key, why := said{m.conv.thread, t.input}, "not delivered"
	if delete(m.unsure, key); t.unsure {
		m.unsure[key] = t.otid
		why = "not confirmed, and safe to send again"
	}
	m.giveBack(t.input, why)
}
