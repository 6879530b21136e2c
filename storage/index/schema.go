package index

import (
	"context"
	"strconv"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

// schemaVersion changes with the tables. Together with the version of the words it decides whether a file can be used.
const schemaVersion = "6"

func version() string { return schemaVersion + "/" + search.Version }

// tables holds the table names of a kind.
type tables struct{ docs, terms, postings, scopes, speakers, tags string }

func tablesOf(k search.Kind) tables {
	s := "_" + string(k)
	return tables{
		docs:     "docs" + s,
		terms:    "terms" + s,
		postings: "postings" + s,
		scopes:   "scopes" + s,
		speakers: "speakers" + s,
		tags:     "tags" + s,
	}
}

// A document's key is made of its lane's number and its seq.
const laneShift = 40

func docKey(lane, seq int64) int64 { return lane<<laneShift | seq }

// inLane returns the condition that a key belongs to a lane.
func inLane(column string, lane int64) string {
	return column + " >= " + strconv.FormatInt(docKey(lane, 0), 10) + " AND " + column + " < " + strconv.FormatInt(docKey(lane+1, 0), 10)
}

// create creates the tables of an empty file. Counters hold what a search counts: documents and their words per scope (owners, and
// the threads of messages), documents per part of a speaker's name, and per term. The index on ids, which arrive in no order, is
// created once the initial documents are in. Documents are stored in lane order because a search reads some of them with
// their neighbours.
func create(ctx context.Context, db *sqlx.DB, home string, epoch int64) error {
	texts := []string{`CREATE TABLE marks (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)`}
	for _, k := range []search.Kind{search.Message, search.Passage} {
		t := tablesOf(k)
		texts = append(
			texts,
			`CREATE TABLE `+t.scopes+` (num INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, docs BIGINT NOT NULL, words BIGINT NOT NULL)`,
			`CREATE TABLE `+t.docs+` (key INTEGER PRIMARY KEY, seq BIGINT NOT NULL, id TEXT NOT NULL, owner BIGINT NOT NULL, at BIGINT `+
				`NOT NULL, minute BIGINT NOT NULL, data BLOB NOT NULL)`,
			`CREATE UNIQUE INDEX `+t.docs+`_seq ON `+t.docs+` (seq)`,
			`CREATE INDEX `+t.docs+`_minute ON `+t.docs+` (owner, minute)`,
			`CREATE TABLE `+t.tags+` (seq BIGINT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (seq, tag)) WITHOUT ROWID`,
			`CREATE TABLE `+t.terms+` (term TEXT NOT NULL PRIMARY KEY, num BIGINT NOT NULL, docs BIGINT NOT NULL, upto BIGINT NOT NULL, `+
				`tail BLOB NOT NULL) WITHOUT ROWID`,
			`CREATE TABLE `+t.postings+` (key INTEGER PRIMARY KEY, data BLOB NOT NULL)`,
			`CREATE TABLE `+t.speakers+` (part TEXT NOT NULL, owner BIGINT NOT NULL, docs BIGINT NOT NULL, PRIMARY KEY `+
				`(part, owner)) WITHOUT ROWID`,
			`INSERT INTO marks (key, value) VALUES ('docs_`+string(k)+`', '0'), ('len_`+string(k)+`', '0'), ('terms_`+string(k)+`', '0')`,
		)
	}
	texts = append(texts, `CREATE INDEX docs_message_owner ON docs_message (owner)`) // a passage's lane is its owner
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	for key, value := range map[string]string{"version": version(), "home": home, "epoch": strconv.FormatInt(epoch, 10), "applied": "-1"} {
		if _, err := tx.ExecContext(ctx, `INSERT INTO marks (key, value) VALUES ($1, $2)`, key, value); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// finishTables creates the indexes that are cheaper to create in one go.
func finishTables(ctx context.Context, tx *sqlx.Tx) error {
	for _, k := range []search.Kind{search.Message, search.Passage} {
		t := tablesOf(k)
		if _, err := tx.ExecContext(ctx, `CREATE UNIQUE INDEX `+t.docs+`_id ON `+t.docs+` (id)`); err != nil {
			return err
		}
	}
	return nil
}

// marks say what the file belongs to and how far it got.
type marks struct {
	Version, Home  string
	Epoch, Applied int64
}

func (m *marks) read(ctx context.Context, q sqlx.QueryerContext) error {
	values, err := readMarks(ctx, q)
	if err != nil {
		return err
	}
	m.Version, m.Home = values["version"], values["home"]
	if m.Epoch, err = strconv.ParseInt(values["epoch"], 10, 64); err != nil {
		return err
	}
	m.Applied, err = strconv.ParseInt(values["applied"], 10, 64)
	return err
}

func readMarks(ctx context.Context, q sqlx.QueryerContext) (map[string]string, error) {
	var rows []struct {
		Key   string `db:"key"`
		Value string `db:"value"`
	}
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT key, value FROM marks`); err != nil {
		return nil, err
	}
	values := make(map[string]string, len(rows))
	for _, r := range rows {
		values[r.Key] = r.Value
	}
	return values, nil
}

func setMark(ctx context.Context, e sqlx.ExecerContext, key string, value int64) error {
	_, err := e.ExecContext(ctx, `UPDATE marks SET value = $1 WHERE key = $2`, strconv.FormatInt(value, 10), key)
	return err
}

// raise adds to a counter kept in marks.
func raise(ctx context.Context, e sqlx.ExecerContext, key string, by int64) error {
	_, err := e.ExecContext(ctx, `UPDATE marks SET value = CAST(CAST(value AS INTEGER) + $1 AS TEXT) WHERE key = $2`, by, key)
	return err
}

// probe reads a little of every table, to detect a damaged file before the first search does.
func probe(ctx context.Context, db *sqlx.DB) error {
	for _, k := range []search.Kind{search.Message, search.Passage} {
		t := tablesOf(k)
		for _, text := range []string{
			`SELECT COUNT(*) FROM (SELECT key FROM ` + t.docs + ` ORDER BY key DESC LIMIT 10)`,
			`SELECT COUNT(*) FROM (SELECT tag FROM ` + t.tags + ` LIMIT 10)`,
			`SELECT COUNT(*) FROM (SELECT key FROM ` + t.scopes + ` LIMIT 10)`,
			`SELECT COUNT(*) FROM (SELECT part FROM ` + t.speakers + ` LIMIT 10)`,
			`SELECT COUNT(*) FROM (SELECT data FROM ` + t.postings + ` ORDER BY key DESC LIMIT 10)`,
			`SELECT COUNT(*) FROM ` + t.terms + ` WHERE term = 'probe'`,
		} {
			var n int
			if err := db.GetContext(ctx, &n, text); err != nil {
				return err
			}
		}
	}
	return nil
}
