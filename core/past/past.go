// Package past goes back in history: it rebuilds the request of a step, rewinds a conversation and its agent to a step,
// forks conversations and copies agents.
//
// Promises: a rewind loses nothing and can be undone; a rewind, a fork and the writing of a copy are one transaction
// each; what a rewind does to files is stored in that transaction and done after it, again if that was interrupted; the
// original of a fork or copy is only read; a reproduced request is what was sent, byte for byte, unless a text in it was
// forgotten.
//
// Layer 2, beside core/engine: it sees lanes as the interface Lanes and calls no model.
package past

import (
	"context"
	"time"

	"loci/core"
	"loci/core/prompt"
)

// Lanes keep runs from interfering with other work on conversations.
type Lanes interface {
	// Hold keeps runs of the conversation from starting until release; it returns Busy while one is active.
	Hold(ctx context.Context, conv core.ConversationID) (release func(), err error)
	// Busily says that stored texts are being read and rewritten until done is called.
	Busily(ctx context.Context) (done func(), err error)
	// Announce tells open chats about a change.
	Announce(c core.Change)
}

// Past rewinds, forks, copies and reproduces. Safe for concurrent use.
type Past struct {
	store   core.Store
	prompts *prompt.Compiler
	lanes   Lanes
	files   core.FileRestorer
	clock   func() time.Time
}

// New returns a Past on a store. Without a restorer files stay as they are.
func New(store core.Store, prompts *prompt.Compiler, lanes Lanes, files core.FileRestorer, clock func() time.Time) *Past {
	return &Past{store: store, prompts: prompts, lanes: lanes, files: files, clock: clock}
}
