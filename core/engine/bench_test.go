package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/storage"
)

// grow gives an agent a history of n messages that left the window long ago, and a full window behind it.
func (h *house) grow(a core.Agent, n, recent int) {
	h.t.Helper()
	conv := core.DefaultConversation(a.ID)
	for done := 0; done < n; {
		err := h.store.Tx(h.t.Context(), func(ctx context.Context, tx core.Store) error {
			c, err := tx.Conversations().Get(ctx, conv)
			if err != nil {
				return err
			}
			var msgs []*core.Message
			var ids []core.MessageID
			for i := range min(1000, n-done) {
				role := core.RoleUser
				if i%2 == 1 {
					role = core.RoleAssistant
				}
				m := &core.Message{
					ID: core.NewMessageID(), Agent: a.ID, Conversation: conv, Role: role, Tokens: 8, CreatedAt: h.clock(),
					Content: []core.Content{core.Text(fmt.Sprintf("message %d of a long history", done+i))},
				}
				msgs, ids = append(msgs, m), append(ids, m.ID)
			}
			if err := tx.Messages().Insert(ctx, msgs...); err != nil {
				return err
			}
			c.Rev++
			if err := tx.Messages().Enter(ctx, conv, c.Rev, ids, nil); err != nil {
				return err
			}
			c.Rev++
			if err := tx.Messages().Leave(ctx, conv, c.Rev, core.LeftEviction, ids); err != nil {
				return err
			}
			return tx.Conversations().Update(ctx, &c)
		})
		if err != nil {
			h.t.Fatal(err)
		}
		done += min(1000, n-done)
	}
	for i := range recent { // the window, the same whatever the history
		h.send(a, fmt.Sprintf("recent message %d", i))
	}
}

// counted opens a store that counts what it runs.
func counted(tb testing.TB, n *atomic.Int64) *storage.Store {
	tb.Helper()
	s, err := storage.Open(tb.Context(), storage.Config{Dir: tb.TempDir(), OnStatement: func(sql string) error {
		// How many callers share a commit, and when the indexer prunes behind itself, is chance.
		word, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
		if !slices.Contains([]string{"BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK"}, word) &&
			!strings.Contains(sql, "DELETE FROM changes") {
			n.Add(1)
		}
		return nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func TestAStepCostsTheSameStatementsWhateverTheHistory(t *testing.T) {
	t.Parallel()
	cost := map[int]int64{}
	for _, size := range []int{100, 5_000} {
		var n atomic.Int64
		h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
		h.store = counted(t, &n)
		h.cfg.Store, h.cfg.Log = h.store, h.store.Events()
		h.engine = engine.New(h.cfg)
		a := h.agent(nil)
		h.grow(a, size, 20)
		before := n.Load()
		for range 10 {
			h.send(a, "one more")
		}
		cost[size] = n.Load() - before
		h.stop()
	}
	if cost[100] != cost[5_000] {
		t.Errorf("ten steps take %d statements behind 100 messages and %d behind 5,000", cost[100], cost[5_000])
	}
}

// BenchmarkStepBehindHistory measures a plain turn with the same full window behind 100 and 100,000 messages, in turn, so
// that the ratio holds on a machine whose speed drifts.
func BenchmarkStepBehindHistory(b *testing.B) {
	sizes := []int{100, 100_000}
	var houses []*house
	var agents []core.Agent
	for _, size := range sizes {
		h := open(b, func(int, core.ChatRequest) turn { return say("ok") })
		h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 12_000, Tools: true, CacheTTL: 5 * time.Minute}
		a := h.agent(nil)
		h.grow(a, size, 100)
		houses, agents = append(houses, h), append(agents, a)
	}
	took := make([][]time.Duration, len(sizes))
	for b.Loop() {
		for i, h := range houses {
			begun := time.Now()
			h.send(agents[i], "one more")
			took[i] = append(took[i], time.Since(begun))
		}
	}
	var medians []float64
	for i, size := range sizes {
		slices.Sort(took[i])
		medians = append(medians, float64(took[i][len(took[i])/2].Microseconds())/1000)
		b.ReportMetric(medians[i], fmt.Sprintf("behind-%d-ms", size))
	}
	b.ReportMetric(medians[1]/medians[0], "ratio")
}

// BenchmarkAgentsInParallel measures durable steps a second with 100 agents and an instantly answering model.
func BenchmarkAgentsInParallel(b *testing.B) {
	h := open(b, func(int, core.ChatRequest) turn { return say("ok") })
	agents := make([]core.Agent, 100)
	for i := range agents {
		agents[i] = h.agent(nil)
	}
	b.ResetTimer()
	done := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(b.N))
	for _, a := range agents {
		go func() {
			for left.Add(-1) >= 0 {
				h.send(a, "go")
			}
			done <- struct{}{}
		}()
	}
	for range agents {
		<-done
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
