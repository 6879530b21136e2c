// Package protocol is the contract between the resolver and a wire: a wire is a Protocol, which opens a Server for each
// address and key.
//
// A Server that can do more implements one of the small interfaces below: Embedder, Prober, Puller, io.Closer. What every wire
// needs is in Options, so that a wire never reads a variable, never sees a key that it doesn't sign with, and never
// knows the catalogue. The package imports core only; the wires implement it and the resolver uses it.
// How to add a wire or a vendor is in docs/architecture.md, "Recipes".
package protocol

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"loci/core"
)

// Protocol is a wire format. Its value holds what is particular to a vendor, so that a row of the catalogue can hold it.
type Protocol interface {
	// Name is the protocol's own name, for example openai.
	Name() string
	// Open returns a client of one server. It contacts nobody.
	Open(o Options) (Server, error)
}

// AddressParser is a protocol that parses server addresses in its own way; the others use Address.
type AddressParser interface {
	Address(variable, text string) (string, error)
}

// Configurer is a protocol with options in the configuration. An unknown name or value is an error.
type Configurer interface {
	Set(settings map[string]string) (Protocol, error)
}

// Options says which server to ask and how.
type Options struct {
	Provider string            // the catalogue row's name
	BaseURL  string            // without credentials
	Values   Values            // the values of the row's variables
	KeyVar   string            // the variable that holds the key, for hints
	HTTP     http.RoundTripper // required; it signs requests
	Idle     time.Duration     // how long the server may be silent; 0: five minutes
	Comments time.Duration     // how long it may send nothing but comments; 0: fifteen minutes
	Memory   int64             // of the server's machine, in bytes; 0: unknown
	Unified  bool              // its graphics processor uses that memory, too
}

// Server is one address with one key, as its protocol sees it. It is safe for concurrent use. A Server that keeps
// something between calls, like a connection, is an io.Closer: it is closed once, after the last call has returned.
type Server interface {
	core.ChatModel
	// List returns every model that the server has, including those that can't chat, in the server's order. The caller
	// limits the time.
	List(ctx context.Context) (Listing, error)
	// Describe returns what is known of one model, asking the server if that is cheap. If the server says it doesn't
	// have the model, the error is not_found; with any other error, the Model holds what may be assumed. The caller
	// limits the time.
	Describe(ctx context.Context, name string) (Model, error)
}

// Embedder is a Server that turns texts into vectors. The answer has one vector per text, in order; its numbers are as
// the server sent them.
type Embedder interface {
	Embed(ctx context.Context, model string, texts []string) ([][]float32, error)
}

// Puller is a Server that downloads models. It tells how far it is until it is done, or told returns false.
type Puller interface {
	Pull(ctx context.Context, model string, told func(core.Pulled) bool) error
}

// Prober is a Server that can cheaply tell whether it is running.
type Prober interface {
	Up(ctx context.Context) error
}

// Unnamed is a model in a listing whose row, counted from 0, has no name: it can't be asked for, but isn't left out either.
func Unnamed(row int) Model {
	return Model{Name: "row-" + strconv.Itoa(row+1), Hidden: "its row in the server's list has no name that can be read"}
}

// Listing is what a server has.
type Listing struct {
	Models []Model
	Live   bool // a model's window may change while the server runs, so the listing expires soon
}

// Model is a model as its server describes it; zero sizes are unknown.
type Model struct {
	Name      string
	Base      string // the model that it is, where the name is a person's own
	Window    int
	MaxOutput int
	Tools     bool
	// ToolsGuess says that nobody said whether it can call tools; it is taken to.
	ToolsGuess bool
	Forced     bool // obeys a forced tool choice
	Reasoning  bool // shows reasoning
	Images     core.ImageInput
	Binds      bool   // its reasoning is valid only after an unchanged prefix
	Embeds     bool   // turns texts into vectors
	Hidden     string // why it can't chat; empty: it can
	Guess      bool   // from the name alone: the listing knows better, if it can be read
	Own        any    // passed back to the wire in ChatRequest.Info; opaque to everybody else
}
