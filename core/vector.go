package core

import "context"

// VectorKind says what a vector stands for.
type VectorKind string

// The kinds of texts that have vectors.
const (
	VectorPassage VectorKind = "passage"
	VectorMessage VectorKind = "message"
)

// Unembedded is a text that waits for its vector.
type Unembedded struct {
	Ticket  int64 // rises; a text that changes while it waits gets a new one
	Kind    VectorKind
	Owner   int64 // the Seq of the passage or message
	Archive ArchiveID
	Model   Handle // whose vector it wants
	Text    string // empty: there is nothing to embed, or it is gone
}

// Embedded is the answer to an Unembedded: its vector, or nil when the text has nothing that the model knows.
type Embedded struct {
	Unembedded
	Vector []float32
}

// VectorCount says how many vectors a model has made.
type VectorCount struct {
	Kind  VectorKind
	Model Handle
	Dim   int
	Count int
}

// VectorProgress says how far embedding is.
type VectorProgress struct {
	Waiting int // texts that have no vector yet
	Moving  int // archives whose passages are still to be looked at, because their model has changed
}

// VectorStore keeps the vectors of texts, and which texts still wait for one. Whatever writes a text that search can find
// puts it among those that wait, in the same transaction.
type VectorStore interface {
	// Waiting returns texts without a vector, in order, after a ticket; fewer than the limit where texts are long.
	Waiting(ctx context.Context, after int64, limit int) ([]Unembedded, error)
	// Put keeps vectors at length 1 and takes their texts off the list; a ticket that does not count any more is passed
	// over, so that nothing is kept twice and no vector stands for an older text. A vector with a number that is none or
	// without length is invalid, and nothing of the call is kept.
	Put(ctx context.Context, done ...Embedded) error
	// Move puts some passages of an archive whose model has changed on the list; more is false when there are none left.
	Move(ctx context.Context, limit int) (more bool, err error)
	// Progress says how far embedding is; Made counts what there is.
	Progress(ctx context.Context) (VectorProgress, error)
	Made(ctx context.Context) ([]VectorCount, error)
	// Changed is signalled after commits, so that who embeds looks again. There is one such channel.
	Changed() <-chan struct{}
}

// Embedders finds who embeds: a handle and the asker's variables → Embedder. Unknown handles are not_found, a missing key
// is unauthenticated, beside which the information says where texts would be sent. It asks no server.
type Embedders interface {
	Embedder(ctx context.Context, handle Handle, env Env) (Embedder, EmbeddingInfo, error)
}

// EmbeddingInfo is what is known of an embedding model.
type EmbeddingInfo struct {
	Handle   Handle
	Name     string // the provider's own name
	Provider string
	Protocol string
	Endpoint string // where texts are sent; empty: nowhere
	Dim      int    // 0: unknown until it answers
	Batch    int    // texts in one request
	MaxChars int    // of one text; what is longer is cut
}

// BuiltIn reports whether texts stay in the program.
func (i EmbeddingInfo) BuiltIn() bool { return i.Endpoint == "" }
