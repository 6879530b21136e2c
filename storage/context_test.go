package storage

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
)

// TestALongWindowLeavesWithFewStatements: the first turn behind an imported history lets all but its end leave at once.
func TestALongWindowLeavesWithFewStatements(t *testing.T) {
	t.Parallel()
	var updates atomic.Int32
	var text atomic.Value
	s := open(t, Config{OnStatement: func(sql string) error {
		if strings.HasPrefix(sql, "UPDATE context") {
			updates.Add(1)
			text.Store(sql)
		}
		return nil
	}})
	a := newAgent(t, s)
	conv, ctx := core.DefaultConversation(a), t.Context()
	const n, stay = 1200, 7
	msgs, ids := make([]*core.Message, n), make([]core.MessageID, n)
	for i := range msgs {
		msgs[i] = &core.Message{
			ID:           core.NewMessageID(),
			Agent:        a,
			Conversation: conv,
			Role:         core.RoleUser,
			CreatedAt:    time.Now(),
			Content:      []core.Content{core.Text("x")},
		}
		ids[i] = msgs[i].ID
	}
	err := s.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		if err := tx.Messages().Insert(ctx, msgs...); err != nil {
			return err
		}
		return tx.Messages().Enter(ctx, conv, 1, ids, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Messages().Leave(ctx, conv, 2, core.LeftEviction, ids[:n-stay]); err != nil {
		t.Fatal(err)
	}
	if got := updates.Load(); got != 1 {
		t.Errorf("%d statements let %d rows leave", got, n-stay)
	}
	left, err := s.Messages().ContextIDs(ctx, conv)
	if err != nil || len(left) != stay {
		t.Errorf("%d rows are left (%v), want %d", len(left), err, stay)
	}
	sql, _ := text.Load().(string)
	var plan []struct {
		ID, Parent, Notused int
		Detail              string
	}
	if err := s.facts.Readers.SelectContext(ctx, &plan, `EXPLAIN QUERY PLAN `+sql, make([]any, strings.Count(sql, "$"))...); err != nil {
		t.Fatal(err)
	}
	if first := plan[0].Detail; !strings.Contains(first, "(conversation_id=? AND message_id=?)") {
		t.Errorf("rows are not looked up by their ids: %s", first)
	}
}
