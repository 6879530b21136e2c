package core

import (
	"context"
	"regexp"
	"sync"
	"time"
)

// ProviderID names a stored provider: "provider-" and a UUIDv4.
type ProviderID string

// The limits of stored providers.
const (
	MaxProviders   = 100
	MaxProviderKey = 8 << 10 // bytes
	maxProviderURL = 2 << 10 // bytes
	maxProviderArg = 100     // bytes of a word
)

// Provider is what a person stored of a provider: a server of their own, or the key of one that is known anyway. The key is
// for the address that stands here and is sent nowhere else.
type Provider struct {
	ID        ProviderID
	Name      string // the provider part of its handles
	Type      string // the word that the API was given for it; may be empty
	Protocol  string // the wire, in the words of the configuration; empty: that of the provider that is known by this name
	BaseURL   string
	Sealed    []byte // the key, as only a Sealer can open it; empty: it has none
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewProviderID returns a fresh id.
func NewProviderID() ProviderID { return NewID[ProviderID]("provider") }

var providerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`) })

// Validate reports the first fault of a provider.
func (p *Provider) Validate() error {
	switch {
	case !providerName().MatchString(p.Name):
		return E(Invalid, "%q is no name of a provider", p.Name).
			WithHint("use up to 32 small letters, digits and dashes, and no dash first")
	case p.BaseURL == "" || len(p.BaseURL) > maxProviderURL:
		return E(Invalid, "the address of %s is missing or has more than %d characters", p.Name, maxProviderURL)
	case len(p.Type) > maxProviderArg, len(p.Protocol) > maxProviderArg:
		return E(Invalid, "the type or the protocol of %s is no word", p.Name)
	}
	return nil
}

// ProviderStore keeps providers. It never sees a key.
type ProviderStore interface {
	// List returns all, by name.
	List(ctx context.Context) ([]Provider, error)
	// Put stores a provider in place of one with that name, whose id and time of creation it then has.
	Put(ctx context.Context, p *Provider) error
	Delete(ctx context.Context, id ProviderID) error
}

// ReachableProvider is a provider as somebody could use it.
type ReachableProvider struct {
	Name, Title string
	Protocol    string
	BaseURL     string
	Key         string // where its key comes from, in words; empty: it has none
	Own         bool   // a server of the person's own
	Offline     bool
}

// Finding is one thing that a check found.
type Finding struct {
	Name   string
	Good   bool
	Detail string
	Hint   string // what to do about it
}

// Catalogue knows the providers, and takes those that are stored.
type Catalogue interface {
	// Place completes what is to be stored: its protocol and its address in one form. It fails if no provider can be
	// reached so.
	Place(p *Provider) error
	// Keep replaces the stored providers. open returns the key of one when it is first needed.
	Keep(stored []Provider, open func(ctx context.Context, p *Provider) (Secret, error))
	// Providers lists those that the variables, the configuration or the store set up.
	Providers(env Env) []ReachableProvider
	// Check asks a provider for its models and for an answer, and says what it found on the way, up to the first fault.
	Check(ctx context.Context, name, model string, env Env) ([]Finding, error)
	// Try asks a provider that isn't stored for its models, with a key.
	Try(ctx context.Context, p Provider, key Secret) ([]Finding, error)
}
