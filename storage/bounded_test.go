package storage

import (
	"errors"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/search"
	"loci/storage/sqlite"
)

// hoard is a store with long messages and a short passage behind them.
func hoard(t *testing.T, n, size int) *Store {
	t.Helper()
	s := open(t, Config{})
	a := newAgent(t, s)
	long := strings.Repeat("of ", size/3)
	for range n {
		m := core.Message{
			ID: core.NewMessageID(), Agent: a, Conversation: core.DefaultConversation(a), Role: core.RoleUser, CreatedAt: time.Now(),
			Content: []core.Content{core.Text(long)},
		}
		if err := s.Messages().Insert(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestLongTextsAreReadFewAtOnce counts what the index and embedding take into memory together: rows are no measure of it.
func TestLongTextsAreReadFewAtOnce(t *testing.T) {
	t.Parallel()
	const n, size = 4, 3 << 20
	s := hoard(t, n, size)
	ctx := t.Context()
	// Each reads once after a number and returns the numbers of what it read, and the length of the texts.
	readers := map[string]func(after int64) (seqs []int64, bytes int, err error){
		"all": func(after int64) (seqs []int64, bytes int, err error) {
			docs, _, _, err := source{s.quiet}.All(ctx, search.Message, after, 2000)
			for _, d := range docs {
				seqs, bytes = append(seqs, d.Seq), bytes+len(d.Text)
			}
			return seqs, bytes, err
		},
		"changes": func(after int64) (seqs []int64, bytes int, err error) {
			changes, err := source{s.quiet}.Changes(ctx, after, 4000)
			var ids []string
			for _, c := range changes {
				seqs, ids = append(seqs, c.Seq), append(ids, c.ID)
			}
			if len(ids) == 0 {
				return nil, 0, err
			}
			docs, err2 := source{s.quiet}.Docs(ctx, search.Message, ids)
			for _, d := range docs {
				bytes += len(d.Text)
			}
			return seqs, bytes, errors.Join(err, err2)
		},
		"what waits": func(after int64) (seqs []int64, bytes int, err error) {
			page, err := s.Vectors().Waiting(ctx, after, 256)
			for _, u := range page {
				seqs, bytes = append(seqs, u.Ticket), bytes+len(u.Text)
			}
			return seqs, bytes, err
		},
	}
	for name, read := range readers {
		total := 0
		for after := int64(0); ; {
			seqs, bytes, err := read(after)
			if err != nil {
				t.Fatal(err)
			}
			if len(seqs) == 0 {
				break
			}
			if bytes > sqlite.BatchBytes {
				t.Errorf("%s: %d bytes at once", name, bytes)
			}
			total, after = total+bytes, seqs[len(seqs)-1]
		}
		if total < n*(size-3) {
			t.Errorf("%s: %d bytes of %d texts", name, total, n)
		}
	}
}
