package core

import "context"

// WordsHandle is the built-in embedding: static word vectors, no language model, no network.
const WordsHandle Handle = "builtin/words"

// WordsDim is the dimension of its vectors.
const WordsDim = 96

// Embedder turns texts into vectors whose closeness stands for closeness of meaning. The answer has one vector for each
// text, in their order and of one dimension; nil where a text has nothing that the model knows. Who calls checks
// lengths and numbers all the same: what comes from elsewhere may be wrong.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
