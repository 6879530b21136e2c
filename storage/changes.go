package storage

import "context"

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
func changed(ctx context.Context, q *querier, kind, id, op string) error {
	_, err := q.exec(ctx, `INSERT INTO changes (kind, id, op) VALUES ($1, $2, $3)`, kind, id, op)
	return err
}
