package storage

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// TestWhatASearchFoundIsReadByItsIDs looks at how SQLite would run the statements that read hits: through all passages of
// an archive or all messages of an agent, a search would take the longer the more there are.
func TestWhatASearchFoundIsReadByItsIDs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var texts []string
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), OnStatement: func(sql string) error {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, sql)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a := core.Archive{ID: core.NewArchiveID(), Name: "a", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	if err := s.Archives().Create(t.Context(), &a); err != nil {
		t.Fatal(err)
	}
	const many = 30 // with a few, the ids look cheaper to SQLite in any case
	var ids []core.MessageID
	for i := range many {
		ids = append(ids, core.MessageID(fmt.Sprint("message-", i)))
		p := core.Passage{
			ID:        core.NewPassageID(),
			Archive:   a.ID,
			Text:      fmt.Sprintf("the lake is deep %d", i),
			CreatedAt: time.Now(),
			UpdatedAt: time.Now(),
		}
		if err := s.Passages().Insert(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	texts = nil
	mu.Unlock()
	hits, err := matchPassages(
		t.Context(),
		s,
		core.SearchQuery{Text: "lake", Limit: many},
		core.PassageFilter{Archives: []core.ArchiveID{a.ID}},
	)
	if err != nil || len(hits) != many {
		t.Fatal(len(hits), err)
	}
	if _, err := s.Messages().Among(t.Context(), core.MessageFilter{Agent: core.NewAgentID()}, ids); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, text := range texts {
		if !strings.Contains(text, "p.id IN") && !strings.Contains(text, "m.id IN") {
			continue
		}
		seen++
		var plan []struct {
			ID, Parent, Notused int
			Detail              string
		}
		args := make([]any, strings.Count(text, "$"))
		if err := s.facts.Readers.SelectContext(t.Context(), &plan, `EXPLAIN QUERY PLAN `+text, args...); err != nil {
			t.Fatal(err)
		}
		if first := plan[0].Detail; !strings.Contains(first, "(id=?)") {
			t.Errorf("%s\nis run as %s", text, first)
		}
		for _, step := range plan {
			if strings.Contains(step.Detail, "context_left") {
				t.Errorf("%s\ngoes for each hit through all that left its conversation: %s", text, step.Detail)
			}
		}
	}
	if seen < 2 {
		t.Errorf("%d statements of loading were seen", seen)
	}
}
