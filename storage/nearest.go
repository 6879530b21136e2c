package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"loci/core"
	"loci/core/search"
	"loci/storage/index"
	"loci/storage/vectors"
)

const (
	nearestTexts  = 50                     // candidates by meaning
	embedPatience = 100 * time.Millisecond // how long a search waits for texts that were just written to get their vectors
	embedBehind   = 256                    // texts that wait from which on it does not
)

// nearby finds texts by their vectors: one index for each set, opened when it is first needed.
type nearby struct {
	s       *Store
	facts   *querier
	gen     generation
	changed chan struct{} // buffered, one: something was committed

	opened atomic.Pointer[[]*vectors.Index] // those in sets, for who must not wait
	vain   atomic.Int64                     // the last ticket that a search waited for in vain

	mu     sync.Mutex // guards sets and closed
	sets   map[int64]*vectors.Index
	closed bool

	tagMu sync.Mutex // guards tags and clock
	tags  map[string]*tagSet
	clock int64

	usual ordinary
}

// set is a row of vector_sets.
type set struct {
	ID  int64 `db:"id"`
	Dim int   `db:"dim"`
}

func openNearby(ctx context.Context, s *Store, g generation) (*nearby, error) {
	n := &nearby{
		s: s, facts: newQuerier(s.facts.readerDB, nil), gen: g, changed: make(chan struct{}, 1),
		sets: map[int64]*vectors.Index{}, tags: map[string]*tagSet{},
	}
	var sets []struct {
		set
		Kind core.VectorKind `db:"kind"`
	}
	err := n.facts.all(ctx, &sets, `SELECT id, dim, kind FROM vector_sets ORDER BY id`)
	for _, one := range sets {
		if err == nil {
			_, err = n.open(ctx, one.Kind, one.set)
		}
	}
	if err != nil {
		n.close()
		return nil, classify("open the vectors", err)
	}
	return n, nil
}

func (n *nearby) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, x := range n.sets {
		x.Close()
	}
	n.facts.close()
}

// nudge tells who embeds and the indexes that something was committed.
func (n *nearby) nudge() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
	if list := n.opened.Load(); list != nil {
		for _, x := range *list {
			x.Nudge()
		}
	}
}

// open returns the index of a set.
func (n *nearby) open(ctx context.Context, kind core.VectorKind, one set) (*vectors.Index, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errClosed
	}
	if x := n.sets[one.ID]; x != nil {
		return x, nil
	}
	x, err := vectors.Open(ctx, vectors.Config{
		Path: n.path(one.ID), Home: n.gen.uuid, Set: one.ID, Dim: one.Dim, Before: n.gen.before, Now: n.gen.now,
		Source: &vectorSource{facts: n.facts, set: one.ID, kind: kind}, Logger: n.s.cfg.Logger,
	})
	if err == nil {
		n.sets[one.ID] = x
		list := slices.Collect(maps.Values(n.sets))
		n.opened.Store(&list)
	}
	return x, err
}

func (n *nearby) path(set int64) string {
	return filepath.Join(n.s.cfg.Dir, vectorFiles+strconv.FormatInt(set, 10))
}

// vectorFiles is how the names of code files begin.
const vectorFiles = "vectors-"

// removeVectors removes the code files of a home whose store is closed: they are made anew.
func removeVectors(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), vectorFiles) && strings.HasSuffix(e.Name(), vectors.Ending) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // what remains is not trusted
		}
	}
}

// of returns the index of a model's vectors, nil where it has made none. A model that has changed its dimension counts
// with the newer one.
func (n *nearby) of(ctx context.Context, kind core.VectorKind, model core.Handle, dim int) (*vectors.Index, error) {
	var one set
	ok, err := n.facts.find(ctx, &one, `SELECT id, dim FROM vector_sets WHERE kind = $1 AND model = $2 AND dim = $3`, kind, model, dim)
	if err != nil || !ok {
		return nil, err
	}
	return n.open(ctx, kind, one)
}

// purge leaves nothing of deleted vectors in the files, and no tag in memory.
func (n *nearby) purge(ctx context.Context) error {
	n.tagMu.Lock()
	clear(n.tags)
	n.tagMu.Unlock()
	n.mu.Lock()
	sets := slices.Collect(maps.Values(n.sets))
	n.mu.Unlock()
	for _, x := range sets {
		if err := x.Purge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes the record of deletions that every index has saved.
func (n *nearby) sweep(ctx context.Context) (int, error) {
	n.mu.Lock()
	saved := map[int64]int64{}
	for id, x := range n.sets {
		saved[id] = x.Saved()
	}
	n.mu.Unlock()
	total := 0
	for id, bound := range saved {
		for {
			removed := 0
			err := n.s.write(ctx, "sweep", func(ctx context.Context, q *querier) error {
				if _, err := q.exec(ctx, `UPDATE vector_sets SET pruned = $1 WHERE id = $2 AND pruned < $1`, bound, id); err != nil {
					return err
				}
				gone, err := q.exec(ctx, `DELETE FROM vector_gone WHERE seq IN (SELECT seq FROM vector_gone WHERE seq <= $1 AND set_id = $2 ORDER BY seq LIMIT $3)`, bound, id, sweepBatch)
				removed = int(gone)
				return err
			})
			total += removed
			if err != nil {
				return total, err
			}
			if removed < sweepBatch {
				break
			}
		}
	}
	return total, nil
}

// asked is what a search wants of the vectors.
type asked struct {
	kind    core.VectorKind
	query   core.SearchQuery
	filter  index.Filter
	inside  bool // a transaction: nobody is waited for, and no server asked
	noModel bool // set: an embedding did not answer
}

// meaning is a search by vectors under way: the texts' standard deviations above the mean, by model.
type meaning struct {
	n      *nearby
	models []modelQuery
	filter vectors.Filter
	late   atomic.Bool // an index turned out damaged: it is made anew
}

type modelQuery struct {
	x      *vectors.Index
	vector []float32
	spread vectors.Spread
}

// begin makes a search by vectors ready; nil when there is nothing to search by.
func (n *nearby) begin(ctx context.Context, a *asked) (m *meaning, partial bool, err error) {
	models, err := n.models(ctx, a)
	if err != nil {
		return nil, false, err
	}
	m = &meaning{n: n}
	if m.filter, err = n.filter(ctx, a); err != nil {
		return nil, false, err
	}
	if !a.inside {
		partial = !n.await(ctx)
	}
	for _, model := range models {
		vector := n.embed(ctx, a, model)
		if vector == nil {
			continue
		}
		x, err := n.of(ctx, a.kind, model, len(vector))
		if err != nil {
			return nil, false, err
		}
		if x == nil {
			continue
		}
		late, err := catchUp(ctx, x)
		if err != nil {
			return nil, false, err
		}
		partial = partial || late
		spread, err := x.Spread(ctx, vector, m.filter.Groups)
		if err == nil && spread.Rows > 0 && spread.Rows < enough {
			spread = filled(spread, n.usual.spread(ctx, n.s, model, vector))
		}
		if errors.Is(err, vectors.ErrQuery) || err == nil && !(spread.SD > 0) {
			continue
		}
		if errors.Is(err, vectors.ErrDamaged) {
			partial = true
			continue
		}
		if err != nil {
			return nil, false, err
		}
		m.models = append(m.models, modelQuery{x: x, vector: vector, spread: spread})
	}
	if len(m.models) == 0 {
		return nil, partial, nil
	}
	return m, partial, nil
}

// catchUp lets an index take in what was committed; one that is being built is searched as it is.
func catchUp(ctx context.Context, x *vectors.Index) (late bool, err error) {
	if x.Stats().Building {
		x.Nudge()
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	whole, err := x.Apply(wait)
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	if errors.Is(err, vectors.ErrDamaged) {
		return true, nil
	}
	return !whole || x.Stats().Doubted, err
}

// models returns the models whose vectors the scope has.
func (n *nearby) models(ctx context.Context, a *asked) ([]core.Handle, error) {
	if a.kind == core.VectorMessage {
		return []core.Handle{core.WordsHandle}, nil
	}
	w := &where{}
	w.and("deleted_at IS NULL")
	in(w, "id", a.filter.Owners)
	var models []core.Handle
	err := n.facts.all(ctx, &models, `SELECT DISTINCT COALESCE(NULLIF(json_extract(data, '$.embedding'), ''), `+w.arg(core.WordsHandle)+`) FROM archives`+w.String()+` ORDER BY 1`, w.args...)
	return models, err
}

// embed returns the query as a model embeds it, nil when it cannot.
func (n *nearby) embed(ctx context.Context, a *asked, model core.Handle) []float32 {
	if v, ok := a.query.Vectors[model]; ok {
		return v
	}
	if n.s.cfg.Embed == nil || a.inside && model != core.WordsHandle {
		return nil
	}
	if end, ok := ctx.Deadline(); ok { // rather by words alone in time than not at all
		const share = 2
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/share)
		defer cancel()
	}
	v, err := n.s.cfg.Embed(ctx, model, a.query.Text)
	if err != nil {
		a.noModel = true
		n.s.cfg.Logger.WarnContext(ctx, "a search goes by words alone: the embedding did not answer", slog.String("model", string(model)), slog.Any("error", err))
	}
	return v
}

// await waits a moment for texts that were just written to get their vectors, and returns whether every text has one. What
// was waited for in vain is not waited for again: its model may be in trouble for long.
func (n *nearby) await(ctx context.Context) bool {
	if n.s.cfg.Embed == nil {
		return true
	}
	var q struct {
		Last   int64 `db:"last_num"`
		Behind int64 `db:"behind"`
	}
	err := n.facts.get(ctx, &q, `SELECT COALESCE(MAX(num), 0) AS last_num, COUNT(*) AS behind
		FROM (SELECT num FROM vector_queue ORDER BY num DESC LIMIT `+strconv.Itoa(embedBehind+1)+`)`)
	if err != nil || q.Behind == 0 {
		return err == nil
	}
	if q.Behind > embedBehind {
		return false
	}
	timer := time.NewTimer(embedPatience)
	defer timer.Stop()
	poll := time.NewTicker(embedPatience / 50)
	defer poll.Stop()
	for n.waits(ctx, n.vain.Load(), q.Last) {
		select {
		case <-poll.C:
		case <-timer.C:
			n.vain.Store(q.Last)
			return false
		case <-ctx.Done():
			return false
		}
	}
	return !n.waits(ctx, 0, q.Last)
}

// waits reports whether a ticket after one and up to another is still on the list.
func (n *nearby) waits(ctx context.Context, after, upTo int64) (still bool) {
	err := n.facts.get(ctx, &still, `SELECT EXISTS (SELECT 1 FROM vector_queue WHERE num > $1 AND num <= $2)`, after, upTo)
	return err == nil && still
}

// filter turns the filter of a search into one over vectors.
func (n *nearby) filter(ctx context.Context, a *asked) (vectors.Filter, error) {
	f := vectors.Filter{From: a.filter.From, Until: a.filter.Until}
	for _, o := range a.filter.Owners {
		f.Groups = append(f.Groups, vectors.Key(o))
	}
	if a.filter.Thread != "" {
		f.Thread = vectors.Key(a.filter.Thread)
	}
	for _, r := range a.filter.Roles {
		f.Roles |= 1 << roleBit(core.Role(r))
	}
	if len(a.filter.Files) > 0 {
		set, err := n.chunks(ctx, a.filter.Files)
		if err != nil {
			return f, err
		}
		f.Owners = append(f.Owners, set)
	}
	if len(a.filter.Tags) == 0 {
		return f, nil
	}
	either := &vectors.Owners{}
	for _, tag := range a.filter.Tags {
		set, err := n.tag(ctx, tag)
		if err != nil {
			return f, err
		}
		if a.filter.AllTags {
			f.Owners = append(f.Owners, set)
			continue
		}
		either.Join(set)
	}
	if !a.filter.AllTags {
		f.Owners = append(f.Owners, either)
	}
	return f, nil
}

// chunks returns the passages of files.
func (n *nearby) chunks(ctx context.Context, files []string) (*vectors.Owners, error) {
	set := &vectors.Owners{}
	for some := range chunks(files) {
		w := &where{}
		w.and("file_id <> ''")
		in(w, "file_id", some)
		var seq int64
		err := n.facts.each(ctx, `SELECT seq FROM passages`+w.String(), w.args, []any{&seq}, func() error { set.Add(seq); return nil })
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// roleBit is the bit of a role.
func roleBit(r core.Role) uint8 {
	return uint8(slices.Index([]core.Role{core.RoleUser, core.RoleAssistant, core.RoleApproval, core.RoleSummary, core.RoleSystem, core.RoleTool}, r) + 1)
}

// Nearest returns the texts that are nearest in meaning.
func (m *meaning) Nearest(ctx context.Context) ([]int64, error) {
	var found []int64
	for _, q := range m.models {
		near, err := q.x.Nearest(ctx, vectors.Query{Vector: q.vector, K: nearestTexts, Filter: m.filter})
		if errors.Is(err, vectors.ErrDamaged) {
			m.late.Store(true)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, one := range near {
			found = append(found, one.Owner)
		}
	}
	return found, nil
}

// Deviations returns by how many standard deviations the cosines of texts lie above the mean, of those that stand out:
// only theirs are exact, and only theirs count.
func (m *meaning) Deviations(ctx context.Context, owners []int64) (map[int64]float64, error) {
	out := map[int64]float64{}
	for _, q := range m.models {
		floor := q.spread.Mean + search.StandsOut*q.spread.SD
		cosines, err := q.x.Cosines(ctx, q.vector, owners, floor)
		if errors.Is(err, vectors.ErrDamaged) {
			m.late.Store(true)
			continue
		}
		if err != nil {
			return nil, err
		}
		for owner, c := range cosines {
			switch z := (c - q.spread.Mean) / q.spread.SD; {
			case z > search.StandsOut:
				out[owner] = z
			case !math.IsNaN(z):
				delete(out, owner) // the last model counts
			}
		}
	}
	return out, nil
}

// Weight is how the embedding counts in the sum. Deviations are free of scale, so one weight serves models of any range of
// cosines until one of its own was measured.
func (m *meaning) Weight() (weight, gate float64) { return 0.6, 1 }

// vectorSource reads the vectors of one set for its index.
type vectorSource struct {
	facts *querier
	set   int64
	kind  core.VectorKind
}

func (v *vectorSource) Bounds(ctx context.Context) (vectors.Bounds, error) {
	var b struct {
		Last   int64 `db:"last_id"`
		Gone   int64 `db:"gone"`
		Pruned int64 `db:"pruned"`
	}
	err := v.facts.get(ctx, &b, `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0) AS last_id,
		COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'vector_gone'), 0) AS gone,
		COALESCE((SELECT pruned FROM vector_sets WHERE id = $1), 0) AS pruned`, v.set)
	return vectors.Bounds(b), classify("read the vectors' bounds", err)
}

func (v *vectorSource) Rows(ctx context.Context, after int64, limit int, yield func(vectors.Row) error) error {
	text := `SELECT v.id, v.owner, v.data, p.archive_id, '', '', p.created_at FROM vectors v CROSS JOIN passages p ON p.seq = v.owner`
	if v.kind == core.VectorMessage {
		text = `SELECT v.id, v.owner, v.data, m.agent_id, m.conversation_id, m.role, m.created_at FROM vectors v CROSS JOIN messages m ON m.seq = v.owner`
	}
	var group, thread, role string
	var r vectors.Row
	var data sql.RawBytes
	return v.facts.each(ctx, text+` WHERE v.set_id = $1 AND v.id > $2 ORDER BY v.id LIMIT $3`, []any{v.set, after, limit},
		[]any{&r.ID, &r.Owner, &data, &group, &thread, &role, &r.At}, func() error {
			r.Data, r.Group, r.Thread, r.Role = data, vectors.Key(group), vectors.Key(thread), roleBit(core.Role(role))
			return yield(r)
		})
}

func (v *vectorSource) Gone(ctx context.Context, after int64, limit int) (ids []int64, last int64, err error) {
	var rows []struct {
		Seq int64 `db:"seq"`
		Set int64 `db:"set_id"`
		ID  int64 `db:"vector_id"`
	}
	err = v.facts.all(ctx, &rows, `SELECT seq, set_id, vector_id FROM vector_gone WHERE seq > $1 ORDER BY seq LIMIT $2`, after, limit)
	last = after
	for _, r := range rows {
		last = r.Seq
		if r.Set == v.set {
			ids = append(ids, r.ID)
		}
	}
	return ids, last, classify("read deleted vectors", err)
}

func (v *vectorSource) Vectors(ctx context.Context, ids []int64, yield func(id int64, data []byte)) error {
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	var id int64
	var data sql.RawBytes
	return v.facts.each(ctx, `SELECT v.id, v.data FROM json_each($1) j CROSS JOIN vectors v ON v.id = j.value`, []any{string(list)}, []any{&id, &data},
		func() error { yield(id, data); return nil })
}

// tagSet is a tag's passages, kept up with the changes.
type tagSet struct {
	set  *vectors.Owners
	upTo int64 // the last change it has
	used int64
}

const (
	mostTags  = 64   // sets that are kept
	tagBehind = 2000 // changes from which on a set is read anew
)

// tag returns the passages with a tag.
func (n *nearby) tag(ctx context.Context, tag string) (*vectors.Owners, error) {
	n.tagMu.Lock()
	defer n.tagMu.Unlock()
	n.clock++
	t := n.tags[tag]
	if t == nil {
		t = &tagSet{}
		n.tags[tag] = t
		if len(n.tags) > mostTags {
			oldest := tag
			for name, other := range n.tags {
				if other.used < n.tags[oldest].used || oldest == tag {
					oldest = name
				}
			}
			delete(n.tags, oldest)
		}
	}
	t.used = n.clock
	if err := n.follow(ctx, tag, t); err != nil {
		delete(n.tags, tag)
		return nil, classify("read the passages with a tag", err)
	}
	return t.set.Clone(), nil
}

// follow brings a tag's set up to date.
func (n *nearby) follow(ctx context.Context, tag string, t *tagSet) error {
	var last int64
	if err := n.facts.get(ctx, &last, `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)`); err != nil {
		return err
	}
	if t.set == nil || last-t.upTo > tagBehind {
		t.set, t.upTo = &vectors.Owners{}, last
		var seq int64
		return n.facts.each(ctx, `SELECT p.seq FROM passage_tags t CROSS JOIN passages p ON p.id = t.passage_id WHERE t.tag = $1`, []any{tag}, []any{&seq},
			func() error { t.set.Add(seq); return nil })
	}
	if last == t.upTo {
		return nil
	}
	var rows []struct {
		Seq int64 `db:"seq"`
		Has bool  `db:"has"`
	}
	err := n.facts.all(ctx, &rows, `SELECT p.seq, EXISTS (SELECT 1 FROM passage_tags t WHERE t.passage_id = p.id AND t.tag = $1) AS has
		FROM changes c CROSS JOIN passages p ON p.id = c.id WHERE c.seq > $2 AND c.seq <= $3 AND c.kind = 'passage'`, tag, t.upTo, last)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Has {
			t.set.Add(r.Seq)
		} else {
			t.set.Remove(r.Seq)
		}
	}
	t.upTo = last
	return nil
}
