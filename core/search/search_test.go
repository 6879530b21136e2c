package search

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWordsNormalise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"the of and", nil},
		{"She went to the lakes", []string{"go", "lake"}},
		{"Children's compilers, compiling!", []string{"child", "compil", "compil"}},
		{"I don't paint", []string{"paint"}},
		{"東京タワー go", []string{"東京", "京タ", "タワ", "ワー", "go"}},
		{"猫", []string{"猫"}},
		{"ÜBER naïve 2023-05-07", []string{"über", "naïve", "2023", "05", "07"}},
		{`"quoted" OR body:x*`, []string{"quot", "bodi", "x"}},
		{"\xff\xfebroken", []string{"break"}},
	} {
		if diff := cmp.Diff(c.want, Words(c.text)); diff != "" {
			t.Errorf("Words(%q) (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestSurfaceShowsTheSpellingsThatMatched(t *testing.T) {
	t.Parallel()
	got := Surface("Compilers compile; she Compiles compilers.", []string{"compil"})
	if diff := cmp.Diff([]string{"compilers", "compile", "compiles"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func candidates(texts ...string) []Candidate {
	out := make([]Candidate, len(texts))
	for i, text := range texts {
		out[i] = Candidate{ID: text, Words: Words(text)}
	}
	return out
}

func rank(query string, texts ...string) []string {
	cs := candidates(texts...)
	st := Stats{Docs: len(texts), AvgLen: 5, DF: map[string]int{}}
	for _, c := range cs {
		seen := map[string]bool{}
		for _, w := range c.Words {
			if !seen[w] {
				seen[w] = true
				st.DF[w]++
			}
		}
	}
	var ids []string
	for _, h := range Rank(Analyse(query), st, cs) {
		ids = append(ids, h.ID)
	}
	return ids
}

func TestATextThatSaysMoreOfTheQueryComesFirst(t *testing.T) {
	t.Parallel()
	got := rank("blue bicycle repair", "bicycle bicycle bicycle bicycle", "my bicycle is blue and needs repair", "the sky is blue", "nothing of it")
	if len(got) != 3 || got[0] != "my bicycle is blue and needs repair" {
		t.Errorf("order %q", got)
	}
}

func TestWordsThatFollowEachOtherBeatTheSameWordsApart(t *testing.T) {
	t.Parallel()
	got := rank("red house", "house painted, door red", "red house painted, door", "blue", "green", "white")
	if len(got) != 2 || got[0] != "red house painted, door" {
		t.Errorf("order %q", got)
	}
}

func TestEqualScoresKeepTheirOrder(t *testing.T) {
	t.Parallel()
	got := rank("lake", "lake one", "lake two", "lake three")
	if diff := cmp.Diff([]string{"lake one", "lake two", "lake three"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALongQueryKeepsItsRarestWords(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	df := map[string]int{"zebra": 1}
	for i := range 500 {
		w := "w" + strings.Repeat("x", i%20) + strings.Repeat("y", i/20)
		text.WriteString(w + " ")
		df[w] = 10 + i
	}
	q := Analyse(text.String()+" zebra unknown").Narrow(df, 1_000_000)
	if len(q.Terms) != MaxTerms || q.Terms[len(q.Terms)-1] != "zebra" {
		t.Errorf("%d terms, last %q", len(q.Terms), q.Terms[len(q.Terms)-1])
	}
	if n := len(Analyse("a1 a2 a3 a4 a5 a6 a7 a8 a9").Narrow(map[string]int{"a1": 9, "a2": 9, "a3": 9, "a4": 9, "a5": 9, "a6": 9, "a7": 9, "a8": 9, "a9": 9}, 10).Terms); n != 8 {
		t.Errorf("over the budget %d terms are kept, want 8", n)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "hello world", "東京 \xff", "don't \"NEAR(\" ) OR *", "ａｂｃ", "\u0301\u0301", strings.Repeat("y", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range Words(text) {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("word %q", w)
			}
			for _, r := range w {
				if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
					t.Fatalf("word %q holds %q", w, r)
				}
			}
		}
		q := Analyse(text)
		for _, h := range Rank(q, Stats{}, []Candidate{{ID: "x", Words: Words(text)}}) {
			if h.Score != h.Score || h.Score < 0 {
				t.Fatalf("score %v", h.Score)
			}
		}
	})
}
