package core

import "context"

// VectorKind says what kind of text a vector stands for.
type VectorKind string

// The kinds of texts that have vectors.
const (
	VectorPassage VectorKind = "passage"
	VectorMessage VectorKind = "message"
)

// EmbeddingTask is a text that waits for its vector.
type EmbeddingTask struct {
	Ticket  int64 // rises; a text that changes while it waits gets a new one
	Kind    VectorKind
	Owner   int64 // the Seq of the passage or message
	Archive ArchiveID
	Model   Handle // the model to embed it with
	Text    string // empty: nothing to embed, or the text is gone
}

// EmbeddingResult is the answer to an EmbeddingTask: its vector, or nil if the model knows nothing in the text.
type EmbeddingResult struct {
	EmbeddingTask
	Vector []float32
}

// VectorCount says how many vectors a model has made.
type VectorCount struct {
	Kind  VectorKind
	Model Handle
	Dim   int
	Count int
}

// VectorProgress says how far embedding has got.
type VectorProgress struct {
	Waiting int // texts without a vector
	Moving  int // archives with passages still to check because their model changed
}

// VectorStore keeps the vectors of texts, and which texts still wait for one. Whatever writes a searchable text queues
// it in the same transaction.
type VectorStore interface {
	// Waiting returns texts without a vector whose ticket comes after the given one, in order; fewer than the limit if texts
	// are long.
	Waiting(ctx context.Context, after int64, limit int) ([]EmbeddingTask, error)
	// Put stores vectors, scaled to length 1, and takes their texts off the queue. It skips tickets that are no longer
	// valid, so that nothing is stored twice and no vector stands for an older text. A vector with a NaN or infinite number,
	// or of length zero, is invalid, and then nothing is stored.
	Put(ctx context.Context, done ...EmbeddingResult) error
	// Move queues some passages of an archive whose model has changed; more is false when none are left.
	Move(ctx context.Context, limit int) (more bool, err error)
	// Progress says how far embedding has got; Made counts the existing vectors.
	Progress(ctx context.Context) (VectorProgress, error)
	Made(ctx context.Context) ([]VectorCount, error)
	// Changed is signalled after commits, so that the embedding worker looks again. There is one such channel.
	Changed() <-chan struct{}
}

// Embedders finds the embedder for a handle and the caller's variables. An unknown handle is not_found; a missing key is
// unauthenticated, and the information returned with it says where texts would be sent. Finding one makes no request.
type Embedders interface {
	Embedder(ctx context.Context, handle Handle, env Env) (Embedder, EmbeddingInfo, error)
	// Embeddings returns the embedding models that can be reached with the caller's variables, the built-in one first. It
	// asks their servers; with the name of a provider, that one and no other.
	Embeddings(ctx context.Context, env Env, provider string) []EmbeddingInfo
}

// EmbeddingInfo is what is known of an embedding model.
type EmbeddingInfo struct {
	Handle   Handle
	Name     string // the provider's own name
	Provider string
	Protocol string
	Endpoint string // where texts are sent; empty: they stay here
	Dim      int    // 0: unknown until it answers
	Batch    int    // texts per request
	MaxChars int    // per text; longer texts are cut
	Price    *Price // nil: unknown
}

// BuiltIn reports whether texts stay inside the program.
func (i EmbeddingInfo) BuiltIn() bool { return i.Endpoint == "" }
