// Package search ranks what the store found: it reads texts once, when they are written, and turns a query and texts
// near its words into scores, with a reason for each hit. It is pure: no I/O, no state, no language model. The store
// restricts candidates to scope, tags, dates and roles before they come here, so that ranking never decides what may be seen.
//
// A text is scored by the query's words in it (BM25), by what it inherits from its neighbours in a conversation (an
// answer has the words of its question), by who said it and by the days it talks about; then once more by the words of
// the best hits, and joined with the cosines of an embedding where there are some. Texts that are no conversation inherit
// nothing.
//
// Words and Reading are the one vocabulary of index and query: whoever changes them raises Version, and every index is rebuilt.
package search

// Version changes with every change of what Read returns.
const Version = "3"

// StandsOut is the standard deviations above the mean from which a cosine counts.
const StandsOut = 2.0

// The parameters of the ranking, found on one half of a data set of conversations and rounded.
const (
	k1            = 0.6
	b             = 0.3
	nameWeight    = 0.25 // of a word that names a speaker
	pairWeight    = 0.35 // of two query words that follow each other
	answers       = 1.5  // what a text inherits of its neighbour's question
	fromBefore    = 0.15 // … and of any other word of the one before
	fromNear      = 0.3  // … and of the one after and those two away
	shareExp      = 0.8  // how strongly the matched share of the query counts
	speakerBonus  = 2.0
	calendarBonus = 2.0
	kindBonus     = 1.0
	sessionShare  = 0.1 // of a session's best score for all in it
	sessionBreak  = 180 // minutes
	feedbackDocs  = 5
	feedbackNear  = 0.25 // the weight of their neighbours
	feedbackTerms = 30
	feedbackWeigh = 0.1
	standsOut     = StandsOut
	vectorScale   = 4.0
)

// Doc is a text to be scored.
type Doc struct {
	ID      string
	Seq     int64  // the order of texts
	Lane    int64  // what it follows others in: a conversation, an archive
	Gap     bool   // texts may be missing between it and the one before
	Who     string // the speaker, lower case
	Minute  int64
	Day     int // its own
	Flags   Flags
	Len     int    // how many words
	Words   string // as Reading.Store wrote them
	Spans   []Span
	Allowed bool // may be returned
}

// Stats are what the index knows of all texts in reach.
type Stats struct {
	Docs     int            // how many texts
	AvgLen   float64        // their average number of words
	DF       map[string]int // in how many of them a word stands
	Speakers map[string]int // parts of speakers' names, with how many texts they said
	// OnDays counts the texts whose own day is within a span; nil: counted among the docs.
	OnDays func(Span) int
	// More looks up further words in DF's way; nil: DF has all.
	More func(words []string) map[string]int
}

// Vectors are the cosines of the texts that are nearest to the query by an embedding, by id, with mean and standard
// deviation over all texts in reach. Weight is how much the embedding counts, Gate how much less where words match.
type Vectors struct {
	Cos          map[string]float64
	Mean, SD     float64
	Weight, Gate float64
}

// Hit is a text found, with its score and why.
type Hit struct {
	ID    string
	Score float64
	Why   Why
}

// Why says what made a hit.
type Why struct {
	Terms     []string    // the query's words in the text itself, normalised
	Inherited []Inherited // from neighbours, the strongest first
	Speaker   bool        // the query names who said it
	Date      bool        // the query asks for a time that it is of or talks about
	Vector    float64     // by how many standard deviations its cosine stands out; 0: it does not
	Share     float64     // how much of the query it matches, with what it inherits: 0 to 1
}

// Inherited are words of the query that a neighbour says, as the query writes them.
type Inherited struct {
	From  string
	Words []string
}

// Rank scores texts and returns those with something of the query, best first; equal scores keep the order of Seq.
// Reasons are given for the first explain of them.
func Rank(q Query, st Stats, texts *Texts, v Vectors, explain int) []Hit {
	r := newRanking(q, st, texts)
	first := r.scorer(r.queryTerms())
	first.weighMatter()
	scores := r.bonuses(first.all())
	best := r.sessions(scores)
	if words := r.feedback(best); len(words) > 0 {
		for i, s := range r.scorer(words).all() {
			scores[i] += s
		}
	}
	scores = r.join(scores, v, first.bestShare)
	scores = r.sessions(scores)
	return r.hits(scores, first, v, explain)
}
