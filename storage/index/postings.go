package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
)

// Postings say in which documents a term stands and how often: for each block of documents, by seq, one row of a term
// with two bytes a document. Terms are words, and, marked by their first byte, scopes, parts of speakers' names and tags.
// FTS5 has the same lists, but needs a microsecond for each entry and a row of its own for each document's length.
const (
	blockBits = 10 // documents of a block
	blockSize = 1 << blockBits
	termShift = 24 // a row's key is the term's number and the block's
	maxTF     = 1<<(16-blockBits) - 1
)

func scopeTerm(num int64) string          { return "\x01" + scopeToken(num) }
func whoTerm(part string) string          { return "\x02" + part }
func tagTerm(tag string) string           { return "\x03" + tag }
func offsetOf(seq int64) uint16           { return uint16(seq & (blockSize - 1)) }
func packed(offset uint16, tf int) uint16 { return offset | uint16(min(tf, maxTF))<<blockBits }

// amend applies changes to a block's row and returns it, sorted by offset.
func amend(data []byte, changes map[uint16]int) []byte {
	entries := make(map[uint16]uint16, len(data)/2+len(changes))
	for i := 0; i+1 < len(data); i += 2 {
		e := binary.LittleEndian.Uint16(data[i:])
		entries[e&(blockSize-1)] = e
	}
	for offset, tf := range changes {
		if tf == 0 {
			delete(entries, offset)
		} else {
			entries[offset] = packed(offset, tf)
		}
	}
	offsets := make([]uint16, 0, len(entries))
	for o := range entries {
		offsets = append(offsets, o)
	}
	slices.Sort(offsets)
	out := make([]byte, 0, 2*len(offsets))
	for _, o := range offsets {
		out = binary.LittleEndian.AppendUint16(out, entries[o])
	}
	return out
}

// list is the postings of a term, by block.
type list struct {
	blocks []block
	values [maxTF + 1]float32 // what an entry is worth by how often the term stands there
	at     int
}

type block struct {
	number int64
	data   []byte
}

// in returns the data of a block; blocks are asked for in rising order.
func (l *list) in(number int64) []byte {
	for l.at < len(l.blocks) && l.blocks[l.at].number < number {
		l.at++
	}
	if l.at < len(l.blocks) && l.blocks[l.at].number == number {
		return l.blocks[l.at].data
	}
	return nil
}

// lists reads the postings of terms. Unknown terms have none.
func (m *matching) lists(ctx context.Context, terms []string) ([]*list, error) {
	out := make([]*list, len(terms))
	for i, term := range terms {
		var err error
		if out[i], err = m.list(ctx, term); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *matching) list(ctx context.Context, term string) (*list, error) {
	rows, err := m.tx.QueryContext(ctx, `SELECT p.key, p.data, t.docs FROM `+m.t.terms+` t CROSS JOIN `+m.t.postings+` p
		ON p.key >= t.num << 24 AND p.key < (t.num + 1) << 24 WHERE t.term = $1 ORDER BY p.key`, term)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what was read is complete or Err says so
	l, docs := &list{}, 0
	for rows.Next() {
		var key int64
		var data []byte
		if err := rows.Scan(&key, &data, &docs); err != nil {
			return nil, err
		}
		l.blocks = append(l.blocks, block{key & (1<<termShift - 1), data})
	}
	const k1 = 0.6 // as in core/search, but without the length of texts
	idf := math.Log(1 + (float64(m.total)-float64(docs)+.5)/(float64(docs)+.5))
	for tf := range l.values {
		l.values[tf] = float32(idf * float64(tf) * (k1 + 1) / (float64(tf) + k1))
	}
	return l, rows.Err()
}

// bits are a set of the documents of a block.
type bits [blockSize / 64]uint64

func (b *bits) add(data []byte) {
	for i := 0; i+1 < len(data); i += 2 {
		o := binary.LittleEndian.Uint16(data[i:]) & (blockSize - 1)
		b[o/64] |= 1 << (o % 64)
	}
}

func (b *bits) has(o int) bool { return b[o/64]&(1<<(o%64)) != 0 }

// union is the documents of a block that stand in any of the lists.
func union(lists []*list, number int64) *bits {
	b := &bits{}
	for _, l := range lists {
		b.add(l.in(number))
	}
	return b
}

// scored is a document with what the words are worth in it.
type scored struct {
	seq   int64
	value float32
}

// best keeps the n best of many; of equal ones the newest.
type best struct {
	n    int
	list []scored
	low  float32 // less cannot be among them
}

func (b *best) add(s scored) {
	if b.n == 0 || s.value < b.low {
		return
	}
	if b.list = append(b.list, s); len(b.list) >= 4*b.n {
		b.cut()
	}
}

// cut sorts and drops what is too much.
func (b *best) cut() {
	slices.SortFunc(b.list, func(x, y scored) int { return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(y.seq, x.seq)) })
	if len(b.list) > b.n {
		b.list = b.list[:b.n]
		b.low = b.list[b.n-1].value
	}
}

// gates are sets of lists; a document must stand in one list of each.
type gates [][]*list

func (g gates) open(number int64) *bits {
	var all *bits
	for _, lists := range g {
		b := union(lists, number)
		if all == nil {
			all = b
			continue
		}
		for i := range all {
			all[i] &= b[i]
		}
	}
	return all // nil: everything
}

// score adds up words over the documents that pass the gates, and keeps the best of all and of those in names.
func score(words []*list, g gates, names []*list, all, theirs *best) {
	var numbers []int64
	for _, l := range words {
		for _, b := range l.blocks {
			numbers = append(numbers, b.number)
		}
	}
	slices.Sort(numbers)
	var sums [blockSize]float32
	for _, number := range slices.Compact(numbers) {
		clear(sums[:])
		for _, l := range words {
			data := l.in(number)
			for i := 0; i+1 < len(data); i += 2 {
				e := binary.LittleEndian.Uint16(data[i:])
				sums[e&(blockSize-1)] += l.values[e>>blockBits]
			}
		}
		pass := g.open(number)
		var named *bits
		if len(names) > 0 {
			named = union(names, number)
		}
		for o, value := range sums {
			if value == 0 || pass != nil && !pass.has(o) {
				continue
			}
			s := scored{number<<blockBits | int64(o), value}
			all.add(s)
			if named != nil && named.has(o) {
				theirs.add(s)
			}
		}
	}
	all.cut()
	theirs.cut()
}

// newest keeps the newest documents of lists that pass the gates.
func newest(lists []*list, g gates, all *best) {
	var numbers []int64
	for _, l := range lists {
		for _, b := range l.blocks {
			numbers = append(numbers, b.number)
		}
	}
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		found, pass := union(lists, number), g.open(number)
		for o := range blockSize {
			if found.has(o) && (pass == nil || pass.has(o)) {
				all.add(scored{number<<blockBits | int64(o), 1})
			}
		}
	}
	all.cut()
}
