package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
)

// A code file is two header slots written alternately, the mean, and full blocks. A block is written once and never
// changes, except that an id turns negative when its row is deleted. Rows not in a full block yet are read from the
// facts again at the next start.
const (
	magic    = "locivec1"
	slotSize = 4096
	meanAt   = 2 * slotSize
	blocksAt = 2 * align
	// MaxDim is the highest dimension that can be indexed.
	MaxDim      = (blocksAt - meanAt) / 4
	fileVersion = 1
)

// header says what a code file belongs to and how far it got.
type header struct {
	Home   string // uuid of the home
	Set    int64  // which of its vector sets
	Dim    int64
	Epoch  int64 // the epoch of the facts in which it was last written
	Gen    int64 // increases with every write; the newer slot is valid
	Blocks int64 // number of full blocks
	Last   int64 // id of the last row in those
	Gone   int64 // the last deletion applied to those
	Mean   uint32
}

// bytes encodes a header slot: fixed fields and a checksum.
func (h *header) bytes() []byte {
	b := make([]byte, 0, slotSize)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, fileVersion)
	home := make([]byte, 64)
	copy(home, h.Home)
	b = append(b, home...)
	for _, v := range []int64{h.Set, h.Dim, h.Epoch, h.Gen, h.Blocks, h.Last, h.Gone, int64(h.Mean)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	return b[:slotSize]
}

func (h *header) parse(b []byte) bool {
	const fixed = len(magic) + 4 + 64 + 8*8
	if len(b) < fixed+4 || string(b[:8]) != magic || binary.LittleEndian.Uint32(b[8:]) != fileVersion ||
		crc32.Checksum(b[:fixed], castagnoli()) != binary.LittleEndian.Uint32(b[fixed:]) {
		return false
	}
	h.Home = string(bytes.TrimRight(b[12:76], "\x00"))
	fields := [8]int64{}
	for i := range fields {
		fields[i] = int64(binary.LittleEndian.Uint64(b[76+8*i:]))
	}
	h.Set, h.Dim, h.Epoch, h.Gen = fields[0], fields[1], fields[2], fields[3]
	h.Blocks, h.Last, h.Gone, h.Mean = fields[4], fields[5], fields[6], uint32(fields[7])
	return true
}

// codeFile is an open code file.
type codeFile struct {
	f    *os.File
	l    layout
	head header
}

// ErrDamaged says that the codes can't be read. They are rebuilt.
var ErrDamaged = errors.New("the vector index is damaged")

// createFile creates an empty code file.
func createFile(path string, h header, mean []float32, l layout) (*codeFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	raw := Bytes(mean)
	h.Mean = crc32.Checksum(raw, castagnoli())
	c := &codeFile{f: f, l: l, head: h}
	if _, err = f.WriteAt(raw, meanAt); err == nil {
		err = f.Truncate(blocksAt)
	}
	if err != nil {
		_ = f.Close()
		_ = removeFile(path) // half of it would take room on a full disk, at each attempt
		return nil, err
	}
	return c, nil
}

// openFile opens a code file and reads its header and mean; it doesn't check whether they fit this index.
func openFile(path string) (*codeFile, []float32, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	c, mean, err := readHead(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return c, mean, nil
}

func readHead(f *os.File) (*codeFile, []float32, error) {
	room := make([]byte, blocksAt)
	if _, err := f.ReadAt(room, 0); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var a, b header
	okA, okB := a.parse(room[:slotSize]), b.parse(room[slotSize:2*slotSize])
	switch {
	case !okA && !okB:
		return nil, nil, ErrDamaged
	case !okA || okB && b.Gen > a.Gen:
		a = b
	}
	if a.Dim < 1 || a.Dim > MaxDim || a.Blocks < 0 || a.Last < 0 {
		return nil, nil, ErrDamaged
	}
	raw := room[meanAt : meanAt+4*int(a.Dim)]
	if crc32.Checksum(raw, castagnoli()) != a.Mean {
		return nil, nil, ErrDamaged
	}
	c := &codeFile{f: f, head: a, l: layoutOf((int(a.Dim) + 63) / 64)}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if a.Blocks > math.MaxInt32 || info.Size() < blocksAt+a.Blocks*int64(c.l.total) {
		return nil, nil, fmt.Errorf("%w: cut short", ErrDamaged)
	}
	return c, Floats(raw, int(a.Dim)), nil
}

// block maps the block at an index and verifies the part that every search reads.
func (c *codeFile) block(at int) (*block, error) {
	mem, free, err := mapBlock(c.f, c.place(at), c.l.total)
	if err != nil {
		return nil, err
	}
	b := c.l.view(mem)
	b.free, b.n = free, blockRows
	return b, nil
}

func (c *codeFile) place(block int) int64 { return blocksAt + int64(block)*int64(c.l.total) }

// add writes a full block at an index and returns it mapped.
func (c *codeFile) add(at int, b *block) (*block, error) {
	b.sums[0], b.sums[1] = b.hotSum(c.l), b.coldSum(c.l)
	if _, err := c.f.WriteAt(b.mem, c.place(at)); err != nil {
		return nil, err
	}
	return c.block(at)
}

// strike makes a row's id negative in the file.
func (c *codeFile) strike(block, row int, id int64) error {
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], uint64(-id))
	_, err := c.f.WriteAt(raw[:], c.place(block)+8*int64(row))
	return err
}

// write syncs everything written so far, then writes the header that refers to it.
func (c *codeFile) write(h header) error {
	if err := c.f.Sync(); err != nil {
		return err
	}
	h.Gen, h.Mean = c.head.Gen+1, c.head.Mean
	if _, err := c.f.WriteAt(h.bytes(), slotSize*(h.Gen%2)); err != nil {
		return err
	}
	if err := c.f.Sync(); err != nil {
		return err
	}
	c.head = h
	return nil
}
