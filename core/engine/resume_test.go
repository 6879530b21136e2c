package engine_test

import (
	"context"
	"slices"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// countedLog counts the events that are read from a run log.
type countedLog struct {
	core.EventLog
	read []core.Event
}

func (l *countedLog) Read(ctx context.Context, run core.RunID, after int64, limit int) ([]core.Event, error) {
	events, err := l.EventLog.Read(ctx, run, after, limit)
	l.read = append(l.read, events...)
	return events, err
}

func TestAResumedStreamReadsFromTheLastWholeMessage(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "Ada"})
		}
		return say("It is noted.")
	})
	run, all := h.send(h.agent(nil), "I am Ada")
	seen := &countedLog{EventLog: h.store.Events()}
	cfg := h.cfg
	cfg.Log = seen
	reader := engine.New(cfg)
	returned := slices.IndexFunc(all, func(ev core.Event) bool { _, ok := ev.Body.(core.ToolReturned); return ok })
	for i, ev := range all {
		seen.read = nil
		var got []core.Event
		for ev, err := range reader.FollowFrom(t.Context(), run.ID, ev.Seq) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev)
		}
		if i >= returned && seen.read[0].Seq <= all[returned].Seq {
			t.Errorf("after event %d it is read from event %d", i, len(all)-len(seen.read))
		}
		if n := len(got); n < len(all)-1-i || n > 0 && got[n-1].Seq != all[len(all)-1].Seq {
			t.Errorf("after event %d there are %d events", i, n)
		}
	}
}
