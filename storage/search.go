package storage

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/search"
	"loci/storage/index"
	"loci/storage/sqlite"
)

// patience is how long a search waits for the index to have what was committed before it began.
const patience = 2 * time.Second

// searcher opens views of the index, and reads the facts for it.
type searcher struct {
	s     *Store
	facts *sqlite.Querier // like the store's readers, but callers did not cause these statements
	x     *index.Index
}

// indexCache is how much a connection to the index keeps of it: a search touches a thousand pages, and those above the
// leaves are always the same.
const indexCache = "cache_size(-8192)"

func openSearcher(ctx context.Context, s *Store, g generation) (*searcher, error) {
	r := &searcher{s: s, facts: sqlite.NewQuerier(s.facts.Readers, nil)}
	x, err := index.Open(ctx, index.Config{
		Path: filepath.Join(s.cfg.Dir, IndexFile), Home: g.uuid, Before: g.before, Now: g.now, Source: r, Logger: s.cfg.Logger,
		Classify: func(err error) error { return sqlite.Classify("search", err) },
		Open: func(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error) {
			return sqlite.OpenPool(ctx, path, sqlite.Normal, readOnly, indexCache)
		},
	})
	if err != nil {
		return nil, sqlite.Classify("open "+IndexFile, err)
	}
	r.x = x
	return r, nil
}

func (r *searcher) close() {
	r.x.Close()
	r.facts.Close()
}

func (r *searcher) nudge() { r.x.Nudge() }

// ready waits for the index to have what was committed, up to the change last. A search that finds it late goes on with
// what is there.
func (r *searcher) ready(ctx context.Context) (last int64, late bool, err error) {
	if _, last, err = r.Bounds(ctx); err != nil {
		return 0, false, err
	}
	if r.x.Wait(ctx, last, patience) {
		return last, false, nil
	}
	if ctx.Err() != nil {
		return 0, false, sqlite.Classify("search", context.Cause(ctx))
	}
	r.s.cfg.Logger.WarnContext(ctx, "a search did not wait for the index", slog.Int64("behind", last-r.x.Applied()))
	return last, true, nil
}

func errIndexing() error {
	return core.E(core.Unavailable, "the search index is being built").WithHint("try again in a moment")
}

// Models returns the models whose vectors the texts of a scope have.
func (s *Store) Models(ctx context.Context, scope search.Scope) ([]core.Handle, error) {
	f, some, err := s.search.filter(ctx, scope)
	if err != nil || !some {
		return nil, err
	}
	models, err := s.near.models(ctx, scope.Kind, f.Owners)
	return models, sqlite.Classify("search", err)
}

// View opens a view of what search may find. It waits for the index to have what was committed, for a bounded time.
func (s *Store) View(ctx context.Context, scope search.Scope, vectors []search.Vector) (search.View, error) {
	v, err := s.search.view(ctx, scope, vectors)
	if err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return v, nil
}

func (r *searcher) view(ctx context.Context, scope search.Scope, vectors []search.Vector) (search.View, error) {
	f, some, err := r.filter(ctx, scope)
	if err != nil {
		return nil, err
	}
	if !some {
		return noView{}, nil
	}
	ask := index.Ask{Filter: f, Zone: scope.Zone}
	if ask.Without, err = r.ofRun(ctx, scope.Without); err != nil {
		return nil, err
	}
	m, err := r.s.near.begin(ctx, scope.Kind, f, vectors)
	if err != nil {
		return nil, err
	}
	for round := 0; ; round++ { // once more if the index was replaced meanwhile
		last, late, err := r.ready(ctx)
		if err != nil {
			return nil, err
		}
		x, err := r.x.View(ctx, scope.Kind, ask)
		if err != nil {
			return nil, err
		}
		if behind := x.Applied() < last; !behind || late || round > 0 {
			return &searchView{View: x, meaning: m, behind: behind}, nil
		}
		x.Close()
	}
}

// searchView joins the view of the words with the vectors.
type searchView struct {
	*index.View
	*meaning
	behind bool // the index does not have everything
}

var (
	_ search.Index   = (*Store)(nil)
	_ search.Counter = (*searchView)(nil)
	_ search.Meaning = (*searchView)(nil)
)

func (v *searchView) Reach() search.Reach {
	r := v.View.Reach()
	r.Behind, r.Building = v.behind, v.Applied() < 0
	return r
}

func (v *searchView) Partial() bool { return v.behind || v.late.Load() }

// noView is the view of a scope without archives.
type noView struct{}

func (noView) Reach() search.Reach                                              { return search.Reach{} }
func (noView) All(context.Context) ([]search.Doc, error)                        { return nil, nil }
func (noView) Candidates(context.Context, search.Clues) (map[int64]bool, error) { return nil, nil }
func (noView) Near(context.Context, map[int64]bool) ([]search.Doc, error)       { return nil, nil }
func (noView) Partial() bool                                                    { return false }
func (noView) Close()                                                           {}

// filter turns a scope into what the index knows; some is false where no archive is in it.
func (r *searcher) filter(ctx context.Context, s search.Scope) (f index.Filter, some bool, err error) {
	f = index.Filter{
		Owners: s.Owners, Thread: s.Thread, Roles: s.Roles, From: int64(sqlite.ToMicros(s.From)), Until: int64(sqlite.ToMicros(s.Until)),
		Tags: s.Tags, AllTags: s.AllTags, Files: s.Files,
	}
	if s.Kind != search.Passage || len(s.Owners)+len(s.Files) > 0 {
		return f, true, nil
	}
	f.Owners, some, err = r.memories(ctx)
	return f, some, err
}

// ofRun returns the ids of a run's messages.
func (r *searcher) ofRun(ctx context.Context, run core.RunID) (map[string]bool, error) {
	if run == "" {
		return nil, nil
	}
	ids := map[string]bool{}
	var id string
	err := r.facts.Each(
		ctx,
		`SELECT id FROM messages WHERE run_id = $1 AND run_id <> ''`,
		[]any{run},
		[]any{&id},
		func() error { ids[id] = true; return nil },
	)
	return ids, err
}

// notReset is false of messages whose newest row in their own conversation was closed by reset or rewind, unless a fork
// shows them. The plus keeps the index of what left a conversation out: all that was compacted away stands there.
const notReset = `(NOT EXISTS (SELECT 1 FROM context c WHERE c.conversation_id = m.conversation_id AND c.message_id = m.id
	AND +c."left" IS NOT NULL AND c.why NOT IN ('eviction', 'compaction')
	AND c.entered = (SELECT MAX(x.entered) FROM context x WHERE x.conversation_id = c.conversation_id AND x.message_id = c.message_id))
	OR EXISTS (SELECT 1 FROM context c JOIN conversations v ON v.id = c.conversation_id AND v.deleted_at IS NULL
		WHERE c.message_id = m.id AND c.conversation_id <> m.conversation_id AND ` + shown + `))`

func (s messages) Newest(ctx context.Context, f core.MessageFilter, before int64, limit int) ([]core.Message, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	s.filter(w, f)
	if f.Conversation != "" {
		w.And("m.conversation_id = ?", f.Conversation)
	}
	if before > 0 {
		w.And("m.seq < ?", before)
	}
	w.And(notReset)
	var rows []messageRow
	err := q.All(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String()+` ORDER BY m.seq DESC LIMIT `+w.Arg(limit), w.Args...)
	if err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return sqlite.Convert(rows, (*messageRow).message)
}

func (s messages) Among(ctx context.Context, f core.MessageFilter, ids []core.MessageID) ([]core.Message, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	sqlite.In(w, "m.id", ids)
	if f.Agent != "" {
		w.And("m.agent_id"+unindexed+" = ?", f.Agent)
		f.Agent = ""
	}
	s.filter(w, f)
	w.And(notReset)
	var rows []messageRow
	if err := q.All(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String(), w.Args...); err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return sqlite.Convert(rows, (*messageRow).message)
}

func (s passages) Among(ctx context.Context, f core.PassageFilter, ids []core.PassageID) ([]core.Passage, error) {
	ctx, q := s.v.read(ctx)
	w := s.filterBy(f, unindexed)
	sqlite.In(w, "p.id", ids)
	var rows []passageRow
	if err := q.All(ctx, &rows, selectPassages+w.String(), w.Args...); err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return sqlite.Convert(rows, (*passageRow).passage)
}

// memories returns the archives that are archival memory; none when all are. some is false where only folders have archives.
func (r *searcher) memories(ctx context.Context) (owners []string, some bool, err error) {
	var folders bool
	if err := r.facts.Get(ctx, &folders, `SELECT EXISTS (SELECT 1 FROM archives WHERE folder_id <> '')`); err != nil || !folders {
		return nil, true, sqlite.Classify("look for folders", err)
	}
	err = r.facts.All(ctx, &owners, `SELECT id FROM archives WHERE folder_id = '' AND deleted_at IS NULL ORDER BY id`)
	return owners, len(owners) > 0, sqlite.Classify("list archives", err)
}
