package core

import (
	"time"
	"unicode/utf8"
)

// MaxPassageChars bounds a passage's text, in characters.
const MaxPassageChars = 32_000

// Archive is a shareable set of passages: archival memory.
type Archive struct {
	ID          ArchiveID
	Name        string
	Description string
	Embedding   Handle // empty: the built-in one
	Wanted      Handle // what was asked for and could not be reached, so that it uses the built-in one; empty: nothing
	Metadata    map[string]any
	Folder      FolderID // whose files' chunks it holds; empty: none, it is archival memory
	Passages    int      // how many it holds, a counter kept with every insert and delete
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
	Agent     AgentID // who inserted it itself, in a step of its own; empty: a person or a program
	Step      StepID
	File      FileID // the file whose chunk it is; empty: none
	Place     int    // of the chunk in its file, from 0
	Seq       int64  // order of arrival, given by the store
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate checks the text.
func (p *Passage) Validate() error {
	n := utf8.RuneCountInString(p.Text)
	switch {
	case n == 0:
		return E(Invalid, "a passage needs a text")
	case n > MaxPassageChars:
		return E(Invalid, "the passage has %d characters, more than the %d that fit", n, MaxPassageChars).WithHint("split it into several passages")
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

// SearchQuery asks for passages or messages. Its words are looked for, and the days that it names. A text without words is
// looked for as it stands, among the newest only; no text lists the newest.
type SearchQuery struct {
	Text  string
	Limit int             // 0: 10
	Today time.Time       // when it is asked, in the zone of who asks: "yesterday" is seen from there; zero: now, UTC
	Bare  bool            // the hits need not tell their words
	Skip  map[string]bool // ids that are not wanted, since who asks has them; the others are ranked beside them
	But   RunID           // the messages of this run are no part of what is searched: nothing inherits from them either
	// Vectors are the text as models embed it; where the one that is needed is missing, the store has it embedded.
	Vectors map[Handle][]float32
}

// Why says what made something a hit.
type Why struct {
	Inherited []Inherited // words that its neighbours in the conversation say, the strongest first
	Speaker   bool        // the query names who said it
	Date      bool        // the query asks for a day that it is of or talks about
	Vector    float64     // by how many standard deviations its embedding stands out; 0: it does not
	NoModel   bool        // the embedding did not answer: found by words alone
	Share     float64     // how much of what the query is about it matches, with what it inherits: 0 to 1
}

// Inherited are words of the query that a neighbour of a hit says.
type Inherited struct {
	From  string // the neighbour's id
	Words []string
}

// PassageHit is a passage found, best first. Score is only comparable within one result, where the best of all, also of
// those that were skipped, has at least 1.
type PassageHit struct {
	Passage Passage
	Score   float64
	Words   []string // the words of the query in its text, as they are written there
	Why     Why
	Partial bool // the index did not have everything yet
}

// MessageHit is a message found.
type MessageHit struct {
	Message Message
	Score   float64
	Words   []string
	Why     Why
	Partial bool
}
