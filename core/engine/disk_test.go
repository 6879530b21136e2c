package engine_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/storage"
)

// TestAStepAddsLittleToTheDiskBeyondItsMessages compares the facts of two homes that differ by the number of their turns:
// their pages, but for those of messages and of where messages stand, and of lists that are emptied by who follows them.
func TestAStepAddsLittleToTheDiskBeyondItsMessages(t *testing.T) {
	t.Parallel()
	const few, many, most = 20, 220, 2 << 10
	grown := factsAfter(t, many) - factsAfter(t, few)
	if each := grown / (many - few); each > most || each <= 0 {
		t.Errorf("a step adds %d bytes beside its messages, more than %d", each, most)
	}
}

// factsAfter returns how many bytes pages of the facts take after some turns of one step each.
func factsAfter(t *testing.T, turns int) (size int64) {
	t.Helper()
	dir := t.TempDir()
	s, err := storage.Open(t.Context(), storage.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.store = s
	h.cfg.Store, h.cfg.Log = s, s.Events()
	h.engine = engine.New(h.cfg)
	a := h.agent(nil)
	for i := range turns {
		h.send(a, fmt.Sprintf("turn %d", i))
	}
	h.stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "loci.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(t.Context(), `SELECT SUM(s.pgsize) FROM dbstat s LEFT JOIN sqlite_schema o ON o.name = s.name
		WHERE COALESCE(o.tbl_name, '') NOT IN ('messages', 'context', 'changes', 'vector_queue')`).Scan(&size)
	if err != nil {
		t.Fatal(err)
	}
	return size
}
