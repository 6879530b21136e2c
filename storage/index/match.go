package index

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"loci/core/search"
)

// The bounds of one search.
const (
	// wholeScope is how many texts a scope may hold to be ranked as a whole: then nothing depends on candidates.
	wholeScope    = 1000
	maxCandidates = 200       // of each query
	maxDays       = 100       // candidates of the days asked for
	around        = 4         // texts read on both sides of a candidate
	returned      = 2         // … of which so many may be found
	lookupBatch   = 500       // names in one statement
	maxEntries    = 3_000_000 // of postings that the words of a query may have together
	maxScanned    = 20_000    // candidates looked at for a filter
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

// Ask is a search.
type Ask struct {
	Query   search.Query
	Filter  Filter
	Zone    *time.Location // in which the days of texts without a written time are counted
	Meaning Meaning        // finds texts by an embedding; nil: by words alone
	Explain int            // how many hits get their reasons

	Without map[string]bool // ids of texts that are as good as not there: nothing inherits from them

	entries int // of postings that the words may have together; 0: maxEntries
}

// Meaning finds texts by an embedding of the query. It numbers them as Doc.Seq does.
type Meaning interface {
	// Nearest returns the texts within the filter that are nearest.
	Nearest(ctx context.Context) ([]int64, error)
	// Deviations returns by how many standard deviations texts stand out of all in reach, those that do by more than
	// search.StandsOut.
	Deviations(ctx context.Context, seqs []int64) (map[int64]float64, error)
	// Weight is how much they count, gate how much less where words match.
	Weight() (weight, gate float64)
}

// ErrUnavailable is returned while there is no index to search.
var ErrUnavailable = errors.New("the search index is being built")

// Match returns what the filter lets through and has something of the query, best first, and the last change that the
// index had when it was read: -1 while it is being built.
func (x *Index) Match(ctx context.Context, kind Kind, a Ask) (hits []search.Hit, applied int64, err error) {
	err = x.use(ctx, func(f *files) error {
		hits, applied, err = match(ctx, f.r, kind, a)
		return err
	})
	return hits, applied, err
}

// renewal is how long who met a damaged file waits for the empty one that comes in its place.
const renewal = 2 * time.Second

// use has something done with the files. Where they turn out damaged it waits until they are replaced, and returns
// ErrUnavailable: the next use has new ones.
func (x *Index) use(ctx context.Context, do func(f *files) error) error {
	x.mu.RLock()
	if x.files == nil {
		x.mu.RUnlock()
		return ErrUnavailable
	}
	err := do(x.files)
	damaged, replaced := isDamage(err), x.replaced
	if damaged {
		select {
		case x.broken <- struct{}{}:
		default:
		}
	}
	x.mu.RUnlock()
	if !damaged {
		return err
	}
	timer := time.NewTimer(renewal)
	defer timer.Stop()
	select {
	case <-replaced:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ErrUnavailable
}

func isDamage(err error) bool {
	var se *sqlite.Error
	return errors.Is(err, errDamaged) || errors.As(err, &se) && (se.Code()&0xff == sqlite3.SQLITE_CORRUPT || se.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// match runs in one read transaction: what is counted is what is read.
func match(ctx context.Context, db *sqlx.DB, kind Kind, a Ask) (hits []search.Hit, applied int64, err error) {
	m, end, err := begin(ctx, db, kind, a)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if err := m.reach(ctx); err != nil || m.inReach == 0 {
		return nil, m.applied, err
	}
	if m.inReach <= wholeScope {
		hits, err = m.whole(ctx)
	} else {
		hits, err = m.sampled(ctx)
	}
	return hits, m.applied, err
}

// begin begins the transaction of a search; end gives it back.
func begin(ctx context.Context, db *sqlx.DB, kind Kind, a Ask) (m *matching, end func(), err error) {
	conn, err := db.Connx(ctx)
	if err != nil {
		return nil, nil, err
	}
	tx, err := conn.BeginTxx(ctx, nil)
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	end = func() {
		_ = tx.Rollback() // it only reads
		_ = conn.Close()  // back to the pool
	}
	return &matching{conn: conn, tx: tx, kind: kind, t: tablesOf(kind), ask: a}, end, nil
}

// matching is one search under way.
type matching struct {
	conn    *sqlx.Conn // of tx
	tx      *sqlx.Tx
	kind    Kind
	t       tables
	ask     Ask
	applied int64 // the last change that the index has
	total   int64 // texts of the kind
	words   int64 // … and their words

	owners  []int64 // numbers of the scopes asked for; nil: all
	lane    int64   // 0: all
	inReach int64   // texts in the scopes asked for
}

// reach finds the scopes asked for and how much they hold.
func (m *matching) reach(ctx context.Context) error {
	values, err := readMarks(ctx, m.tx)
	if err != nil {
		return err
	}
	if m.applied, err = number(values["applied"]); err != nil {
		return err
	}
	if m.total, err = number(values["docs_"+string(m.kind)]); err != nil {
		return err
	}
	if m.words, err = number(values["len_"+string(m.kind)]); err != nil {
		return err
	}
	m.inReach = m.total
	type scope struct {
		Num  int64 `db:"num"`
		Docs int64 `db:"docs"`
	}
	find := func(keys []string) (found []scope, err error) {
		query, args, err := sqlx.In(`SELECT num, docs FROM `+m.t.scopes+` WHERE key IN (?)`, keys)
		if err == nil {
			err = m.tx.SelectContext(ctx, &found, query, args...)
		}
		return found, err
	}
	if len(m.ask.Filter.Owners) > 0 {
		keys := make([]string, len(m.ask.Filter.Owners))
		for i, o := range m.ask.Filter.Owners {
			keys[i] = ownerKey(o)
		}
		found, err := find(keys)
		if err != nil {
			return err
		}
		m.inReach, m.owners = 0, []int64{}
		for _, s := range found {
			m.inReach += s.Docs
			m.owners = append(m.owners, s.Num)
		}
	}
	if m.ask.Filter.Thread != "" {
		found, err := find([]string{threadKey(m.ask.Filter.Thread)})
		if err != nil || len(found) == 0 {
			m.inReach = 0
			return err
		}
		m.lane, m.inReach = found[0].Num, min(m.inReach, found[0].Docs)
	}
	return nil
}

// whole ranks all texts of a small scope by what stands in it and nowhere else.
func (m *matching) whole(ctx context.Context) ([]search.Hit, error) {
	w := m.scope("d")
	if m.kind == Passage && len(m.owners) == 1 {
		w.and(inLane("d.key", m.owners[0])) // they lie together
	}
	docs, err := m.read(ctx, "", w, int(m.inReach))
	if err != nil {
		return nil, err
	}
	docs = without(docs, m.ask.Without)
	texts, vectors, err := m.load(ctx, docs)
	if err != nil {
		return nil, err
	}
	st := texts.Stats()
	q := m.ask.Query.Narrow(st.DF).Resolve(st.Speakers, st.DF)
	return search.Rank(q, st, texts, vectors, m.ask.Explain), nil
}

// sampled ranks candidates and what is near them.
func (m *matching) sampled(ctx context.Context) ([]search.Hit, error) {
	var wg sync.WaitGroup
	defer wg.Wait() // nothing outlives the search
	nearest := m.nearest(ctx, &wg)
	st := search.Stats{Docs: int(m.total), AvgLen: float64(m.words) / float64(max(m.total, 1))}
	q := m.ask.Query
	var err error
	if st.DF, err = m.frequencies(ctx, q.Terms()); err != nil {
		return nil, err
	}
	q = q.Narrow(st.DF)
	if st.Speakers, err = m.speakers(ctx, q.Surfaces()); err != nil {
		return nil, err
	}
	q = q.Resolve(st.Speakers, st.DF)
	candidates, err := m.candidates(ctx, q, st, nearest)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	docs, err := m.near(ctx, candidates)
	if err != nil {
		return nil, err
	}
	docs = without(docs, m.ask.Without)
	texts, vectors, err := m.load(ctx, docs)
	if err != nil {
		return nil, err
	}
	var failed error // the first of what the ranking asks for
	days := dayCounter{left: int(m.total), known: map[search.Span]int{}, count: func(s search.Span, most int) (int, error) { return m.onDays(ctx, s, most) }}
	st.OnDays = days.on
	st.More = func(words []string) map[string]int {
		more, err := m.frequencies(ctx, words)
		failed = errors.Join(failed, err)
		return more
	}
	hits := search.Rank(q, st, texts, vectors, m.ask.Explain)
	return hits, errors.Join(failed, days.err)
}

// dayCounter counts the texts of days for one search: each span once, and all together no more than there are texts at
// all, from which on a time says nothing. A pasted log names the same years again and again.
type dayCounter struct {
	count func(s search.Span, most int) (int, error)
	known map[search.Span]int
	left  int
	err   error // the first
}

func (c *dayCounter) on(s search.Span) int {
	n, known := c.known[s]
	if !known && c.left > 0 && c.err == nil {
		n, c.err = c.count(s, c.left)
		c.known[s] = n
		c.left -= n
	}
	return n
}

// without takes docs out, and leaves a gap where they were.
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

// load makes docs ready for ranking: their words, and beside that how they stand out by the embedding.
func (m *matching) load(ctx context.Context, docs []search.Doc) (texts *search.Texts, v search.Vectors, err error) {
	var wg sync.WaitGroup
	wg.Go(func() { v, err = m.vectors(ctx, docs) })
	texts = search.Load(docs)
	wg.Wait()
	return texts, v, err
}

// vectors returns how the docs stand out by the embedding.
func (m *matching) vectors(ctx context.Context, docs []search.Doc) (search.Vectors, error) {
	if m.ask.Meaning == nil {
		return search.Vectors{}, nil
	}
	seqs := make([]int64, len(docs))
	for i := range docs {
		seqs[i] = docs[i].Seq
	}
	found, err := m.ask.Meaning.Deviations(ctx, seqs)
	v := search.Vectors{SD: 1, Cos: map[string]float64{}}
	v.Weight, v.Gate = m.ask.Meaning.Weight()
	for i := range docs {
		if z, ok := found[docs[i].Seq]; ok && z > search.StandsOut {
			v.Cos[docs[i].ID] = z
		}
	}
	return v, err
}
