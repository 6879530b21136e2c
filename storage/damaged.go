package storage

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/deflate"
	"loci/storage/passagelog"
	"loci/storage/sqlite"
)

// rowCheck reads every row of a table as the store does.
type rowCheck struct {
	table string
	read  func(ctx context.Context, db *sqlx.DB, damaged func(key string, err error) bool) error
}

// decodes is the check of a table whose rows become nouns; key names a row.
func decodes[R, N any](table, query string, key func(*R) string, noun func(*R) (N, error)) rowCheck {
	return rowCheck{table, func(ctx context.Context, db *sqlx.DB, damaged func(string, error) bool) error {
		rows, err := db.QueryxContext(ctx, query)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // what was read is complete or Err says so
		for n := 1; rows.Next(); n++ {
			var row R
			err := rows.StructScan(&row)
			if err == nil {
				_, err = noun(&row)
			}
			name := cmp.Or(key(&row), fmt.Sprintf("row %d", n)) // what stands before the damaged column is there
			if err != nil && !damaged(name, err) {
				return nil
			}
		}
		return rows.Err()
	}}
}

type packedRow struct {
	Key  string `db:"key"`
	Body []byte `db:"body"`
}

func (r *packedRow) key() string { return r.Key }

// rowChecks are all tables that hold more than numbers and texts.
func rowChecks() []rowCheck {
	id := func(r *packedRow) (core.Document, error) {
		text, err := deflate.Decompress(r.Body)
		var doc core.Document
		if err == nil {
			err = sqlite.Decode(text, &doc)
		}
		return doc, err
	}
	return []rowCheck{
		decodes("agents", selectAgents, func(r *agentRow) string { return string(r.ID) }, (*agentRow).agent),
		decodes("blocks", selectBlocks, func(r *blockRow) string { return string(r.ID) }, (*blockRow).block),
		decodes("block_versions", selectVersions, func(r *versionRow) string { return string(r.Block) }, (*versionRow).version),
		decodes(
			"conversations",
			selectConversations,
			func(r *conversationRow) string { return string(r.ID) },
			(*conversationRow).conversation,
		),
		decodes(
			"messages",
			`SELECT `+messageColumns+` FROM messages m`,
			func(r *messageRow) string { return string(r.ID) },
			(*messageRow).decode,
		),
		decodes("runs", selectRuns, func(r *runRow) string { return string(r.ID) }, (*runRow).run),
		decodes("steps", selectSteps, func(r *stepRow) string { return string(r.ID) }, (*stepRow).step),
		decodes("archives", selectArchives, func(r *archiveRow) string { return string(r.ID) }, (*archiveRow).archive),
		decodes("passages", selectPassages, func(r *passageRow) string { return string(r.ID) }, (*passageRow).passage),
		decodes("passage_versions", passagelog.Select, func(r *passagelog.Row) string { return string(r.Passage) },
			(*passagelog.Row).PassageVersion),
		decodes("folders", selectFolders, func(r *folderRow) string { return string(r.ID) }, (*folderRow).folder),
		decodes("files", `SELECT `+fileColumns+` FROM files f`, func(r *fileRow) string { return string(r.ID) }, (*fileRow).file),
		decodes("rewinds", selectRewinds, func(r *rewindRow) string { return string(r.ID) }, (*rewindRow).rewind),
		decodes("mirrors", selectMirrors, func(r *mirrorRow) string { return string(r.Agent) }, (*mirrorRow).mirror),
		decodes("file_texts", `SELECT file_id AS key, body FROM file_texts`, (*packedRow).key, id),
		decodes(
			"snapshots",
			`SELECT hash AS key, body FROM snapshots`,
			(*packedRow).key,
			func(r *packedRow) (string, error) { return deflate.Decompress(r.Body) },
		),
	}
}

// list reads the nouns of a query without the damaged ones, and logs how many those are; op names the query.
func list[R, N any](
	ctx context.Context, v *scope, q *sqlite.Querier, op string, noun func(*R) (N, error), text string, args ...any,
) ([]N, error) {
	whole, damaged, err := sqlite.Whole(ctx, q, noun, text, args...)
	v.s.leftOut(ctx, op, damaged)
	return whole, sqlite.Classify(op, err)
}

// page is list for a query whose last argument is its limit.
func page[R, N any](
	ctx context.Context, v *scope, q *sqlite.Querier, op string, noun func(*R) (N, error), text string, args ...any,
) ([]N, error) {
	whole, damaged, err := sqlite.WholePage(ctx, q, noun, text, args...)
	v.s.leftOut(ctx, op, damaged)
	return whole, sqlite.Classify(op, err)
}

// leftOut logs damaged rows once for each kind of query, as lists are read all the time.
func (s *Store) leftOut(ctx context.Context, op string, damaged int) {
	if damaged == 0 {
		return
	}
	if _, known := s.damaged.LoadOrStore(op, damaged); !known {
		s.cfg.Logger.WarnContext(ctx, "damaged rows are left out; loci doctor names them", slog.String("op", op), slog.Int("rows", damaged))
	}
}

// maxNamed is how many damaged rows are named.
const maxNamed = 20

// DamagedRows names the rows of a copy of the facts that cannot be read, at most twenty of them.
func DamagedRows(ctx context.Context, db *sqlx.DB) ([]string, error) {
	misfits, err := sqlite.Misfits(ctx, db, maxNamed)
	if err != nil {
		return nil, err
	}
	var out []string
	named := map[string]bool{}
	for _, m := range misfits {
		named[m.Row], out = true, append(out, m.Row+": "+m.Why)
	}
	for _, c := range rowChecks() {
		if len(out) >= maxNamed {
			break
		}
		err := c.read(ctx, db, func(key string, err error) bool {
			if row := key + " of " + c.table; !named[row] {
				out = append(out, fmt.Sprintf("%s: %v", row, err))
			}
			return len(out) < maxNamed
		})
		if err != nil {
			return nil, sqlite.Classify("read "+c.table, err)
		}
	}
	return out, nil
}

// Damaged names the rows of the facts that cannot be read, at most twenty of them. What else there is goes on without them.
func (s *Store) Damaged(ctx context.Context) ([]string, error) {
	return DamagedRows(ctx, s.facts.Readers)
}
