package core

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of what can be forgotten, in characters. A shorter text stands in too many words; a longer one whose upper and
// lower case are the same takes too long to find.
const (
	MinForgetChars    = 4
	MaxForgetChars    = 100_000
	MaxForgetAnyChars = 1000 // where case does not count
)

// ForgetQuery says what must be gone: a text wherever it stands, or the content of a record and its copies. One of
// Text, Message, Passage and Block is set.
type ForgetQuery struct {
	Text       string
	IgnoreCase bool // of Text
	Message    MessageID
	Passage    PassageID
	Block      BlockID
}

// Validate checks that one thing is named, and that a text is long enough.
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
		return E(Invalid, "upper and lower case are the same only where a text is looked for, not the copies of a record").WithHint("name the text, or leave that out")
	case q.Text == "":
		return nil
	case !utf8.ValidString(q.Text):
		return E(Invalid, "the text to forget is not valid UTF-8")
	case n > most:
		return E(Invalid, "the text to forget has %d characters, more than %d", n, most).WithHint("give a part of it, or the id of the message or passage that holds it")
	case utf8.RuneCountInString(strings.TrimSpace(q.Text)) < MinForgetChars:
		return E(Invalid, "a text to forget has at least %d characters: a shorter one stands in too many words", MinForgetChars).
			WithHint("give more of the text around it, or the id of the message or passage that holds it")
	}
	return nil
}

// Forgetting is what a text stands in, or stood in until it was forgotten.
type Forgetting struct {
	Mark          string // what stands in its place now
	Places        []ForgetPlace
	Conversations int          // whose window or prompt held it: their next request is read anew by the provider
	Agents        []AgentID    // of these conversations
	Copies        []ForgetCopy // what still holds it and is not touched
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
	Examples []ForgetExample // the first ones
}

// ForgetExample shows the line of a record that the text stands in, cut to a bearable length.
type ForgetExample struct{ ID, Line string }

// CopyKind says what a file is that still holds a forgotten text.
type CopyKind string

// The kinds of copies.
const (
	CopyBackup    CopyKind = "backup"    // that `loci backup` made
	CopyMigration CopyKind = "migration" // made before a migration
	CopyReplaced  CopyKind = "replaced"  // what a restore replaced, or a damaged file that was put aside
	CopyFile      CopyKind = "file"      // any other file of the home
	CopyGit       CopyKind = "git"       // the history of a folder that memory is mirrored to
	CopyMirror    CopyKind = "mirror"    // a folder or file that memory is mirrored to, which is named after it
	CopyMirrored  CopyKind = "mirrored"  // a file in such a folder that does not follow a block: the other text of a conflict
	CopyFollowed  CopyKind = "followed"  // a file of the person's own that a folder follows
)

// ForgetCopy is a file that holds the text and is not touched.
type ForgetCopy struct {
	Path    string
	Kind    CopyKind
	Unknown bool // it could not be read: it may hold the text
}

// Forgetter removes texts for good. A daemon gives it; the store is one.
type Forgetter interface {
	// Trace says where the text stands and changes nothing.
	Trace(ctx context.Context, q ForgetQuery) (Forgetting, error)
	// Forget replaces the text wherever it stands by a mark and leaves no byte of it in the home's files. It returns when
	// that is durable. No run may be active. Once the facts are changed an error or a crash does not bring the text back:
	// what remains of it in other files goes at the next call or start.
	Forget(ctx context.Context, q ForgetQuery) (Forgetting, error)
}
