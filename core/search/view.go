package search

import (
	"context"
	"errors"
	"time"

	"loci/core"
)

// Kind is the kind of texts to search.
type Kind string

// The kinds of texts.
const (
	Message Kind = "message"
	Passage Kind = "passage"
)

// Scope says which texts to search. Empty fields restrict nothing.
type Scope struct {
	Kind        Kind
	Owners      []string // agents of messages, archives of passages; no owners and no files: everything but the archives of folders
	Thread      string   // the conversation of messages
	Roles       []string // of messages
	From, Until time.Time
	Tags        []string // of passages
	AllTags     bool     // every tag instead of any
	Files       []string // only passages that are chunks of these
	Zone        *time.Location
	Without     core.RunID // ignore this run's messages entirely
}

// Vector is a query's embedding by a model.
type Vector struct {
	Model  core.Handle
	Values []float32
}

// Index is what a storage engine provides for search: it selects and counts texts but never ranks them.
type Index interface {
	// Models returns the models that have made vectors for a scope's texts.
	Models(ctx context.Context, s Scope) ([]core.Handle, error)
	// View opens a view of what was committed before, as far as the engine can index it within a bounded time. vectors are
	// those that Meaning will be asked about. The caller must close the view and not open another one until then.
	View(ctx context.Context, s Scope, vectors []Vector) (View, error)
}

// View is one snapshot of the texts in a scope: what it counts is what it reads. An engine that can also count or has
// vectors makes its views implement Counter or Meaning.
type View interface {
	// Reach returns how much there is.
	Reach() Reach
	// All returns all texts of the scope in the order that Load needs, including those its filter doesn't allow.
	All(ctx context.Context) ([]Doc, error)
	// Candidates selects texts within the filter by their numbers (Doc.Seq).
	Candidates(ctx context.Context, c Clues) (map[int64]bool, error)
	// Near returns candidates with the texts around them, in the order that Load needs. Only texts close to a candidate are
	// allowed.
	Near(ctx context.Context, candidates map[int64]bool) ([]Doc, error)
	// Partial reports whether texts may be missing, as far as is known so far.
	Partial() bool
	Close()
}

// Reach says how much a view covers.
type Reach struct {
	Texts    int     // of the owners and the thread
	Total    int     // of the kind, including other owners; 0: not counted
	AvgWords float64 // of the texts of the owners and the thread
	Behind   bool    // the latest texts are missing
	Building bool    // so are most of the earlier ones
}

// Clues are what candidates are selected by. Each is sufficient on its own.
type Clues struct {
	Words   []string // selects the texts in which they weigh most
	Near    []Lesser // … together with these
	Names   []string // … and those said by people with these names
	Days    []Span
	Nearest []int64 // found by vectors: those within the filter are kept
}

// Counter is a view that can count. Otherwise the texts that were read are counted.
type Counter interface {
	// Frequencies returns how many texts each word occurs in.
	Frequencies(ctx context.Context, words []string) (map[string]int, error)
	// Speakers returns the parts of names that begin with one of the words, with how many texts those people said.
	Speakers(ctx context.Context, words []string) (map[string]int, error)
	// OnDays counts the texts in a span of days, up to most.
	OnDays(ctx context.Context, s Span, most int) (int, error)
}

// Lexicon is a view that knows all words. Otherwise only what is counted as a whole corrects typos.
type Lexicon interface {
	// Like returns words that begin with the same letter as a word and are about as long.
	Like(ctx context.Context, word string) ([]string, error)
}

// Meaning is a view that has vectors. Its methods may be called concurrently with the view's.
type Meaning interface {
	// Spread returns how a vector's cosines are distributed over the scope's texts; ok is false if there is nothing to
	// compare with.
	Spread(ctx context.Context, v Vector) (s Spread, ok bool, err error)
	// Nearest returns the nearest texts within the filter, at most most.
	Nearest(ctx context.Context, v Vector, most int) ([]int64, error)
	// Cosines returns the cosines of texts: those above the floor are exact, others may be missing.
	Cosines(ctx context.Context, v Vector, seqs []int64, floor float64) (map[int64]float64, error)
}

// Spread is how cosines are distributed over the texts looked at.
type Spread struct {
	Mean, SD float64
	Rows     int
}

// ErrUnavailable is returned by a view that can no longer be read; another one may work.
var ErrUnavailable = errors.New("the search index is being built")
