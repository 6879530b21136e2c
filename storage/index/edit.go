package index

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
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
	terms    map[string]*change
	speakers map[speaker]int64
	total    int64
	length   int64
	last     int64 // the highest seq when it began
}

// change is what happens to a term: by how many documents its number changes, and its entries by block and offset,
// where 0 takes one out.
type change struct {
	by      int64
	entries map[int64]map[uint16]int
}

type speaker struct {
	part  string
	owner int64
}

func newEdit(ctx context.Context, tx *sqlx.Tx, kind Kind) *edit {
	e := &edit{
		tx: tx, kind: kind, t: tablesOf(kind), stmts: map[string]*sqlx.Stmt{}, scopes: map[string]int64{}, docs: map[int64]int64{},
		terms: map[string]*change{}, speakers: map[speaker]int64{},
	}
	e.err = tx.GetContext(ctx, &e.last, `SELECT COALESCE(MAX(seq), 0) FROM `+e.t.docs)
	return e
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
	if e.err == nil {
		e.err = e.tx.GetContext(ctx, &num, `SELECT num FROM `+e.t.scopes+` WHERE key = $1`, key)
	}
	e.scopes[key] = num
	return num
}

// put writes documents that are not there yet.
func (e *edit) put(ctx context.Context, docs []Doc) {
	for i := range docs {
		d := &docs[i]
		r := search.Read(search.Source{Text: d.Text, Speaker: d.Name, At: time.UnixMicro(d.At).UTC(), Turn: e.kind == Message, Part: d.File != ""})
		owner := e.scope(ctx, ownerKey(d.Owner))
		lane := owner
		if e.kind == Message {
			lane = e.scope(ctx, threadKey(d.Thread))
		}
		who := search.Voice(r.Speaker, d.Role)
		e.exec(ctx, `INSERT INTO `+e.t.docs+` (seq, id, owner, lane, role, at, who, minute, flags, len, words, spans)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			d.Seq, d.ID, owner, lane, d.Role, d.At, who, r.Minute, int64(r.Flags), len(r.Words), r.Store(), search.StoreSpans(r.Spans))
		tags := d.Tags
		if d.File != "" {
			tags = append(slices.Clone(tags), fileTag(d.File))
		}
		for _, tag := range tags {
			e.exec(ctx, `INSERT OR IGNORE INTO `+e.t.tags+` (seq, tag) VALUES ($1, $2)`, d.Seq, tag)
		}
		e.count(entry{d.Seq, owner, lane, search.NameParts(who), tags, r.Words}, 1)
	}
}

// fileTag is a tag that no person gives: it stands for the file of a part.
func fileTag(file string) string { return "\x1f" + file }

// fileTags are the tags of several files.
func fileTags(files []string) []string {
	tags := make([]string, len(files))
	for i, f := range files {
		tags[i] = fileTag(f)
	}
	return tags
}

// entry is what of a document is counted.
type entry struct {
	seq, owner, lane int64
	parts            []string // of its speaker's name
	tags             []string
	words            []string
}

// count adds a document to the counters and postings, or takes it out of them.
func (e *edit) count(d entry, by int64) {
	e.total += by
	e.length += by * int64(len(d.words))
	e.docs[d.owner] += by
	tf := make(map[string]int, len(d.words)+4)
	for _, w := range d.words {
		tf[w]++
	}
	tf[scopeTerm(d.owner)] = 1
	if d.lane != d.owner {
		e.docs[d.lane] += by
		tf[scopeTerm(d.lane)] = 1
	}
	for _, tag := range d.tags {
		tf[tagTerm(tag)] = 1
	}
	for _, p := range d.parts {
		if tf[whoTerm(p)] == 0 {
			tf[whoTerm(p)] = 1
			e.speakers[speaker{p, d.owner}] += by
		}
	}
	for term, n := range tf {
		c := e.terms[term]
		if c == nil {
			c = &change{entries: map[int64]map[uint16]int{}}
			e.terms[term] = c
		}
		c.by += by
		block := d.seq >> blockBits
		if c.entries[block] == nil {
			c.entries[block] = map[uint16]int{}
		}
		c.entries[block][offsetOf(d.seq)] = n * int((by+1)/2)
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
	tags := e.tagsOf(ctx, rows)
	for _, r := range rows {
		e.exec(ctx, `DELETE FROM `+e.t.tags+` WHERE seq = $1`, r.Seq)
		e.exec(ctx, `DELETE FROM `+e.t.docs+` WHERE seq = $1`, r.Seq)
		e.count(entry{r.Seq, r.Owner, r.Lane, search.NameParts(r.Who), tags[r.Seq], search.LoadWords(r.Words)}, -1)
	}
}

func (e *edit) tagsOf(ctx context.Context, rows []dropped) map[int64][]string {
	if e.err != nil || len(rows) == 0 {
		return nil
	}
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.Seq
	}
	var tagged []struct {
		Seq int64  `db:"seq"`
		Tag string `db:"tag"`
	}
	e.err = e.tx.SelectContext(ctx, &tagged, `SELECT seq, tag FROM `+e.t.tags+` WHERE seq IN `+numbers(seqs))
	out := map[int64][]string{}
	for _, t := range tagged {
		out[t.Seq] = append(out[t.Seq], t.Tag)
	}
	return out
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
	for _, term := range slices.Sorted(maps.Keys(e.terms)) { // neighbours in the tree one after the other
		e.amendTerm(ctx, term, e.terms[term])
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

// amendTerm writes what changes of a term.
func (e *edit) amendTerm(ctx context.Context, term string, c *change) {
	var num, docs int64
	if s := e.prepared(ctx, `INSERT INTO `+e.t.terms+` (term, docs) VALUES ($1, $2) ON CONFLICT (term) DO UPDATE SET docs = docs + excluded.docs RETURNING num, docs`); s != nil {
		e.err = s.QueryRowContext(ctx, term, c.by).Scan(&num, &docs)
	}
	for _, block := range slices.Sorted(maps.Keys(c.entries)) {
		key, changes := num<<termShift|block, c.entries[block]
		if e.follow(block, changes) { // behind everything there is
			e.exec(ctx, `INSERT INTO `+e.t.postings+` (key, data) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`,
				key, amend(nil, changes))
			continue
		}
		var data []byte
		if s := e.prepared(ctx, `SELECT data FROM `+e.t.postings+` WHERE key = $1`); s != nil {
			if err := s.QueryRowContext(ctx, key).Scan(&data); err != nil && !errors.Is(err, sql.ErrNoRows) {
				e.err = err
			}
		}
		if data = amend(data, changes); len(data) > 0 {
			e.exec(ctx, `INSERT INTO `+e.t.postings+` (key, data) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET data = excluded.data`, key, data)
		} else {
			e.exec(ctx, `DELETE FROM `+e.t.postings+` WHERE key = $1`, key)
		}
	}
	if docs <= 0 {
		e.exec(ctx, `DELETE FROM `+e.t.terms+` WHERE num = $1`, num)
	}
}

// follow reports changes that only add documents behind all that were there before.
func (e *edit) follow(block int64, changes map[uint16]int) bool {
	for offset, tf := range changes {
		if tf == 0 || block<<blockBits|int64(offset) <= e.last {
			return false
		}
	}
	return true
}

// dropGone removes everything of an agent, a conversation or an archive that is gone.
func dropGone(ctx context.Context, tx *sqlx.Tx, c Change) error {
	var e *edit
	switch c.Kind {
	case "agent":
		e = newEdit(ctx, tx, Message)
		e.dropScope(ctx, "owner", ownerKey(c.ID))
	case "conversation":
		e = newEdit(ctx, tx, Message)
		e.dropScope(ctx, "lane", threadKey(c.ID))
	case "archive":
		e = newEdit(ctx, tx, Passage)
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
