package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/providers/embed/internal/table"
)

// meant returns vectors with these cosines to the first of the words, which is a dog.
func meant(cosines map[string]float64) *meanings {
	m := &meanings{stems: []string{"dog"}, row: map[string]int{"dog": 0}, vectors: [][]float32{{1, 0}}}
	for word, c := range cosines {
		m.row[word] = len(m.stems)
		m.stems = append(m.stems, word)
		m.vectors = append(m.vectors, []float32{float32(c), float32(math.Sqrt(1 - c*c))})
	}
	return m
}

func TestRelativesAreNearByVectorsAndRelations(t *testing.T) {
	t.Parallel()
	r := newRelating(read(t, small()))
	r.m = meant(map[string]float64{"hound": .5, "anim": .5, "cat": .9, "hous": .59, "tame": .1, "mild": .7, "bark": -.5})
	got := map[string]int{}
	for _, one := range r.relativesOf(0) {
		got[r.m.stems[one.Word]] = int(one.Near)
	}
	want := map[string]int{
		"hound": 166, // the same
		"anim":  83,  // what it is
		"cat":   119, // another kind of that
		"mild":  101, // WordNet doesn't say
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamesAndOppositesAreNoRelatives(t *testing.T) {
	t.Parallel()
	files := small()
	for name, change := range map[string][2]string{
		"data.noun": {"cat 0 001 @ 00000001 n 0000", "Cat 0 001 @ 00000001 n 0000"},
		"data.adj":  {"tame 0 001 & 00000021 s 0000", "tame 0 001 ! 00000021 s 0000"},
	} {
		files[name].Data = []byte(strings.Replace(string(files[name].Data), change[0], change[1], 1))
	}
	r := newRelating(read(t, files))
	r.m = meant(map[string]float64{"cat": .99, "tame": .98, "mild": .99, "hound": .9})
	for word, no := range map[string]string{"dog": "cat", "cat": "dog", "tame": "mild"} {
		for _, one := range r.relativesOf(r.m.row[word]) {
			if r.m.stems[one.Word] == no {
				t.Errorf("%s is a relative of %s", no, word)
			}
		}
	}
	for _, one := range r.relativesOf(0)[:1] {
		if got := r.m.stems[one.Word]; got != "hound" {
			t.Errorf("the nearest relative of dog is %s", got)
		}
	}
}

func TestVectorsAreReadByStem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, "vectors.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	every := func(string) bool { return true }
	vectors := ""
	words := []string{"the", "dog", "dogs", "x2", "cat", "house", "tree", "lake"}
	for i, w := range words {
		vectors += fmt.Sprintf(`,%q:[%d,%d,%d,%d,9,9]`, w, i%3, i%2, 1+i%5, i)
	}
	name := write(`{"dimensions":4,"words":["` + strings.Join(words, `","`) + `"],"vectors":{` + vectors[1:] + `},"unkVector":[0]}`)
	m, err := readMeanings(name, every, 4)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"dog", "cat", "hous", "tree"}, m.stems); diff != "" {
		t.Error(diff)
	}
	for i, v := range m.vectors {
		if length := dot(v, v); len(v) != 4 || math.Abs(float64(length)-1) > 1e-5 {
			t.Errorf("%s: %v", m.stems[i], v)
		}
	}
	for _, text := range []string{`{`, `{"dimensions":3,"words":["dog"],"vectors":{"dog":[1,2]}}`, `{"dimensions":3,"words":["dog"]}`} {
		if _, err := readMeanings(write(text), every, 4); err == nil {
			t.Errorf("%s: read", text)
		}
	}
}

func TestTheTableOfRelativesIsBuilt(t *testing.T) {
	t.Parallel()
	r := newRelating(read(t, small()))
	r.m = meant(map[string]float64{"hound": .8, "cat": .9, "zebra": .1})
	words, of := r.relatives()
	if diff := cmp.Diff([]string{"cat", "dog", "hound"}, words); diff != "" {
		t.Error(diff)
	}
	data, err := table.EncodeRelatives(words, of)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := table.ParseRelatives(data)
	if err != nil {
		t.Fatal(err)
	}
	for w := range tab.Of("dog") {
		if w != "hound" {
			t.Errorf("the nearest of dog is %s", w)
		}
		break
	}
	if err := run(t.TempDir(), "none.json", "related.bin", io.Discard); err == nil {
		t.Error("a table of nothing is written")
	}
}
