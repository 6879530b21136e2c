package table

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func contents() Contents {
	return Contents{
		Dim: 2, Words: []string{"child", "dog", "go"}, Rarity: []byte{70, 60, 9}, Rows: []int8{127, -3, -127, 0, 1, 127},
		Exceptions: [][2]string{{"children", "child"}, {"gone", "go"}, {"went", "go"}},
	}
}

func encoded(tb testing.TB) []byte {
	tb.Helper()
	data, err := contents().Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// sealed gives a changed file a valid checksum.
func sealed(data []byte) []byte {
	body := data[:len(data)-4]
	return binary.LittleEndian.AppendUint32(append([]byte(nil), body...), crc32.ChecksumIEEE(body))
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	t.Parallel()
	tab, err := Parse(encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	if tab.Len() != 3 || tab.Dim() != 2 || tab.Word(1) != "dog" || tab.Rarity(0) != 70 {
		t.Errorf("%d words of %d numbers, the second %q, the first of rarity %d", tab.Len(), tab.Dim(), tab.Word(1), tab.Rarity(0))
	}
	for i, word := range contents().Words {
		if row, ok := tab.Find(word); !ok || row != i {
			t.Errorf("%q stands in row %d (%v), not %d", word, row, ok, i)
		}
	}
	if diff := cmp.Diff([]byte{127, 253}, tab.Row(0)); diff != "" {
		t.Error(diff)
	}
	got := maps.Collect(tab.Exceptions())
	if diff := cmp.Diff(map[string]string{"children": "child", "gone": "go", "went": "go"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyWholeEntriesAreFound(t *testing.T) {
	t.Parallel()
	tab, err := Parse(encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"", "a", "do", "dogs", "zebra", "child dog"} {
		if row, ok := tab.Find(word); ok {
			t.Errorf("%q was found in row %d", word, row)
		}
	}
	for form, want := range map[string]string{
		"went": "go", "children": "child", "wen": "wen", "went go": "went go", "wents": "wents", "": "", "zoo": "zoo",
	} {
		if got := tab.Base(form); got != want {
			t.Errorf("the base form of %q is %q, not %q", form, got, want)
		}
	}
}

func TestEveryDamageIsNoticed(t *testing.T) {
	t.Parallel()
	data := encoded(t)
	for i := range data {
		if _, err := Parse(data[:i]); err == nil {
			t.Errorf("a file cut to %d bytes is accepted", i)
		}
		for bit := range 8 {
			damaged := append([]byte(nil), data...)
			damaged[i] ^= 1 << bit
			if _, err := Parse(damaged); err == nil {
				t.Errorf("bit %d of byte %d may flip", bit, i)
			}
		}
	}
	if _, err := Parse(sealed(append(data, 0))); err == nil {
		t.Error("a byte too many is accepted")
	}
}

func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Contents){
		"no dimension":          func(c *Contents) { c.Dim, c.Rows = 0, nil },
		"too many dimensions":   func(c *Contents) { c.Dim = MaxDim + 1; c.Rows = make([]int8, 3*c.Dim) },
		"a row missing":         func(c *Contents) { c.Rows = c.Rows[:4] },
		"a rarity missing":      func(c *Contents) { c.Rarity = c.Rarity[:2] },
		"unsorted words":        func(c *Contents) { c.Words = []string{"dog", "child", "go"} },
		"a word twice":          func(c *Contents) { c.Words = []string{"dog", "dog", "go"} },
		"an empty word":         func(c *Contents) { c.Words = []string{"", "dog", "go"} },
		"a word with a blank":   func(c *Contents) { c.Words = []string{"a b", "dog", "go"} },
		"unsorted forms":        func(c *Contents) { c.Exceptions = [][2]string{{"went", "go"}, {"gone", "go"}} },
		"a form twice":          func(c *Contents) { c.Exceptions = [][2]string{{"went", "be"}, {"went", "go"}} },
		"a form of three words": func(c *Contents) { c.Exceptions = [][2]string{{"went", "go on"}} },
	} {
		c := contents()
		change(&c)
		if _, err := c.Encode(); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}

func TestKeysAreStemsOfPlainWordsWithoutStopWords(t *testing.T) {
	t.Parallel()
	tab, err := Parse(encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"went": "go", "children": "child", "walking": "walk", "dogs": "dog", "the": "", "": "", "Dog": "", "x2": "", "naïve": "",
		"it's": "",
	} {
		if got := Key(word, tab.Base); got != want {
			t.Errorf("the key of %q is %q, not %q", word, got, want)
		}
	}
}

// Whatever the bytes, and even with a valid checksum, a table is refused or can be read from end to end.
func FuzzParse(f *testing.F) {
	data := encoded(f)
	f.Add(data)
	for _, at := range []int{8, 12, 16, 20, 24, 28, 32, 40} {
		changed := append([]byte(nil), data...)
		changed[at]++
		f.Add(changed)
		binary.LittleEndian.PutUint32(changed[at:], 0xFFFFFFFF)
		f.Add(changed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		tab, err := Parse(sealed(data))
		if err != nil {
			return
		}
		for i := range tab.Len() {
			if row, ok := tab.Find(tab.Word(i)); !ok || row != i || len(tab.Row(i)) != tab.Dim() {
				t.Fatalf("row %d (%q) is found as %d (%v)", i, tab.Word(i), row, ok)
			}
			_ = tab.Rarity(i)
		}
		for form, base := range tab.Exceptions() {
			if got := tab.Base(form); got != base {
				t.Fatalf("the base form of %q is %q, not %q", form, got, base)
			}
		}
	})
}
