package index

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"loci/core/search"
)

// The bounds of one search.
const (
	maxCandidates = 200
	lookupBatch   = 500    // of them in one statement
	maxLookups    = 2000   // words of a query whose frequency is looked up
	hitBudget     = 50_000 // texts that the words of a query may stand in together: FTS5 has no early stop
)

// Filter restricts a search. Empty fields restrict nothing.
type Filter struct {
	Owners      []string
	Thread      string
	Roles       []string
	From, Until int64 // microseconds, half open
	Tags        []string
	AllTags     bool
}

// ErrUnavailable is returned while there is no index to search.
var ErrUnavailable = errors.New("the search index is being built")

// Match returns ids within the filter that share words with the query, best first.
func (x *Index) Match(ctx context.Context, kind Kind, q search.Query, f Filter) ([]search.Hit, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.files == nil {
		return nil, ErrUnavailable
	}
	hits, err := match(ctx, x.files.r, kind, q, f)
	var se *sqlite.Error
	if errors.As(err, &se) && (se.Code()&0xff == sqlite3.SQLITE_CORRUPT || se.Code()&0xff == sqlite3.SQLITE_NOTADB) {
		select {
		case x.broken <- struct{}{}:
		default:
		}
		return nil, ErrUnavailable
	}
	return hits, err
}

func match(ctx context.Context, db *sqlx.DB, kind Kind, q search.Query, f Filter) ([]search.Hit, error) {
	st, err := stats(ctx, db, kind, q.Terms[:min(len(q.Terms), maxLookups)])
	if err != nil {
		return nil, err
	}
	q = q.Narrow(st.DF, hitBudget)
	if len(q.Terms) == 0 {
		return nil, nil
	}
	query, args := candidateQuery(kind, q, f)
	var rows []struct {
		ID    string `db:"id"`
		Words string `db:"words"`
	}
	if err := db.SelectContext(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	candidates := make([]search.Candidate, len(rows))
	for i, r := range rows {
		candidates[i] = search.Candidate{ID: r.ID, Words: strings.Fields(r.Words)}
	}
	return search.Rank(q, st, candidates), nil
}

// stats reads the counters and in how many texts each term stands.
func stats(ctx context.Context, db *sqlx.DB, kind Kind, terms []string) (search.Stats, error) {
	st := search.Stats{DF: map[string]int{}}
	values, err := readMarks(ctx, db)
	if err != nil {
		return st, err
	}
	if st.Docs, err = strconv.Atoi(values["docs_"+string(kind)]); err != nil {
		return st, err
	}
	length, err := strconv.Atoi(values["len_"+string(kind)])
	if err != nil {
		return st, err
	}
	st.AvgLen = float64(length) / float64(max(st.Docs, 1))
	for chunk := range slices.Chunk(terms, lookupBatch) {
		query, args, err := sqlx.In(`SELECT term, doc FROM `+tablesOf(kind).vocabulary+` WHERE term IN (?) AND col = 'body'`, chunk)
		if err != nil {
			return st, err
		}
		var rows []struct {
			Term string `db:"term"`
			Doc  int    `db:"doc"`
		}
		if err := db.SelectContext(ctx, &rows, query, args...); err != nil {
			return st, err
		}
		for _, r := range rows {
			st.DF[r.Term] = r.Doc
		}
	}
	return st, nil
}

// candidateQuery finds the best texts by FTS5's own measure, good enough to choose whom to rank.
func candidateQuery(kind Kind, q search.Query, f Filter) (string, []any) {
	t := tablesOf(kind)
	args := []any{expression(q, f)}
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	var b strings.Builder
	b.WriteString(`SELECT id, words FROM (SELECT d.seq, d.id, d.words FROM ` + t.words + ` JOIN ` + t.docs + ` d ON d.seq = ` + t.words + `.rowid WHERE ` + t.words + ` MATCH $1`)
	if f.From != 0 {
		b.WriteString(` AND d.at >= ` + arg(f.From))
	}
	if f.Until != 0 {
		b.WriteString(` AND d.at < ` + arg(f.Until))
	}
	if len(f.Roles) > 0 {
		names := make([]string, len(f.Roles))
		for i, r := range f.Roles {
			names[i] = arg(r)
		}
		b.WriteString(` AND d.role IN (` + strings.Join(names, ", ") + `)`)
	}
	tags := make([]string, len(f.Tags))
	for i, tag := range f.Tags {
		tags[i] = `EXISTS (SELECT 1 FROM ` + t.tags + ` g WHERE g.seq = d.seq AND g.tag = ` + arg(tag) + `)`
	}
	if len(tags) > 0 {
		join := ` OR `
		if f.AllTags {
			join = ` AND `
		}
		b.WriteString(` AND (` + strings.Join(tags, join) + `)`)
	}
	b.WriteString(` ORDER BY bm25(` + t.words + `, 0.0, 1.0) LIMIT ` + strconv.Itoa(maxCandidates) + `) ORDER BY seq`)
	return b.String(), args
}

// expression makes the MATCH text: own words only, each quoted.
func expression(q search.Query, f Filter) string {
	var owners []string
	for _, o := range f.Owners {
		owners = append(owners, quote(ownerToken(o)))
	}
	words := make([]string, len(q.Terms))
	for i, t := range q.Terms {
		words[i] = quote(t)
	}
	parts := []string{}
	if len(owners) > 0 {
		parts = append(parts, `scope : (`+strings.Join(owners, " OR ")+`)`)
	}
	if f.Thread != "" {
		parts = append(parts, `scope : (`+quote(threadToken(f.Thread))+`)`)
	}
	parts = append(parts, `body : (`+strings.Join(words, " OR ")+`)`)
	return strings.Join(parts, " AND ")
}

func quote(word string) string { return `"` + strings.ReplaceAll(word, `"`, `""`) + `"` }
