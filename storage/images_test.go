package storage

import (
	"context"
	"testing"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

// TestAnImageGoesWithTheLastThatHoldsIt: it stays for a day without anything that names it, and then while anything does.
func TestAnImageGoesWithTheLastThatHoldsIt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := open(t, Config{Clock: func() time.Time { return now }})
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(data string) core.Image {
		img := core.Image{Hash: core.ContentHash([]byte(data)), Type: "image/png", Width: 1, Height: 1}
		p := core.Picture{Image: img, Data: []byte(data)}
		check(s.Images().Put(ctx, p))
		return p.Image
	}
	holding := func(agent core.AgentID, i core.Image) core.Message {
		return core.Message{
			ID: core.NewMessageID(), Agent: agent, Conversation: core.DefaultConversation(agent), Role: core.RoleUser,
			Content: []core.Content{{Type: core.ContentImage, Image: &i}}, CreatedAt: now,
		}
	}
	kept := func(what string, want bool, i core.Image) {
		t.Helper()
		_, err := s.Sweep(ctx)
		check(err)
		if _, err := s.Images().Get(ctx, i.Hash); core.Absent(err) == want || err != nil && !core.Absent(err) {
			t.Errorf("%s: %v, want it kept: %v", what, err, want)
		}
	}
	said, beside, sent, loose := put("said"), put("beside"), put("sent"), put("loose")
	a := newAgent(t, s)
	m := holding(a, said)
	m.Content = append(m.Content, core.Content{Type: core.ContentImage, Image: &beside})
	check(s.Messages().Insert(ctx, &m))
	run := core.Run{
		ID: core.NewRunID(), Agent: a, Conversation: core.DefaultConversation(a), Status: core.RunFailed, CreatedAt: now,
		Input: []core.Message{holding(a, sent)},
	}
	check(s.Runs().Create(ctx, &run))
	kept("before anything names it", true, loose)
	now = now.Add(25 * time.Hour)
	kept("a day later", false, loose)
	kept("in a message", true, said)
	kept("beside another one in a message", true, beside)
	kept("in the input of a run", true, sent)
	check(s.Agents().Delete(ctx, a))
	kept("after its agent", false, said)
	kept("after its agent", false, sent)
}

func TestAnImageWhoseBytesWereChangedIsNotReturned(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	p := core.Picture{Image: core.Image{Hash: core.ContentHash([]byte("x")), Type: "image/png"}, Data: []byte("x")}
	if err := s.Images().Put(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for _, damage := range []string{
		`UPDATE images SET media_type = 'text/html'`, `UPDATE images SET media_type = 'image/png', body = 'y'`,
	} {
		if err := s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
			_, err := q.Exec(ctx, damage)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Images().Get(t.Context(), p.Hash); !core.Absent(err) {
			t.Errorf("after %s: %v", damage, err)
		}
	}
}
