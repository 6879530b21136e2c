// Command generate makes the table of word vectors from the database files of WordNet:
//
//	go run ./generate -wordnet /usr/share/wordnet -o words.bin
//
// The committed table comes from WordNet 3.0 as Debian has it (wordnet-base). It needs data.*, index.*, *.exc and
// cntlist.rev; packages of 3.1 often lack the last two, which those of 3.0 can stand in for.
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
	out := flag.String("o", "words.bin", "file to write")
	flag.Parse()
	if err := run(*dir, *out, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(dir, out string, progress io.Writer) error {
	start := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(progress, "%6.1fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	net, err := readWordNet(os.DirFS(dir))
	if err != nil {
		return err
	}
	say("%d synsets, %d words", len(net.synsets), len(net.senses))
	s := settings{words: 40_000, dim: 96, oversample: 15, rounds: 4}
	contents := build(net, s, say)
	if len(contents.Words) < s.words {
		return fmt.Errorf("too few words: %d of %d", len(contents.Words), s.words)
	}
	data, err := contents.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, data, 0o644); err != nil { //nolint:gosec // a public file of the repository
		return err
	}
	say("%s: %d bytes", out, len(data))
	return nil
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
