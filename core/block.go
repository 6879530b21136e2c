package core

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of a block.
const (
	DefaultBlockLimit = 100_000 // characters; the contract's default
	TerminalLimit     = 20_000  // characters, for blocks made by the terminal
	MaxBlockChars     = 1_000_000
	MaxLabel          = 100
)

// Block is a labelled text of limited size that is always in context; several agents may share it.
type Block struct {
	ID          BlockID
	Label       string
	Value       string
	Description string
	Limit       int // characters: a tool may not exceed it, the API may
	ReadOnly    bool
	Metadata    map[string]any
	Tags        []string
	Hidden      bool
	Extra       map[string]any // template_name and other keys of the contract that are kept and shown
	Version     int            // 1 at creation; every change of value, label, description or limit adds 1
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// validLabel reports whether a label is 1 to MaxLabel letters, digits, _ - / and ., beginning with a letter or digit.
func validLabel(label string) bool {
	for i, r := range label {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && (i == 0 || !strings.ContainsRune("_-/.", r)) {
			return false
		}
	}
	return label != "" && utf8.RuneCountInString(label) <= MaxLabel
}

// Validate checks label and size.
func (b *Block) Validate() error {
	switch {
	case !validLabel(b.Label):
		return E(Invalid, "block label %q: 1 to %d letters, digits, _ - / and ., beginning with a letter or digit", b.Label, MaxLabel)
	case b.Limit < 1:
		return E(Invalid, "the limit of block %q must be at least 1 character", b.Label)
	case utf8.RuneCountInString(b.Value) > MaxBlockChars:
		return E(TooLarge, "the value of block %q has more than %d characters", b.Label, MaxBlockChars)
	case !utf8.ValidString(b.Value):
		return E(Invalid, "the value of block %q is not valid UTF-8", b.Label)
	}
	return nil
}

// AuthorKind says who changed a block or passage.
type AuthorKind string

// The authors of versions.
const (
	AuthorUser   AuthorKind = "user"
	AuthorAgent  AuthorKind = "agent"
	AuthorSystem AuthorKind = "system"
)

// Author is who made a version: a person (ID is the client, may be empty), or an agent during a step.
type Author struct {
	Kind     AuthorKind `json:"kind"`
	ID       string     `json:"id,omitempty"`
	Step     StepID     `json:"step,omitempty"`
	Restores int        `json:"restores,omitempty"` // the version whose content this one brings back (undo, redo, rewind); 0: an edit
	Rewind   RewindID   `json:"rewind,omitempty"`   // the rewind that brought it back; empty: none
	Source   string     `json:"source,omitempty"`   // what came from outside in the same run before it, one a line; empty: nothing
}

// BlockVersion is one state of a block, kept forever.
type BlockVersion struct {
	Block       BlockID
	Version     int
	Value       string
	Label       string
	Description string
	Limit       int
	Author      Author
	At          time.Time
}

// BlockFilter selects blocks.
type BlockFilter struct {
	Label, Name                                 string
	LabelSearch, ValueSearch, DescriptionSearch string
	Tags                                        []string
	MatchAllTags                                bool
	IDs                                         []BlockID
	Agent                                       AgentID // only blocks attached to it
	SharersOver, SharersUnder                   Opt[int]
	Sharers                                     []int // attached to one of these numbers of agents
}
