package search

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// corpus makes texts of one archive, written on one day, in the order given.
func corpus(texts ...string) []Doc {
	docs := make([]Doc, len(texts))
	at := time.Date(2023, 6, 1, 9, 0, 0, 0, time.UTC)
	for i, text := range texts {
		r := Read(Source{Text: text, At: at})
		day := DayOf(at)
		if r.Flags&Dated != 0 {
			day = DayOfMinute(r.Minute)
		}
		docs[i] = Doc{
			ID: fmt.Sprint(i), Seq: int64(i), Lane: 1, Who: Voice(r.Speaker, ""), Minute: r.Minute, Day: day, Flags: r.Flags,
			Len: len(r.Words), Words: r.Store(), Spans: LoadSpans(StoreSpans(r.Spans)), Allowed: true,
		}
	}
	return docs
}

func searched(query string, today int, docs []Doc) []Hit {
	texts := Load(docs)
	st := texts.Stats()
	return Rank(Analyse(query, today).Narrow(st.DF).Resolve(st.Speakers, st.DF), st, texts, Vectors{}, len(docs))
}

func found(query string, texts ...string) string {
	var ids []string
	for _, h := range searched(query, NoDay, corpus(texts...)) {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

func TestATextThatSaysMoreOfTheQueryComesFirst(t *testing.T) {
	t.Parallel()
	got := found(
		"blue bicycle repair",
		"bicycle bicycle bicycle bicycle",
		"my bicycle is blue and needs repair",
		"the sky is blue",
		"nothing of it",
	)
	if !strings.HasPrefix(got, "1 ") || strings.Contains(got, "3") {
		t.Errorf("order %q", got)
	}
}

func TestWordsThatFollowEachOtherBeatTheSameWordsApart(t *testing.T) {
	t.Parallel()
	if got := found("red house", "house painted, door red", "red house painted, door", "blue", "green", "white"); got != "1 0" {
		t.Errorf("order %q", got)
	}
}

// TestAWordThatTheQueryRepeatsCountsMore: who says it again asks about it, but a pasted log does not.
func TestAWordThatTheQueryRepeatsCountsMore(t *testing.T) {
	t.Parallel()
	texts := []string{"boat one", "lake two", "hill three", "road four"}
	if got := found("boat lake", texts...); got != "0 1" {
		t.Errorf("each once: order %q", got)
	}
	if got := found("boat lake, and which lake", texts...); got != "1 0" {
		t.Errorf("one of them twice: order %q", got)
	}
	weight := func(query string) float64 {
		loaded := Load(corpus(texts...))
		st := loaded.Stats()
		return newRanking(Analyse(query, NoDay).Resolve(st.Speakers, st.DF), st, loaded).queryTerms()[0].weight
	}
	for n, want := range map[int]float64{1: 1, 2: 2, 4: 4, 50: 4} {
		if got := weight(strings.Repeat("lake. ", n)); got != want {
			t.Errorf("%d times: a weight of %v, not %v", n, got, want)
		}
	}
}

func TestEqualScoresKeepTheirOrder(t *testing.T) {
	t.Parallel()
	if got := found("lake", "lake one", "lake two", "lake three", "hill"); got != "0 1 2" {
		t.Errorf("order %q", got)
	}
}

func TestAnAnswerInheritsTheWordsOfItsQuestion(t *testing.T) {
	t.Parallel()
	turns := []string{
		"(1:56 pm on 8 May, 2023) Ann: It rains a lot here.",
		"(1:56 pm on 8 May, 2023) Ann: Which instrument do you practise?",
		"(1:56 pm on 8 May, 2023) Bob: The oboe, every evening.",
		"(1:56 pm on 8 May, 2023) Ann: Nice.",
		"(9:00 am on 9 May, 2023) Bob: Good morning.",
	}
	hits := searched("instrument practise", NoDay, corpus(turns...))
	if len(hits) == 0 || hits[0].ID != "2" {
		t.Fatalf("the answer is not first: %+v", hits)
	}
	want := Why{Inherited: []NeighbourWords{{From: "1", Words: []string{"instrument", "practise"}}}, Share: 1}
	if diff := cmp.Diff(want, hits[0].Why); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, h := range hits {
		if h.ID == "1" && (h.Why.Own <= 0 || h.Why.Own > h.Why.Share) {
			t.Errorf("of its own the question matches %g of %g", h.Why.Own, h.Why.Share)
		}
		if h.ID == "4" {
			t.Error("what was said the next day inherits, too")
		}
	}
	turns[2] = strings.Replace(turns[2], "Bob", "Ann", 1)
	if hits := searched("instrument practise", NoDay, corpus(turns...)); hits[0].ID != "1" {
		t.Errorf("who goes on speaking is no answer: %+v", hits)
	}
}

// TestALongTextInheritsLess: it says so much that it would collect the words of whatever stands beside it.
func TestALongTextInheritsLess(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(" Regatta sail harbour wind anchor rope deck mast.", 20)
	turns := []string{
		"(1:56 pm on 8 May, 2023) User: I practise the oboe. Which instrument is easier to practise?",
		"(1:56 pm on 8 May, 2023) Assistant: Good question." + long,
		"(1:57 pm on 8 May, 2023) User: I see.",
	}
	hits := searched("instrument practise", NoDay, corpus(turns...))
	if len(hits) == 0 || hits[0].ID != "0" {
		t.Errorf("a long reply takes its question's place: %+v", hits)
	}
	for n, want := range map[int]float64{inheritors / 2: 1, inheritors: 1, 4 * inheritors: .25} {
		docs := corpus(turns[0], "(1:56 pm on 8 May, 2023) Bob: "+strings.Repeat("sail ", n))
		texts := Load(docs)
		r := newRanking(Analyse("instrument", NoDay), texts.Stats(), texts)
		s := r.scorer(r.queryTerms(), nil)
		s.all()
		from := r.neighbours(1, nil)
		if len(from) != 1 || len(s.in(0)) != 1 {
			t.Fatalf("%d words: %+v", n, from)
		}
		if got := s.inherits(from[0], s.in(0)[0]) / s.in(0)[0].value; math.Abs(got-want*answers) > 1e-9 {
			t.Errorf("a text of %d words inherits %v of a question, not %v", n, got, want*answers)
		}
	}
}

func TestNotesInheritNothing(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"plain":  {"Where is the key to the shed?", "Milk and bread", "Call the dentist"},
		"headed": {"Shed: where is the key?", "Shopping: milk and bread", "Todo: call the dentist"},
		"chunks": {
			"… the key to the shed hangs behind the door. It is", "door. It is small and red. Next to it stands", "stands a bucket.",
		},
		"dated":        {"(8 May 2023) where is the key to the shed?", "(8 May 2023) milk and bread", "(8 May 2023) call"},
		"in brackets":  {"(see the letter of 8 May 2023) shed key?", "(see the letter of 8 May 2023) bread", "(draft) dentist"},
		"a list":       {"Book: the key of the shed", "Book: milk", "Book: bread", "Book: dentist"},
		"no neighbour": {"the key to the shed", "oil", "soap"},
	} {
		docs := corpus(texts...)
		for _, h := range searched("shed key", NoDay, docs) {
			if len(h.Why.Inherited) > 0 || h.ID != "0" {
				t.Errorf("%s: %+v", name, h)
			}
		}
	}
}

func TestATranscriptWithoutTimesIsAConversation(t *testing.T) {
	t.Parallel()
	if got := found(
		"instrument",
		"Ann: Which instrument is it?",
		"Bob: The oboe.",
		"Ann: I see.",
		"Bob: Yes.",
	); !strings.HasPrefix(
		got,
		"1 0",
	) {
		t.Errorf("order %q", got)
	}
}

func TestWhoIsNamedCounts(t *testing.T) {
	t.Parallel()
	turns := []string{
		"(8 May, 2023) Caroline: I paint lakes.",
		"(9 May, 2023) Melanie: I paint lakes.",
		"(10 May, 2023) Sam: Hey Mel, it rains.",
		"(11 May, 2023) Zoë: I paint lakes.",
	}
	for query, first := range map[string]string{
		"What does Zoe paint?": "3", "What does Zoë paint?": "3", "What does Melanie paint?": "1", "What does Mel paint?": "1",
		"What does Caroline paint?": "0",
	} {
		if hits := searched(query, NoDay, corpus(turns...)); hits[0].ID != first || !hits[0].Why.Speaker {
			t.Errorf("%s: %+v", query, hits)
		}
	}
	if hits := searched("mel paint", NoDay, corpus(turns...)); hits[0].Why.Speaker {
		t.Error("a short form in small letters names somebody")
	}
}

// TestATitleIsNoSpeaker: only what is stored as a turn, or states its time and speaker, was said by somebody.
func TestATitleIsNoSpeaker(t *testing.T) {
	t.Parallel()
	titled := corpus(
		"Information: on the needs of libraries and their retrieval systems",
		"Information: a new journal",
		"Information: the price of paper",
		"Paper: the retrieval of information, and who wants information",
		"Gardens: roses", "Boats: sails",
	)
	for _, h := range searched("information retrieval", NoDay, titled) {
		if h.Why.Speaker {
			t.Errorf("%s is found for its speaker", h.ID)
		}
	}
	if st := Load(titled).Stats(); len(st.Speakers) != 0 {
		t.Errorf("counted as speakers: %v", st.Speakers)
	}
	for _, c := range []struct {
		source Source
		parts  []string
	}{
		{Source{Text: "Summary: it rained", Speaker: "Ann Lee", Turn: true}, []string{"ann", "lee"}},
		{Source{Text: "(8 May 2023) Zoë: it rained"}, []string{"zoe"}},
		{Source{Text: "(8 May 2023) Zoë: it rained", Speaker: "Ann", Turn: true}, []string{"zoe"}},
		{Source{Text: "Zoë: it rained"}, nil},
		{Source{Text: "(8 May 2023) Zoë: it rained", Part: true}, nil},
	} {
		r := Read(c.source)
		if diff := cmp.Diff(c.parts, SpeakerParts(Voice(r.Speaker, ""), r.Flags)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.source, diff)
		}
	}
}

func TestDaysAreFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	day := func(y, m, d int) Span { n := dayOf(y, time.Month(m), d); return Span{n, n} }
	span := func(from, to Span) Span { return Span{from.From, to.To} }
	ref := dayOf(2023, 5, 8) // a Monday
	for text, want := range map[string][]Span{
		"on 7 May 2023":                     {day(2023, 5, 7)},
		"the 7th of May, 2023!":             {day(2023, 5, 7)},
		"May 7th, 2023":                     {day(2023, 5, 7)},
		"2023-05-07, 5/7/2023 and 7.5.2023": {day(2023, 5, 7), day(2023, 5, 7), day(2023, 5, 7)},
		"in May 2023":                       {span(day(2023, 5, 1), day(2023, 5, 31))},
		"back in 2021":                      {span(day(2021, 1, 1), day(2021, 12, 31))},
		"yesterday":                         {day(2023, 5, 7)},
		"the day before yesterday":          {day(2023, 5, 6)},
		"last Friday":                       {day(2023, 5, 5)},
		"last Monday":                       {day(2023, 5, 1)},
		"next Monday":                       {day(2023, 5, 15)},
		"last week":                         {span(day(2023, 5, 1), day(2023, 5, 7))},
		"last weekend":                      {span(day(2023, 5, 6), day(2023, 5, 7))},
		"last month":                        {span(day(2023, 4, 1), day(2023, 4, 30))},
		"last summer":                       {span(day(2022, 6, 1), day(2022, 8, 31))},
		"three weeks ago":                   {span(day(2023, 4, 14), day(2023, 4, 20))},
		"2 days ago":                        {day(2023, 5, 6)},
		"a couple of days ago":              {day(2023, 5, 6)},
		"in December":                       {span(day(2022, 12, 1), day(2022, 12, 31))},
		"in March":                          {span(day(2023, 3, 1), day(2023, 3, 31))},
		"you may march on; mar it":          nil,
		"2023-13-01, 0/0/12, 99/99/99":      nil,
		"room 2023456 costs $2020":          nil,
		"I ran 2000 miles":                  nil,
	} {
		var got []Span
		for _, m := range (&calendar{t: tokens(text), ref: ref}).mentions() {
			got = append(got, m.span)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestTheTimeAtTheStartIsRead(t *testing.T) {
	t.Parallel()
	at := int64(dayOf(2023, 5, 8))*1440 + 13*60 + 56
	for text, want := range map[string]Reading{
		"(1:56 pm on 8 May, 2023) Ann Lee: lake":   {Speaker: "Ann Lee", Minute: at, Flags: Dated | Named},
		"[2023-05-08 13:56] ann: lake":             {Speaker: "ann", Minute: at, Flags: Dated | Named},
		"[2023-05-08T13:56:07Z] lake":              {Minute: at, Flags: Dated},
		"[2023-05-08T13:56:07+02:00] user_1: lake": {Speaker: "user_1", Minute: at, Flags: Dated | Named},
		"(Monday, 8 May 2023 at 12 am) lake":       {Minute: at - 13*60 - 56, Flags: Dated},
		"Ann: lake":                                {Speaker: "Ann", Flags: Named},
		"(remember 8 May 2023) lake":               {},
		"(8 May) lake":                             {},
		"http://lake":                              {}, "lake: a note": {}, "(": {}, "": {},
	} {
		got := Read(Source{Text: text, At: time.Unix(0, 0)})
		if got.Speaker != want.Speaker || got.Minute != want.Minute || got.Flags&(Dated|Named) != want.Flags {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestAQueryForADayFindsWhatIsOfItOrTalksAboutIt(t *testing.T) {
	t.Parallel()
	texts := []string{
		"(9 May, 2023) Ann: I swam yesterday.",
		"(8 May, 2023) Bob: It rained.",
		"(1 March, 2021) Zoe: I swam.",
		"(2 May, 2022) Kim: I ran.",
		"(3 July, 2023) Lou: It is hot.",
	}
	ids := func(query string, today int) (dated []string) {
		for _, h := range searched(query, today, corpus(texts...)) {
			if h.Why.Date {
				dated = append(dated, h.ID)
			}
		}
		return dated
	}
	sorted := cmpopts.SortSlices(strings.Compare)
	for _, c := range []struct {
		query string
		today int
		want  []string
	}{
		{"Who swam on 8 May 2023?", NoDay, []string{"0", "1"}},
		{"What happened in May?", NoDay, []string{"0", "1", "3"}},
		{"What happened in May 2023?", NoDay, []string{"0", "1"}},
		{"What happened yesterday?", dayOf(2023, 7, 4), []string{"4"}},
		{"What happened last week?", dayOf(2023, 7, 12), []string{"4"}},
		{"What happened yesterday?", NoDay, nil},
		{"What happened on 8 May?", NoDay, []string{"0", "1"}},
	} {
		if diff := cmp.Diff(c.want, ids(c.query, c.today), sorted, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
	if q := Analyse("in May 2023", NoDay); len(q.Terms()) != 1 || q.Terms()[0] != "2023" {
		t.Errorf("a month that is a date is a word, too: %q", q.Terms())
	}
}

// TestAMonthBesideAWordOfTimeIsOneMonth: "last March" is one March, also in small letters, and no other year's.
func TestAMonthBesideAWordOfTimeIsOneMonth(t *testing.T) {
	t.Parallel()
	today := dayOf(2026, time.November, 22)
	month := func(y int, m time.Month) queryTime { return queryTime{Span: wholeMonth(y, m)} }
	for query, want := range map[string][]queryTime{
		"last March":                {month(2026, time.March)},
		"what happened last march":  {month(2026, time.March)},
		"last November":             {month(2025, time.November)},
		"last December":             {month(2025, time.December)},
		"in the previous may":       {month(2026, time.May)},
		"next March":                {month(2027, time.March)},
		"next november":             {month(2027, time.November)},
		"this November":             {month(2026, time.November)},
		"notes of last sep":         {month(2026, time.September)},
		"january this year":         {month(2026, time.January)},
		"in march of last year":     {month(2025, time.March)},
		"last March 2024":           {month(2024, time.March)},
		"may 2024":                  {month(2024, time.May)},
		"march 5th, 2026":           {{Span: Span{dayOf(2026, 3, 5), dayOf(2026, 3, 5)}}},
		"5 march 2026":              {{Span: Span{dayOf(2026, 3, 5), dayOf(2026, 3, 5)}}},
		"this may be a long march":  nil,
		"what may I eat in the sun": nil,
		"they sep arated":           nil,
	} {
		q := Analyse(query, today)
		if diff := cmp.Diff(want, q.times, cmp.AllowUnexported(queryTime{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if q := Analyse("may 7", today); len(q.times) != 1 || q.times[0].month != time.May || q.times[0].day != 7 {
		t.Errorf("a day beside a month in small letters: %+v", q.times)
	}
}

func TestTheKindOfAnswerCounts(t *testing.T) {
	t.Parallel()
	if got := found("how many eggs", "eggs are good", "twelve eggs", "milk", "bread"); got != "1 0" {
		t.Errorf("order %q", got)
	}
	if got := found("when were eggs bought", "bought eggs", "bought eggs on 3 May 2023", "milk", "bread"); got != "1 0" {
		t.Errorf("order %q", got)
	}
}

func TestAPhraseAloneIsAFilter(t *testing.T) {
	t.Parallel()
	texts := []string{"the red house", "a house so red", "red", "x"}
	if got := found(`"red house"`, texts...); got != "0" {
		t.Errorf("found %q", got)
	}
	if got := found(`who said "red house"`, texts...); len(got) < 3 {
		t.Errorf("found %q", got)
	}
}

func TestFeedbackLiftsWhatIsLikeTheBest(t *testing.T) {
	t.Parallel()
	texts := []string{
		"regatta sail harbour",
		"regatta bread",
		"regatta sail harbour wind",
		"oven bread",
		"regatta oven",
		"sail harbour",
		"tree",
		"stone",
	}
	hits := searched("regatta", NoDay, corpus(texts...))
	if len(hits) != 4 { // and what has nothing of the query itself is not found
		t.Fatalf("%d hits: %+v", len(hits), hits)
	}
}

func TestVectorsCountTheMoreTheLessWordsMatch(t *testing.T) {
	t.Parallel()
	docs := corpus("lake one", "hill two", "tree three", "road four")
	score := func(query string, v Vectors) map[string]float64 {
		texts := Load(docs)
		st := texts.Stats()
		out := map[string]float64{}
		for _, h := range Rank(Analyse(query, NoDay), st, texts, v, 10) {
			out[h.ID] = h.Score
		}
		return out
	}
	v := Vectors{Cos: map[string]float64{"1": .9, "2": .5, "3": math.NaN()}, Mean: .3, SD: .1, Weight: .6, Gate: 1}
	if got := score("pond", v); len(got) != 1 || math.Abs(got["1"]-.6*(6-2)/4) > 1e-9 {
		t.Errorf("no word matches: %v", got)
	}
	if got := score("lake", v); got["1"] != 0 || got["0"] != 1 {
		t.Errorf("all words match: %v", got)
	}
	if got := score("lake", Vectors{Cos: v.Cos}); len(got) != 1 {
		t.Errorf("without a deviation: %v", got)
	}
}

func TestOnlyWhatIsAllowedIsFound(t *testing.T) {
	t.Parallel()
	docs := corpus("(8 May, 2023) Ann: Which instrument is it?", "(8 May, 2023) Bob: The oboe.")
	docs[0].Allowed = false
	hits := searched("instrument", NoDay, docs)
	if len(hits) != 1 || hits[0].ID != "1" || len(hits[0].Why.Inherited) != 1 {
		t.Errorf("%+v", hits)
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
	q := Analyse(text.String()+" zebra unknown", NoDay).Narrow(df)
	if terms := q.Terms(); len(terms) != MaxTerms || terms[len(terms)-1] != "zebra" {
		t.Errorf("%d terms: %q", len(terms), terms)
	}
	few := map[string]int{"w": 9, "wx": 8, "zebra": 1}
	q = Analyse("w wx zebra", NoDay)
	for budget, want := range map[int][]string{100: {"zebra", "wx", "w"}, 10: {"zebra", "wx"}, 1: {"zebra"}, 0: {"zebra"}} {
		if got := q.Rarest(few, budget); !cmp.Equal(want, got) {
			t.Errorf("budget %d: %q", budget, got)
		}
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{
		"", "When did Ann go?", `"a b" "c`, "last 3 weeks ago 5/7/", "\xff(8 May", strings.Repeat("ab ", 5000), "東京 in May",
	} {
		f.Add(s, 19_000)
	}
	docs := corpus("(8 May, 2023) Ann: Which instrument is it?", "(8 May, 2023) Bob: The oboe, since May 2020.", "a b c", "東京タワー")
	f.Fuzz(func(t *testing.T, text string, today int) {
		if today < -1_000_000 || today > 1_000_000 {
			today = NoDay
		}
		for _, h := range searched(text, today, docs) {
			if math.IsNaN(h.Score) || math.IsInf(h.Score, 0) || h.Score <= 0 {
				t.Fatalf("score %v of %q", h.Score, text)
			}
		}
	})
}
