package providers

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"time"

	"loci/core"
)

// storedVar stands for the variable of a key that is in none.
const storedVar = "the stored key"

// shutFor is how long a key that can't be opened isn't tried again: its keyring may be asked in vain.
const shutFor = 30 * time.Second

// storedKey is a key that a person stored for one address.
type storedKey struct {
	base string
	open func() (core.Secret, error)
}

// opening opens the key of a stored provider.
type opening = func(context.Context, *core.Provider) (core.Secret, error)

var _ core.Catalogue = (*Providers)(nil)

// known returns the rows, those of stored providers among them.
func (p *Providers) known() []Row { return *p.rows.Load() }

// Rows returns the providers that are known, in order.
func (p *Providers) Rows() []Row { return slices.Clone(p.known()) }

// Place implements core.Catalogue.
func (p *Providers) Place(s *core.Provider) error {
	if row, ok := find(p.base, s.Name); ok && row.Protocol != nil {
		if s.Protocol != "" {
			return core.E(core.Invalid, "%s is known already, and speaks its own protocol", row.Title).
				WithHint("leave the protocol out, or choose another name, like my-%s", s.Name)
		}
		s.Name = row.Name
		return placeKnown(row, s)
	}
	row, err := Named(p.base, s.Name, map[string]string{"protocol": s.Protocol, "base_url": s.BaseURL})
	if err != nil {
		return err
	}
	s.BaseURL = row.BaseURL
	return nil
}

// placeKnown completes the key of a provider that is known by its row. It may have another address only if it is one of the
// vendor's, or the one that the configuration names: an address of somebody else's is a provider of its own.
func placeKnown(row Row, s *core.Provider) error {
	own := row.BaseURL
	if row.configuredURL != "" {
		own = row.configuredURL
	}
	own, err := address(row.Protocol, "base_url", own)
	if err != nil {
		return err
	}
	if s.BaseURL == "" {
		s.BaseURL = ownPath(own, row.BaseURL)
		return nil
	}
	if s.BaseURL, err = address(row.Protocol, "the address", s.BaseURL); err != nil {
		return err
	}
	s.BaseURL = ownPath(s.BaseURL, row.BaseURL)
	if !sameOrigin(s.BaseURL, own) {
		return core.E(core.Invalid, "%s is at %s, not at %s", row.Title, own, s.BaseURL).
			WithHint("choose another name for it, like my-%s, and say which protocol it speaks", row.Name)
	}
	return nil
}

// Keep implements core.Catalogue. A provider that no row can be made of any more is left out, and logged.
func (p *Providers) Keep(stored []core.Provider, open func(context.Context, *core.Provider) (core.Secret, error)) {
	p.shelf.drop(p.changed(stored)...)
	rows := slices.Clone(p.base)
	for _, s := range stored {
		at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == s.Name && r.Protocol != nil })
		if at < 0 {
			row, err := Named(rows, s.Name, map[string]string{"protocol": s.Protocol, "base_url": s.BaseURL})
			if err != nil {
				p.cfg.Log.Warn("stored provider left out", slog.String("provider", s.Name), slog.String("error", err.Error()))
				continue
			}
			row.stored = true
			if len(s.Sealed) > 0 {
				row.NoKey = false
			}
			at = insertNamed(&rows, row)
		}
		if len(s.Sealed) > 0 {
			rows[at].key = &storedKey{base: s.BaseURL, open: p.opener(s, open)}
		}
	}
	p.rows.Store(&rows)
}

// changed returns the names of the providers that were stored, changed or removed since Keep was last told.
func (p *Providers) changed(stored []core.Provider) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.stored
	p.stored = append([]core.Provider{}, stored...)
	if before == nil { // the first time: nobody changed anything
		return nil
	}
	same := func(in []core.Provider, s core.Provider) bool {
		return slices.ContainsFunc(in, func(o core.Provider) bool { return o.ID == s.ID && o.UpdatedAt.Equal(s.UpdatedAt) })
	}
	for _, s := range slices.Concat(before, stored) {
		if !same(before, s) || !same(stored, s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// insertNamed puts a row before those that are merely tried.
func insertNamed(rows *[]Row, row Row) int {
	at := slices.IndexFunc(*rows, func(r Row) bool { return r.Local })
	if at < 0 {
		at = len(*rows)
	}
	*rows = slices.Insert(*rows, at, row)
	return at
}

// opener opens a key when it is first needed, and remembers it.
func (p *Providers) opener(s core.Provider, open opening) func() (core.Secret, error) {
	var mu sync.Mutex
	var key core.Secret
	var failed error
	var at time.Time
	return func() (core.Secret, error) {
		mu.Lock()
		defer mu.Unlock()
		if key != "" || failed != nil && p.cfg.Now().Sub(at) < shutFor {
			return key, failed
		}
		key, failed = open(context.Background(), &s)
		at = p.cfg.Now()
		if failed != nil {
			kind := core.KindOf(failed)
			if kind == core.Unavailable { // it is no provider that doesn't answer
				kind = core.Unauthenticated
			}
			failed = core.E(kind, "the key of %s: %w", s.Name, failed).
				WithHint("store it again: loci providers add %s", s.Name)
		}
		return key, failed
	}
}

// takeStored uses the stored key if no variable holds one. It is only for the address that it was stored with.
func (e *endpoint) takeStored() error {
	if e.keyVar != "" || e.row.key == nil {
		return nil
	}
	if !sameOrigin(e.row.key.base, e.base) {
		e.elsewhere = e.row.key.base
		return nil
	}
	key, err := e.row.key.open()
	if err != nil {
		return err
	}
	e.keyVar = storedVar
	if keys := e.row.Keys; len(keys) > 0 {
		e.keyVar = keys[0].Needs[0]
	}
	e.values[e.keyVar], e.kept = key, true
	return nil
}

// sameOrigin reports whether two addresses have the same scheme, host and port.
func sameOrigin(a, b string) bool {
	one, err := url.Parse(a)
	other, err2 := url.Parse(b)
	return err == nil && err2 == nil && one.Scheme == other.Scheme && one.Host == other.Host
}

// Providers implements core.Catalogue.
func (p *Providers) Providers(env core.Env) []core.ReachableProvider {
	var out []core.ReachableProvider
	for _, row := range p.known() {
		if row.Offline || !row.Built() {
			continue
		}
		e, err := p.endpoint(row, env)
		if err == nil && !e.asked {
			continue
		}
		one := core.ReachableProvider{
			Name: row.Name, Title: row.Title, Protocol: row.Protocol.Name(), BaseURL: e.base, Own: row.Named, Key: e.keyFrom(),
		}
		if err != nil {
			one.Key = err.Error()
		}
		out = append(out, one)
	}
	return out
}

// keyFrom says where the key comes from; "" if there is none.
func (e endpoint) keyFrom() string {
	switch {
	case e.kept:
		return "stored"
	case e.keyVar != "":
		return e.keyVar
	}
	return ""
}
