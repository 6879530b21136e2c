// Package images stores the images of messages, once each, and which records hold them.
//
// It works within a scope of the store's: whoever calls it brings the statements.
package images

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

// Store is the images within a scope.
type Store struct {
	On  *sqlite.Scope
	Now func() sqlite.Micros
}

var _ core.ImageStore = Store{}

type imageRow struct {
	Hash   string        `db:"hash"`
	Type   string        `db:"media_type"`
	Width  int           `db:"width"`
	Height int           `db:"height"`
	Body   []byte        `db:"body"`
	At     sqlite.Micros `db:"put_at"`
}

// Put implements core.ImageStore.
func (s Store) Put(ctx context.Context, p core.Picture) error {
	if p.Hash != core.ContentHash(p.Data) {
		return core.E(core.Internal, "the bytes of an image are not those of its hash")
	}
	row := imageRow{Hash: p.Hash, Type: p.Type, Width: p.Width, Height: p.Height, Body: p.Data, At: s.Now()}
	return s.On.Write(ctx, "put image", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `UPDATE images SET put_at = $1 WHERE hash = $2`, row.At, row.Hash)
		if err != nil || n > 0 {
			return err
		}
		_, err = q.Named(ctx, `INSERT INTO images (hash, media_type, width, height, body, put_at)
			VALUES (:hash, :media_type, :width, :height, :body, :put_at)`, row)
		return err
	})
}

// Get returns an image whose bytes are those that were put: a backup of any origin may hold others.
func (s Store) Get(ctx context.Context, hash string) (core.Picture, error) {
	ctx, q := s.On.Read(ctx)
	var row imageRow
	ok, err := q.Find(ctx, &row, `SELECT hash, media_type, width, height, body, put_at FROM images WHERE hash = $1`, hash)
	if err != nil {
		return core.Picture{}, sqlite.Classify("get image", err)
	}
	if !ok || core.ContentHash(row.Body) != hash || row.Type != "image/png" && row.Type != "image/jpeg" {
		return core.Picture{}, sqlite.NotFound("image", hash)
	}
	return core.Picture{
		Image: core.Image{Hash: row.Hash, Type: row.Type, Width: row.Width, Height: row.Height, Bytes: len(row.Body)},
		Data:  row.Body,
	}, nil
}

// NoteUses notes that a message, or a run with it as input, holds images.
func NoteUses(ctx context.Context, q *sqlite.Querier, owner string, m *core.Message) error {
	for _, i := range m.Images() {
		if _, err := q.Exec(ctx, `INSERT INTO image_uses (owner, hash) VALUES ($1, $2) ON CONFLICT DO NOTHING`, owner, i.Hash); err != nil {
			return err
		}
	}
	return nil
}
