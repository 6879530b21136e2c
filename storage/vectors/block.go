package vectors

import (
	"hash/crc32"
	"sort"
	"sync"
	"unsafe"
)

// blockRows is how many rows a block has; threads take work by the block.
const blockRows = 4096

// align is what block offsets are a multiple of, whatever the machine's page size.
const align = 64 << 10

// block is up to blockRows rows, stored by column: what every search reads comes first, what is read for few rows last.
// It is a view of one piece of memory: on the heap while the block fills, mapped once it is full.
type block struct {
	n    int // number of rows
	mem  []byte
	free func() // unmaps the memory; nil if it is on the heap

	// Read by every search.
	ids     []int64 // increasing; negative in a file: deleted
	one     []float32
	offsets []float32
	signs   []uint64
	// Read by filters.
	owners  []int64
	times   []int64
	groups  []uint64
	threads []uint64
	roles   []uint8
	// Read for the few rows that pass the first stages.
	two  []float32
	all  []float32
	rest []uint64
	sums []uint32 // checksums of the first two parts and of the last
}

// layout gives a block's size for rows of that many words per plane.
type layout struct {
	words      int
	hot, total int // bytes
}

func layoutOf(words int) layout {
	hot := blockRows * (8 + 4 + 4 + 8*words + 8 + 8 + 8 + 8 + 1)
	total := hot + blockRows*(4+4+8*words*(codeBits-1)) + 8
	return layout{words: words, hot: hot, total: (total + align - 1) / align * align}
}

// view lays a block over memory of the layout's size, aligned to eight bytes.
func (l layout) view(mem []byte) *block {
	const n = blockRows
	b, at := &block{mem: mem}, 0
	b.ids = column[int64](mem, &at, n)
	b.owners = column[int64](mem, &at, n)
	b.times = column[int64](mem, &at, n)
	b.groups = column[uint64](mem, &at, n)
	b.threads = column[uint64](mem, &at, n)
	b.signs = column[uint64](mem, &at, n*l.words)
	b.one = column[float32](mem, &at, n)
	b.offsets = column[float32](mem, &at, n)
	b.roles = column[uint8](mem, &at, n)
	b.rest = column[uint64](mem, &at, n*l.words*(codeBits-1))
	b.two = column[float32](mem, &at, n)
	b.all = column[float32](mem, &at, n)
	b.sums = column[uint32](mem, &at, 2)
	return b
}

// column returns the next n values of a block's memory.
func column[T any](mem []byte, at *int, n int) []T {
	from := *at
	*at += n * int(unsafe.Sizeof(*new(T)))
	//nolint:gosec // G103: writer and reader agree, and the slice is checked
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[from:*at][0])), n)
}

// fresh returns an empty block on the heap.
func (l layout) fresh() *block {
	room := make([]uint64, l.total/8)
	return l.view(unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), l.total)) //nolint:gosec // G103: bytes of aligned memory
}

func (b *block) close() {
	if b.free != nil {
		b.free()
	}
}

// castagnoli is built on first use: that takes a quarter of a millisecond.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// hotSum is the checksum of what is read at startup. Ids are summed as they were before any deletion.
func (b *block) hotSum(l layout) uint32 {
	var buf [512]byte
	sum := uint32(0)
	for at := 0; at < blockRows; at += len(buf) / 8 {
		for i := range len(buf) / 8 {
			id := uint64(max(b.ids[at+i], -b.ids[at+i]))
			for k := range 8 {
				buf[8*i+k] = byte(id >> (8 * k))
			}
		}
		sum = crc32.Update(sum, castagnoli(), buf[:])
	}
	return crc32.Update(sum, castagnoli(), b.mem[8*blockRows:l.hot])
}

func (b *block) coldSum(l layout) uint32 {
	return crc32.Checksum(b.mem[l.hot:l.hot+blockRows*(4+4+8*l.words*(codeBits-1))], castagnoli())
}

// id returns the row's id, deleted or not.
func (b *block) id(row int) int64 { return max(b.ids[row], -b.ids[row]) }

// find returns the row with an id.
func (b *block) find(id int64) (int, bool) {
	row := sort.Search(b.n, func(i int) bool { return b.id(i) >= id })
	return row, row < b.n && b.id(row) == id
}
