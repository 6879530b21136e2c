package core

import (
	"context"
	"iter"
)

// Pulled is how far the download of a model is; the last one is done.
type Pulled struct {
	Model     Handle
	Status    string // the server's own words
	Completed int64  // bytes of Total that are there
	Total     int64  // bytes that are known of so far; 0: none yet
	Done      bool
}

// Puller lets a server of models download one. Ending the context stops the download; what is there stays, and a later one
// goes on from it.
type Puller interface {
	// Pull downloads a model by its name at the server. The name may begin with the provider's, which is otherwise the first that
	// can download.
	Pull(ctx context.Context, name string, env Env) iter.Seq2[Pulled, error]
}
