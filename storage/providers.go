package storage

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

// providers are the stored providers within a scope.
type providers struct{ *scope }

type providerRow struct {
	ID        core.ProviderID `db:"id"`
	Name      string          `db:"name"`
	Type      string          `db:"type"`
	Protocol  string          `db:"protocol"`
	BaseURL   string          `db:"base_url"`
	Sealed    []byte          `db:"sealed"`
	CreatedAt sqlite.Micros   `db:"created_at"`
	UpdatedAt sqlite.Micros   `db:"updated_at"`
}

func (r *providerRow) provider() (core.Provider, error) {
	return core.Provider{
		ID: r.ID, Name: r.Name, Type: r.Type, Protocol: r.Protocol, BaseURL: r.BaseURL, Sealed: r.Sealed,
		CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}, nil
}

// List implements core.ProviderStore.
func (s providers) List(ctx context.Context) ([]core.Provider, error) {
	ctx, q := s.on.Read(ctx)
	var rows []providerRow
	const all = `SELECT id, name, type, protocol, base_url, sealed, created_at, updated_at FROM providers ORDER BY name`
	if err := q.All(ctx, &rows, all); err != nil {
		return nil, sqlite.Classify("list providers", err)
	}
	return sqlite.Convert(rows, (*providerRow).provider)
}

// Put implements core.ProviderStore.
func (s providers) Put(ctx context.Context, p *core.Provider) error {
	if err := p.Validate(); err != nil {
		return err
	}
	return s.on.Atomic(ctx, "put provider", func(ctx context.Context, q *sqlite.Querier) error {
		var others int
		if _, err := q.Find(ctx, &others, `SELECT COUNT(*) FROM providers WHERE name <> $1`, p.Name); err != nil {
			return err
		}
		if others >= core.MaxProviders {
			return core.E(core.TooLarge, "there are %d providers already, and no room for %s", others, p.Name)
		}
		row := providerRow{
			ID: p.ID, Name: p.Name, Type: p.Type, Protocol: p.Protocol, BaseURL: p.BaseURL, Sealed: append([]byte{}, p.Sealed...),
			CreatedAt: sqlite.ToMicros(p.CreatedAt), UpdatedAt: sqlite.ToMicros(p.UpdatedAt),
		}
		return q.NamedGet(ctx, &p.ID, `INSERT INTO providers (id, name, type, protocol, base_url, sealed, created_at, updated_at)
			VALUES (:id, :name, :type, :protocol, :base_url, :sealed, :created_at, :updated_at)
			ON CONFLICT (name) DO UPDATE SET type = excluded.type, protocol = excluded.protocol, base_url = excluded.base_url,
			sealed = excluded.sealed, updated_at = excluded.updated_at RETURNING id`, row)
	})
}

// Delete implements core.ProviderStore.
func (s providers) Delete(ctx context.Context, id core.ProviderID) error {
	return s.on.Write(ctx, "delete provider", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM providers WHERE id = $1`, id)
		if err == nil && n == 0 {
			return sqlite.NotFound("provider", string(id))
		}
		return err
	})
}
