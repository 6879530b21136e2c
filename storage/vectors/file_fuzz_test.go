package vectors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// FuzzCodeFile opens a code file that was truncated and changed, by chance or by somebody who fixes the checksums. It
// must be refused and rebuilt, or searched without a panic. A change takes four bytes: three for its position, one for
// the bits to flip.
func FuzzCodeFile(f *testing.F) {
	const dim, spare = 64, 20
	one := sphere(rand.New(rand.NewPCG(5, 5)), dim)
	stored := fill(one, blockRows+spare)
	dir := f.TempDir()
	x, err := Open(f.Context(), Config{Path: dir + "/sound", Home: "home", Set: 1, Dim: dim, Now: 1, Source: stored})
	if err != nil {
		f.Fatal(err)
	}
	caughtUp(f, x)
	x.Close()
	sound, err := os.ReadFile(x.name(1))
	if err != nil {
		f.Fatal(err)
	}
	query := one()
	path := dir + "/changed.1" + Ending
	seed := func(at int, value byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(at)<<1)[:3], value)
	}
	newest := slotSize * (int(x.cur.file.head.Gen) % 2)
	f.Add(uint32(0), false, []byte{})
	for _, cut := range []uint32{1, 100, uint32(len(sound) - blocksAt), uint32(len(sound) - meanAt), uint32(len(sound))} {
		f.Add(cut, true, []byte{})
	}
	for field := range 8 { // the lowest and the highest byte of each of the header's numbers
		f.Add(uint32(0), true, seed(newest+76+8*field, 0xff))
		f.Add(uint32(0), true, seed(newest+76+8*field+7, 0x80))
	}
	f.Add(uint32(0), false, seed(meanAt+3, 0x80))
	f.Add(uint32(0), true, seed(blocksAt+8*5+7, 0x80))             // a deleted row
	f.Add(uint32(0), true, seed(blocksAt+8*blockRows+8*5+7, 0x80)) // an owner below zero
	f.Add(uint32(0), true, seed(blocksAt+8*blockRows+8*5+7, 0x7f)) // one that is far too high
	f.Add(uint32(0), true, seed(blocksAt+len(sound)/4, 0xff))
	f.Fuzz(func(t *testing.T, cut uint32, mended bool, changes []byte) {
		data := slices.Clone(sound)
		for ; len(changes) >= 4; changes = changes[4:] {
			at := int(changes[0]) | int(changes[1])<<8 | int(changes[2])<<16
			if at&1 == 1 { // the header is small, but decides most
				at = slotSize*(at>>1&1) + at>>2%(76+8*8+4)
			} else {
				at = at >> 1 % len(data)
			}
			data[at] ^= changes[3]
		}
		if mended {
			mend(data)
		}
		data = data[:len(data)-int(cut)%(len(data)+1)]
		must(t, os.WriteFile(path, data, 0o600))
		used := searchChanged(t, Config{Path: dir + "/changed", Home: "home", Set: 1, Dim: dim, Before: 1, Now: 2, Source: stored}, query)
		if !used && bytes.Equal(data, sound) {
			t.Fatal("a sound file is refused")
		}
	})
}

// mend fixes the checksums of a file with one block.
func mend(data []byte) {
	for slot := 0; slot < meanAt; slot += slotSize {
		const fixed = 76 + 8*8
		dim := int(binary.LittleEndian.Uint64(data[slot+76+8:]))
		if dim > 0 && dim <= MaxDim {
			binary.LittleEndian.PutUint64(data[slot+fixed-8:], uint64(crc32.Checksum(data[meanAt:meanAt+4*dim], castagnoli())))
		}
		binary.LittleEndian.PutUint32(data[slot+fixed:], crc32.Checksum(data[slot:slot+fixed], castagnoli()))
	}
	const words = 1
	l := layoutOf(words)
	b := l.fresh()
	copy(b.mem, data[blocksAt:])
	b.sums[0], b.sums[1] = b.hotSum(l), b.coldSum(l)
	copy(data[blocksAt:], b.mem)
}

// searchChanged opens an index as at startup, without its goroutine, and runs everything that reads codes. It reports
// whether the existing file is in use.
func searchChanged(t *testing.T, cfg Config, query []float32) (used bool) {
	t.Helper()
	cfg.Threads = 1
	x := &Index{cfg: cfg, rot: newRotation(cfg.Dim), wake: make(chan struct{}, 1), applying: make(chan struct{}, 1)}
	bounds, err := cfg.Source.Bounds(t.Context())
	must(t, err)
	s, _ := x.reuse(bounds)
	if s == nil { // it was refused: startup creates a new one, as other tests show
		if left := x.files(); len(left) > 0 {
			t.Fatalf("the refused file is still there: %v", left)
		}
		return false
	}
	x.install(s)
	defer func() { x.cur.close() }()
	_, err = x.Apply(t.Context())
	refused(t, err)
	odd := &Owners{}
	for owner := range int64(blockRows) {
		odd.Add(2*owner + 1)
	}
	for _, filter := range []Filter{{}, {Groups: []uint64{2}, Roles: 1 << 3, From: 5}, {Thread: 3, Owners: []*Owners{odd}}} {
		_, err := x.Nearest(t.Context(), Query{Vector: query, K: 5, Filter: filter})
		refused(t, err)
	}
	_, err = x.Cosines(t.Context(), query, []int64{1, 5, blockRows, 1 << 40}, 0)
	refused(t, err)
	_, err = x.Spread(t.Context(), query, []uint64{2})
	refused(t, err)
	return true
}

func refused(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
}
