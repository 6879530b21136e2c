package core

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits on what can be forgotten, in characters. A shorter text occurs in too many words; with IgnoreCase, a longer one
// takes too long to find.
const (
	MinForgetChars    = 4
	MaxForgetChars    = 100_000
	MaxForgetAnyChars = 1000 // if case is ignored
)

// ForgetQuery says what to forget: every occurrence of a text, or the content of a record and its copies. Exactly one of
// Text, Message, Passage and Block is set.
type ForgetQuery struct {
	Text       string
	IgnoreCase bool // of Text
	Message    MessageID
	Passage    PassageID
	Block      BlockID
}

// Validate checks that exactly one thing is named, and that a text is long enough.
func (q *ForgetQuery) Validate() error {
	named := 0
	for _, s := range []string{q.Text, string(q.Message), string(q.Passage), string(q.Block)} {
		if s != "" {
			named++
		}
	}
	n, most := utf8.RuneCountInString(q.Text), MaxForgetChars
	if q.IgnoreCase {
		most = MaxForgetAnyChars
	}
	switch {
	case named != 1:
		return E(Invalid, "name a text, or the id of a message, a passage or a block")
	case q.Text == "" && q.IgnoreCase:
		return E(
			Invalid,
			"upper and lower case are the same only where a text is looked for, not the copies of a record",
		).WithHint("name the text, or leave that out")
	case q.Text == "":
		return nil
	case !utf8.ValidString(q.Text):
		return E(Invalid, "the text to forget is not valid UTF-8")
	case n > most:
		return E(
			Invalid,
			"the text to forget has %d characters, more than %d",
			n,
			most,
		).WithHint("give a part of it, or the id of the message or passage that holds it")
	case utf8.RuneCountInString(strings.TrimSpace(q.Text)) < MinForgetChars:
		return E(Invalid, "a text to forget has at least %d characters: a shorter one stands in too many words", MinForgetChars).
			WithHint("give more of the text around it, or the id of the message or passage that holds it")
	}
	return nil
}

// Forgetting lists what a text occurs in, or occurred in before it was forgotten.
type Forgetting struct {
	Mark          string // what replaces it
	Places        []ForgetPlace
	Conversations int          // whose window or prompt held it: the provider reads their next request from scratch
	Agents        []AgentID    // of those conversations
	Copies        []ForgetCopy // files that still hold it and aren't touched
	At            time.Time    // zero: nothing was changed
}

// Total is how many records hold the text.
func (f *Forgetting) Total() int {
	n := 0
	for _, p := range f.Places {
		n += p.Count
	}
	return n
}

// ForgetPlace is a kind of record that holds the text.
type ForgetPlace struct {
	Name     string // messages, passages, versions of blocks …
	Count    int
	Examples []ForgetExample // the first few
}

// ForgetExample shows the line of a record that contains the text, shortened.
type ForgetExample struct{ ID, Line string }

// CopyKind says what kind of file still holds a forgotten text.
type CopyKind string

// The kinds of copies.
const (
	CopyBackup    CopyKind = "backup"    // made by `loci backup`
	CopyMigration CopyKind = "migration" // made before a migration
	CopyReplaced  CopyKind = "replaced"  // replaced by a restore, or a damaged file that was put aside
	CopyFile      CopyKind = "file"      // any other file of the home
	CopyGit       CopyKind = "git"       // the history of a folder that mirrors memory
	CopyMirror    CopyKind = "mirror"    // a folder or file that mirrors memory and has the text in its name
	CopyMirrored  CopyKind = "mirrored"  // a file in such a folder that doesn't follow a block: the other side of a conflict
	CopyFollowed  CopyKind = "followed"  // a person's own file that a folder follows
)

// ForgetCopy is a file that holds the text and isn't touched.
type ForgetCopy struct {
	Path    string
	Kind    CopyKind
	Unknown bool // it couldn't be read, so it may hold the text
}

// Forgetter removes texts for good. The daemon builds it on its store.
type Forgetter interface {
	// Trace says where the text occurs and changes nothing.
	Trace(ctx context.Context, q ForgetQuery) (Forgetting, error)
	// Forget replaces every occurrence of the text with a mark and leaves no byte of it in the home's files. It returns once
	// that is durable. No run may be active. Once the records are changed, an error or a crash doesn't bring the text back:
	// what remains of it in other files is removed at the next call or start.
	Forget(ctx context.Context, q ForgetQuery) (Forgetting, error)
}
