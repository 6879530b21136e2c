package vectors

import (
	"hash/crc32"
	"sort"
	"unsafe"
)

// blockRows is how many rows a block has; threads take work by the block.
const blockRows = 4096

// align is what blocks begin at a multiple of, whatever the size of the machine's pages.
const align = 64 << 10

// block is up to blockRows rows, column by column: what every search reads comes first, what only few rows are asked for
// last. It is a view of one piece of memory, on the heap while the block is filled, mapped once it is full.
type block struct {
	n    int // rows in it
	mem  []byte
	free func() // returns mapped memory; nil on the heap

	// Read by every search.
	ids     []int64 // rising; negative in a file: deleted
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

// layout says how large a block is for rows of so many words a plane.
type layout struct {
	words      int
	hot, total int // bytes
}

func layoutOf(words int) layout {
	hot := blockRows * (8 + 4 + 4 + 8*words + 8 + 8 + 8 + 8 + 1)
	total := hot + blockRows*(4+4+8*words*(codeBits-1)) + 8
	return layout{words: words, hot: hot, total: (total + align - 1) / align * align}
}

// view lays a block over memory of its size, which begins at a multiple of eight.
func (l layout) view(mem []byte) *block {
	b := &block{mem: mem}
	at := 0
	take := func(size int) unsafe.Pointer {
		p := unsafe.Pointer(&mem[at]) //nolint:gosec // G103: columns over a mapped file; sizes come from the same layout as the memory
		at += size
		return p
	}
	const n = blockRows
	b.ids = unsafe.Slice((*int64)(take(8*n)), n)
	b.owners = unsafe.Slice((*int64)(take(8*n)), n)
	b.times = unsafe.Slice((*int64)(take(8*n)), n)
	b.groups = unsafe.Slice((*uint64)(take(8*n)), n)
	b.threads = unsafe.Slice((*uint64)(take(8*n)), n)
	b.signs = unsafe.Slice((*uint64)(take(8*n*l.words)), n*l.words)
	b.one = unsafe.Slice((*float32)(take(4*n)), n)
	b.offsets = unsafe.Slice((*float32)(take(4*n)), n)
	b.roles = unsafe.Slice((*uint8)(take(n)), n)
	b.rest = unsafe.Slice((*uint64)(take(8*n*l.words*(codeBits-1))), n*l.words*(codeBits-1))
	b.two = unsafe.Slice((*float32)(take(4*n)), n)
	b.all = unsafe.Slice((*float32)(take(4*n)), n)
	b.sums = unsafe.Slice((*uint32)(take(8)), 2)
	return b
}

// fresh is an empty block on the heap.
func (l layout) fresh() *block {
	room := make([]uint64, l.total/8)
	return l.view(unsafe.Slice((*byte)(unsafe.Pointer(&room[0])), l.total)) //nolint:gosec // G103: bytes of aligned memory
}

func (b *block) close() {
	if b.free != nil {
		b.free()
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hotSum is the checksum of what is read at the start. The ids are summed as they were before any deletion.
func (b *block) hotSum(l layout) uint32 {
	var buf [512]byte
	sum := uint32(0)
	for at := 0; at < blockRows; at += len(buf) / 8 {
		for i := range len(buf) / 8 {
			id := uint64(max(b.ids[at+i], -b.ids[at+i])) //nolint:gosec // not negative
			for k := range 8 {
				buf[8*i+k] = byte(id >> (8 * k))
			}
		}
		sum = crc32.Update(sum, castagnoli, buf[:])
	}
	return crc32.Update(sum, castagnoli, b.mem[8*blockRows:l.hot])
}

func (b *block) coldSum(l layout) uint32 {
	return crc32.Checksum(b.mem[l.hot:l.hot+blockRows*(4+4+8*l.words*(codeBits-1))], castagnoli)
}

// id is the row's id, deleted or not.
func (b *block) id(row int) int64 { return max(b.ids[row], -b.ids[row]) }

// find returns the row with an id.
func (b *block) find(id int64) (int, bool) {
	row := sort.Search(b.n, func(i int) bool { return b.id(i) >= id })
	return row, row < b.n && b.id(row) == id
}
