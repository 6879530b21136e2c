package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	mathbits "math/bits"
	"slices"

	"loci/core/search"
)

// list holds a term's postings by block.
type list struct {
	blocks []block
	values [maxTF + 1]float32 // the score of an entry by term frequency
	at     int
}

// in returns the term's part of a block, nil if it has none. It is fast when called with increasing numbers.
func (l *list) in(number int64) *block {
	if l.at > 0 && l.blocks[l.at-1].number >= number {
		l.at, _ = slices.BinarySearchFunc(l.blocks, number, func(b block, n int64) int { return cmp.Compare(b.number, n) })
	}
	for l.at < len(l.blocks) && l.blocks[l.at].number < number {
		l.at++
	}
	if l.at < len(l.blocks) && l.blocks[l.at].number == number {
		return &l.blocks[l.at]
	}
	return nil
}

// lists reads the postings of terms. Unknown terms have none.
func (v *View) lists(ctx context.Context, terms []string) ([]*list, error) {
	found := make(map[string]*termRow, len(terms))
	for chunk := range slices.Chunk(terms, lookupBatch) {
		if err := readTerms(ctx, v.tx, v.t, chunk, found); err != nil {
			return nil, err
		}
	}
	out := make([]*list, len(terms))
	for i, term := range terms {
		out[i] = &list{}
		if row := found[term]; row != nil {
			if err := v.fill(ctx, out[i], row); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// relatives reads the postings of words that count less than their rarity says.
func (v *View) relatives(ctx context.Context, near []search.Lesser) ([]*list, error) {
	words := make([]string, len(near))
	for i, n := range near {
		words[i] = n.Word
	}
	lists, err := v.lists(ctx, words)
	if err != nil {
		return nil, err
	}
	for i, n := range near {
		for tf := range lists[i].values {
			lists[i].values[tf] *= float32(n.Weight)
		}
	}
	return lists, nil
}

// fill reads the blocks of a term.
func (v *View) fill(ctx context.Context, l *list, row *termRow) error {
	if row.upto >= 0 {
		rows, err := v.tx.QueryContext(
			ctx,
			`SELECT data FROM `+v.t.postings+` WHERE key >= $1 AND key < $2 ORDER BY key`,
			row.num<<termShift,
			(row.num+1)<<termShift,
		)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // rows.Err reports an incomplete read
		for rows.Next() {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				return err
			}
			if l.blocks, err = decode(l.blocks, data); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	k1, _ := search.BM25(v.Reach().AvgWords) // without normalising lengths, which postings don't hold
	idf := math.Log(1 + (float64(v.total)-float64(row.docs)+.5)/(float64(row.docs)+.5))
	for tf := range l.values {
		l.values[tf] = float32(idf * float64(tf) * (k1 + 1) / (float64(tf) + k1))
	}
	var err error
	l.blocks, err = decode(l.blocks, row.tail)
	return err
}

// bits is a set of documents in a block.
type bits [blockSize / 64]uint64

func (b *bits) add(from *block) {
	if from == nil {
		return
	}
	if from.dense {
		for i := range b {
			b[i] |= binary.LittleEndian.Uint64(from.data[8*i:])
		}
		return
	}
	for i := 0; i+1 < len(from.data); i += 2 {
		o := binary.LittleEndian.Uint16(from.data[i:]) & (blockSize - 1)
		b[o/64] |= 1 << (o % 64)
	}
}

func (b *bits) has(o int) bool { return b[o/64]&(1<<(o%64)) != 0 }

func (b *bits) count() (n int) {
	for _, w := range b {
		n += mathbits.OnesCount64(w)
	}
	return n
}

// union returns the documents of a block that are in any of the lists.
func union(lists []*list, number int64) *bits {
	b := &bits{}
	for _, l := range lists {
		b.add(l.in(number))
	}
	return b
}

// docScore is a document with its score for the words.
type docScore struct {
	seq   int64
	value float32
	akin  bool // it has none of the words, but relatives of theirs
}

func better(x, y docScore) int {
	return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(y.seq, x.seq))
}

// best keeps the n best of many, the newest among equals.
type best struct {
	n    int
	list []docScore
	low  float32 // anything lower can't be among them
}

func (b *best) add(s docScore) {
	if b.n == 0 || s.value < b.low {
		return
	}
	if b.list = append(b.list, s); len(b.list) >= 4*b.n {
		b.cut()
	}
}

// cut sorts, and drops all beyond n.
func (b *best) cut() {
	slices.SortFunc(b.list, better)
	if len(b.list) > b.n {
		b.list = b.list[:b.n]
		b.low = b.list[b.n-1].value
	}
}

// gates are sets of lists; a document must be in at least one list of each.
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
	return all // nil: everything passes
}

// numbersOf returns the numbers of all blocks in the lists.
func numbersOf(lists []*list) []int64 {
	var numbers []int64
	for _, l := range lists {
		for i := range l.blocks {
			numbers = append(numbers, l.blocks[i].number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// picks are the documents that score best: of those that have a word of the query's own, of those that have only relatives
// of its words, and of those by the people it names.
type picks struct{ own, akin, theirs best }

// score adds up what the query's own words and their relatives are worth in the documents that pass the gates.
func (p *picks) score(own, near []*list, g gates, names []*list) {
	var sums [blockSize]float32
	for _, number := range numbersOf(slices.Concat(own, near)) {
		clear(sums[:])
		for _, l := range own {
			l.addTo(&sums, number)
		}
		var has bits
		for o, value := range sums {
			if value != 0 {
				has[o/64] |= 1 << (o % 64)
			}
		}
		for _, l := range near {
			l.addTo(&sums, number)
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
			s := docScore{number<<blockBits | int64(o), value, !has.has(o)}
			if s.akin {
				p.akin.add(s)
			} else {
				p.own.add(s)
			}
			if named != nil && named.has(o) {
				p.theirs.add(s)
			}
		}
	}
	for _, b := range []*best{&p.own, &p.akin, &p.theirs} {
		b.cut()
	}
}

// addTo adds the term's scores for the documents of a block.
func (l *list) addTo(sums *[blockSize]float32, number int64) {
	b := l.in(number)
	if b == nil {
		return
	}
	if b.dense {
		var set bits
		set.add(b)
		for i, w := range set {
			for ; w != 0; w &= w - 1 {
				sums[i*64+mathbits.TrailingZeros64(w)] += l.values[1]
			}
		}
		return
	}
	for i := 0; i+1 < len(b.data); i += 2 {
		e := binary.LittleEndian.Uint16(b.data[i:])
		sums[e&(blockSize-1)] += l.values[e>>blockBits]
	}
}

// newest keeps the newest documents of the lists that pass the gates.
func newest(lists []*list, g gates, all *best) {
	for _, number := range slices.Backward(numbersOf(lists)) {
		found, pass := union(lists, number), g.open(number)
		for o := range blockSize {
			if found.has(o) && (pass == nil || pass.has(o)) {
				all.add(docScore{seq: number<<blockBits | int64(o), value: 1})
			}
		}
		if len(all.list) >= all.n {
			break
		}
	}
	all.cut()
}
