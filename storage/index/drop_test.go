package index

import (
	"fmt"
	"testing"

	"loci/core/search"
)

// TestLongDocumentsAreRemovedFewAtOnce: what was read of a long text is long, and an owner may have thousands of them.
func TestLongDocumentsAreRemovedFewAtOnce(t *testing.T) {
	t.Parallel()
	const n, size = 5, dropBytes/2 + 1
	for _, how := range []string{"by owner", "by id"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			db := emptyIndex(t)
			var ids []string
			inOneTx(t, db, func(e *edit) {
				for i := range n {
					d := readDoc(search.Passage, &Doc{Seq: int64(i + 1), ID: fmt.Sprint("p", i), Owner: "a", Text: "lake"})
					d.stored = append(d.stored, make([]byte, size)...)
					e.put(t.Context(), []reading{d})
					ids = append(ids, d.ID)
				}
			})
			inOneTx(t, db, func(e *edit) {
				if rows := e.some(t.Context(), "id >= ?", "p"); len(rows) == 0 || len(rows) > 2 {
					t.Errorf("%d documents of %d bytes at once", len(rows), size)
				}
				if how == "by id" {
					e.drop(t.Context(), ids)
				} else {
					e.dropScope(t.Context(), ownerKey("a"))
				}
			})
			var left, counted int
			if err := db.Get(&left, `SELECT COUNT(*) FROM `+tablesOf(search.Passage).docs); err != nil || left != 0 {
				t.Errorf("%d are left: %v", left, err)
			}
			if err := db.Get(&counted, `SELECT CAST(value AS INTEGER) FROM marks WHERE key = 'docs_passage'`); err != nil || counted != 0 {
				t.Errorf("%d are counted: %v", counted, err)
			}
		})
	}
}
