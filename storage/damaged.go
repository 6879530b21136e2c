package storage

import (
	"context"
	"log/slog"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/customtools"
	"loci/storage/deflate"
	"loci/storage/mcpservers"
	"loci/storage/passagelog"
	"loci/storage/sqlite"
)

type packedRow struct {
	Key  string `db:"key"`
	Body []byte `db:"body"`
}

func (r *packedRow) key() string { return r.Key }

// rowChecks are all tables that hold more than numbers and texts.
func rowChecks() []sqlite.RowCheck {
	id := func(r *packedRow) (core.Document, error) {
		text, err := deflate.Decompress(r.Body)
		var doc core.Document
		if err == nil {
			err = sqlite.Decode(text, &doc)
		}
		return doc, err
	}
	return []sqlite.RowCheck{
		sqlite.Decodes("agents", selectAgents, func(r *agentRow) string { return string(r.ID) }, (*agentRow).agent),
		sqlite.Decodes("blocks", selectBlocks, func(r *blockRow) string { return string(r.ID) }, (*blockRow).block),
		sqlite.Decodes("block_versions", selectVersions, func(r *versionRow) string { return string(r.Block) }, (*versionRow).version),
		sqlite.Decodes(
			"conversations",
			selectConversations,
			func(r *conversationRow) string { return string(r.ID) },
			(*conversationRow).conversation,
		),
		sqlite.Decodes(
			"messages",
			`SELECT `+messageColumns+` FROM messages m`,
			func(r *messageRow) string { return string(r.ID) },
			(*messageRow).decode,
		),
		sqlite.Decodes("runs", selectRuns, func(r *runRow) string { return string(r.ID) }, (*runRow).run),
		sqlite.Decodes("steps", selectSteps, func(r *stepRow) string { return string(r.ID) }, (*stepRow).step),
		sqlite.Decodes("archives", selectArchives, func(r *archiveRow) string { return string(r.ID) }, (*archiveRow).archive),
		sqlite.Decodes("passages", selectPassages, func(r *passageRow) string { return string(r.ID) }, (*passageRow).passage),
		sqlite.Decodes("passage_versions", passagelog.Select, func(r *passagelog.Row) string { return string(r.Passage) },
			(*passagelog.Row).PassageVersion),
		sqlite.Decodes("folders", selectFolders, func(r *folderRow) string { return string(r.ID) }, (*folderRow).folder),
		sqlite.Decodes("files", `SELECT `+fileColumns+` FROM files f`, func(r *fileRow) string { return string(r.ID) }, (*fileRow).file),
		sqlite.Decodes("tools", customtools.Select, func(r *customtools.Row) string { return string(r.ID) }, (*customtools.Row).Tool),
		sqlite.Decodes("mcp_servers", mcpservers.Select, func(r *mcpservers.Row) string { return string(r.ID) }, (*mcpservers.Row).Server),
		sqlite.Decodes("mcp_tools", mcpservers.SelectTools, func(r *mcpservers.ToolRow) string { return string(r.ID) },
			(*mcpservers.ToolRow).Tool),
		sqlite.Decodes("rewinds", selectRewinds, func(r *rewindRow) string { return string(r.ID) }, (*rewindRow).rewind),
		sqlite.Decodes("mirrors", selectMirrors, func(r *mirrorRow) string { return string(r.Agent) }, (*mirrorRow).mirror),
		sqlite.Decodes("file_texts", `SELECT file_id AS key, body FROM file_texts`, (*packedRow).key, id),
		sqlite.Decodes(
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

// DamagedRows finds the rows of a copy of the facts that cannot be read.
func DamagedRows(ctx context.Context, db *sqlx.DB) (sqlite.Damage, error) {
	return sqlite.FindDamage(ctx, db, rowChecks())
}

// Damaged finds the rows of the facts that cannot be read. What else there is goes on without them.
func (s *Store) Damaged(ctx context.Context) (sqlite.Damage, error) {
	return DamagedRows(ctx, s.facts.Readers)
}
