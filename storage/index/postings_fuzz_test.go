package index

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzPostings reads arbitrary bytes as postings, which must not panic, and as a history of changes: after each one, the
// postings must equal a map's contents, even after being written and read back.
func FuzzPostings(f *testing.F) {
	f.Add(encode(merge(nil, sorted([]entry{newEntry(5, 1), newEntry(70_000, 3), newEntry(70_001, 1)}))))
	f.Add([]byte{1, 0, 0, 255, 1, 0, 3, 255, 3, 0, 0, 0, 2, 0, 1, 9, 0, 0, 9, 70})           // a dense block, thinned out
	f.Add([]byte{0, 0, 9, 2, 0, 200, 9, 80, 3, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9, 1, 0, 0, 9, 0}) // one document out, in and out
	f.Add([]byte{5, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 7, 7})
	f.Add([]byte{1, 1, 7, 7, 0, 1, 7, 7}) // the same block twice
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 4 << 10
		data = data[:min(len(data), most)]
		readAnything(t, data)
		replay(t, data)
	})
}

func readAnything(t *testing.T, data []byte) {
	t.Helper()
	blocks, err := decode(nil, data)
	l := list{blocks: blocks}
	for i := range blocks {
		b := &blocks[i]
		if n := len(b.unpacked()); n > blockSize || b.size() != n {
			t.Fatalf("a block of %d bytes has %d documents and says %d", len(b.data), n, b.size())
		}
		_ = union([]*list{&l}, b.number)
	}
	_ = merge(slices.Clone(blocks), []entry{newEntry(5, 1), newEntry(6, 0), newEntry(1<<20, 2)})
	if err != nil {
		return
	}
	again, err := decode(nil, encode(blocks))
	if diff := cmp.Diff(blocks, again, cmp.AllowUnexported(block{})); err != nil || diff != "" {
		t.Fatalf("%v (-read +read again):\n%s", err, diff)
	}
}

// replay takes four bytes for a change: what, two for the document, and how often or how many.
func replay(t *testing.T, data []byte) {
	t.Helper()
	var blocks []block
	var changes []entry
	model := map[int64]int{}
	change := func(seq int64, tf int) {
		changes = append(changes, newEntry(seq, tf))
		if model[seq] = min(tf, maxTF); tf == 0 {
			delete(model, seq)
		}
	}
	commit := func() {
		blocks, changes = merge(blocks, sorted(changes)), nil
		read, err := decode(nil, encode(blocks))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, model, read)
		for _, row := range packRows(blocks) {
			if n := len(encode(row)); n > rowBytes && len(row) > 1 {
				t.Fatalf("a row of %d blocks has %d bytes", len(row), n)
			}
		}
		blocks = read
	}
	for ; len(data) >= 4; data = data[4:] {
		seq := int64(data[1])<<8 | int64(data[2])
		if data[0]&4 != 0 {
			seq <<= 20 // far apart
		}
		switch n := int(data[3]); data[0] & 3 {
		case 0:
			change(seq, n)
		case 1: // many documents that contain it once
			for i := range 4 * n {
				change(seq+int64(i), 1)
			}
		case 2:
			for i := range 4 * n {
				change(seq+int64(i), 0)
			}
		default:
			commit()
		}
	}
	commit()
}

func compare(t *testing.T, want map[int64]int, blocks []block) {
	t.Helper()
	got, last := map[int64]int{}, int64(-1)
	for i := range blocks {
		b := &blocks[i]
		entries := b.unpacked()
		if len(entries) == 0 || b.size() != len(entries) {
			t.Fatalf("a block of %d documents says that it has %d", len(entries), b.size())
		}
		for _, e := range entries {
			seq := b.number<<blockBits | int64(e&(blockSize-1))
			if seq <= last {
				t.Fatalf("document %d comes after %d", seq, last)
			}
			got[seq], last = int(e>>blockBits), seq
		}
	}
	if !maps.Equal(want, got) {
		t.Fatalf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}
