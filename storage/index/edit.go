package index

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

// edit writes and removes documents of one kind within a transaction, and at its end what they change in the counters:
// each counter once, however many documents share it. After the first error it does nothing more.
type edit struct {
	tx    *sqlx.Tx
	kind  Kind
	t     tables
	stmts map[string]*sqlx.Stmt
	err   error

	scopes   map[string]int64 // keys of scopes to their numbers
	docs     map[int64]int64  // by number of scope
	terms    map[string]int64
	speakers map[speaker]int64
	total    int64
	length   int64
}

type speaker struct {
	part  string
	owner int64
}

func newEdit(tx *sqlx.Tx, kind Kind) *edit {
	return &edit{
		tx: tx, kind: kind, t: tablesOf(kind), stmts: map[string]*sqlx.Stmt{}, scopes: map[string]int64{}, docs: map[int64]int64{},
		terms: map[string]int64{}, speakers: map[speaker]int64{},
	}
}

// prepared returns a statement, compiled once.
func (e *edit) prepared(ctx context.Context, text string) *sqlx.Stmt {
	if e.err != nil {
		return nil
	}
	s := e.stmts[text]
	if s == nil {
		if s, e.err = e.tx.PreparexContext(ctx, text); e.err != nil {
			return nil
		}
		e.stmts[text] = s
	}
	return s
}

func (e *edit) exec(ctx context.Context, text string, args ...any) {
	if s := e.prepared(ctx, text); s != nil {
		_, e.err = s.ExecContext(ctx, args...)
	}
}

// scope returns the number of a scope and makes it where it is new.
func (e *edit) scope(ctx context.Context, key string) int64 {
	if num, ok := e.scopes[key]; ok {
		return num
	}
	e.exec(ctx, `INSERT OR IGNORE INTO `+e.t.scopes+` (key, docs) VALUES ($1, 0)`, key)
	var num int64
	if s := e.prepared(ctx, `SELECT num FROM `+e.t.scopes+` WHERE key = $1`); s != nil {
		e.err = s.GetContext(ctx, &num, key)
	}
	e.scopes[key] = num
	return num
}

// put writes documents that are not there yet.
func (e *edit) put(ctx context.Context, docs []Doc) {
	for i := range docs {
		d := &docs[i]
		r := search.Read(search.Source{Text: d.Text, Speaker: d.Name, At: time.UnixMicro(d.At).UTC(), Turn: e.kind == Message})
		owner := e.scope(ctx, ownerKey(d.Owner))
		lane := owner
		if e.kind == Message {
			lane = e.scope(ctx, threadKey(d.Thread))
		}
		who := search.Voice(r.Speaker, d.Role)
		e.exec(ctx, `INSERT INTO `+e.t.docs+` (seq, id, owner, lane, role, at, who, minute, flags, len, words, spans)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			d.Seq, d.ID, owner, lane, d.Role, d.At, who, r.Minute, int64(r.Flags), len(r.Words), r.Store(), search.StoreSpans(r.Spans))
		scope := scopeToken(owner)
		if lane != owner {
			scope += " " + scopeToken(lane)
		}
		for _, tag := range d.Tags {
			e.exec(ctx, `INSERT OR IGNORE INTO `+e.t.tags+` (seq, tag) VALUES ($1, $2)`, d.Seq, tag)
		}
		parts := search.NameParts(who)
		e.exec(ctx, `INSERT INTO `+e.t.words+` (rowid, scope, who, body) VALUES ($1, $2, $3, $4)`, d.Seq, scope, strings.Join(parts, " "), strings.Join(r.Words, " "))
		e.count(owner, lane, parts, r.Words, 1)
	}
}

// count adds a document to the counters, or takes it out of them.
func (e *edit) count(owner, lane int64, parts, words []string, by int64) {
	e.total += by
	e.length += by * int64(len(words))
	e.docs[owner] += by
	if lane != owner {
		e.docs[lane] += by
	}
	seen := make(map[string]bool, len(words))
	for _, w := range words {
		if !seen[w] {
			seen[w] = true
			e.terms[w] += by
		}
	}
	clear(seen)
	for _, p := range parts {
		if !seen[p] {
			seen[p] = true
			e.speakers[speaker{p, owner}] += by
		}
	}
}

type dropped struct {
	Seq   int64  `db:"seq"`
	Owner int64  `db:"owner"`
	Lane  int64  `db:"lane"`
	Who   string `db:"who"`
	Words string `db:"words"`
}

const selectDropped = `SELECT seq, owner, lane, who, words FROM `

// drop removes documents.
func (e *edit) drop(ctx context.Context, ids []string) {
	if e.err != nil || len(ids) == 0 {
		return
	}
	query, args, err := sqlx.In(selectDropped+e.t.docs+` WHERE id IN (?)`, ids)
	if err != nil {
		e.err = err
		return
	}
	var rows []dropped
	if e.err = e.tx.SelectContext(ctx, &rows, query, args...); e.err == nil {
		e.remove(ctx, rows)
	}
}

func (e *edit) remove(ctx context.Context, rows []dropped) {
	for _, r := range rows {
		e.exec(ctx, `DELETE FROM `+e.t.words+` WHERE rowid = $1`, r.Seq)
		e.exec(ctx, `DELETE FROM `+e.t.tags+` WHERE seq = $1`, r.Seq)
		e.exec(ctx, `DELETE FROM `+e.t.docs+` WHERE seq = $1`, r.Seq)
		e.count(r.Owner, r.Lane, search.NameParts(r.Who), search.LoadWords(r.Words), -1)
	}
}

// dropScope removes everything of an owner or a thread.
func (e *edit) dropScope(ctx context.Context, column, key string) {
	var num int64
	err := e.tx.GetContext(ctx, &num, `SELECT num FROM `+e.t.scopes+` WHERE key = $1`, key)
	if errors.Is(err, sql.ErrNoRows) {
		return
	}
	for e.err = err; e.err == nil; {
		var rows []dropped
		e.err = e.tx.SelectContext(ctx, &rows, selectDropped+e.t.docs+` WHERE `+column+` = $1 LIMIT $2`, num, batch)
		if e.err != nil || len(rows) == 0 {
			return
		}
		e.remove(ctx, rows)
	}
}

// finish writes the counters and gives the statements back.
func (e *edit) finish(ctx context.Context) error {
	for num, by := range e.docs {
		if by != 0 {
			e.exec(ctx, `UPDATE `+e.t.scopes+` SET docs = docs + $1 WHERE num = $2`, by, num)
		}
	}
	for term, by := range e.terms {
		if by != 0 {
			e.exec(ctx, `INSERT INTO `+e.t.terms+` (term, docs) VALUES ($1, $2) ON CONFLICT (term) DO UPDATE SET docs = docs + excluded.docs`, term, by)
		}
		if by < 0 {
			e.exec(ctx, `DELETE FROM `+e.t.terms+` WHERE term = $1 AND docs <= 0`, term)
		}
	}
	for s, by := range e.speakers {
		if by != 0 {
			e.exec(ctx, `INSERT INTO `+e.t.speakers+` (part, owner, docs) VALUES ($1, $2, $3)
				ON CONFLICT (part, owner) DO UPDATE SET docs = docs + excluded.docs`, s.part, s.owner, by)
		}
		if by < 0 {
			e.exec(ctx, `DELETE FROM `+e.t.speakers+` WHERE part = $1 AND owner = $2 AND docs <= 0`, s.part, s.owner)
		}
	}
	for _, s := range e.stmts {
		_ = s.Close()
	}
	if e.err != nil {
		return e.err
	}
	if e.total == 0 && e.length == 0 {
		return nil
	}
	if err := raise(ctx, e.tx, "len_"+string(e.kind), e.length); err != nil {
		return err
	}
	return raise(ctx, e.tx, "docs_"+string(e.kind), e.total)
}

// dropGone removes everything of an agent, a conversation or an archive that is gone.
func dropGone(ctx context.Context, tx *sqlx.Tx, c Change) error {
	var e *edit
	switch c.Kind {
	case "agent":
		e = newEdit(tx, Message)
		e.dropScope(ctx, "owner", ownerKey(c.ID))
	case "conversation":
		e = newEdit(tx, Message)
		e.dropScope(ctx, "lane", threadKey(c.ID))
	case "archive":
		e = newEdit(tx, Passage)
		e.dropScope(ctx, "owner", ownerKey(c.ID))
	default:
		return nil
	}
	return e.finish(ctx)
}

// ownerKey and threadKey differ: an agent's default conversation has the agent's id.
func ownerKey(id string) string  { return "o" + id }
func threadKey(id string) string { return "t" + id }

func scopeToken(num int64) string { return "s" + strconv.FormatInt(num, 10) }
