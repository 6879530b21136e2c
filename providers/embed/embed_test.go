package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/search"
	"loci/providers/embed/internal/table"
)

func embedOne(tb testing.TB, m *Model, text string) []float32 {
	tb.Helper()
	got, err := m.Embed(context.Background(), []string{text})
	if err != nil {
		tb.Fatal(err)
	}
	if len(got) != 1 {
		tb.Fatalf("%d vectors for one text", len(got))
	}
	return got[0]
}

func cosine(tb testing.TB, m *Model, a, b string) float64 {
	tb.Helper()
	x, y := embedOne(tb, m, a), embedOne(tb, m, b)
	if x == nil || y == nil {
		tb.Fatalf("%q and %q must both have a vector", a, b)
	}
	sum := 0.0
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}

// Stored vectors depend on the table: if you change it, have all texts embedded again.
func TestTheTableIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	const want = "d4e765db565b23d60ea12e3c2ff5778fab492d828bcdcbfde85aec37e305f02a"
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("words.bin has the hash %s, not %s", got, want)
	}
	if len(data) > 5_000_000 {
		t.Errorf("words.bin has %d bytes, more than 5 MB", len(data))
	}
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if tab.Len() != 40_000 || tab.Dim() != Dim {
		t.Errorf("the table has %d words of %d numbers", tab.Len(), tab.Dim())
	}
}

func TestTheLicenceOfTheSourceStandsBesideTheTable(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"LICENSE.wordnet": "Copyright 2006 by Princeton University",
		"NOTICE":          "LICENSE.wordnet",
	} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q (%v)", file, want, err)
		}
	}
}

func TestWordsOfCloseMeaningAreClose(t *testing.T) {
	t.Parallel()
	m := New()
	for _, c := range []struct {
		a, b  string
		least float64
	}{
		{"bought", "purchase", .9},
		{"bought", "sale", .75},
		{"happy", "joy", .85},
		{"hike", "hiker", .7},
		{"hike", "backpack", .5},
		{"car", "automobile", .8},
		{"children", "child", .999},
		{"my dog is ill", "the puppy got sick", .5},
	} {
		if got := cosine(t, m, c.a, c.b); got < c.least {
			t.Errorf("%q and %q: cosine %.3f, want at least %.3f", c.a, c.b, got, c.least)
		}
	}
	for _, c := range [][2]string{{"car", "banana"}, {"doctor", "guitar"}, {"my dog is ill", "we paid the tax office"}} {
		if got := cosine(t, m, c[0], c[1]); got > .2 {
			t.Errorf("%q and %q: cosine %.3f, want next to nothing", c[0], c[1], got)
		}
	}
}

func TestVectorsHaveLengthOne(t *testing.T) {
	t.Parallel()
	m := New()
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < tab.Len(); i += 7 {
		var rows rowSet
		rows.add(i)
		unit(t, tab.Word(i), rows.vector(tab))
	}
	unit(t, "a long text", embedOne(t, m, strings.Repeat("the river floods every spring and farmers move their cattle uphill ", 500)))
}

func unit(tb testing.TB, text string, v []float32) {
	tb.Helper()
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if len(v) != Dim || math.Abs(math.Sqrt(square)-1) > 1e-5 {
		tb.Errorf("%q has a vector of %d numbers and length %v", text, len(v), math.Sqrt(square))
	}
}

func TestTextsWithoutKnownWordsHaveNoVector(t *testing.T) {
	t.Parallel()
	m := New()
	texts := []string{
		"",
		" \n\t",
		"the and of",
		"qwrtzpsdf",
		"1234 56",
		"日本語のテキスト",
		"?!…\"'",
		"\xff\xfe",
		"🙂🙃",
		"don't",
		strings.Repeat("a", 10_000),
		"cat5e5 x1y2",
	}
	got, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(make([][]float32, len(texts)), got); diff != "" {
		t.Error(diff)
	}
}

func TestNoTextsGiveNoVectors(t *testing.T) {
	t.Parallel()
	got, err := New().Embed(context.Background(), nil)
	if err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSpellingOrderAndRepetitionDoNotCount(t *testing.T) {
	t.Parallel()
	m := New()
	want := embedOne(t, m, "painting a quiet lake")
	for _, same := range []string{
		"Quiet LAKE, painting!", "paintings (quiet) of the lakes", "lake lake quiet painting lake", "the lake; painting—quiet",
		"painting’s quiet lake", "painting 湖 quiet\xfflake", "Ｐａｉｎｔｉｎｇ quiet lake",
		"painting quiet lake Привет 42", "painting_quiet/lake",
	} {
		if diff := cmp.Diff(want, embedOne(t, m, same)); diff != "" {
			t.Errorf("%q differs: %s", same, diff)
		}
	}
}

func TestRareWordsWeighMore(t *testing.T) {
	t.Parallel()
	m := New()
	if rare, common := cosine(t, m, "year telescope", "telescope"), cosine(t, m, "year telescope", "year"); rare <= common {
		t.Errorf("the rare word has %.3f of the text, the common one %.3f", rare, common)
	}
}

func TestEqualTextsHaveEqualVectorsWhateverCameBefore(t *testing.T) {
	t.Parallel()
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := 0; i+12 < tab.Len(); i += 12 { // more spellings than a model caches
		var b strings.Builder
		for j := range 12 {
			fmt.Fprintf(&b, "%s ", tab.Word(i+j))
		}
		texts = append(texts, b.String())
	}
	fresh, err := New().Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	m := New()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2 {
				got, err := m.Embed(context.Background(), texts)
				if err != nil || !slices.EqualFunc(fresh, got, slices.Equal[[]float32]) {
					t.Errorf("a shared model gives other vectors (%v)", err)
				}
			}
		})
	}
	wg.Wait()
}

// The numbers are the same on every machine, because each product is rounded separately.
func TestVectorsAreTheSameToTheLastBit(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	for _, x := range embedOne(t, New(), "Caroline bought two tickets for the mountain railway and lost them on the way") {
		fmt.Fprintf(h, "%08x", math.Float32bits(x))
	}
	const want = "47c03d31614d98702badeef12dcc4d5076f78c0dfd6140d8767d001bcbafe7f2"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the vector has the hash %s, not %s", got, want)
	}
}

func TestWordsAreThoseOfTheTextIndex(t *testing.T) {
	t.Parallel()
	m := New()
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"Yesterday we hiked 12km to the glacier's edge; everybody's boots were soaked.",
		"e-mail me the draft (v2) ASAP… I can't open \"report_final.docx\"",
		"L’été à Zürich: ﬁnally some sun, ３ ｄａｙｓ of swimming 東京tower visit",
	} {
		var want rowSet
		for _, stem := range search.Words(text) {
			if row, ok := tab.Find(stem); ok {
				want.add(row)
			}
		}
		var got rowSet
		m.read(tab, text, &got)
		if got != want {
			t.Errorf("%q has other words here than in the index", text)
		}
	}
}

func TestIrregularFormsLeadToTheirBaseForm(t *testing.T) {
	t.Parallel()
	pairs, err := Exceptions()
	if err != nil {
		t.Fatal(err)
	}
	got, last := map[string]string{}, ""
	for form, base := range pairs {
		if form <= last || !table.Plain(form) || !table.Plain(base) || table.StopWord(form) || table.StopWord(base) {
			t.Errorf("the pair %q, %q after %q must be sorted, plain and no stop word", form, base, last)
		}
		got[form], last = base, form
	}
	for form, base := range map[string]string{
		"went": "go", "children": "child", "bought": "buy", "mice": "mouse", "sank": "sink", "lives": "life", "found": "find",
	} {
		if got[form] != base {
			t.Errorf("%q leads to %q, not %q", form, got[form], base)
		}
	}
	for _, own := range []string{"data", "number", "walked", "dog"} {
		if base, ok := got[own]; ok {
			t.Errorf("%q is a word of its own, not a form of %q", own, base)
		}
	}
	if len(got) < 3000 {
		t.Errorf("only %d irregular forms", len(got))
	}
}

func TestCorrectWordsAreKnown(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"radiators": true, "went": true, "volcano": true, "golash": false, "": false, "größe": false} {
		if got := Knows(word); got != want {
			t.Errorf("%q is known: %v", word, got)
		}
	}
}

func TestADamagedTableIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	damaged := append([]byte(nil), data...)
	damaged[len(damaged)/2] ^= 1
	small, err := table.Contents{Dim: 2, Words: []string{"cat"}, Rarity: []byte{8}, Rows: []int8{1, 2}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, bytes := range map[string][]byte{
		"empty": nil, "cut": data[:len(data)-1], "a bit flipped": damaged, "another dimension": small,
	} {
		m := &Model{load: func() (*table.Table, error) { return parse(bytes) }}
		got, err := m.Embed(t.Context(), []string{"cat"})
		var e *core.Error
		if got != nil || !errors.As(err, &e) || e.Kind != core.Internal || core.HintOf(err) == "" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestACancelledCallEndsWithItsCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(core.ErrCancelled)
	got, err := New().Embed(ctx, []string{"cat", "dog"})
	if got != nil || !errors.Is(err, core.ErrCancelled) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Not parallel: it counts the allocations of the whole program.
func TestOnlyTheResultIsAllocated(t *testing.T) {
	m := New()
	texts := []string{"I went to the pottery workshop with the children yesterday, Привет, and broke a vase"}
	embedOne(t, m, texts[0])
	got := testing.AllocsPerRun(100, func() {
		if _, err := m.Embed(context.Background(), texts); err != nil {
			t.Error(err)
		}
	})
	if got > 2 { // the list and the vector
		t.Errorf("%v allocations", got)
	}
}

func FuzzEmbed(f *testing.F) {
	for _, seed := range []string{
		"", "bought a car", "NaN \x00 \xff", "日本 tower ｆｕｌｌ ﬁne", strings.Repeat("x", 70), "l’eau c'est",
		"İstanbul ſun K",
	} {
		f.Add(seed)
	}
	shared := New()
	f.Fuzz(func(t *testing.T, text string) {
		v := embedOne(t, shared, text)
		if v != nil {
			unit(t, text, v)
		}
		if diff := cmp.Diff(v, embedOne(t, New(), text)); diff != "" {
			t.Errorf("%q: a fresh model gives another vector: %s", text, diff)
		}
		if twice := embedOne(t, shared, text+" "+text); cmp.Diff(v, twice) != "" {
			t.Errorf("%q said twice has another vector", text)
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	m := New()
	for name, text := range map[string]string{
		"query": "When did Caroline go to the support group?",
		"passage": "I went to a pottery workshop with the children last Friday; everybody made something, and mine broke before it " +
			"was dry. We laughed a lot!",
	} {
		b.Run(name, func(b *testing.B) {
			texts := []string{text}
			embedOne(b, m, text)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Embed(context.Background(), texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOrdinaryWordsAreCommon(t *testing.T) {
	t.Parallel()
	for _, w := range []struct{ common, rarer string }{
		{"time", "gondola"}, {"picture", "oboe"}, {"friends", "zyzzyva"}, {"went", "abseiled"},
	} {
		if c, r := Common(w.common), Common(w.rarer); c <= r || c >= 1 || r < 0 {
			t.Errorf("%s is common by %g, %s by %g", w.common, c, w.rarer, r)
		}
	}
}
