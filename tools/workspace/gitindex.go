package workspace

import (
	"bytes"
	"encoding/binary"

	"loci/core"
)

// gitIndex is where git keeps what is staged. It also notes there when it last saw each file, and does so whenever it is asked
// for the state of the folder.
const gitIndex = ".git/index"

// The parts of an entry of the index (gitformat-index): times, numbers, owner and size, which git renews; the mode stands among
// them; then the object's name and flags.
const (
	indexHeader = 12
	modeAt      = 24
	objectAt    = 40
	flagsAt     = objectAt + 20
	nameAt      = flagsAt + 2
	extended    = 0x4000 // of the flags: two more bytes of them follow
)

// maxStaged bounds what an index may say: in few bytes, it can repeat a long name very often.
const maxStaged = 4 * core.MaxKeptContent

// sameIndex reports whether two indexes of git stage the same. It knows versions 2 to 4, with SHA-1.
func sameIndex(a, b []byte) bool {
	x, known := staged(a)
	y, also := staged(b)
	return known && also && bytes.Equal(x, y)
}

// staged is what an index stages: mode, object, flags and name of each entry.
func staged(index []byte) (out []byte, known bool) {
	if len(index) < indexHeader || string(index[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil, false
	}
	rest := index[indexHeader:]
	var name []byte
	for range count {
		if len(rest) < nameAt {
			return nil, false
		}
		begin := nameAt
		if binary.BigEndian.Uint16(rest[flagsAt:])&extended != 0 {
			begin += 2
		}
		var size int
		if name, size = entryName(version, name, rest, begin); size == 0 || len(out)+len(name) > maxStaged {
			return nil, false
		}
		out = append(out, rest[modeAt:modeAt+4]...)
		out = append(out, rest[objectAt:begin]...)
		out = append(append(out, name...), 0)
		rest = rest[size:]
	}
	return out, true
}

// entryName is the name of an entry and how long that is; 0: there is none. From version 4 on a name says how much of the last
// one it leaves out at its end.
func entryName(version uint32, last, entry []byte, begin int) (name []byte, size int) {
	if begin > len(entry) {
		return nil, 0
	}
	if version == 4 {
		cut, n := leftOut(entry[begin:])
		if n == 0 || cut > len(last) {
			return nil, 0
		}
		begin += n
		name = append(name, last[:len(last)-cut]...)
	}
	end := bytes.IndexByte(entry[begin:], 0)
	if end < 0 {
		return nil, 0
	}
	name = append(name, entry[begin:begin+end]...)
	size = begin + end + 1
	if version < 4 {
		size = (begin+end)/8*8 + 8 // one to eight zeros follow
	}
	if size > len(entry) {
		return nil, 0
	}
	return name, size
}

// leftOut reads a number as packs have offsets: each further byte counts from one more.
func leftOut(text []byte) (value, size int) {
	for i, c := range text {
		if i == 4 {
			break // no name is as long
		}
		if i > 0 {
			value++
		}
		if value = value<<7 | int(c&0x7f); c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
