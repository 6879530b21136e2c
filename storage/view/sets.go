package view

import (
	"context"
	"errors"
	"log/slog"
	"maps"
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
	"loci/storage/sqlite"
	"loci/storage/vectors"
)

const (
	embedPatience = 100 * time.Millisecond // how long a search waits for texts that were just written to get their vectors
	embedBehind   = 256                    // texts that wait from which on it does not
)

// vectorSets finds texts by their vectors: one index for each set, opened when it is first needed.
type vectorSets struct {
	cfg   Config
	facts *sqlite.Querier

	opened atomic.Pointer[[]*vectors.Index] // those in sets, for who must not wait
	vain   atomic.Int64                     // the last ticket that a search waited for in vain

	mu     sync.Mutex // guards sets and closed
	sets   map[int64]*vectors.Index
	closed bool

	tagMu sync.Mutex // guards tags and clock
	tags  map[string]*tagSet
	clock int64
}

// set is a row of vector_sets.
type set struct {
	ID  int64 `db:"id"`
	Dim int   `db:"dim"`
}

func openSets(ctx context.Context, cfg Config) (*vectorSets, error) {
	n := &vectorSets{
		cfg: cfg, facts: cfg.Facts, sets: map[int64]*vectors.Index{}, tags: map[string]*tagSet{},
	}
	var sets []struct {
		set
		Kind core.VectorKind `db:"kind"`
	}
	err := n.facts.All(ctx, &sets, `SELECT id, dim, kind FROM vector_sets ORDER BY id`)
	for _, one := range sets {
		if err == nil {
			_, err = n.open(ctx, one.Kind, one.set)
		}
		if sqlite.IsFull(err) { // the first search that needs it tries again
			n.cfg.Logger.WarnContext(ctx, "the disk is full; vectors are not searched", slog.Int64("set", one.ID))
			err = nil
		}
	}
	if err != nil {
		n.close()
		return nil, sqlite.Classify("open the vectors", err)
	}
	return n, nil
}

func (n *vectorSets) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, x := range n.sets {
		x.Close()
	}
}

// nudge tells the indexes that something was committed.
func (n *vectorSets) nudge() {
	if list := n.opened.Load(); list != nil {
		for _, x := range *list {
			x.Nudge()
		}
	}
}

// open returns the index of a set.
func (n *vectorSets) open(ctx context.Context, kind core.VectorKind, one set) (*vectors.Index, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, sqlite.ErrClosed
	}
	if x := n.sets[one.ID]; x != nil {
		return x, nil
	}
	x, err := vectors.Open(ctx, vectors.Config{
		Path: n.path(one.ID), Home: n.cfg.Home, Set: one.ID, Dim: one.Dim, Before: n.cfg.Before, Now: n.cfg.Now,
		Source: &vectorSource{facts: n.facts, set: one.ID, kind: kind}, Logger: n.cfg.Logger,
	})
	if err == nil {
		n.sets[one.ID] = x
		list := slices.Collect(maps.Values(n.sets))
		n.opened.Store(&list)
	}
	return x, err
}

func (n *vectorSets) path(set int64) string {
	return filepath.Join(n.cfg.Dir, VectorFiles+strconv.FormatInt(set, 10))
}

// VectorFiles is how the names of code files begin.
const VectorFiles = "vectors-"

// RemoveVectors removes the code files of a home whose store is closed: they are made anew.
func RemoveVectors(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), VectorFiles) && strings.HasSuffix(e.Name(), vectors.Ending) {
			_ = os.Remove(filepath.Join(dir, e.Name())) // what remains is not trusted
		}
	}
}

// of returns the index of a model's vectors, nil where it has made none. A model that has changed its dimension counts
// with the newer one.
func (n *vectorSets) of(ctx context.Context, kind core.VectorKind, model core.Handle, dim int) (*vectors.Index, error) {
	var one set
	ok, err := n.facts.Find(ctx, &one, `SELECT id, dim FROM vector_sets WHERE kind = $1 AND model = $2 AND dim = $3`, kind, model, dim)
	if err != nil || !ok {
		return nil, err
	}
	return n.open(ctx, kind, one)
}

// purge leaves nothing of deleted vectors in the files, and no tag in memory.
func (n *vectorSets) purge(ctx context.Context) error {
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

// saved returns the last deletion that each index has saved.
func (n *vectorSets) saved() map[int64]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	saved := map[int64]int64{}
	for id, x := range n.sets {
		saved[id] = x.Saved()
	}
	return saved
}

// vectorView is a search by vectors under way.
type vectorView struct {
	filter  vectors.Filter
	indexes map[core.Handle]*vectors.Index
	late    atomic.Bool // vectors may be missing

	mu   sync.Mutex // guards near
	near nearestTexts
}

// nearestTexts are the texts that the last search for the nearest to a query found, with their cosines.
type nearestTexts struct {
	query   search.Vector
	cosines map[int64]float64
}

func (n *nearestTexts) areOf(v search.Vector) bool {
	return n.query.Model == v.Model && slices.Equal(n.query.Values, v.Values)
}

// begin makes a search by vectors ready: those of the texts that were just written are waited for a moment.
func (n *vectorSets) begin(ctx context.Context, kind search.Kind, f index.Filter, queries []search.Vector) (*vectorView, error) {
	m := &vectorView{indexes: map[core.Handle]*vectors.Index{}}
	var err error
	if m.filter, err = n.filter(ctx, f); err != nil {
		return nil, err
	}
	if len(queries) > 0 && !n.await(ctx) {
		m.late.Store(true)
	}
	for _, q := range queries {
		x, err := n.of(ctx, core.VectorKind(kind), q.Model, len(q.Values))
		if sqlite.IsFull(err) { // what is stored can be found by its words
			m.late.Store(true)
			continue
		}
		if err != nil {
			return nil, err
		}
		if x == nil {
			continue
		}
		late, err := catchUp(ctx, x)
		if err != nil {
			return nil, err
		}
		if late {
			m.late.Store(true)
		}
		m.indexes[q.Model] = x
	}
	return m, nil
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
	if errors.Is(err, vectors.ErrDamaged) || sqlite.IsFull(err) {
		return true, nil
	}
	return !whole || x.Stats().Doubted, err
}

// models returns the models whose vectors the texts of owners have.
func (n *vectorSets) models(ctx context.Context, kind search.Kind, owners []string) ([]core.Handle, error) {
	if kind == search.Message {
		return []core.Handle{core.WordsHandle}, nil
	}
	w := &sqlite.Where{}
	w.And("deleted_at IS NULL")
	sqlite.In(w, "id", owners)
	var models []core.Handle
	err := n.facts.All(
		ctx,
		&models,
		`SELECT DISTINCT COALESCE(NULLIF(iif(json_valid(data), json_extract(data, '$.embedding'), ''), ''), `+w.Arg(
			core.WordsHandle,
		)+`) FROM archives`+w.String()+` ORDER BY 1`,
		w.Args...)
	return models, err
}

// await waits a moment for texts that were just written to get their vectors, and returns whether every text has one. What
// was waited for in vain is not waited for again: its model may be in trouble for long.
func (n *vectorSets) await(ctx context.Context) bool {
	var q struct {
		Last   int64 `db:"last_num"`
		Behind int64 `db:"behind"`
	}
	err := n.facts.Get(ctx, &q, `SELECT COALESCE(MAX(num), 0) AS last_num, COUNT(*) AS behind
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
	for {
		if waits, err := n.waits(ctx, n.vain.Load(), q.Last); err != nil {
			return false
		} else if !waits {
			break
		}
		select {
		case <-poll.C:
		case <-timer.C:
			n.vain.Store(q.Last)
			return false
		case <-ctx.Done():
			return false
		}
	}
	waits, err := n.waits(ctx, 0, q.Last)
	return err == nil && !waits
}

// waits reports whether a ticket after one and up to another is still on the list.
func (n *vectorSets) waits(ctx context.Context, after, upTo int64) (still bool, err error) {
	err = n.facts.Get(ctx, &still, `SELECT EXISTS (SELECT 1 FROM vector_queue WHERE num > $1 AND num <= $2)`, after, upTo)
	return still, err
}

// filter turns the filter of a search into one over vectors.
func (n *vectorSets) filter(ctx context.Context, of index.Filter) (vectors.Filter, error) {
	f := vectors.Filter{From: of.From, Until: of.Until}
	for _, o := range of.Owners {
		f.Groups = append(f.Groups, vectors.Key(o))
	}
	if of.Thread != "" {
		f.Thread = vectors.Key(of.Thread)
	}
	for _, r := range of.Roles {
		f.Roles |= 1 << roleBit(core.Role(r))
	}
	if len(of.Files) > 0 {
		set, err := n.chunks(ctx, of.Files)
		if err != nil {
			return f, err
		}
		f.Owners = append(f.Owners, set)
	}
	if len(of.Tags) == 0 {
		return f, nil
	}
	either := &vectors.Owners{}
	for _, tag := range of.Tags {
		set, err := n.tag(ctx, tag)
		if err != nil {
			return f, err
		}
		if of.AllTags {
			f.Owners = append(f.Owners, set)
			continue
		}
		either.Join(set)
	}
	if !of.AllTags {
		f.Owners = append(f.Owners, either)
	}
	return f, nil
}

// chunks returns the passages of files.
func (n *vectorSets) chunks(ctx context.Context, files []string) (*vectors.Owners, error) {
	set := &vectors.Owners{}
	for some := range sqlite.Chunks(files) {
		w := &sqlite.Where{}
		w.And("file_id <> ''")
		sqlite.In(w, "file_id", some)
		var seq int64
		err := n.facts.Each(ctx, `SELECT seq FROM passages`+w.String(), w.Args, []any{&seq}, func() error { set.Add(seq); return nil })
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// roleBit is the bit of a role.
func roleBit(r core.Role) uint8 {
	return uint8(
		slices.Index(
			[]core.Role{core.RoleUser, core.RoleAssistant, core.RoleApproval, core.RoleSummary, core.RoleSystem, core.RoleTool},
			r,
		) + 1,
	)
}

// Spread says how the cosines of a query lie over the texts of the scope's owners.
func (m *vectorView) Spread(ctx context.Context, v search.Vector) (search.Spread, bool, error) {
	x := m.indexes[v.Model]
	if x == nil {
		return search.Spread{}, false, nil
	}
	spread, err := x.Spread(ctx, v.Values, m.filter.Groups)
	if errors.Is(err, vectors.ErrQuery) {
		return search.Spread{}, false, nil
	}
	return search.Spread(spread), err == nil, m.met(err)
}

// Nearest returns the texts that are nearest in meaning.
func (m *vectorView) Nearest(ctx context.Context, v search.Vector, most int) ([]int64, error) {
	x := m.indexes[v.Model]
	if x == nil {
		return nil, nil
	}
	near, err := x.Nearest(ctx, vectors.Query{Vector: v.Values, K: most, Filter: m.filter})
	if err != nil {
		return nil, m.met(err)
	}
	found, cosines := make([]int64, len(near)), make(map[int64]float64, len(near))
	for i, one := range near {
		found[i] = one.Owner
		cosines[one.Owner] = one.Cos
	}
	m.mu.Lock()
	m.near = nearestTexts{query: v, cosines: cosines}
	m.mu.Unlock()
	return found, nil
}

// Cosines returns the cosines of texts, exact above the floor. Those of the nearest are known.
func (m *vectorView) Cosines(ctx context.Context, v search.Vector, seqs []int64, floor float64) (map[int64]float64, error) {
	x := m.indexes[v.Model]
	if x == nil {
		return nil, nil
	}
	known := map[int64]float64{}
	m.mu.Lock()
	if m.near.areOf(v) {
		known = m.near.cosines
	}
	m.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { _, ok := known[seq]; return ok })
	cosines, err := x.Cosines(ctx, v.Values, others, floor)
	if err != nil {
		return nil, m.met(err)
	}
	for _, seq := range seqs {
		if cos, ok := known[seq]; ok {
			cosines[seq] = cos
		}
	}
	return cosines, nil
}

// met forgives a damage: the index is made anew, and the search goes by what else there is.
func (m *vectorView) met(err error) error {
	if errors.Is(err, vectors.ErrDamaged) {
		m.late.Store(true)
		return nil
	}
	return sqlite.Classify("search", err)
}
