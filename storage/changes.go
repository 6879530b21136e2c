package storage

import (
	"context"

	"loci/storage/sqlite"
)

// The kinds and operations of changes. A change says that something must be looked at again; what it is now, the
// indexer reads from the facts.
const (
	kindMessage      = "message"
	kindPassage      = "passage"
	kindConversation = "conversation"
	kindAgent        = "agent"
	kindArchive      = "archive"

	opWrite  = "write"
	opDelete = "delete"
)

// changed records that search must look at something again.
func changed(ctx context.Context, q *sqlite.Querier, kind, id, op string) error {
	_, err := q.Exec(ctx, `INSERT INTO changes (kind, id, op) VALUES ($1, $2, $3)`, kind, id, op)
	return err
}

// ReindexMessage records that search must look at a message again.
func ReindexMessage(ctx context.Context, q *sqlite.Querier, id string) error {
	return changed(ctx, q, kindMessage, id, opWrite)
}

// ReindexPassage records that search must look at a passage again.
func ReindexPassage(ctx context.Context, q *sqlite.Querier, id string) error {
	return changed(ctx, q, kindPassage, id, opWrite)
}
