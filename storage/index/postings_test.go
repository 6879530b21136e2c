package index

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

// TestPostingsHoldWhatWasPutAndNotTakenOut changes terms that are everywhere, frequent and rare, far apart and close
// together, at the front, in the middle and at the end, and compares them with a map.
func TestPostingsHoldWhatWasPutAndNotTakenOut(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			draw := rand.New(rand.NewPCG(seed, 5))
			db := emptyIndex(t)
			model := map[string]map[int64]int{"all": {}, "often": {}, "rare": {}, "once": {}}
			next := int64(1)
			for round := range 30 {
				amendOnce(t, db, draw, model, &next)
				if round%5 == 4 {
					compareWithModel(t, db, model)
				}
			}
			for term, docs := range model { // to the end
				inOneTx(t, db, func(e *edit) {
					for _, seq := range slices.Sorted(maps.Keys(docs)) {
						e.post(seq, term, docs[seq], -1)
					}
				})
				clear(docs)
			}
			compareWithModel(t, db, model)
			for _, table := range []string{"terms_passage", "postings_passage"} {
				var n int
				if err := db.GetContext(t.Context(), &n, `SELECT COUNT(*) FROM `+table); err != nil || n != 0 {
					t.Errorf("%s still holds %d: %v", table, n, err)
				}
			}
		})
	}
}

// amendOnce appends new documents and removes or changes some.
func amendOnce(t *testing.T, db *sqlx.DB, draw *rand.Rand, model map[string]map[int64]int, next *int64) {
	t.Helper()
	inOneTx(t, db, func(e *edit) {
		for range draw.IntN(2500) {
			seq := *next
			*next += 1 + int64(draw.IntN(2)*draw.IntN(3))
			for term, share := range map[string]int{"all": 1, "often": 4, "rare": 900, "once": 20_000} {
				if draw.IntN(share) == 0 {
					model[term][seq] = 1 + draw.IntN(3)*draw.IntN(2)*(share%3) // "all" and "rare" occur once
					e.post(seq, term, model[term][seq], 1)
				}
			}
		}
		for term, docs := range model {
			all := slices.Sorted(maps.Keys(docs))
			for range min(len(all), 1+draw.IntN(40)) {
				seq := all[draw.IntN(len(all))]
				was, ok := docs[seq]
				if !ok {
					continue
				}
				e.post(seq, term, was, -1)
				delete(docs, seq)
				if draw.IntN(3) > 0 { // an update: removed and added again
					docs[seq] = 1 + draw.IntN(80)
					e.post(seq, term, docs[seq], 1)
				}
			}
		}
	})
}

func compareWithModel(t *testing.T, db *sqlx.DB, model map[string]map[int64]int) {
	t.Helper()
	m, err := begin(t.Context(), db, search.Passage, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.end()
	for term, docs := range model {
		lists, err := m.lists(t.Context(), []string{term})
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]int{}
		for _, b := range lists[0].blocks {
			for _, e := range b.unpacked() {
				got[b.number<<blockBits|int64(e&(blockSize-1))] = int(e >> blockBits)
			}
			if b.size() != len(b.unpacked()) {
				t.Errorf("%s: a block of %d says that it has %d", term, len(b.unpacked()), b.size())
			}
		}
		want := maps.Clone(docs)
		for seq := range want {
			want[seq] = min(want[seq], maxTF)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", term, diff)
		}
		df, err := m.Frequencies(t.Context(), []string{term})
		if err != nil || df[term] != len(docs) {
			t.Errorf("%s stands in %d, counted %d: %v", term, len(docs), df[term], err)
		}
	}
}

func emptyIndex(t *testing.T) *sqlx.DB {
	t.Helper()
	db, err := open(t.Context(), filepath.Join(t.TempDir(), "index.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := create(t.Context(), db, "h", 1); err != nil {
		t.Fatal(err)
	}
	return db
}

func inOneTx(t *testing.T, db *sqlx.DB, change func(e *edit)) {
	t.Helper()
	err := inTx(t.Context(), db, func(tx *sqlx.Tx) error {
		e := newEdit(tx, search.Passage)
		change(e)
		return e.finish(context.Background())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedPostingsAreAnErrorAndNoPanic(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	whole := encode(merge(nil, sorted([]entry{newEntry(5, 1), newEntry(70_000, 3), newEntry(70_001, 1)})))
	for range 20_000 {
		data := slices.Clone(whole[:draw.IntN(len(whole)+1)])
		for range draw.IntN(3) {
			if len(data) > 0 {
				data[draw.IntN(len(data))] = byte(draw.Uint32())
			}
		}
		blocks, _ := decode(nil, data)
		for i := range blocks {
			_ = blocks[i].unpacked()
		}
		_, _ = unpack(string(data))
	}
	if _, err := decode(nil, whole[:len(whole)-1]); err == nil {
		t.Error("half a block is read")
	}
}
