package table

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func relatives(tb testing.TB) []byte {
	tb.Helper()
	data, err := EncodeRelatives([]string{"auto", "car", "truck"}, [][]Relative{{{1, 255}, {2, 51}}, nil, {{0, 51}}})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func of(r *Relatives, word string) map[string]float64 {
	out := map[string]float64{}
	for w, near := range r.Of(word) {
		out[w] = near
	}
	return out
}

func TestRelativesThatWereWrittenAreRead(t *testing.T) {
	t.Parallel()
	r, err := ParseRelatives(relatives(t))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]map[string]float64{
		"auto": {"car": 1, "truck": .2}, "car": {}, "truck": {"auto": .2}, "": {}, "cars": {}, "zebra": {},
	} {
		if diff := cmp.Diff(want, of(r, word)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", word, diff)
		}
	}
	for w := range r.Of("auto") {
		if w != "car" {
			t.Errorf("%s comes first", w)
		}
		break
	}
}

func TestEveryDamageOfRelativesIsNoticed(t *testing.T) {
	t.Parallel()
	data := relatives(t)
	for i := range data {
		if _, err := ParseRelatives(data[:i]); err == nil {
			t.Errorf("a file cut to %d bytes is accepted", i)
		}
		damaged := append([]byte(nil), data...)
		damaged[i] ^= 1
		if _, err := ParseRelatives(damaged); err == nil {
			t.Errorf("byte %d may change", i)
		}
	}
}

func TestRelativesThatCannotBeReadAreNotWritten(t *testing.T) {
	t.Parallel()
	for name, of := range map[string][][]Relative{
		"too few":    {nil},
		"no word":    {{{3, 9}}, nil, nil},
		"not near":   {{{1, 0}}, nil, nil},
		"a negative": {{{-1, 9}}, nil, nil},
	} {
		if _, err := EncodeRelatives([]string{"auto", "car", "truck"}, of); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if _, err := EncodeRelatives([]string{"car", "auto"}, [][]Relative{nil, nil}); err == nil {
		t.Error("unsorted words are written")
	}
}

// Whatever the bytes, and even with a valid checksum, relatives are refused or can be read from end to end.
func FuzzRelatives(f *testing.F) {
	data := relatives(f)
	f.Add(data)
	for _, at := range []int{8, 12, 16, 20, 24, 28, 40} {
		changed := append([]byte(nil), data...)
		binary.LittleEndian.PutUint32(changed[at:], 0xFFFFFFFF)
		f.Add(changed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		r, err := ParseRelatives(sealed(data))
		if err != nil {
			return
		}
		for i := range r.Len() {
			for w, near := range r.Of(string(r.words.at(i))) {
				if w == "" || near <= 0 || near > 1 {
					t.Fatalf("%q is %f near", w, near)
				}
			}
		}
	})
}
