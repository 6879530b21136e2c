package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kin is a table of relatives for tests.
func kin(word string) []Relative {
	return map[string][]Relative{
		"automobil": {{"car", .9}, {"truck", .6}, {"motor", .3}},
		"vehicl":    {{"car", .5}, {"truck", .5}},
		"fruit":     {{"pear", .9}, {"appl", .8}, {"plum", .7}, {"fig", .6}, {"quinc", .6}, {"date", .5}, {"lime", .5}},
		"boat":      {{"ship", .9}},
		"ann":       {{"mari", .9}},
	}[word]
}

func widenedOver(query string, docs []Doc) (Query, Stats, *Texts) {
	texts := Load(docs)
	st := texts.Stats()
	return Analyse(query, NoDay).Relate(kin).Narrow(st.DF).Resolve(st.Speakers, st.DF).Widen(st), st, texts
}

func widenedFinds(query string, docs []Doc, v Vectors) []Hit {
	q, st, texts := widenedOver(query, docs)
	return Rank(q, st, texts, v, len(docs))
}

func idsOf(hits []Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

// filled returns texts among many others, so that their words are rare.
func filled(texts ...string) []Doc {
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("note%d of other things", i))
	}
	return corpus(texts...)
}

func TestARareWordIsAlsoMatchedByItsRelatives(t *testing.T) {
	t.Parallel()
	hits := widenedFinds("automobile", filled("the truck was sold", "the car was sold", "an automobile was sold"), Vectors{})
	if diff := cmp.Diff([]string{"2", "1", "0"}, idsOf(hits)); diff != "" {
		t.Fatal(diff)
	}
	if w := hits[0].Why; !slices.Equal(w.Terms, []string{"automobil"}) || len(w.Also) != 0 {
		t.Errorf("the word itself is found for %+v", w)
	}
	if w := hits[1].Why; len(w.Terms) != 0 || !slices.Equal(w.Also, []string{"car"}) || w.Share <= 0 || w.Share >= hits[0].Why.Share {
		t.Errorf("a relative is found for %+v", w)
	}
}

func TestAWordThatOccursNowhereStillCountsByItsRelatives(t *testing.T) {
	t.Parallel()
	hits := widenedFinds("automobile sold", filled("the car was sold", "the house was sold"), Vectors{})
	if diff := cmp.Diff([]string{"0", "1"}, idsOf(hits)); diff != "" {
		t.Fatal(diff)
	}
	if hits[1].Why.Share >= .9 {
		t.Errorf("a text with one of two words matches %.2f of the query", hits[1].Why.Share)
	}
}

func TestCommonWordsNamesAndWhatIsAskedAnywayAreNotWidened(t *testing.T) {
	t.Parallel()
	near := func(query string, docs []Doc) (out []string) {
		q, st, _ := widenedOver(query, docs)
		for _, n := range q.Near(st) {
			out = append(out, n.Word)
		}
		return out
	}
	boats := filled("a boat", "a boat", "a boat", "a ship")
	if got := near("boat", boats); got != nil {
		t.Errorf("a word of three in two hundred texts is widened by %q", got)
	}
	if got := near("boat", boats[2:]); !slices.Equal(got, []string{"ship"}) {
		t.Errorf("a rare word is widened by %q", got)
	}
	if got := near("boat ship", boats[2:]); got != nil {
		t.Errorf("a word is widened by one that is asked for: %q", got)
	}
	said := filled("(8 May, 2023) Ann: hello", "(8 May, 2023) Bob: Mary is here")
	if got := near("what did Ann say", said); got != nil {
		t.Errorf("a name is widened by %q", got)
	}
	common := filled("a pear")
	for i := range 50 {
		common[i] = corpus("an apple")[0]
	}
	if got := near("fruit", common); got != nil {
		t.Errorf("a word is widened by one that a quarter of the texts have: %q", got)
	}
}

func TestOnlyTheNearestRelativesThatOccurCount(t *testing.T) {
	t.Parallel()
	q, st, _ := widenedOver("fruit", filled("apple", "plum", "fig", "quince", "date", "lime"))
	var got []string
	for _, n := range q.Near(st) {
		got = append(got, n.Word)
		if n.Weight <= 0 || n.Weight > relativeness {
			t.Errorf("%s weighs %.2f", n.Word, n.Weight)
		}
	}
	if want := []string{"appl", "date", "fig", "plum", "quinc"}; !slices.Equal(got, want) {
		t.Errorf("fruit is widened by %q, not %q", got, want)
	}
}

func TestARelativeOfTwoWordsCountsForOne(t *testing.T) {
	t.Parallel()
	q, st, _ := widenedOver("vehicle automobile", filled("the car and the truck"))
	if got := q.Near(st); len(got) != 2 {
		t.Errorf("two relatives count %d times: %v", len(got), got)
	}
	if len(q.terms[0].near) != 0 || len(q.terms[1].near) != 2 {
		t.Errorf("they count for %v and %v", q.terms[0].near, q.terms[1].near)
	}
}

// TestWhereNothingAnswersNothingIsFound: what is merely the nearest of all is no find, unless it has a word of the query.
func TestWhereNothingAnswersNothingIsFound(t *testing.T) {
	t.Parallel()
	docs := filled("the motor was sold", "the house was sold")
	like := func(z float64) Vectors {
		return Vectors{Cos: map[string]float64{"1": z}, SD: 1, Weight: MeaningWeight, Gate: MeaningGate, Alone: 4}
	}
	unscaled := like(2.5)
	unscaled.Alone = 0
	for name, tt := range map[string]struct {
		query string
		v     Vectors
		want  []string
	}{
		"a distant relative":              {"automobile", Vectors{}, nil},
		"a text a little alike":           {"submarine", like(2.5), nil},
		"a text clearly alike":            {"submarine", like(4.5), []string{"1"}},
		"a little alike, without a scale": {"submarine", unscaled, []string{"1"}},
		"a word of many":                  {"who had a house near the volcano on the island of iguanas", Vectors{}, []string{"1"}},
	} {
		if got := idsOf(widenedFinds(tt.query, docs, tt.v)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q finds %q, not %q", name, tt.query, got, tt.want)
		}
	}
}

// TestWhatInheritsAWordAnswers: a filter may leave the reply and not its question.
func TestWhatInheritsAWordAnswers(t *testing.T) {
	t.Parallel()
	docs := filled("(1:56 pm on 8 May, 2023) Ann: Who plays the oboe and when and where?", "(1:57 pm on 8 May, 2023) Bob: "+long(400))
	docs[0].Allowed = false
	if got := idsOf(widenedFinds("oboe trumpet bassoon piccolo cornet", docs, Vectors{})); !slices.Contains(got, "1") {
		t.Errorf("found %q", got)
	}
}

func long(words int) string {
	text := ""
	for i := range words {
		text += fmt.Sprintf("word%d ", i)
	}
	return text
}

func TestOnlySoManyWordsAreWidened(t *testing.T) {
	t.Parallel()
	asked := 0
	q := Analyse(long(20), NoDay).Relate(func(string) []Relative { asked++; return nil })
	if q.Relatives(Stats{Docs: 1000}); asked != mostWidened {
		t.Errorf("the relatives of %d words are looked up", asked)
	}
}

// TestNotAllRelativesNeedCounting: what is chosen of those that are asked for is what is chosen where all are counted.
func TestNotAllRelativesNeedCounting(t *testing.T) {
	t.Parallel()
	const many = 60
	rnd, saved := rand.New(rand.NewPCG(5, 5)), 0
	for range 200 {
		table := map[string][]Relative{}
		all := map[string]int{}
		for _, word := range []string{"motor", "home", "boat"} {
			for i := range rnd.IntN(many) {
				w := fmt.Sprintf("word%d", rnd.IntN(2*many))
				table[word] = append(table[word], Relative{w, 1 - float64(i)/many})
				all[w] = rnd.IntN(4) * rnd.IntN(4) * rnd.IntN(20)
			}
		}
		q := Analyse("motor home boat", NoDay).Relate(func(word string) []Relative { return table[word] })
		some := map[string]int{}
		counted := Stats{Docs: 1000, DF: some}
		for words := q.Relatives(counted); len(words) > 0; words = q.Relatives(counted) {
			for _, w := range words {
				some[w] = all[w]
			}
		}
		saved += len(all) - len(some)
		st := Stats{Docs: 1000, DF: all}
		whole, part := q.Widen(st), q.Widen(counted)
		if diff := cmp.Diff(whole.Near(st), part.Near(st)); diff != "" {
			t.Fatalf("(-all counted +some):\n%s", diff)
		}
	}
	if saved <= 0 {
		t.Error("every relative is counted")
	}
}
