package core

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxPassageChars limits a passage's text, in characters.
const MaxPassageChars = 32_000

// Archive is a shareable set of passages: archival memory.
type Archive struct {
	ID          ArchiveID
	Name        string
	Description string
	Embedding   Handle // empty: the built-in one
	Wanted      Handle // what was requested but couldn't be reached, so that the built-in one is used; empty: nothing
	Metadata    map[string]any
	Folder      FolderID // whose files' chunks it holds; empty: none, it is archival memory
	Passages    int      // how many it holds; a counter updated with every insert and delete
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Passage is a text kept for search, with tags.
type Passage struct {
	ID        PassageID
	Archive   ArchiveID
	Text      string
	Tags      []string
	Metadata  map[string]any
	Agent     AgentID // which agent inserted it, in a step of its own; empty: a person or a program did
	Step      StepID
	Source    string // what came from outside before it was inserted, as Author.Source
	File      FileID // the file whose chunk it is; empty: none
	Place     int    // of the chunk in its file, from 0
	Seq       int64  // order of arrival, set by the store
	CreatedAt time.Time
	UpdatedAt time.Time
}

// PassageVersion is one state of a passage. What it was before its first change is version 1, so that a passage that never
// changed has one.
type PassageVersion struct {
	Passage  PassageID
	Archive  ArchiveID
	Version  int
	Text     string
	Tags     []string
	Metadata map[string]any
	Gone     bool // this version is that it was deleted
	Author   Author
	At       time.Time
	Created  time.Time // when the passage itself was
	Seq      int64     // order among the changes of all passages, set by the store; 0: the passage never changed
}

// PassageChanges selects changes of passages: versions but the first ones. Of passages deleted for good there are none.
type PassageChanges struct {
	Archive  ArchiveID
	By       AgentID // only those that this agent made; empty: everyone's
	Restored AgentID // only what people restored of passages that this agent wrote or changed; empty: everything
	Before   int64   // only older ones than this Seq; 0: from the newest on
	After    int64   // only newer ones than this Seq
	Limit    int     // 0: 50
}

// Validate checks the text.
func (p *Passage) Validate() error {
	n := utf8.RuneCountInString(p.Text)
	switch {
	case strings.TrimSpace(p.Text) == "":
		return E(Invalid, "a passage needs a text")
	case n > MaxPassageChars:
		return E(
			Invalid,
			"the passage has %d characters, more than the %d that fit",
			n,
			MaxPassageChars,
		).WithHint("split it into several passages")
	case !utf8.ValidString(p.Text):
		return E(Invalid, "the passage is not valid UTF-8")
	}
	return nil
}

// PassageFilter selects passages.
type PassageFilter struct {
	Archives    []ArchiveID // empty: all but those of folders
	Files       []FileID    // chunks of these files; Archives may be empty then
	Tags        []string
	AllTags     bool      // every tag instead of any
	From, Until time.Time // half open; zero: unbounded
	Contains    string    // plain substring, for lists
}

// SearchQuery asks for passages or messages. It matches words and the days that the text names. A text without words is
// matched as a substring, among the newest only; an empty text lists the newest.
type SearchQuery struct {
	Text  string
	Limit int             // 0: 10
	Today time.Time       // when the search is made, in the asker's zone, so that "yesterday" is resolved from there; zero: now, UTC
	Bare  bool            // the hits need not list their words
	Skip  map[string]bool // ids to leave out because the asker already has them; the others are ranked as if these were there
	But   RunID           // leaves this run's messages out of the search: nothing inherits from them either
	// Vectors are the text's embeddings by model; the search has a missing one made if it needs it.
	Vectors map[Handle][]float32
}

// Why says what made something a hit.
type Why struct {
	Also      []string         // words in its text that are near words of the query in meaning, as written there
	Inherited []NeighbourWords // words found in its neighbours in the conversation, strongest first
	Speaker   bool             // the query names the person who said it
	Date      bool             // the query asks for a day that it is from or talks about
	Vector    float64          // by how many standard deviations its embedding stands out; 0: it doesn't
	NoModel   bool             // the embedding model didn't answer: found by words alone
	Share     float64          // how much of the query it matches, including what it inherits: 0 to 1
	Own       float64          // … and by its own words
}

// NeighbourWords are words of the query found in a neighbour of a hit.
type NeighbourWords struct {
	From  string // the neighbour's id
	Words []string
}

// PassageHit is a passage found. Hits come best first. Scores are comparable only within one result, whose best hit,
// counting skipped ones, has at least 1.
type PassageHit struct {
	Passage Passage
	Score   float64
	Words   []string // the query's words in its text, as written there
	Why     Why
}

// MessageHit is a message found.
type MessageHit struct {
	Message Message
	Score   float64
	Words   []string
	Why     Why
}

// Results are what a search found, best first.
type Results[H any] struct {
	Hits     []H
	Partial  bool   // not everything could be searched yet
	Building bool   // … because the index is being built: only the newest texts were searched, and little else
	Stalled  *Stall // the embedding model that is why meaning was not searched, or not everywhere; nil: there is none
}

// Searcher finds texts by words and by meaning. It sees everything committed before it began, or says that its results
// are partial. A query without a text finds the newest.
type Searcher interface {
	Messages(ctx context.Context, q SearchQuery, f MessageFilter) (Results[MessageHit], error)
	Passages(ctx context.Context, q SearchQuery, f PassageFilter) (Results[PassageHit], error)
}
