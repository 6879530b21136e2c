package storage

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/search"
	"loci/storage/index"
)

// patience is how long a search waits for the index to have what was committed before it began.
const patience = 2 * time.Second

const defaultHits = 10

// searcher joins the index and the facts: the index says what matches, the facts what that is and whether it is still there.
type searcher struct {
	s     *Store
	facts *querier // like the store's readers, but callers did not cause these statements
	x     *index.Index
}

func openSearcher(ctx context.Context, s *Store, g generation) (*searcher, error) {
	r := &searcher{s: s, facts: newQuerier(s.facts.readerDB, nil)}
	x, err := index.Open(ctx, index.Config{
		Path: filepath.Join(s.cfg.Dir, indexFile), Home: g.uuid, Before: g.before, Now: g.now, Source: r, Logger: s.cfg.Logger,
		Open: func(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error) {
			return openPool(ctx, path, syncNormal, readOnly, indexCache)
		},
	})
	if err != nil {
		return nil, classify("open "+indexFile, err)
	}
	r.x = x
	return r, nil
}

func (r *searcher) close() {
	r.x.Close()
	r.facts.close()
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
		return 0, false, classify("search", context.Cause(ctx))
	}
	r.s.cfg.Logger.WarnContext(ctx, "a search did not wait for the index", slog.Int64("behind", last-r.x.Applied()))
	return last, true, nil
}

// ask asks the index, once more if it turned out damaged or was replaced meanwhile: the new one may have everything again by
// then. That there is nothing is only said where the index has everything: no hit would say that it is partial.
func (r *searcher) ask(ctx context.Context, kind index.Kind, a index.Ask) (hits []search.Hit, partial bool, err error) {
	for round := range 2 {
		last, late, err := r.ready(ctx)
		if err != nil {
			return nil, false, err
		}
		hits, applied, err := r.x.Match(ctx, kind, a)
		switch {
		case errors.Is(err, index.ErrUnavailable):
		case err != nil || applied >= last:
			return hits, false, classify("search", err)
		case len(hits) > 0 && (late || round > 0):
			return hits, true, nil
		case late:
			return nil, false, errIndexing()
		}
	}
	return nil, false, errIndexing()
}

func errIndexing() error {
	return core.E(core.Unavailable, "the search index is being built").WithHint("try again in a moment")
}

// ranked is what the index found.
type ranked struct {
	hits    []search.Hit
	partial bool
	noModel bool
	nothing bool // the query names nothing to look for
}

// match runs the query and returns ids, best first.
func (r *searcher) match(ctx context.Context, kind index.Kind, sq core.SearchQuery, f index.Filter, limit int, inside bool) (ranked, error) {
	today := sq.Today
	if today.IsZero() {
		today = r.s.cfg.Clock().UTC()
	}
	q := search.Analyse(sq.Text, search.DayOf(today))
	if q.Empty() {
		return ranked{nothing: true}, nil
	}
	a := asked{kind: core.VectorKind(kind), query: sq, filter: f, inside: inside}
	meaning, late, err := r.s.near.begin(ctx, &a)
	if err != nil {
		return ranked{}, classify("search", err)
	}
	const spare, most = 20, 200 // some may be gone by now
	ask := index.Ask{Query: q, Filter: f, Zone: today.Location(), Explain: limit + spare + min(len(sq.Skip), most)}
	if meaning != nil {
		ask.Meaning = meaning
	}
	if ask.Without, err = r.ofRun(ctx, sq.But); err != nil {
		return ranked{}, classify("search", err)
	}
	hits, partial, err := r.ask(ctx, kind, ask)
	if err != nil {
		return ranked{}, err
	}
	if len(sq.Skip) > 0 {
		hits = slices.DeleteFunc(hits, func(h search.Hit) bool { return sq.Skip[h.ID] })
	}
	return ranked{hits: hits, partial: partial || late || meaning != nil && meaning.late.Load(), noModel: a.noModel}, nil
}

// ofRun returns the ids of a run's messages.
func (r *searcher) ofRun(ctx context.Context, run core.RunID) (map[string]bool, error) {
	if run == "" {
		return nil, nil
	}
	ids := map[string]bool{}
	var id string
	err := r.facts.each(ctx, `SELECT id FROM messages WHERE run_id = $1 AND run_id <> ''`, []any{run}, []any{&id}, func() error { ids[id] = true; return nil })
	return ids, err
}

// why passes the reasons of a hit on.
func (r *ranked) why(h search.Hit) core.Why {
	w := core.Why{NoModel: r.noModel, Speaker: h.Why.Speaker, Date: h.Why.Date, Vector: h.Why.Vector, Share: h.Why.Share}
	for _, i := range h.Why.Inherited {
		w.Inherited = append(w.Inherited, core.Inherited(i))
	}
	return w
}

// notReset is false of messages whose newest row in their own conversation was closed by reset or rewind, unless a fork
// shows them. The plus keeps the index of what left a conversation out: all that was compacted away stands there.
const notReset = `(NOT EXISTS (SELECT 1 FROM context c WHERE c.conversation_id = m.conversation_id AND c.message_id = m.id
	AND +c."left" IS NOT NULL AND c.why NOT IN ('eviction', 'compaction')
	AND c.entered = (SELECT MAX(x.entered) FROM context x WHERE x.conversation_id = c.conversation_id AND x.message_id = c.message_id))
	OR EXISTS (SELECT 1 FROM context c JOIN conversations v ON v.id = c.conversation_id AND v.deleted_at IS NULL
		WHERE c.message_id = m.id AND c.conversation_id <> m.conversation_id AND ` + shown + `))`

// Match finds messages that people or agents said. A query that is empty finds the newest, one without words what holds it.
func (s messages) Match(ctx context.Context, q core.SearchQuery, f core.MessageFilter) ([]core.MessageHit, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultHits
	}
	if f.Roles = searchableRoles(f.Roles); len(f.Roles) == 0 {
		return []core.MessageHit{}, nil
	}
	within := index.Filter{Thread: string(f.Conversation), From: int64(toMicros(f.From)), Until: int64(toMicros(f.Until))}
	if f.Agent != "" {
		within.Owners = []string{string(f.Agent)}
	}
	for _, r := range f.Roles {
		within.Roles = append(within.Roles, string(r))
	}
	found, err := s.v.s.search.match(ctx, index.Message, q, within, limit, s.v.tx != nil)
	if err != nil {
		return nil, err
	}
	if found.nothing {
		if strings.TrimSpace(q.Text) == "" {
			return s.newest(ctx, f, nil, limit)
		}
		return literally(q, limit, func(last *core.MessageHit, n int) ([]core.MessageHit, error) { return s.newest(ctx, f, last, n) },
			func(h *core.MessageHit) (id, text string) {
				if q.But != "" && h.Message.Run == q.But {
					return "", ""
				}
				return string(h.Message.ID), h.Message.Said()
			}, func(h *core.MessageHit, as string) { h.Score, h.Words = 1, sought(q, as) })
	}
	return gather(found.hits, limit, func(ids []string) (map[string]core.MessageHit, error) { return s.load(ctx, f, ids) },
		func(h core.MessageHit, hit search.Hit) core.MessageHit {
			h.Score, h.Why, h.Partial = hit.Score, found.why(hit), found.partial
			if !q.Bare {
				h.Words = search.Surface(h.Message.Said(), hit.Why.Terms)
			}
			return h
		})
}

// newest returns the newest messages, those before the last one that was seen.
func (s messages) newest(ctx context.Context, f core.MessageFilter, last *core.MessageHit, limit int) ([]core.MessageHit, error) {
	ctx, q := s.v.read(ctx)
	w := &where{}
	s.filter(w, f)
	if f.Conversation != "" {
		w.and("m.conversation_id = ?", f.Conversation)
	}
	if last != nil {
		w.and("m.seq < ?", last.Message.Seq)
	}
	w.and(notReset)
	var rows []messageRow
	err := q.all(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String()+` ORDER BY m.seq DESC LIMIT `+w.arg(limit), w.args...)
	if err != nil {
		return nil, classify("search", err)
	}
	return convert(rows, func(r *messageRow) (core.MessageHit, error) {
		m, err := r.message()
		return core.MessageHit{Message: m}, err
	})
}

// load reads those of the messages that may be shown now: the index may be a moment behind.
func (s messages) load(ctx context.Context, f core.MessageFilter, ids []string) (map[string]core.MessageHit, error) {
	ctx, q := s.v.read(ctx)
	w := &where{}
	in(w, "m.id", ids)
	if f.Agent != "" {
		w.and("m.agent_id"+unindexed+" = ?", f.Agent)
		f.Agent = ""
	}
	s.filter(w, f)
	w.and(notReset)
	var rows []messageRow
	if err := q.all(ctx, &rows, `SELECT `+messageColumns+` FROM messages m`+w.String(), w.args...); err != nil {
		return nil, classify("search", err)
	}
	found := make(map[string]core.MessageHit, len(rows))
	for i := range rows {
		m, err := rows[i].message()
		if err != nil {
			return nil, err
		}
		found[string(m.ID)] = core.MessageHit{Message: m}
	}
	return found, nil
}

// searchableRoles returns those of the roles that search may find; none asked for means all of them.
func searchableRoles(asked []core.Role) []core.Role {
	if len(asked) == 0 {
		asked = []core.Role{core.RoleUser, core.RoleAssistant, core.RoleApproval, core.RoleSummary}
	}
	var roles []core.Role
	for _, r := range asked {
		if searchable(r) {
			roles = append(roles, r)
		}
	}
	return roles
}

// Match finds passages. A query that is empty finds the newest, one without words what holds it.
func (s passages) Match(ctx context.Context, q core.SearchQuery, f core.PassageFilter) ([]core.PassageHit, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultHits
	}
	within := index.Filter{From: int64(toMicros(f.From)), Until: int64(toMicros(f.Until)), Tags: f.Tags, AllTags: f.AllTags}
	for _, a := range f.Archives {
		within.Owners = append(within.Owners, string(a))
	}
	for _, file := range f.Files {
		within.Files = append(within.Files, string(file))
	}
	if len(f.Archives)+len(f.Files) == 0 {
		var some bool
		var err error
		if within.Owners, some, err = s.v.s.search.memories(ctx); err != nil || !some {
			return []core.PassageHit{}, err
		}
	}
	found, err := s.v.s.search.match(ctx, index.Passage, q, within, limit, s.v.tx != nil)
	if err != nil {
		return nil, err
	}
	if found.nothing {
		if strings.TrimSpace(q.Text) == "" {
			return s.newest(ctx, f, nil, limit)
		}
		return literally(q, limit, func(last *core.PassageHit, n int) ([]core.PassageHit, error) { return s.newest(ctx, f, last, n) },
			func(h *core.PassageHit) (id, text string) { return string(h.Passage.ID), h.Passage.Text },
			func(h *core.PassageHit, as string) { h.Score, h.Words = 1, sought(q, as) })
	}
	return gather(found.hits, limit, func(ids []string) (map[string]core.PassageHit, error) { return s.load(ctx, f, ids) },
		func(h core.PassageHit, hit search.Hit) core.PassageHit {
			h.Score, h.Why, h.Partial = hit.Score, found.why(hit), found.partial
			if !q.Bare {
				h.Words = search.Surface(h.Passage.Text, hit.Why.Terms)
			}
			return h
		})
}

// newest returns the newest passages, those before the last one that was seen.
func (s passages) newest(ctx context.Context, f core.PassageFilter, last *core.PassageHit, limit int) ([]core.PassageHit, error) {
	page := core.Page{Limit: limit, Desc: true}
	if last != nil {
		page.After = string(last.Passage.ID)
	}
	list, err := s.List(ctx, f, page)
	hits := make([]core.PassageHit, len(list))
	for i, p := range list {
		hits[i] = core.PassageHit{Passage: p}
	}
	return hits, err
}

// memories returns the archives that are archival memory; none when all are. some is false where only folders have archives.
func (r *searcher) memories(ctx context.Context) (owners []string, some bool, err error) {
	var folders bool
	if err := r.facts.get(ctx, &folders, `SELECT EXISTS (SELECT 1 FROM archives WHERE folder_id <> '')`); err != nil || !folders {
		return nil, true, classify("look for folders", err)
	}
	err = r.facts.all(ctx, &owners, `SELECT id FROM archives WHERE folder_id = '' AND deleted_at IS NULL ORDER BY id`)
	return owners, len(owners) > 0, classify("list archives", err)
}

func (s passages) load(ctx context.Context, f core.PassageFilter, ids []string) (map[string]core.PassageHit, error) {
	ctx, q := s.v.read(ctx)
	w := s.filterBy(f, unindexed)
	in(w, "p.id", ids)
	var rows []passageRow
	if err := q.all(ctx, &rows, selectPassages+w.String(), w.args...); err != nil {
		return nil, classify("search", err)
	}
	found := make(map[string]core.PassageHit, len(rows))
	for i := range rows {
		p, err := rows[i].passage()
		if err != nil {
			return nil, err
		}
		found[string(p.ID)] = core.PassageHit{Passage: p}
	}
	return found, nil
}

// gather loads the best hits until there are enough that still exist.
func gather[H any](ranked []search.Hit, limit int, load func(ids []string) (map[string]H, error), finish func(H, search.Hit) H) ([]H, error) {
	out := []H{}
	for len(out) < limit && len(ranked) > 0 {
		n := min(len(ranked), max(limit-len(out), defaultHits))
		ids := make([]string, n)
		for i := range n {
			ids[i] = ranked[i].ID
		}
		found, err := load(ids)
		if err != nil {
			return nil, err
		}
		for _, hit := range ranked[:n] {
			if h, ok := found[hit.ID]; ok && len(out) < limit {
				out = append(out, finish(h, hit))
			}
		}
		ranked = ranked[n:]
	}
	return out, nil
}
