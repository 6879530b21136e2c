package search

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
		{"ÜBER naïve 2023-05-07", []string{"uber", "naiv", "2023", "05", "07"}},
		{"naive Muller strasse cafe Lodz", []string{"naiv", "muller", "strass", "cafe", "lodz"}},
		{"nai\u0308ve Müller Straße café Łódź", []string{"naiv", "muller", "strass", "cafe", "lodz"}},
		{"un thé", []string{"un", "thé"}}, // folded it would be a stop word
		{"мой мои", []string{"мой", "мои"}},
		{"Party 🎉🎉 ☕️ 👍🏽 *%→─", []string{"parti", "🎉", "🎉", "☕", "👍"}},
		{`"quoted" OR body:x*`, []string{"quot", "bodi", "x"}},
		{"\xff\xfebroken", []string{"break"}},
		{"a day off, not the day. Off we go", []string{"day", "off", "day", "go"}},
		{"Two days off and time off; turn it off", []string{"two", "day", "off", "time", "off", "turn"}},
		{"went bought knives", []string{"go", "buy", "knife"}},
	} {
		if diff := cmp.Diff(c.want, Words(c.text)); diff != "" {
			t.Errorf("Words(%q) (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestSurfaceShowsTheSpellingsThatMatched(t *testing.T) {
	t.Parallel()
	got := Surface("Compilers compile; she Compiles compilers.", []string{"compil"})
	if diff := cmp.Diff([]string{"Compilers", "compile", "Compiles"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{
		"", "hello world", "東京 \xff", "don't \"NEAR(\" ) OR *", "ａｂｃ", "\u0301\u0301", strings.Repeat("y", 300),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range Words(text) {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("word %q", w)
			}
			for _, r := range w {
				if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && !emoji(r) {
					t.Fatalf("word %q holds %q", w, r)
				}
			}
		}
		r := Read(Source{Text: text})
		docs := []Doc{
			{
				ID:      "x",
				Words:   r.Store(),
				Len:     len(r.Words),
				Who:     Voice(r.Speaker, ""),
				Flags:   r.Flags,
				Spans:   LoadSpans(StoreSpans(r.Spans)),
				Allowed: true,
			},
		}
		if diff := cmp.Diff(r.Words, LoadWords(docs[0].Words), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("stored words (-want +got):\n%s", diff)
		}
		texts := Load(docs)
		st := texts.Stats()
		q := Analyse(text, 20_000).Narrow(st.DF).Resolve(st.Speakers, st.DF)
		if len(q.Terms()) > MaxTerms {
			t.Fatalf("%d terms", len(q.Terms()))
		}
		for _, h := range Rank(q, st, texts, Vectors{}, 1) {
			if math.IsNaN(h.Score) || math.IsInf(h.Score, 0) || h.Score <= 0 {
				t.Fatalf("score %v", h.Score)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := "(1:56 pm on 8 May, 2023) Caroline: I went to a support group yesterday and it was so powerful. What did you do last " +
		"weekend? [shares a photo of a lake]"
	for b.Loop() {
		r := Read(Source{Text: text})
		_ = r.Store()
	}
}

func TestAnExcerptIsWhereMostOfTheWordsStand(t *testing.T) {
	t.Parallel()
	sand := strings.Repeat("sand ", 100)
	text := "The anchor. " + sand + "Grün is the anchor, and rusty. " + sand + "A rusty, green anchor chain." + sand
	for want, words := range map[string][]string{
		"The anchor.":                    {"anchor"},
		"Grün is the anchor, and rusty.": {"rusty", "Anchor"},
		"A rusty, green anchor chain.":   {"anchor", "rusty", "chain"},
	} {
		if got := Excerpt(text, words, 80); !strings.Contains(got, want) || utf8.RuneCountInString(got) > 82 {
			t.Errorf("%q: %q", words, got)
		}
	}
	if got := Excerpt(text, []string{"", "nowhere"}, 80); !strings.HasPrefix(got, "The anchor.") {
		t.Errorf("without any of them: %q", got)
	}
}

func TestWhatWasFoundIsSeenAtTheBeginning(t *testing.T) {
	t.Parallel()
	sand := strings.Repeat("sand ", 1000)
	for text, want := range map[string]string{
		sand + "and an anchor":              "…sand and an anchor",
		sand + "and an anchor chain" + sand: "…sand and an anchor chainsand",
		"Here is an anchor, " + sand:        "Here is an anchor, sand",
		sand + "no such word":               "sand sand",
		"The anchor":                        "The anchor",
		strings.Repeat("x", 90) + "anchor":  "…" + strings.Repeat("x", 16) + "anchor",
		strings.Repeat("砂", 90) + "锚anchor": "…" + strings.Repeat("砂", 15) + "锚anchor",
	} {
		if got := Found(text, []string{"anchor"}, 80); !strings.HasPrefix(got, want) || utf8.RuneCountInString(got) > 82 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
