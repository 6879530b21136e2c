// Package embed is the built-in embedding: static word vectors made from the relations and glosses of WordNet. It isn't
// a language model: a text is the sum of its words' vectors, so word order, negation and context don't count. It needs
// no network and no key, takes microseconds per text, and gives the same vector on every machine.
//
// It is an adapter of core.Embedder. The table is committed (words.bin, made by ./generate) and part of the binary; it
// is validated on first use, and its rows are read in place.
package embed

import (
	"context"
	_ "embed" // the table
	"iter"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"loci/core"
	"loci/providers/embed/internal/table"
)

//go:generate go run ./generate -o words.bin

// Dim is the dimension of the vectors.
const Dim = core.WordsDim

//go:embed words.bin
var data []byte

var load = sync.OnceValues(func() (*table.Table, error) { return parse(data) })

func parse(data []byte) (*table.Table, error) {
	t, err := table.Parse(data)
	if err == nil && t.Dim() != Dim {
		err = core.E(core.Internal, "the word vectors have %d dimensions, not %d", t.Dim(), Dim)
	}
	if err != nil {
		return nil, &core.Error{
			Kind: core.Internal,
			Op:   "load the built-in embedding",
			Err:  err,
			Hint: "the program file is damaged: install it again",
		}
	}
	return t, nil
}

// Exceptions yields the irregular forms of English and their base forms ("went", "go"), sorted by form, in lower case.
// None is a stop word, and none could be left to the stemmer.
func Exceptions() (iter.Seq2[string, string], error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	return t.Exceptions(), nil
}

// Model embeds texts with the table. It may be used by several goroutines at once.
type Model struct {
	load func() (*table.Table, error)
	seen [slots]atomic.Pointer[match] // by hash of the spelling: stemming costs more than everything else
}

// slots bounds how many spellings a model caches.
const slots = 4096

// match is the result for a spelling.
type match struct {
	spelling string
	row      int // negative: none
}

var _ core.Embedder = (*Model)(nil)

// New returns the built-in embedding. It reads the table on first use.
func New() *Model { return &Model{load: load} }

// Handle is the model's name.
func (*Model) Handle() core.Handle { return core.WordsHandle }

// Dim is the dimension of its vectors.
func (*Model) Dim() int { return Dim }

// Knows reports whether a word in lower case is in the table, in any of its forms.
func Knows(word string) bool {
	t, err := load()
	return err == nil && look(t, word).row >= 0
}

// Common returns how common a word in lower case is in English, 0 to 1; 0 for a word that isn't in the table.
func Common(word string) float64 {
	t, err := load()
	if err != nil {
		return 0
	}
	row := look(t, word).row
	if row < 0 {
		return 0
	}
	return max(0, 1-float64(t.Rarity(row))/rare)
}

// rare is the rarity of a word that weighs 1: 16 bits, as the table counts it in eighths.
const rare = 8 * 16

// Embed returns a vector of length 1 per text, nil for a text without a known word. A word counts once; the rarer it is,
// the more.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	t, err := m.load()
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		var rows rowSet
		m.read(t, text, &rows)
		out[i] = rows.vector(t)
	}
	return out, nil
}

// rowSet is a set of rows. Iterating in row order makes the sum independent of word order.
type rowSet [table.MaxWords / 64]uint64

func (s *rowSet) add(row int) { s[row/64] |= 1 << (row % 64) }

// vector returns the weighted sum of the rows, normalised. Each product is rounded separately (the conversions forbid a
// fused multiply-add), so that all machines agree to the last bit.
func (s *rowSet) vector(t *table.Table) []float32 {
	var sum [Dim]float32
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			row := i*64 + bits.TrailingZeros64(word)
			cells := t.Row(row)
			square := 0
			for _, c := range cells {
				square += int(int8(c)) * int(int8(c))
			}
			if square == 0 {
				continue
			}
			weight := float32(float64(t.Rarity(row)) / rare / math.Sqrt(float64(square)))
			for j, c := range cells {
				sum[j] += float32(weight * float32(int8(c)))
			}
		}
	}
	var square float64
	for _, v := range sum {
		square += float64(float64(v) * float64(v))
	}
	if square == 0 {
		return nil
	}
	length := math.Sqrt(square)
	out := make([]float32, Dim)
	for j, v := range sum {
		out[j] = float32(float64(v) / length)
	}
	return out
}
