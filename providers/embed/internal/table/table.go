// Package table is the file format of the word vectors, shared by the program that makes them and the one that reads
// them, and the way from a written word to its row. Numbers are little-endian:
//
//	magic, then as uint32: words, dimension, exceptions, bytes of words, bytes of exceptions
//	words+1 offsets (uint32), the words, sorted
//	exceptions+1 offsets (uint32), the exceptions as "form base", sorted by form
//	a byte of rarity for each word, a row of int8 for each word, CRC-32 of all before it
//
// A Table reads from the bytes it was given and copies nothing.
package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"sort"
	"strings"
)

const (
	magic  = "LOCIWV1\n"
	header = len(magic) + 5*4
)

// The bounds of a table.
const (
	MaxWords      = 1 << 16
	MaxDim        = 1 << 10
	maxExceptions = 1 << 16
	maxText       = 1 << 24 // bytes of words, or of exceptions
)

// Table is a read-only view of a file's bytes.
type Table struct {
	dim        int
	words      list
	exceptions list
	rarity     []byte
	rows       []byte
}

// Parse reads and validates a file. The table keeps using data, so don't change it.
func Parse(data []byte) (*Table, error) {
	if len(data) < header+4 || string(data[:len(magic)]) != magic {
		return nil, errors.New("not a table of word vectors")
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, errors.New("the checksum of the word vectors is wrong")
	}
	var n [5]int
	for i := range n {
		n[i] = int(min(binary.LittleEndian.Uint32(body[len(magic)+4*i:]), math.MaxInt32))
	}
	words, dim, exceptions, wordBytes, exceptionBytes := n[0], n[1], n[2], n[3], n[4]
	if words > MaxWords || dim == 0 || dim > MaxDim || exceptions > maxExceptions || wordBytes > maxText || exceptionBytes > maxText {
		return nil, errors.New("the sizes of the word vectors are out of bounds")
	}
	want := header + 4*(words+1) + wordBytes + 4*(exceptions+1) + exceptionBytes + words + words*dim
	if len(body) != want {
		return nil, fmt.Errorf("the word vectors have %d bytes, not %d", len(body), want)
	}
	rest := body[header:]
	take := func(n int) []byte {
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	t := &Table{dim: dim}
	t.words = list{take(4 * (words + 1)), take(wordBytes)}
	t.exceptions = list{take(4 * (exceptions + 1)), take(exceptionBytes)}
	t.rarity, t.rows = take(words), take(words*dim)
	if err := t.words.validate(false); err != nil {
		return nil, fmt.Errorf("words: %w", err)
	}
	if err := t.exceptions.validate(true); err != nil {
		return nil, fmt.Errorf("exceptions: %w", err)
	}
	return t, nil
}

// Len returns how many words there are.
func (t *Table) Len() int { return len(t.rarity) }

// Dim returns how many numbers a row has.
func (t *Table) Dim() int { return t.dim }

// Word returns a row's word, a stem.
func (t *Table) Word(i int) string { return string(t.words.at(i)) }

// Rarity returns how rare a row's word is, in eighths of a bit.
func (t *Table) Rarity(i int) byte { return t.rarity[i] }

// Row returns a row; each byte is an int8.
func (t *Table) Row(i int) []byte { return t.rows[i*t.dim : (i+1)*t.dim] }

// Find returns the row of a stem.
func (t *Table) Find(stem string) (int, bool) {
	i := t.words.search(stem)
	return i, i < t.words.len() && string(t.words.at(i)) == stem
}

// Base returns the base form of an irregular form; any other word as it is.
func (t *Table) Base(form string) string {
	i := t.exceptions.search(form + " ")
	if i < t.exceptions.len() {
		if f, base, _ := strings.Cut(string(t.exceptions.at(i)), " "); f == form {
			return base
		}
	}
	return form
}

// Exceptions yields the irregular forms and their base forms, sorted by form.
func (t *Table) Exceptions() iter.Seq2[string, string] {
	return func(yield func(form, base string) bool) {
		for i := range t.exceptions.len() {
			form, base, _ := strings.Cut(string(t.exceptions.at(i)), " ")
			if !yield(form, base) {
				return
			}
		}
	}
}

// list is a sorted list of distinct texts in one run of bytes.
type list struct{ offsets, text []byte }

func (l list) len() int { return len(l.offsets)/4 - 1 }

func (l list) offset(i int) int { return int(binary.LittleEndian.Uint32(l.offsets[4*i:])) }

func (l list) at(i int) []byte { return l.text[l.offset(i):l.offset(i+1)] }

// search returns the first entry that is not before s.
func (l list) search(s string) int {
	return sort.Search(l.len(), func(i int) bool { return string(l.at(i)) >= s })
}

// validate makes sure that no later read can go out of bounds or miss an entry. An entry is a word of a to z, or a pair
// of them; the first words are distinct and sorted.
func (l list) validate(pairs bool) error {
	if l.offset(0) != 0 || l.offset(l.len()) != len(l.text) {
		return errors.New("the offsets do not span the text")
	}
	before := ""
	for i := range l.len() {
		from, to := l.offset(i), l.offset(i+1)
		if to <= from || to > len(l.text) {
			return fmt.Errorf("offset %d is out of order", i+1)
		}
		first, second, pair := strings.Cut(string(l.text[from:to]), " ")
		if pair != pairs || !Plain(first) || pair && !Plain(second) {
			return fmt.Errorf("entry %d is not well formed", i)
		}
		if first <= before {
			return fmt.Errorf("entry %d is out of order", i)
		}
		before = first
	}
	return nil
}
