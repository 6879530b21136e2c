package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"loci/providers/embed/internal/table"
)

// small is a database of a few synsets of our own, in the form of WordNet's files.
func small() fstest.MapFS {
	files := map[string]string{
		"data.noun": "  1 the licence\n" +
			"00000001 03 n 01 animal 0 002 ~ 00000002 n 0000 ~ 00000003 n 0000 | a living thing that moves  \n" +
			"00000002 03 n 02 dog 0 Hound 0 002 @ 00000001 n 0000 + 00000010 v 0101 | a tame animal that barks; " +
			"\"the dogs went home\"  \n" +
			"00000003 03 n 01 cat 0 001 @ 00000001 n 0000 | a tame animal that purrs  \n" +
			"00000004 03 n 02 house 0 ice_house 0 000 | a building; people found it warm  \n",
		"data.verb": "00000010 29 v 01 bark 0 002 + 00000002 n 0101 * 00000011 v 0000 01 + 02 00 | what dogs do  \n" +
			"00000011 29 v 01 go 0 000 01 + 02 00 | move away  \n" +
			"00000012 29 v 01 find 0 000 01 + 02 00 | come upon  \n" +
			"00000013 29 v 01 found 0 000 01 + 02 00 | set up a house  \n",
		"data.adj": "00000020 00 s 01 tame 0 001 & 00000021 s 0000 | not wild  \n" +
			"00000021 00 s 01 mild 0 001 & 00000020 a 0000 | soft  \n",
		"data.adv": "",
		"index.noun": "animal n 1 1 ~ 1 1 00000001  \ndog n 1 2 @ + 1 1 00000002  \nhound n 1 2 @ + 1 0 00000002  \n" +
			"cat n 1 1 @ 1 1 00000003  \nhouse n 1 0 1 1 00000004  \nice_house n 1 0 1 0 00000004  \n",
		"index.verb":  "bark v 1 2 + * 1 0 00000010  \ngo v 1 0 1 1 00000011  \nfind v 1 0 1 1 00000012  \nfound v 1 0 1 1 00000013  \n",
		"index.adj":   "tame a 1 1 & 1 0 00000020  \nmild a 1 1 & 1 0 00000021  \n",
		"index.adv":   "",
		"verb.exc":    "went go\nfound find\nbarked bark\nwas be\n",
		"noun.exc":    "mice mouse\ndata datum\n",
		"adj.exc":     "better good well\n",
		"adv.exc":     "better well\n",
		"cntlist.rev": "dog%1:03:00:: 1 40\nfind%2:29:00:: 1 90\nfound%2:29:00:: 1 5\ndata%1:03:00:: 1 9\n",
	}
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func read(t *testing.T, files fs.FS) *wordNet {
	t.Helper()
	net, err := readWordNet(files)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func quiet(string, ...any) {}

func TestTheDatabaseIsRead(t *testing.T) {
	t.Parallel()
	net := read(t, small())
	if len(net.synsets) != 10 || len(net.senses) != 12 {
		t.Errorf("%d synsets and %d lemmas", len(net.synsets), len(net.senses))
	}
	if diff := cmp.Diff([]link{{0, .5}, {4, .5}}, net.synsets[1].links, cmp.AllowUnexported(link{})); diff != "" {
		t.Errorf("the relations of the dog: %s", diff)
	}
	if diff := cmp.Diff([]sense{{1, 1, false}}, net.senses["hound"], cmp.AllowUnexported(sense{})); diff != "" {
		t.Errorf("the senses of the hound: %s", diff)
	}
	if net.tags["dog"] != 40 || net.synsets[3].gloss != "a building; people found it warm" {
		t.Errorf("dog is tagged %d times, the house explained as %q", net.tags["dog"], net.synsets[3].gloss)
	}
}

func TestABrokenDatabaseIsRefusedWithFileAndLine(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"data.noun":   "00000009 03 n 01 word 0 002 @ 00000001 n 0000 | too few pointers",
		"data.verb":   "00000019 29 v zz word 0 000 | no number of words",
		"data.adj":    "00000029 00 s 01 lost 0 001 & 99999999 a 0000 | a pointer to nowhere",
		"data.adv":    "no gloss",
		"index.noun":  "bird n 2 0 2 0 00000001",
		"index.verb":  "fly v 1 0 1 0 99999999",
		"noun.exc":    "alone",
		"cntlist.rev": "dog 1 x",
	} {
		files := small()
		files[name] = &fstest.MapFile{Data: append(files[name].Data, line+"\n"...)}
		where := name + " line "
		if name == "data.adj" {
			where = "synset " // pointers are followed when all synsets are known
		}
		if _, err := readWordNet(files); err == nil || !strings.HasPrefix(err.Error(), where) {
			t.Errorf("%s: the error %v does not say where", name, err)
		}
	}
	for name := range small() {
		files := small()
		delete(files, name)
		if _, err := readWordNet(files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: got %v", name, err)
		}
	}
}

func TestIrregularFormsAreThoseThatTheStemmerMisses(t *testing.T) {
	t.Parallel()
	want := [][2]string{{"better", "good"}, {"found", "find"}, {"mice", "mouse"}, {"went", "go"}}
	if diff := cmp.Diff(want, exceptions(read(t, small()))); diff != "" {
		t.Error(diff)
	}
}

func TestAStemIsAsFrequentAsItsGlossesAndTagsSay(t *testing.T) {
	t.Parallel()
	v := newVocabulary(read(t, small()), 100)
	if diff := cmp.Diff(
		[]string{"anim", "bark", "cat", "dog", "find", "found", "go", "hound", "hous", "mild", "tame"},
		v.stems,
	); diff != "" {
		t.Error(diff)
	}
	want := map[string]int{"dog": 42, "find": 91, "found": 5, "go": 1, "hous": 1, "mild": 0}
	for stem, n := range want {
		if got := v.freq[v.row[stem]]; got != n {
			t.Errorf("%q has the frequency %d, not %d", stem, got, n)
		}
	}
	rarity := v.rarity()
	if rarity[v.row["find"]] >= rarity[v.row["dog"]] || rarity[v.row["dog"]] >= rarity[v.row["go"]] {
		t.Errorf("rarities %v do not fall with the frequency", rarity)
	}
	few := newVocabulary(read(t, small()), 2)
	if diff := cmp.Diff([]string{"dog", "find"}, few.stems); diff != "" {
		t.Errorf("the two most frequent: %s", diff)
	}
}

func TestRowsSayWhatWordsMeanAndWhatTheyAreRelatedTo(t *testing.T) {
	t.Parallel()
	net := read(t, small())
	v := newVocabulary(net, 100)
	m := newMatrix(net, v)
	at := func(stem string, column int) float64 {
		for _, c := range m.rows[v.row[stem]] {
			if c.column == column {
				return c.value
			}
		}
		return 0
	}
	const animal, dog, cat, house = 0, 1, 2, 3
	if at("dog", dog) == 0 || at("dog", animal) == 0 || at("dog", cat) == 0 {
		t.Error("the dog is a dog, an animal, and by that related to the cat")
	}
	if at("dog", house) != 0 {
		t.Error("the dog has nothing of a house")
	}
	if at("go", dog) == 0 {
		t.Error("the gloss of the dog uses a form of go")
	}
	if at("dog", len(net.synsets)+v.row["tame"]) == 0 {
		t.Error("a gloss word of the dog has no column")
	}
}

func TestTheSameDatabaseGivesTheSameFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, file := range small() {
		if err := os.WriteFile(filepath.Join(dir, name), file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var files [][]byte
	for i := range 2 {
		out := filepath.Join(dir, fmt.Sprint("out", i))
		if err := run(dir, "", out, io.Discard); err == nil || !strings.Contains(err.Error(), "too few words") {
			t.Fatalf("a table of less than its size is written: %v", err)
		}
		data, err := build(read(t, os.DirFS(dir)), settings{words: 9, dim: 4, oversample: 3, rounds: 4}, quiet).Encode()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two runs differ")
	}
	tab, err := table.Parse(files[0])
	if err != nil || tab.Len() != 9 || tab.Dim() != 4 || tab.Base("went") != "go" {
		t.Errorf("the file does not hold what was built (%v)", err)
	}
	for i := range tab.Len() {
		largest := 0
		for _, c := range tab.Row(i) {
			largest = max(largest, int(int8(c)), -int(int8(c)))
		}
		if largest != 127 {
			t.Errorf("the largest entry of %q is %d", tab.Word(i), largest)
		}
	}
}
