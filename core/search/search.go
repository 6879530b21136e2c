// Package search ranks what the store found: it reads texts once, when they are written, and turns a query and the texts
// that may match it into scores, with a reason for each hit. It is pure: no I/O, no state, no language model. The store
// restricts candidates to scope, tags, dates and roles before they get here, so ranking never decides what may be seen.
//
// A text is scored by the query's words in it (BM25), by what it inherits from its neighbours in a conversation (an
// answer inherits the words of its question), by who said it and by the days it talks about; then once more by the words
// of the best hits, and combined with the cosines of an embedding if there are any. Texts outside a conversation inherit
// nothing.
//
// Words and Reading are the shared vocabulary of index and query: if you change them, raise Version, and every index is
// rebuilt.
package search

// Version must change whenever the result of Read changes.
const Version = "6"

// How much the meaning of a text counts beside its words. Deviations have no scale, so one weight serves models with any
// range of cosines.
const (
	StandsOut     = 2.0 // standard deviations above the mean from which a cosine counts
	MeaningWeight = 0.6 // of an embedding: the usual Vectors.Weight
	MeaningGate   = 1.0 // how much less it counts where words match: the usual Vectors.Gate
)

// The parameters of the ranking, tuned on one half of a data set of conversations and rounded.
const (
	leastMatch    = 1.0 / 8 // of a query: where no text matches more, nothing answers
	nameWeight    = 0.25    // of a word that names a speaker
	repeats       = 4       // how often at most a word of the query counts that it repeats
	pairWeight    = 0.35    // of two consecutive query words
	answers       = 1.5     // what a text inherits from its neighbour's question
	fromBefore    = 0.15    // … and from any other word of the previous text
	fromNear      = 0.3     // … and of the next one and those two away
	inheritors    = 40      // the words up to which a text inherits all of that; a longer one inherits less
	shareExp      = 0.8     // how strongly the matched share of the query counts
	speakerBonus  = 2.0
	calendarBonus = 2.0
	kindBonus     = 1.0
	sessionShare  = 0.1 // of a session's best score, added to all texts in it
	sessionBreak  = 180 // minutes
	feedbackDocs  = 5
	feedbackNear  = 0.25 // the weight of their neighbours
	feedbackTerms = 30
	feedbackWeigh = 0.1 // of the words of the best texts
	feedbackPages = 0.2 // … where these are pages and no turns: they say more of what they are about, and inherit nothing
	standsOut     = StandsOut
	vectorScale   = 4.0
)

// Doc is a text to score.
type Doc struct {
	ID      string
	Seq     int64  // order of texts
	Lane    int64  // the sequence it belongs to: a conversation, an archive
	Gap     bool   // texts may be missing between it and the previous one
	Who     string // the speaker, lower case
	Minute  int64
	Day     int // its own
	Flags   Flags
	Len     int    // number of words
	Words   string // as written by Reading.Store
	Spans   []Span
	Allowed bool // may be returned
}

// Stats are what the index knows about all texts in reach.
type Stats struct {
	Docs     int            // how many texts
	AvgLen   float64        // their average number of words
	DF       map[string]int // how many of them a word occurs in
	Speakers map[string]int // parts of speakers' names, with how many texts those people said
	// OnDays counts the texts whose own day is in a span; nil: count the docs.
	OnDays func(Span) int
	// More looks up further words as in DF; nil: DF has them all.
	More func(words []string) map[string]int
}

// Vectors are the cosines, by id, of the texts nearest to the query by an embedding, with mean and standard deviation
// over all texts in reach. Weight is how much the embedding counts, Gate how much less if words match.
type Vectors struct {
	Cos          map[string]float64
	Mean, SD     float64
	Weight, Gate float64
	Alone        float64 // by how many deviations a text must stand out to be found by its meaning alone; 0: StandsOut
}

// Hit is a text found, with its score and why.
type Hit struct {
	ID    string
	Score float64
	Why   Why
}

// Why says what made something a hit.
type Why struct {
	Terms     []string         // the query's words in the text itself, normalised
	Also      []string         // relatives of the query's words in the text itself, normalised
	Inherited []NeighbourWords // from neighbours, strongest first
	Speaker   bool             // the query names the person who said it
	Date      bool             // the query asks for a time that it is from or talks about
	Vector    float64          // by how many standard deviations its cosine stands out; 0: it doesn't
	Share     float64          // how much of the query it matches, including what it inherits: 0 to 1
	Own       float64          // … and by its own words
}

// NeighbourWords are words of the query found in a neighbour, themselves or by relatives, as the query writes them.
type NeighbourWords struct {
	From  string
	Words []string
}

// Rank scores texts and returns those that match something of the query, best first; equal scores are in order of Seq.
// The first explain hits come with reasons.
func Rank(q Query, st Stats, texts *Texts, v Vectors, explain int) []Hit {
	r := newRanking(q, st, texts)
	terms := r.queryTerms()
	first := r.scorer(terms, r.relatives(terms))
	first.weighMatter()
	scores := r.bonuses(first.all())
	best := r.sessions(scores)
	if words := r.feedback(best); len(words) > 0 {
		for i, s := range r.scorer(words, nil).all() {
			scores[i] += s
		}
	}
	scores = r.join(scores, v, first.bestShare)
	scores = r.sessions(scores)
	if !first.answered(v) {
		return nil
	}
	return r.hits(scores, first, v, explain)
}
