package core

import (
	"context"
	"time"
)

// WordsHandle is the built-in embedding: static word vectors, no language model, no network.
const WordsHandle Handle = "builtin/words"

// WordsDim is the dimension of the built-in vectors.
const WordsDim = 96

// Embedder turns texts into vectors that are close if the meanings are close. It returns one vector for each text, in
// order and all of one dimension; nil if the model knows nothing in the text. Callers still check lengths and numbers: a
// server's answer may be wrong.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Stall says that an embedding model takes requests and doesn't answer any.
type Stall struct {
	Model Handle
	Since time.Time
}

func (s *Stall) String() string {
	return string(s.Model) + " has stalled: it takes requests and has not answered since " + s.Since.Local().Format("2006-01-02 15:04")
}
