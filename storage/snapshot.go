package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"loci/core"
	"loci/storage/deflate"
	"loci/storage/sqlite"
)

type snapshots struct{ v *scope }

func (s snapshots) Put(ctx context.Context, kind core.SnapshotKind, body string) (string, error) {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + body))
	hash := hex.EncodeToString(sum[:])
	err := s.v.write(ctx, "put snapshot", func(ctx context.Context, q *sqlite.Querier) error {
		var redacted int64
		if known, err := q.Find(
			ctx,
			&redacted,
			`SELECT redacted FROM snapshots WHERE hash = $1`,
			hash,
		); err != nil ||
			known && redacted == 0 {
			return err
		}
		packed, err := deflate.Compress(body)
		if err != nil {
			return err
		}
		// What was forgotten was said again, and sent.
		_, err = q.Exec(ctx, `INSERT INTO snapshots (hash, kind, body) VALUES ($1, $2, $3)
			ON CONFLICT (hash) DO UPDATE SET body = excluded.body, redacted = 0`, hash, kind, packed)
		return err
	})
	return hash, err
}

func (s snapshots) Get(ctx context.Context, hash string) (core.SnapshotKind, string, error) {
	ctx, q := s.v.read(ctx)
	var row struct {
		Kind core.SnapshotKind `db:"kind"`
		Body []byte            `db:"body"`
	}
	ok, err := q.Find(ctx, &row, `SELECT kind, body FROM snapshots WHERE hash = $1`, hash)
	if err != nil {
		return "", "", sqlite.Classify("get snapshot", err)
	}
	if !ok {
		return "", "", sqlite.NotFound("snapshot", hash)
	}
	body, err := deflate.Decompress(row.Body)
	return row.Kind, body, err
}

func (s snapshots) RedactedAt(ctx context.Context, hashes ...string) (time.Time, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	w.And("redacted > 0")
	sqlite.In(w, "hash", hashes)
	var at sqlite.Micros
	err := q.Get(ctx, &at, `SELECT COALESCE(MAX(redacted), 0) FROM snapshots`+w.String(), w.Args...)
	return at.Time(), sqlite.Classify("look at snapshots", err)
}
