package index

import (
	"context"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"loci/core/search"
)

// The limits of one search.
const (
	maxCandidates = 200    // per clue
	maxAkin       = 25     // … of which so many may have none of the words, but relatives
	maxDays       = 100    // candidates from the days asked for
	around        = 4      // texts read on each side of a candidate
	returned      = 2      // … and how many of those may be results
	lookupBatch   = 500    // values in one statement
	maxScanned    = 20_000 // candidates examined when a filter applies
)

// Filter restricts a search. Empty fields restrict nothing.
type Filter struct {
	Owners      []string
	Thread      string
	Roles       []string
	From, Until int64 // microseconds, half open
	Tags        []string
	AllTags     bool
	Files       []string
}

// Ask says what a view covers.
type Ask struct {
	Filter  Filter
	Zone    *time.Location  // time zone for the days of texts that name no date
	Without map[string]bool // ids of texts to treat as absent: nothing inherits from them
}

// View is one read transaction on the index, so a search counts exactly what it reads. The file isn't replaced while a
// view is open, so close it soon.
type View struct {
	x       *Index
	conn    *sqlx.Conn // tx runs on it
	tx      *sqlx.Tx
	kind    search.Kind
	t       tables
	ask     Ask
	applied int64 // the last change in the index
	total   int64 // texts of the kind

	owners  []int64 // numbers of the scopes to search; nil: all
	lane    int64   // 0: all
	inReach int64   // texts in those scopes
	words   int64   // … and the words in them
}

var (
	_ search.Counter = (*View)(nil)
	_ search.Lexicon = (*View)(nil)
)

// View opens a view. Its errors, and those of the view's methods, wrap search.ErrUnavailable if the file is damaged or
// missing. The file is then rebuilt; call Wait to wait for that.
func (x *Index) View(ctx context.Context, kind search.Kind, a Ask) (*View, error) {
	x.mu.RLock()
	if x.files == nil {
		x.mu.RUnlock()
		return nil, search.ErrUnavailable
	}
	v, err := begin(ctx, x.files.r, kind, a)
	if err == nil {
		v.x = x
		if err = v.reach(ctx); err != nil {
			v.end()
		}
	}
	if err != nil {
		err = x.met(err)
		x.mu.RUnlock()
		return nil, err
	}
	return v, nil
}

// begin starts a view's transaction.
func begin(ctx context.Context, db *sqlx.DB, kind search.Kind, a Ask) (*View, error) {
	conn, err := db.Connx(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &View{conn: conn, tx: tx, kind: kind, t: tablesOf(kind), ask: a}, nil
}

// end ends the transaction and returns its connection.
func (v *View) end() {
	_ = v.tx.Rollback() // it only reads
	_ = v.conn.Close()  // back to the pool
}

// Close ends the view.
func (v *View) Close() {
	v.end()
	v.x.mu.RUnlock()
}

// Applied returns the last change in the view, -1 during a build.
func (v *View) Applied() int64 { return v.applied }

// Reach returns how much the scope holds.
func (v *View) Reach() search.Reach {
	return search.Reach{Texts: int(v.inReach), Total: int(v.total), AvgWords: float64(v.words) / float64(max(v.inReach, 1))}
}

// met requests a rebuild if an error says that the file is damaged. The caller must keep the files from being replaced
// meanwhile.
func (x *Index) met(err error) error {
	if !isDamage(err) {
		return err
	}
	x.stateMu.Lock()
	x.damaged = x.replaced
	x.stateMu.Unlock()
	select {
	case x.broken <- struct{}{}:
	default:
	}
	return errors.Join(search.ErrUnavailable, err)
}

// met is Index.met with the error converted by Classify.
func (v *View) met(err error) error {
	if err != nil {
		err = v.x.met(err)
		if v.x.cfg.Classify != nil {
			err = v.x.cfg.Classify(err)
		}
	}
	return err
}

// use runs do on the files.
func (x *Index) use(do func(f *files) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.files == nil {
		return search.ErrUnavailable
	}
	return x.met(do(x.files))
}

func isDamage(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return errors.Is(err, errDamaged)
	}
	switch se.Code() {
	case sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_DATA, sqlite3.SQLITE_IOERR_CORRUPTFS:
		return true // a file that was cut short, or whose sectors cannot be read
	}
	return se.Code()&0xff == sqlite3.SQLITE_CORRUPT || se.Code()&0xff == sqlite3.SQLITE_NOTADB
}

// All returns all texts in scope.
func (v *View) All(ctx context.Context) ([]search.Doc, error) {
	w := v.scope("d")
	if v.kind == search.Passage && len(v.owners) == 1 {
		w.and(inLane("d.key", v.owners[0])) // they are stored together
	}
	docs, err := v.read(ctx, "", w, int(v.inReach))
	if err != nil {
		return nil, v.met(err)
	}
	return without(docs, v.ask.Without), nil
}

// reach looks up the scopes asked for and how much they hold.
func (v *View) reach(ctx context.Context) error {
	values, err := readMarks(ctx, v.tx)
	if err != nil {
		return err
	}
	if v.applied, err = number(values["applied"]); err != nil {
		return err
	}
	if v.total, err = number(values["docs_"+string(v.kind)]); err != nil {
		return err
	}
	if v.words, err = number(values["len_"+string(v.kind)]); err != nil {
		return err
	}
	v.inReach = v.total
	type scope struct {
		Num   int64 `db:"num"`
		Docs  int64 `db:"docs"`
		Words int64 `db:"words"`
	}
	find := func(keys []string) (found []scope, err error) {
		query, args, err := sqlx.In(`SELECT num, docs, words FROM `+v.t.scopes+` WHERE key IN (?)`, keys)
		if err == nil {
			err = v.tx.SelectContext(ctx, &found, query, args...)
		}
		return found, err
	}
	if len(v.ask.Filter.Owners) > 0 {
		keys := make([]string, len(v.ask.Filter.Owners))
		for i, o := range v.ask.Filter.Owners {
			keys[i] = ownerKey(o)
		}
		found, err := find(keys)
		if err != nil {
			return err
		}
		v.inReach, v.words, v.owners = 0, 0, []int64{}
		for _, s := range found {
			v.inReach += s.Docs
			v.words += s.Words
			v.owners = append(v.owners, s.Num)
		}
	}
	if v.ask.Filter.Thread != "" {
		found, err := find([]string{threadKey(v.ask.Filter.Thread)})
		if err != nil || len(found) == 0 {
			v.inReach, v.words = 0, 0
			return err
		}
		v.lane, v.inReach, v.words = found[0].Num, min(v.inReach, found[0].Docs), min(v.words, found[0].Words)
	}
	return nil
}

// without removes docs by id, and marks a gap where they were.
func without(docs []search.Doc, ids map[string]bool) []search.Doc {
	if len(ids) == 0 {
		return docs
	}
	kept, gap := docs[:0], false
	for _, d := range docs {
		if ids[d.ID] {
			gap = true
			continue
		}
		d.Gap = d.Gap || gap
		kept, gap = append(kept, d), false
	}
	return kept
}
