// Package credential keeps the providers that people store, with their keys.
//
// Promises: a key is sealed before it is stored, for one name and one address; whatever changes, the catalogue knows at once.
//
// Layer 2: it imports core.
package credential

import (
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// Config joins what Providers uses.
type Config struct {
	Store     core.Store
	Catalogue core.Catalogue // nil: no providers can be stored
	Sealer    core.Sealer    // of their keys
	Env       core.Env       // where a caller has none of its own
	Clock     func() time.Time
}

// Providers keeps what people store of providers. Safe for concurrent use.
type Providers struct{ cfg Config }

// New returns the use cases on a store.
func New(cfg Config) *Providers { return &Providers{cfg} }

// Addition is a provider that is to be stored.
type Addition struct {
	Name, Type        string
	Protocol, BaseURL string
	Key               core.Secret // empty: it has none
}

// Load hands what is stored to the catalogue.
func (p *Providers) Load(ctx context.Context) error {
	if p.cfg.Catalogue == nil {
		return nil
	}
	all, err := p.cfg.Store.Providers().List(ctx)
	if err == nil {
		p.cfg.Catalogue.Keep(all, func(ctx context.Context, one *core.Provider) (core.Secret, error) {
			return p.cfg.Sealer.Open(ctx, one.Sealed, sealedAs(one))
		})
	}
	return err
}

// sealedAs is what a key is bound to, so that a changed row doesn't send it to another address.
func sealedAs(p *core.Provider) string { return "provider " + p.Name + " at " + p.BaseURL }

// List returns what is stored.
func (p *Providers) List(ctx context.Context) ([]core.Provider, error) {
	return p.cfg.Store.Providers().List(ctx)
}

// Get returns one by its id.
func (p *Providers) Get(ctx context.Context, id core.ProviderID) (core.Provider, error) {
	all, err := p.List(ctx)
	if err != nil {
		return core.Provider{}, err
	}
	if i := slices.IndexFunc(all, func(one core.Provider) bool { return one.ID == id }); i >= 0 {
		return all[i], nil
	}
	return core.Provider{}, core.E(core.NotFound, "there is no provider %s", id)
}

// Reachable lists the providers that are set up, by whatever means.
func (p *Providers) Reachable(env core.Env) []core.ReachableProvider {
	if p.cfg.Catalogue == nil {
		return nil
	}
	return p.cfg.Catalogue.Providers(p.env(env))
}

// Add stores a provider, in place of one with that name.
func (p *Providers) Add(ctx context.Context, in Addition) (core.Provider, error) {
	if p.cfg.Catalogue == nil || p.cfg.Sealer == nil {
		return core.Provider{}, core.E(core.Unsupported, "this daemon stores no providers")
	}
	now := p.cfg.Clock()
	one := core.Provider{
		ID: core.NewProviderID(), Name: in.Name, Type: in.Type, Protocol: in.Protocol, BaseURL: in.BaseURL, CreatedAt: now, UpdatedAt: now,
	}
	if err := p.cfg.Catalogue.Place(&one); err != nil {
		return one, err
	}
	if err := one.Validate(); err != nil {
		return one, err
	}
	if key := in.Key.Reveal(); key != "" {
		if err := usableKey(key); err != nil {
			return one, err
		}
		var err error
		if one.Sealed, err = p.cfg.Sealer.Seal(ctx, in.Key, sealedAs(&one)); err != nil {
			return one, err
		}
	}
	if err := p.cfg.Store.Providers().Put(ctx, &one); err != nil {
		return one, err
	}
	return one, p.Load(ctx)
}

func usableKey(key string) error {
	switch {
	case len(key) > core.MaxProviderKey:
		return core.E(core.TooLarge, "the key has %d bytes; at most %d are kept", len(key), core.MaxProviderKey)
	case strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return core.E(core.Invalid, "that is no usable key").WithHint("give the key alone, without blanks or line breaks")
	}
	return nil
}

// Remove deletes a stored provider with its key.
func (p *Providers) Remove(ctx context.Context, id core.ProviderID) error {
	if err := p.cfg.Store.Providers().Delete(ctx, id); err != nil {
		return err
	}
	return p.Load(ctx)
}

// Named returns a stored provider by its name.
func (p *Providers) Named(ctx context.Context, name string) (core.Provider, error) {
	all, err := p.List(ctx)
	if err != nil {
		return core.Provider{}, err
	}
	if i := slices.IndexFunc(all, func(one core.Provider) bool { return one.Name == name }); i >= 0 {
		return all[i], nil
	}
	return core.Provider{}, core.E(core.NotFound, "no provider %q is stored", name).WithHint("see `loci providers list`")
}

// Try asks a provider that isn't stored for its models.
func (p *Providers) Try(ctx context.Context, in Addition) ([]core.Finding, error) {
	if p.cfg.Catalogue == nil {
		return nil, core.E(core.Unsupported, "this daemon has no providers")
	}
	return p.cfg.Catalogue.Try(ctx, core.Provider{Name: in.Name, Protocol: in.Protocol, BaseURL: in.BaseURL}, in.Key)
}

// Check asks a provider whether it answers.
func (p *Providers) Check(ctx context.Context, name, model string, env core.Env) ([]core.Finding, error) {
	if p.cfg.Catalogue == nil {
		return nil, core.E(core.Unsupported, "this daemon has no providers")
	}
	return p.cfg.Catalogue.Check(ctx, name, model, p.env(env))
}

func (p *Providers) env(env core.Env) core.Env {
	if env == nil {
		return p.cfg.Env
	}
	return env
}
