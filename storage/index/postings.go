package index

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Postings record which documents contain a term and how often. Documents are grouped into blocks by seq; a term takes
// two bytes per document in a block, or one bit each if many contain it just once. A term's newest blocks are stored
// beside its counter, older ones several to a row: a rare term is one row of one table, and a common one is read in long
// strides. Terms are words and, marked by their first byte, scopes, parts of speakers' names, and tags. FTS5 has the
// same lists, but takes a microsecond per entry and a row per document for its length.
const (
	blockBits = 10 // a block's documents
	blockSize = 1 << blockBits
	termShift = 24 // a row's key is the term's number and that of its first block
	tfBits    = 16 - blockBits
	maxTF     = 1<<tfBits - 1
	denseFrom = blockSize / 16 // number of entries above which one bit per document is shorter
	tailBytes = 400            // of blocks stored beside the counter
	rowBytes  = 1900           // of blocks in a row: two rows fill a page
)

func scopeTerm(num int64) string { return "\x01" + scopeToken(num) }
func whoTerm(part string) string { return "\x02" + part }
func tagTerm(tag string) string  { return "\x03" + tag }

// entry is a document and how often it contains a term; 0 removes the document.
type entry uint64

func newEntry(seq int64, tf int) entry { return entry(seq)<<tfBits | entry(min(tf, maxTF)) }

func (e entry) seq() int64     { return int64(e >> tfBits) }
func (e entry) block() int64   { return int64(e >> 16) }
func (e entry) tf() uint16     { return uint16(e & maxTF) }
func (e entry) packed() uint16 { return uint16(e>>tfBits)&(blockSize-1) | e.tf()<<blockBits }

// sorted puts entries in document order; of several for one document, the last wins.
func sorted(entries []entry) []entry {
	if !slices.IsSortedFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.seq(), b.seq()), -1) }) {
		slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.seq(), b.seq()) })
		kept := entries[:0]
		for i, e := range entries {
			if i+1 == len(entries) || entries[i+1].seq() != e.seq() {
				kept = append(kept, e)
			}
		}
		return kept
	}
	return entries
}

// block is a term's part of one block of documents: offsets with frequencies, in order.
type block struct {
	number int64
	data   []byte
	dense  bool // one bit per document: each contains the term once
}

// size returns how many documents of the block contain the term.
func (b *block) size() int {
	if !b.dense {
		return len(b.data) / 2
	}
	var set bits
	set.add(b)
	return set.count()
}

// unpacked returns a block's entries.
func (b *block) unpacked() []uint16 {
	if b.dense {
		out := make([]uint16, 0, blockSize)
		var set bits
		set.add(b)
		for o := range blockSize {
			if set.has(o) {
				out = append(out, uint16(o)|1<<blockBits)
			}
		}
		return out
	}
	out := make([]uint16, len(b.data)/2)
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(b.data[2*i:])
	}
	return out
}

// newBlock packs entries, which must be in order.
func newBlock(number int64, list []uint16) block {
	once := len(list) > denseFrom
	for _, e := range list {
		once = once && e>>blockBits == 1
	}
	if once {
		data := make([]byte, blockSize/8)
		for _, e := range list {
			o := e & (blockSize - 1)
			data[o/8] |= 1 << (o % 8)
		}
		return block{number, data, true}
	}
	data := make([]byte, 0, 2*len(list))
	for _, e := range list {
		data = binary.LittleEndian.AppendUint16(data, e)
	}
	return block{number: number, data: data}
}

// with returns the block with entries of the same block added or removed.
func (b *block) with(entries []entry) block {
	old := b.unpacked()
	out := make([]uint16, 0, len(old)+len(entries))
	for _, e := range entries {
		p := e.packed()
		o := p & (blockSize - 1)
		for len(old) > 0 && old[0]&(blockSize-1) < o {
			out, old = append(out, old[0]), old[1:]
		}
		if len(old) > 0 && old[0]&(blockSize-1) == o {
			old = old[1:]
		}
		if e.tf() > 0 {
			out = append(out, p)
		}
	}
	return newBlock(b.number, append(out, old...))
}

// merge merges entries into blocks; both are in order. Blocks that become empty are dropped.
func merge(blocks []block, entries []entry) []block {
	out := make([]block, 0, len(blocks)+1)
	for len(entries) > 0 {
		number, n := entries[0].block(), 1
		for n < len(entries) && entries[n].block() == number {
			n++
		}
		for len(blocks) > 0 && blocks[0].number < number {
			out, blocks = append(out, blocks[0]), blocks[1:]
		}
		b := block{number: number}
		if len(blocks) > 0 && blocks[0].number == number {
			b, blocks = blocks[0], blocks[1:]
		}
		if b = b.with(entries[:n]); len(b.data) > 0 {
			out = append(out, b)
		}
		entries = entries[n:]
	}
	return append(out, blocks...)
}

// encode writes, for each block, its distance from the previous one, its size and its data. No blocks give an empty
// slice and not nil, which a column would store as NULL.
func encode(blocks []block) []byte {
	out := []byte{}
	before := int64(0)
	for _, b := range blocks {
		out = binary.AppendUvarint(out, uint64(b.number-before))
		before = b.number
		if b.dense {
			out = binary.AppendUvarint(out, 0)
		} else {
			out = binary.AppendUvarint(out, uint64(len(b.data)/2))
		}
		out = append(out, b.data...)
	}
	return out
}

// decode appends the blocks that encode wrote.
func decode(blocks []block, data []byte) ([]block, error) {
	number := int64(0)
	for len(data) > 0 {
		step, n := binary.Uvarint(data)
		if n <= 0 {
			return blocks, errDamaged
		}
		data = data[n:]
		count, n := binary.Uvarint(data)
		if n <= 0 || count > blockSize {
			return blocks, errDamaged
		}
		data = data[n:]
		b := block{number: number + int64(step), dense: count == 0}
		size := int(2 * count)
		if b.dense {
			size = blockSize / 8
		}
		if size > len(data) {
			return blocks, errDamaged
		}
		b.data, data = data[:size:size], data[size:]
		number = b.number
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// packRows distributes blocks over rows.
func packRows(blocks []block) [][]block {
	var rows [][]block
	size := 0
	for i := range blocks {
		n := len(blocks[i].data) + 6
		if len(rows) == 0 || size+n > rowBytes {
			rows, size = append(rows, nil), 0
		}
		last := len(rows) - 1
		rows[last], size = append(rows[last], blocks[i]), size+n
	}
	return rows
}
