package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
)

// The file of relatives says which words are near a word. Numbers are little-endian:
//
//	magic, then as uint32: words, bytes of words, relatives
//	words+1 offsets (uint32), the words, sorted
//	words+1 offsets (uint32): where each word's relatives begin
//	for each relative the number of its word (uint16) and how near it is (a byte), CRC-32 of all before it
const (
	relativesMagic  = "LOCIWR1\n"
	relativesHeader = len(relativesMagic) + 3*4
	relativeSize    = 3
	maxRelatives    = 1 << 22
)

// MostNear is how near a relative can be.
const MostNear = 255

// Relative is a word near another one: the number of its word, and how near from 1 to MostNear.
type Relative struct {
	Word int
	Near byte
}

// Relatives is a read-only view of a file of relatives.
type Relatives struct {
	words list
	ends  []byte
	data  []byte
}

// ParseRelatives reads and validates a file. The result keeps using data, so don't change it.
func ParseRelatives(data []byte) (*Relatives, error) {
	if len(data) < relativesHeader+4 || string(data[:len(relativesMagic)]) != relativesMagic {
		return nil, errors.New("not a table of relatives")
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, errors.New("the checksum of the relatives is wrong")
	}
	var n [3]int
	for i := range n {
		n[i] = int(min(binary.LittleEndian.Uint32(body[len(relativesMagic)+4*i:]), maxText))
	}
	words, wordBytes, relatives := n[0], n[1], n[2]
	if words > MaxWords || relatives > maxRelatives {
		return nil, errors.New("the sizes of the relatives are out of bounds")
	}
	if want := relativesHeader + 4*(words+1) + wordBytes + 4*(words+1) + relativeSize*relatives; len(body) != want {
		return nil, fmt.Errorf("the relatives have %d bytes, not %d", len(body), want)
	}
	rest := body[relativesHeader:]
	take := func(n int) []byte {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	r := &Relatives{words: list{take(4 * (words + 1)), take(wordBytes)}}
	r.ends, r.data = take(4*(words+1)), rest
	if err := r.words.validate(false); err != nil {
		return nil, fmt.Errorf("words: %w", err)
	}
	return r, r.validate(relatives)
}

// validate makes sure that no later read can go out of bounds.
func (r *Relatives) validate(relatives int) error {
	at := func(i int) int { return int(binary.LittleEndian.Uint32(r.ends[4*i:])) }
	if at(0) != 0 || at(r.words.len()) != relatives {
		return errors.New("the offsets do not span the relatives")
	}
	for i := range r.words.len() {
		if at(i+1) < at(i) || at(i+1) > relatives {
			return fmt.Errorf("the relatives of word %d are out of order", i)
		}
	}
	for i := 0; i < len(r.data); i += relativeSize {
		if int(binary.LittleEndian.Uint16(r.data[i:])) >= r.words.len() || r.data[i+2] == 0 {
			return fmt.Errorf("relative %d is no word", i/relativeSize)
		}
	}
	return nil
}

// Len returns how many words there are.
func (r *Relatives) Len() int { return r.words.len() }

// Of yields the relatives of a word, the nearest first, with how near they are from 0 to 1.
func (r *Relatives) Of(word string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		i := r.words.search(word)
		if i == r.words.len() || string(r.words.at(i)) != word {
			return
		}
		from, to := binary.LittleEndian.Uint32(r.ends[4*i:]), binary.LittleEndian.Uint32(r.ends[4*i+4:])
		for ; from < to; from++ {
			entry := r.data[relativeSize*from:]
			if !yield(string(r.words.at(int(binary.LittleEndian.Uint16(entry)))), float64(entry[2])/MostNear) {
				return
			}
		}
	}
}

// EncodeRelatives returns the file of sorted words, each with its relatives, the nearest first. It fails if ParseRelatives
// would refuse the result.
func EncodeRelatives(words []string, of [][]Relative) ([]byte, error) {
	if len(of) != len(words) {
		return nil, fmt.Errorf("%d words do not fit the relatives of %d", len(words), len(of))
	}
	var ends, data []byte
	n := 0
	ends = binary.LittleEndian.AppendUint32(ends, 0)
	for _, relatives := range of {
		for _, r := range relatives {
			data = append(binary.LittleEndian.AppendUint16(data, uint16(r.Word)), r.Near)
		}
		n += len(relatives)
		ends = binary.LittleEndian.AppendUint32(ends, uint32(n))
	}
	list := section(words)
	out := []byte(relativesMagic)
	for _, n := range []int{len(words), len(list) - 4*(len(words)+1), n} {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	out = slices.Concat(out, list, ends, data)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	_, err := ParseRelatives(out)
	return out, err
}
