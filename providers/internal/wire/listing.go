package wire

import (
	"encoding/json"
	"errors"
	"strings"

	"loci/core"
)

// ErrListing says that a server answered a request for its models with something else.
var ErrListing = errors.New("this is no list of models")

// ListingError is what a server said in place of a listing.
type ListingError struct{ Text string }

// Error implements error.
func (e *ListingError) Error() string { return e.Text }

// NoListing returns the error that a server answered a request for its models with, though the status says success; nil if
// the body is none.
func (w Who) NoListing(body []byte) error {
	var failed struct {
		Object json.RawMessage `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	told := json.Unmarshal(body, &failed) == nil &&
		(len(failed.Error) > 0 && string(failed.Error) != "null" || string(failed.Object) == `"error"`)
	if !told {
		return nil
	}
	said := w.InBand(body)
	if said.Kind == core.Unavailable { // it has answered
		said.Kind = core.Invalid
	}
	return w.E(said.Kind, "%s: %w", w.Provider, &ListingError{strings.TrimPrefix(said.Msg, w.Provider+": ")})
}
