// Package sweep removes what is marked as deleted and nothing names any more.
package sweep

import (
	"context"
	"time"

	"loci/storage/sqlite"
)

// batch is how many rows one transaction of the sweeper removes, so that nobody waits long for the writer.
const batch = 1000

// keepChanges is how many changes stay behind what the index has, for an index that is a little older.
const keepChanges = 10_000

// sweeps are what a sweep removes, children first: each selects the keys of at most a batch of rows. A message stays while
// a context row names it, a conversation's rows stay while it has runs (their steps name what they were sent), block
// versions and snapshots stay.
func sweeps() []struct{ table, key, sel string } {
	return []struct{ table, key, sel string }{
		{"steps", "num", `SELECT s.num FROM runs r JOIN steps s ON s.run_id = r.id WHERE r.deleted_at IS NOT NULL`},
		{"steps", "num", `SELECT s.num FROM agents a JOIN steps s ON s.agent_id = a.id WHERE a.deleted_at IS NOT NULL`},
		{
			"runs",
			"number",
			`SELECT r.number FROM runs r WHERE r.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.run_id = r.id)`,
		},
		{"runs", "number", `SELECT r.number FROM agents a JOIN runs r ON r.agent_id = a.id
			WHERE a.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.run_id = r.id)`},
		{"context", "(conversation_id, message_id, entered)", `SELECT c.conversation_id, c.message_id, c.entered
			FROM conversations v JOIN context c ON c.conversation_id = v.id
			WHERE v.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.conversation_id = v.id)`},
		{"messages", "seq", `SELECT m.seq FROM conversations v JOIN messages m ON m.conversation_id = v.id
			WHERE v.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM context c WHERE c.message_id = m.id)
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.conversation_id = v.id)`},
		{
			"rewind_passages",
			"(passage_id, rewind)",
			`SELECT r.passage_id, r.rewind FROM conversations v JOIN rewinds w ON w.conversation_id = v.id
			JOIN rewind_passages r ON r.rewind = w.number WHERE v.deleted_at IS NOT NULL`,
		},
		{"rewinds", "number", `SELECT w.number FROM conversations v JOIN rewinds w ON w.conversation_id = v.id
			WHERE v.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rewind_passages r WHERE r.rewind = w.number)`},
		{"file_reads", "(conversation_id, path)", `SELECT r.conversation_id, r.path FROM conversations v
			JOIN file_reads r ON r.conversation_id = v.id WHERE v.deleted_at IS NOT NULL`},
		{"file_changes", "num", `SELECT c.num FROM conversations v JOIN file_changes c ON c.conversation_id = v.id
			WHERE v.deleted_at IS NOT NULL`},
		{"image_uses", "(owner, hash)", `SELECT u.owner, u.hash FROM image_uses u
			WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = u.owner) AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = u.owner)`},
		{"conversations", "id", `SELECT v.id FROM conversations v WHERE v.deleted_at IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = v.id)
			AND NOT EXISTS (SELECT 1 FROM context c WHERE c.conversation_id = v.id)
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.conversation_id = v.id)`},
		{"variables", "id", `SELECT v.id FROM agents a JOIN variables v ON v.agent_id = a.id WHERE a.deleted_at IS NOT NULL`},
		{"agents", "id", `SELECT a.id FROM agents a WHERE a.deleted_at IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM conversations v WHERE v.agent_id = a.id) AND NOT EXISTS (SELECT 1 FROM runs r WHERE ` +
			`r.agent_id = a.id)`},
		{"passage_tags", "(passage_id, tag)", `SELECT t.passage_id, t.tag FROM archives a JOIN passages p ON p.archive_id = a.id
			JOIN passage_tags t ON t.passage_id = p.id WHERE a.deleted_at IS NOT NULL`},
		// What a rewind took away comes back when it is undone, and what an agent retired when that is. The oldest versions go
		// first: the newest tells which it was.
		{"passage_versions", "num", `SELECT v.num FROM passages p JOIN passage_versions v ON v.passage_id = p.id
			WHERE p.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM rewind_passages r WHERE r.passage_id = p.id)
			AND NOT (SELECT n.gone FROM passage_versions n WHERE n.passage_id = p.id ORDER BY n.version DESC LIMIT 1)
			ORDER BY v.passage_id, v.version`},
		{"passage_versions", "num", `SELECT v.num FROM archives a JOIN passage_versions v ON v.archive_id = a.id
			WHERE a.deleted_at IS NOT NULL`},
		{"passages", "seq", `SELECT p.seq FROM passages p WHERE p.deleted_at IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM rewind_passages r WHERE r.passage_id = p.id)
			AND NOT EXISTS (SELECT 1 FROM passage_versions v WHERE v.passage_id = p.id)`},
		{"passages", "seq", `SELECT p.seq FROM archives a JOIN passages p ON p.archive_id = a.id
			WHERE a.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM passage_tags t WHERE t.passage_id = p.id)
			AND NOT EXISTS (SELECT 1 FROM passage_versions v WHERE v.passage_id = p.id)`},
		{
			"archive_tags",
			"(archive_id, tag)",
			`SELECT t.archive_id, t.tag FROM archives a JOIN archive_tags t ON t.archive_id = a.id WHERE a.deleted_at IS NOT NULL`,
		},
		{"file_bytes", "file_id", `SELECT b.file_id FROM files f JOIN file_bytes b ON b.file_id = f.id WHERE f.deleted_at IS NOT NULL`},
		{"file_texts", "file_id", `SELECT t.file_id FROM files f JOIN file_texts t ON t.file_id = f.id WHERE f.deleted_at IS NOT NULL`},
		{
			"files",
			"seq",
			`SELECT f.seq FROM files f WHERE f.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM file_bytes b WHERE b.file_id = f.id)
			AND NOT EXISTS (SELECT 1 FROM file_texts t WHERE t.file_id = f.id)`,
		},
		{
			"folders",
			"id",
			`SELECT d.id FROM folders d WHERE d.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM files f WHERE f.folder_id = d.id)`,
		},
		{
			"archives",
			"id",
			`SELECT a.id FROM archives a WHERE a.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM folders d WHERE d.archive_id = a.id)
			AND NOT EXISTS (SELECT 1 FROM passages p WHERE p.archive_id = a.id) AND NOT EXISTS (SELECT 1 FROM archive_tags t ` +
				`WHERE t.archive_id = a.id)`,
		},
		{"blocks", "id", `SELECT b.id FROM blocks b WHERE b.deleted_at IS NOT NULL`},
	}
}

// Indexes says what the indexes have: records of changes that they still need stay.
type Indexes interface {
	// Applied returns the last change that the index of words has.
	Applied() int64
	// Saved returns the last deletion of vectors that the index of each set has saved.
	Saved() map[int64]int64
}

type sweeper struct {
	on      *sqlite.Scope
	indexes Indexes
}

// keepImages is how long an image stays that nothing names yet: it is put before the message that holds it.
const keepImages = 24 * time.Hour

// Run removes what is marked as deleted and nothing names any more, a batch at a time, and returns how many rows went.
// It may be stopped at any moment and goes on with the next call.
func Run(ctx context.Context, on *sqlite.Scope, indexes Indexes, now time.Time) (int, error) {
	s := sweeper{on: on, indexes: indexes}
	total := 0
	for _, sw := range sweeps() {
		for {
			n, err := s.once(ctx, `DELETE FROM `+sw.table+` WHERE `+sw.key+` IN (`+sw.sel+` LIMIT $1)`, batch)
			if err != nil {
				return total, err
			}
			total += n
			if n < batch {
				break
			}
		}
	}
	unused, err := s.once(ctx, `DELETE FROM images WHERE put_at < $1
		AND NOT EXISTS (SELECT 1 FROM image_uses u WHERE u.hash = images.hash)`, sqlite.ToMicros(now.Add(-keepImages)))
	total += unused
	if err != nil {
		return total, err
	}
	gone, err := s.vectors(ctx)
	total += gone
	if err != nil {
		return total, err
	}
	bound := s.indexes.Applied() - keepChanges
	for {
		n, err := s.once(
			ctx,
			`DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE seq <= $1 ORDER BY seq LIMIT $2)`,
			bound,
			batch,
		)
		if err != nil {
			return total, err
		}
		if total += n; n < batch {
			return total, nil
		}
	}
}

func (s sweeper) once(ctx context.Context, text string, args ...any) (int, error) {
	var n int64
	err := s.on.Write(ctx, "sweep", func(ctx context.Context, q *sqlite.Querier) error {
		var err error
		n, err = q.Exec(ctx, text, args...)
		return err
	})
	return int(n), err
}

// vectors removes the record of deletions that every index has saved.
func (s sweeper) vectors(ctx context.Context) (int, error) {
	total := 0
	for id, bound := range s.indexes.Saved() {
		for {
			removed := 0
			err := s.on.Write(ctx, "sweep", func(ctx context.Context, q *sqlite.Querier) error {
				if _, err := q.Exec(ctx, `UPDATE vector_sets SET pruned = $1 WHERE id = $2 AND pruned < $1`, bound, id); err != nil {
					return err
				}
				gone, err := q.Exec(
					ctx,
					`DELETE FROM vector_gone WHERE seq IN (SELECT seq FROM vector_gone WHERE seq <= $1 AND set_id = `+
						`$2 ORDER BY seq LIMIT $3)`,
					bound,
					id,
					batch,
				)
				removed = int(gone)
				return err
			})
			if err != nil {
				return total, err
			}
			total += removed
			if removed < batch {
				break
			}
		}
	}
	return total, nil
}
