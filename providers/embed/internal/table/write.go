package table

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// Contents is what a file is made of. Words and exceptions (form and base) are sorted and distinct.
type Contents struct {
	Dim        int
	Words      []string
	Rarity     []byte
	Rows       []int8 // word after word
	Exceptions [][2]string
}

// Encode returns the file. It fails if Parse would refuse the result.
func (c Contents) Encode() ([]byte, error) {
	if len(c.Rarity) != len(c.Words) || len(c.Rows) != len(c.Words)*c.Dim {
		return nil, fmt.Errorf(
			"%d words of %d numbers do not fit %d rarities and %d cells",
			len(c.Words),
			c.Dim,
			len(c.Rarity),
			len(c.Rows),
		)
	}
	pairs := make([]string, 0, len(c.Exceptions))
	for _, e := range c.Exceptions {
		pairs = append(pairs, e[0]+" "+e[1])
	}
	words, exceptions := section(c.Words), section(pairs)
	out := []byte(magic)
	for _, n := range []int{len(c.Words), c.Dim, len(pairs), len(words) - 4*(len(c.Words)+1), len(exceptions) - 4*(len(pairs)+1)} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = slices.Concat(out, words, exceptions, c.Rarity)
	for _, v := range c.Rows {
		out = append(out, byte(v))
	}
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	_, err := Parse(out)
	return out, err
}

// section is a list's offsets and text.
func section(entries []string) []byte {
	var offsets, text []byte
	for _, e := range entries {
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(text)))
		text = append(text, e...)
	}
	offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(text)))
	return append(offsets, text...)
}
