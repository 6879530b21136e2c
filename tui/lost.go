package tui

import (
	"cmp"
	"context"
	"iter"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
)

// A connection that fails says nothing about the run behind it: one that was
// accepted is followed again until the daemon tells what became of it.

// said is a text that was said in a conversation.
type said struct {
	thread Thread
	text   string
}

// followMsg is the time to follow a run again.
type followMsg struct{ turn *turn }

// otidOf names a message for the daemon, one that may have arrived as before, so
// that it does not arrive twice.
func (m *Model) otidOf(text string) string {
	return cmp.Or(m.unsure[said{m.thread, text}], client.NewOTID())
}

// lose notes that the feed of a run ended with an error of its own. It reports
// whether the run is to be followed again.
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
		t.unheard = kind != api.KindNotFound // the daemon does not know it: it was not accepted for good
	}
	return false
}

func (m *Model) followFeed(run string, after int64) *feed[api.Message] {
	return startFeed(m.ctx, m.wg, func(ctx context.Context) iter.Seq2[api.Message, error] {
		return m.backend.Follow(ctx, run, after)
	})
}

// followOn follows a lost run from where it was.
func (m *Model) followOn(t *turn) tea.Cmd {
	if t == nil || t != m.turn || t.feed != nil || m.quitting {
		return nil
	}
	t.feed = m.followFeed(t.run, t.seq)
	return t.feed.next
}

// undelivered gives the text of a run back that did not take it. Where that is
// not known the text keeps its name, so that sending it again is harmless.
func (m *Model) undelivered(t *turn) {
	key, why := said{m.thread, t.input}, "not delivered"
	if delete(m.unsure, key); t.unsure {
		m.unsure[key] = t.otid
		why = "not confirmed, and safe to send again"
	}
	m.giveBack(t.input, why)
}
