package tui

import (
	"context"
	"iter"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
)

// A failed connection says nothing about the run behind it: once a run was
// accepted, it is followed again until the daemon says what became of it.

// followMsg says it is time to follow a run again.
type followMsg struct{ turn *turn }

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
