package index

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"loci/core/search"
)

// edit adds and removes documents of one kind and writes the counters last: each counter once, however many documents
// share it. After the first error it does nothing.
type edit struct {
	tx    *sqlx.Tx
	kind  search.Kind
	t     tables
	stmts map[string]*sqlx.Stmt // prepared on tx
	err   error

	scopes   map[string]int64 // scope key to number
	sizes    map[int64]*size  // by scope number
	terms    map[string]*change
	entries  int // across all terms
	speakers map[speaker]int64
	total    int64
	length   int64
}

// change collects what happens to one term: by how much its document count changes, and its entries in arrival order.
type change struct {
	by      int64
	entries []entry
}

type speaker struct {
	part  string
	owner int64
}

func newEdit(tx *sqlx.Tx, kind search.Kind) *edit {
	e := &edit{
		kind:     kind,
		t:        tablesOf(kind),
		scopes:   map[string]int64{},
		sizes:    map[int64]*size{},
		terms:    map[string]*change{},
		speakers: map[speaker]int64{},
	}
	e.use(tx)
	return e
}

// use continues in another transaction.
func (e *edit) use(tx *sqlx.Tx) { e.tx, e.stmts = tx, map[string]*sqlx.Stmt{} }

// prepared returns a statement, compiling it on first use.
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

// insert writes many rows per statement, because a statement costs more than a row. text ends where the values begin.
func (e *edit) insert(ctx context.Context, text string, columns int, args []any) {
	one := "(?" + strings.Repeat(", ?", columns-1) + ")"
	for _, n := range []int{64, 8, 1} {
		all := text + one + strings.Repeat(", "+one, n-1)
		for ; len(args) >= n*columns && e.err == nil; args = args[n*columns:] {
			e.exec(ctx, all, args[:n*columns]...)
		}
	}
}

// closeStatements closes the prepared statements; use begins with new ones.
func (e *edit) closeStatements() {
	for _, s := range e.stmts {
		_ = s.Close()
	}
}

// scope returns a scope's number, creating the scope if needed.
func (e *edit) scope(ctx context.Context, key string) int64 {
	if num, ok := e.scopes[key]; ok {
		return num
	}
	e.exec(ctx, `INSERT OR IGNORE INTO `+e.t.scopes+` (key, docs, words) VALUES ($1, 0, 0)`, key)
	var num int64
	if e.err == nil {
		e.err = e.tx.GetContext(ctx, &num, `SELECT num FROM `+e.t.scopes+` WHERE key = $1`, key)
	}
	e.scopes[key] = num
	return num
}

// put adds documents that are not in the index yet.
func (e *edit) put(ctx context.Context, docs []reading) {
	const columns = 7
	rows, tags := make([]any, 0, columns*len(docs)), []any(nil)
	for i := range docs {
		d := &docs[i]
		owner := e.scope(ctx, ownerKey(d.Owner))
		lane := owner
		if e.kind == search.Message {
			lane = e.scope(ctx, threadKey(d.Thread))
		}
		rows = append(rows, docKey(lane, d.Seq), d.Seq, d.ID, owner, d.At, d.minute, d.stored)
		for _, tag := range d.tags {
			tags = append(tags, d.Seq, tag)
		}
		e.count(document{d.Seq, owner, lane, d.parts, d.tags, d.words}, 1)
	}
	e.insert(ctx, `INSERT INTO `+e.t.docs+` (key, seq, id, owner, at, minute, data) VALUES `, columns, rows)
	e.insert(ctx, `INSERT INTO `+e.t.tags+` (seq, tag) VALUES `, 2, tags)
}

// document holds the parts of a document that are counted.
type document struct {
	seq, owner, lane int64
	parts            []string // of the speaker's name
	tags             []string // no duplicates
	words            []string
}

// count adds a document to the counters and postings, or removes it.
func (e *edit) count(d document, by int64) {
	words := by * int64(len(d.words))
	e.total += by
	e.length += words
	e.resize(d.owner, by, words)
	e.post(d.seq, scopeTerm(d.owner), 1, by)
	if d.lane != d.owner {
		e.resize(d.lane, by, words)
		e.post(d.seq, scopeTerm(d.lane), 1, by)
	}
	for _, tag := range d.tags {
		e.post(d.seq, tagTerm(tag), 1, by)
	}
	for i, p := range d.parts {
		if !slices.Contains(d.parts[:i], p) {
			e.post(d.seq, whoTerm(p), 1, by)
			e.speakers[speaker{p, d.owner}] += by
		}
	}
	slices.Sort(d.words) // the original order is kept elsewhere
	for len(d.words) > 0 {
		n := 1
		for n < len(d.words) && d.words[n] == d.words[0] {
			n++
		}
		e.post(d.seq, d.words[0], n, by)
		d.words = d.words[n:]
	}
}

// size is how much a scope holds, or by how much that changes.
type size struct{ docs, words int64 }

func (e *edit) resize(scope, docs, words int64) {
	s := e.sizes[scope]
	if s == nil {
		s = &size{}
		e.sizes[scope] = s
	}
	s.docs += docs
	s.words += words
}

// post records that a document contains a term, or no longer does.
func (e *edit) post(seq int64, term string, tf int, by int64) {
	c := e.terms[term]
	if c == nil {
		c = &change{}
		e.terms[strings.Clone(term)] = c // cloned, so the text it was cut from can be freed
	}
	c.by += by
	c.entries = append(c.entries, newEntry(seq, tf*int((by+1)/2)))
	e.entries++
}

// finish writes the counters and postings and closes the statements.
func (e *edit) finish(ctx context.Context) error {
	e.settle(ctx)
	e.flush(ctx)
	e.closeStatements()
	return e.err
}

// settle writes how much each scope holds.
func (e *edit) settle(ctx context.Context) {
	for num, by := range e.sizes {
		if *by != (size{}) {
			e.exec(ctx, `UPDATE `+e.t.scopes+` SET docs = docs + $1, words = words + $2 WHERE num = $3`, by.docs, by.words, num)
		}
	}
	clear(e.sizes)
	if e.err != nil || e.total == 0 && e.length == 0 {
		return
	}
	if e.err = raise(ctx, e.tx, "len_"+string(e.kind), e.length); e.err == nil {
		e.err = raise(ctx, e.tx, "docs_"+string(e.kind), e.total)
	}
	e.total, e.length = 0, 0
}

// flush writes terms and speakers.
func (e *edit) flush(ctx context.Context) {
	e.amendTerms(ctx)
	for s, by := range e.speakers {
		if by != 0 {
			e.exec(ctx, `INSERT INTO `+e.t.speakers+` (part, owner, docs) VALUES ($1, $2, $3)
				ON CONFLICT (part, owner) DO UPDATE SET docs = docs + excluded.docs`, s.part, s.owner, by)
		}
		if by < 0 {
			e.exec(ctx, `DELETE FROM `+e.t.speakers+` WHERE part = $1 AND owner = $2 AND docs <= 0`, s.part, s.owner)
		}
	}
	clear(e.terms)
	clear(e.speakers)
	e.entries = 0
}

// termRow is a term as stored: blocks after upto are in the tail, older ones in rows of their own.
type termRow struct {
	num, docs, upto int64
	tail            []byte
}

// readTerms reads at most lookupBatch terms.
func readTerms(ctx context.Context, tx *sqlx.Tx, t tables, terms []string, into map[string]*termRow) error {
	if len(terms) == 0 {
		return nil
	}
	c := &conditions{}
	c.and("term IN " + c.list(terms))
	rows, err := tx.QueryContext(ctx, `SELECT term, num, docs, upto, tail FROM `+t.terms+c.where(), c.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err reports an incomplete read
	for rows.Next() {
		var term string
		var r termRow
		if err := rows.Scan(&term, &r.num, &r.docs, &r.upto, &r.tail); err != nil {
			return err
		}
		into[term] = &r
	}
	return rows.Err()
}

// amendTerms writes the changed terms in key order, so neighbours in the tree are written together.
func (e *edit) amendTerms(ctx context.Context) {
	if e.err != nil || len(e.terms) == 0 {
		return
	}
	var given int64 // the highest term number in use
	e.err = e.tx.GetContext(ctx, &given, `SELECT CAST(value AS INTEGER) FROM marks WHERE key = $1`, "terms_"+string(e.kind))
	before := given
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(e.terms)), lookupBatch) {
		known := make(map[string]*termRow, len(chunk))
		if e.err == nil {
			e.err = readTerms(ctx, e.tx, e.t, chunk, known)
		}
		var written, rows []any
		for _, term := range chunk {
			if e.err != nil {
				return
			}
			row := known[term]
			if row == nil {
				given++
				row = &termRow{num: given, upto: -1}
			}
			rows = e.amendTerm(ctx, row, e.terms[term], rows)
			if row.docs > 0 {
				written = append(written, term, row.num, row.docs, row.upto, row.tail)
				continue
			}
			e.exec(ctx, `DELETE FROM `+e.t.terms+` WHERE term = $1`, term)
			e.exec(ctx, `DELETE FROM `+e.t.postings+` WHERE key >= $1 AND key < $2`, row.num<<termShift, (row.num+1)<<termShift)
		}
		e.insert(ctx, `INSERT OR REPLACE INTO `+e.t.postings+` (key, data) VALUES `, 2, rows)
		e.insert(ctx, `INSERT OR REPLACE INTO `+e.t.terms+` (term, num, docs, upto, tail) VALUES `, 5, written)
	}
	if e.err == nil && given > before {
		e.err = setMark(ctx, e.tx, "terms_"+string(e.kind), given)
	}
}

// amendTerm merges a change's entries into the term; when the tail has grown too long, it appends the rows to write.
func (e *edit) amendTerm(ctx context.Context, row *termRow, c *change, rows []any) []any {
	row.docs += c.by
	entries := sorted(c.entries)
	first := 0
	for first < len(entries) && entries[first].block() <= row.upto {
		first++
	}
	if row.docs <= 0 {
		return rows
	}
	e.amendRows(ctx, row.num, entries[:first])
	tail, err := decode(nil, row.tail)
	if err != nil {
		e.err = err
		return rows
	}
	tail = merge(tail, entries[first:])
	row.tail = encode(tail)
	if len(row.tail) <= tailBytes || len(tail) < 2 {
		return rows
	}
	old, last := tail[:len(tail)-1], tail[len(tail)-1:]
	if row.upto >= 0 {
		old = e.joinLast(ctx, row.num, old)
	}
	for _, blocks := range packRows(old) {
		rows = append(rows, row.num<<termShift|blocks[0].number, encode(blocks))
	}
	row.upto, row.tail = old[len(old)-1].number, encode(last)
	return rows
}

// joinLast prepends the blocks of a term's last row to others if they fit in one row.
func (e *edit) joinLast(ctx context.Context, num int64, blocks []block) []block {
	_, data := e.postingsRow(ctx, num, 1<<termShift-1)
	if len(data)+len(blocks[0].data)+6 > rowBytes {
		return blocks
	}
	before, err := decode(nil, data)
	e.err = errors.Join(e.err, err)
	return append(before, blocks...)
}

// postingsRow reads the row that a term's block belongs to; nothing if the block precedes all rows.
func (e *edit) postingsRow(ctx context.Context, num, block int64) (key int64, data []byte) {
	s := e.prepared(ctx, `SELECT key, data FROM `+e.t.postings+` WHERE key >= $1 AND key <= $2 ORDER BY key DESC LIMIT 1`)
	if s == nil {
		return 0, nil
	}
	err := s.QueryRowContext(ctx, num<<termShift, num<<termShift|block).Scan(&key, &data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		e.err = err
	}
	return key, data
}

// amendRows merges entries into a term's rows.
func (e *edit) amendRows(ctx context.Context, num int64, entries []entry) {
	for len(entries) > 0 && e.err == nil {
		n := 1
		for n < len(entries) && entries[n].block() == entries[0].block() {
			n++
		}
		key, data := e.postingsRow(ctx, num, entries[0].block())
		blocks, err := decode(nil, data)
		if err != nil {
			e.err = err
			return
		}
		if data != nil {
			e.exec(ctx, `DELETE FROM `+e.t.postings+` WHERE key = $1`, key)
		}
		for _, row := range packRows(merge(blocks, entries[:n])) {
			e.exec(ctx, `INSERT INTO `+e.t.postings+` (key, data) VALUES ($1, $2)`, num<<termShift|row[0].number, encode(row))
		}
		entries = entries[n:]
	}
}

const ownerMark = 'o'

// ownerKey and threadKey differ: an agent's default conversation has the agent's id.
func ownerKey(id string) string  { return string(ownerMark) + id }
func threadKey(id string) string { return "t" + id }

func scopeToken(num int64) string { return "s" + strconv.FormatInt(num, 10) }
