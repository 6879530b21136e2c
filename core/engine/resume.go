package engine

import (
	"context"
	"iter"

	"loci/core"
)

// FollowFrom is Follow for a reader that has seen everything up to a cursor and joins the pieces of messages. It begins
// behind the last event at or before the cursor at which no message is open, so that the reader gets every piece of what
// it joins and nothing older; what it has seen of that it passes over.
func (e *Engine) FollowFrom(ctx context.Context, run core.RunID, cursor int64) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		from, err := e.boundary(ctx, run, cursor)
		if err != nil {
			yield(core.Event{}, err)
			return
		}
		e.Follow(ctx, run, from)(yield)
	}
}

// boundary returns the seq of the last event at or before a cursor that closes every message before it, 0 if there is none.
func (e *Engine) boundary(ctx context.Context, run core.RunID, cursor int64) (int64, error) {
	for upTo := cursor; upTo > 0; {
		events, err := e.cfg.Log.ReadBack(ctx, run, upTo, readBatch)
		if err != nil {
			return 0, err
		}
		for _, ev := range events {
			if closesMessages(ev.Body) {
				return ev.Seq, nil
			}
			upTo = ev.Seq - 1
		}
		if len(events) < readBatch {
			break
		}
	}
	return 0, nil
}

// closesMessages says whether all messages that were begun before an event are whole with it.
func closesMessages(body core.EventBody) bool {
	switch body.(type) {
	case core.Saved, core.ToolReturned, core.Summary:
		return true
	default:
		return false
	}
}
