package search

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

// Texts are docs prepared for ranking: their words are numbered once, so that every pass over them only compares
// numbers.
type Texts struct {
	numbering
	docs   []Doc
	tokens []uint32 // all docs' words, one doc after the other: number<<1, +1 in a question
	ends   []int    // where a doc's tokens end
}

// numbering numbers words in order of appearance. A search adds tens of thousands of them: a map would take twice the
// time and space.
type numbering struct {
	seed   maphash.Seed
	words  []string // by number
	hashes []uint32 // by number
	slots  []uint32 // a word's number plus one, 0: free; probed from the position given by its hash
}

// newNumbering returns a numbering with room for some words.
func newNumbering(words int) numbering {
	slots := 1 << bits.Len(uint(2*words))
	return numbering{
		seed:   maphash.MakeSeed(),
		words:  make([]string, 0, words),
		hashes: make([]uint32, 0, words),
		slots:  make([]uint32, slots),
	}
}

// look returns a word's number, or a free slot for it.
func (n *numbering) look(w string, hash uint32) (number uint32, slot int, ok bool) {
	mask := len(n.slots) - 1
	for slot = int(hash) & mask; n.slots[slot] != 0; slot = (slot + 1) & mask {
		if at := n.slots[slot] - 1; n.hashes[at] == hash && n.words[at] == w {
			return at, slot, true
		}
	}
	return 0, slot, false
}

// number returns a word's number, if it has one.
func (n *numbering) number(w string) (number uint32, ok bool) {
	number, _, ok = n.look(w, uint32(maphash.String(n.seed, w)))
	return number, ok
}

// add returns a word's number, assigning a new one if needed.
func (n *numbering) add(w string) uint32 {
	hash := uint32(maphash.String(n.seed, w))
	number, slot, ok := n.look(w, hash)
	if ok {
		return number
	}
	number = uint32(len(n.words))
	n.words, n.hashes = append(n.words, w), append(n.hashes, hash)
	n.slots[slot] = number + 1
	if 2*len(n.words) >= len(n.slots) {
		n.grow()
	}
	return number
}

func (n *numbering) grow() {
	n.slots = make([]uint32, 2*len(n.slots))
	mask := len(n.slots) - 1
	for number, hash := range n.hashes {
		slot := int(hash) & mask
		for n.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		n.slots[slot] = uint32(number) + 1
	}
}

// Load prepares docs, which must be ordered by lane, and by Seq within a lane.
func Load(docs []Doc) *Texts {
	total := 0
	for i := range docs {
		total += docs[i].Len
	}
	const repeated, most = 5, 10_000 // in talk, a word occurs about this often in a search
	t := &Texts{
		numbering: newNumbering(min(total/repeated, most)),
		docs:      docs,
		tokens:    make([]uint32, 0, total),
		ends:      make([]int, len(docs)),
	}
	for i := range docs {
		eachWord(docs[i].Words, func(w string, asked bool) {
			n := t.add(w) << 1
			if asked {
				n++
			}
			t.tokens = append(t.tokens, n)
		})
		t.ends[i] = len(t.tokens)
	}
	return t
}

// of returns the tokens of a doc.
func (t *Texts) of(i int) []uint32 {
	if i == 0 {
		return t.tokens[:t.ends[0]]
	}
	return t.tokens[t.ends[i-1]:t.ends[i]]
}

// Stats counts the texts, if they are all that is in reach.
func (t *Texts) Stats() Stats {
	st := Stats{Docs: len(t.docs), DF: make(map[string]int, len(t.words)), Speakers: map[string]int{}}
	df, last := make([]int, len(t.words)), make([]int, len(t.words))
	for i := range t.docs {
		for _, token := range t.of(i) {
			if w := token >> 1; last[w] != i+1 {
				last[w] = i + 1
				df[w]++
			}
		}
	}
	for w, n := range df {
		st.DF[t.words[w]] = n
	}
	said := map[speaker]int{}
	for i := range t.docs {
		said[t.docs[i].speaker()]++
	}
	for s, n := range said {
		for _, part := range distinct(SpeakerParts(s.voice, s.flags)) {
			st.Speakers[part] += n
		}
	}
	st.AvgLen = float64(len(t.tokens)) / float64(max(len(t.docs), 1))
	return st
}

func distinct(words []string) []string {
	seen := make(map[string]bool, len(words))
	out := words[:0:0]
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// finder finds terms in tokens.
type finder struct {
	single []int32 // by word number: the term, -1: none
	starts []bool  // the word begins a pair
	pairs  map[uint64]int32
}

func (t *Texts) finder(terms []weightedTerm) *finder {
	f := &finder{single: make([]int32, len(t.words)), starts: make([]bool, len(t.words)), pairs: map[uint64]int32{}}
	for i := range f.single {
		f.single[i] = -1
	}
	for i, term := range terms {
		first, ok := t.number(term.word)
		if !ok {
			continue
		}
		if term.next == "" {
			f.single[first] = int32(i)
		} else if next, ok := t.number(term.next); ok {
			f.starts[first] = true
			f.pairs[uint64(first)<<32|uint64(next)] = int32(i)
		}
	}
	return f
}

// each calls hit for every term in a doc's tokens; a pair is reported at the token that ends it.
func (f *finder) each(tokens []uint32, hit func(term int32, asked bool)) {
	before, open := uint32(0), false
	for _, token := range tokens {
		w, asked := token>>1, token&1 == 1
		if term := f.single[w]; term >= 0 {
			hit(term, asked)
		}
		if open {
			if term, ok := f.pairs[uint64(before)<<32|uint64(w)]; ok {
				hit(term, asked)
			}
		}
		before, open = w, f.starts[w]
	}
}

// holds reports whether a doc contains the words consecutively.
func (t *Texts) holds(i int, phrase []string) bool {
	want := make([]uint32, len(phrase))
	for j, w := range phrase {
		n, ok := t.number(w)
		if !ok {
			return false
		}
		want[j] = n
	}
	tokens := t.of(i)
	for at := 0; at+len(want) <= len(tokens); at++ {
		found := true
		for j, w := range want {
			found = found && tokens[at+j]>>1 == w
		}
		if found {
			return true
		}
	}
	return false
}

// eachWord iterates over stored words.
func eachWord(stored string, visit func(word string, asked bool)) {
	for stored != "" {
		end := strings.IndexByte(stored, ' ')
		word := stored
		if end < 0 {
			stored = ""
		} else {
			word, stored = stored[:end], stored[end+1:]
		}
		switch {
		case word == "":
		case word[0] == asking:
			visit(word[1:], true)
		default:
			visit(word, false)
		}
	}
}
