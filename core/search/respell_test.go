package search

import (
	"slices"
	"testing"
)

func TestAWordThatOccursNowhereIsReadAsWhatWasMeant(t *testing.T) {
	t.Parallel()
	df := map[string]int{}
	for _, w := range Words("goulash telescope radiators Müller Duesseldorf Maria chanterelles lake parseManifest() 0042x rent") {
		df[w]++
	}
	all := func(string) []string {
		var out []string
		for w := range df {
			out = append(out, w)
		}
		return out
	}
	known := func(w string) bool { return w == "volcano" }
	for query, want := range map[string][]string{
		"golash":        {"goulash"},
		"teelscope":     {"telescop"},
		"Chantereles":   {"chanterell"},
		"Mueller":       {"muller"},
		"mueler":        {"muller"},
		"Düsseldorf":    {"duesseldorf"},
		"goulash":       {"goulash"},
		"Marta":         {"marta"}, // somebody else
		"rint":          {"rint"},
		"oulash":        {"oulash"},
		"0043x":         {"0043x"},
		"lake lakee":    {"lake"},
		"volcano":       {"volcano"},
		"golash goulsh": {"goulash"},
	} {
		q := Analyse(query, NoDay).Check(known).Respell(df, all)
		if got := q.Terms(); !slices.Equal(got, want) {
			t.Errorf("%s is read as %q, not %q", query, got, want)
		}
	}
	if q := Analyse("golash with goulsh", NoDay).Check(known).Respell(df, all); q.terms[0].times != 2 {
		t.Errorf("a word meant twice counts %d times", q.terms[0].times)
	}
	if q := Analyse("golash", NoDay).Check(func(string) bool { return true }).Respell(df, all); q.Terms()[0] == "goulash" {
		t.Error("a correct word is replaced")
	}
	if q := Analyse("old golash", NoDay).Check(known).Respell(df, all); len(q.pairs) != 1 || q.pairs[0] != [2]string{"old", "goulash"} {
		t.Errorf("the pair keeps the typo: %q", q.pairs)
	}
	asked := 0
	Analyse("goxlash texescope raxiators chaxterelles muxxer laxxke", NoDay).Check(known).Respell(df, func(string) []string {
		asked++
		return nil
	})
	if asked != maxTypos {
		t.Errorf("asked %d times", asked)
	}
}

func TestMistakesAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"goulash", "goulash", 0},
		{"golash", "goulash", 1},
		{"gouulash", "goulash", 1},
		{"goulsah", "goulash", 1},
		{"goulosh", "goulash", 1},
		{"gooloshes", "goulash", 4},
		{"", "ab", 2},
		{"öl", "ol", 1},
		{"abcd", "badc", 2},
	} {
		if got := mistakes([]rune(c.a), []rune(c.b), 5); got != c.want {
			t.Errorf("%s, %s: %d", c.a, c.b, got)
		}
	}
	if got := mistakes([]rune("completely"), []rune("otherwords"), 2); got <= 2 {
		t.Errorf("%d", got)
	}
}
