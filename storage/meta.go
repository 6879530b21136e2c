package storage

import (
	"context"

	"loci/storage/sqlite"
)

type meta struct{ v *scope }

func (s meta) Get(ctx context.Context, key string) (string, bool, error) {
	ctx, q := s.v.read(ctx)
	var value string
	ok, err := q.Find(ctx, &value, `SELECT value FROM meta WHERE key = $1`, key)
	return value, ok, sqlite.Classify("get meta", err)
}

func (s meta) Put(ctx context.Context, key, value string) error {
	return s.v.write(ctx, "put meta", func(ctx context.Context, q *sqlite.Querier) error { return putMeta(ctx, q, key, value) })
}

func putMeta(ctx context.Context, q *sqlite.Querier, key, value string) error {
	_, err := q.Exec(
		ctx,
		`INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		key,
		value,
	)
	return err
}
