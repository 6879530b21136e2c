// Package finder finds messages and passages by words and by meaning: it embeds the query, asks the store's index for
// candidates, ranks them and reads the hits.
//
// Promises: a search sees what was committed before it began, or its results say that they are partial: while the index
// is being built they are whatever there is, newest first. No network use while a view of the index is open. If an
// embedding model doesn't answer, the search goes by words alone; it never fails. A storage engine may provide
// candidates only: what it doesn't count is counted among them.
//
// Layer: above core/search, which ranks and declares what an index provides, and below the engine and the use cases,
// which see it as core.Searcher.
package finder

import (
	"context"
	"log/slog"
	"time"

	"loci/core"
	"loci/core/search"
)

// Store is what a finder reads from.
type Store interface {
	search.Index
	Messages() core.MessageStore
	Passages() core.PassageStore
}

// Config is what a finder needs. Only Store is required.
type Config struct {
	Store   Store
	Known   func(word string) bool              // whether a lower-case word is spelt correctly; nil: none is known to be
	Common  func(word string) float64           // how common a lower-case word is in general, 0 to 1; nil: none is
	Related func(word string) []search.Relative // what is near an indexed word in meaning, the nearest first; nil: nothing
	Embed   embedder                            // embeds a query, in a time bounded by its implementation; nil: words alone
	Stalled stalled                             // nil: none is known to
	Clock   func() time.Time                    // nil: time.Now
	Logger  *slog.Logger                        // nil: none
}

type (
	embedder = func(ctx context.Context, model core.Handle, text string) ([]float32, error)
	stalled  = func(models ...core.Handle) *core.Stall // one of some embedding models that doesn't answer; nil: there is none
)

// Finder is safe for use from many goroutines.
type Finder struct {
	cfg      Config
	ordinary ordinary
}

var _ core.Searcher = (*Finder)(nil)

// New returns a finder.
func New(cfg Config) *Finder {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Known == nil {
		cfg.Known = func(string) bool { return false }
	}
	if cfg.Common == nil {
		cfg.Common = func(string) float64 { return 0 }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Finder{cfg: cfg}
}

const defaultHits = 10

// Messages finds messages that people or agents said. An empty query finds the newest; one without words is matched as a
// substring.
func (f *Finder) Messages(ctx context.Context, q core.SearchQuery, m core.MessageFilter) (core.Results[core.MessageHit], error) {
	if m.Roles = searchable(m.Roles); len(m.Roles) == 0 {
		return core.Results[core.MessageHit]{Hits: []core.MessageHit{}}, nil
	}
	s := search.Scope{Kind: search.Message, Thread: string(m.Conversation), From: m.From, Until: m.Until, Without: q.But}
	if m.Agent != "" {
		s.Owners = []string{string(m.Agent)}
	}
	for _, r := range m.Roles {
		s.Roles = append(s.Roles, string(r))
	}
	store, threads := f.cfg.Store.Messages(), lanes{}
	return find(ctx, f, q, s, texts[core.MessageHit]{
		newest: func(last *core.MessageHit, n int) ([]core.MessageHit, error) {
			var before int64
			if last != nil {
				before = last.Message.Seq
			}
			return messageHits(store.Newest(ctx, m, before, n))
		},
		among: func(ids []string) ([]core.MessageHit, error) {
			list := make([]core.MessageID, len(ids))
			for i, id := range ids {
				list[i] = core.MessageID(id)
			}
			return messageHits(store.Among(ctx, m, list))
		},
		said: func(h *core.MessageHit) (id, text string) { return string(h.Message.ID), h.Message.Said() },
		doc: func(h *core.MessageHit, zone *time.Location) search.Doc {
			m := &h.Message
			d := search.Doc{ID: string(m.ID), Seq: m.Seq, Lane: threads.of(string(m.Conversation))}
			return readDoc(d, search.Source{Text: m.Said(), Speaker: m.Name, At: m.CreatedAt.UTC(), Turn: true}, m.Role, zone)
		},
		hide: func(h *core.MessageHit) bool { return q.But != "" && h.Message.Run == q.But },
		tell: func(h *core.MessageHit, score float64, words []string, why core.Why) {
			h.Score, h.Words, h.Why = score, words, why
		},
	})
}

func messageHits(list []core.Message, err error) ([]core.MessageHit, error) {
	hits := make([]core.MessageHit, len(list))
	for i := range list {
		hits[i].Message = list[i]
	}
	return hits, err
}

// searchable returns those of the roles that search may find; no roles means all of them.
func searchable(roles []core.Role) (found []core.Role) {
	if len(roles) == 0 {
		return []core.Role{core.RoleUser, core.RoleAssistant, core.RoleApproval, core.RoleSummary}
	}
	for _, r := range roles {
		if r.Searchable() {
			found = append(found, r)
		}
	}
	return found
}

// Passages finds passages. An empty query finds the newest; one without words is matched as a substring.
func (f *Finder) Passages(ctx context.Context, q core.SearchQuery, p core.PassageFilter) (core.Results[core.PassageHit], error) {
	s := search.Scope{Kind: search.Passage, From: p.From, Until: p.Until, Tags: p.Tags, AllTags: p.AllTags}
	for _, a := range p.Archives {
		s.Owners = append(s.Owners, string(a))
	}
	for _, file := range p.Files {
		s.Files = append(s.Files, string(file))
	}
	store, archives := f.cfg.Store.Passages(), lanes{}
	return find(ctx, f, q, s, texts[core.PassageHit]{
		newest: func(last *core.PassageHit, n int) ([]core.PassageHit, error) {
			page := core.Page{Limit: n, Desc: true}
			if last != nil {
				page.After = string(last.Passage.ID)
			}
			return passageHits(store.List(ctx, p, page))
		},
		among: func(ids []string) ([]core.PassageHit, error) {
			list := make([]core.PassageID, len(ids))
			for i, id := range ids {
				list[i] = core.PassageID(id)
			}
			return passageHits(store.Among(ctx, p, list))
		},
		said: func(h *core.PassageHit) (id, text string) { return string(h.Passage.ID), h.Passage.Text },
		doc: func(h *core.PassageHit, zone *time.Location) search.Doc {
			p := &h.Passage
			d := search.Doc{ID: string(p.ID), Seq: p.Seq, Lane: archives.of(string(p.Archive))}
			return readDoc(d, search.Source{Text: p.Text, At: p.CreatedAt.UTC(), Part: p.File != ""}, "", zone)
		},
		hide: func(*core.PassageHit) bool { return false },
		tell: func(h *core.PassageHit, score float64, words []string, why core.Why) {
			h.Score, h.Words, h.Why = score, words, why
		},
	})
}

func passageHits(list []core.Passage, err error) ([]core.PassageHit, error) {
	hits := make([]core.PassageHit, len(list))
	for i := range list {
		hits[i].Passage = list[i]
	}
	return hits, err
}

// texts reads a scope's texts for a search.
type texts[H any] struct {
	newest func(last *H, n int) ([]H, error) // those before the last one seen
	among  func(ids []string) ([]H, error)   // those that may be shown now: the index may lag slightly
	said   func(h *H) (id, text string)      // what it is found by
	doc    func(h *H, zone *time.Location) search.Doc
	hide   func(h *H) bool // treat it as if it didn't exist
	tell   func(h *H, score float64, words []string, why core.Why)
}

// words returns indexed words in a hit, as written there.
func (t *texts[H]) words(q core.SearchQuery, h *H, terms []string) []string {
	if q.Bare || len(terms) == 0 {
		return nil
	}
	_, text := t.said(h)
	return search.Surface(text, terms)
}

// found tells a hit why it was found.
func (t *texts[H]) found(q core.SearchQuery, h *H, hit search.Hit, noModel bool) {
	w := why(hit, noModel)
	w.Also = t.words(q, h, hit.Why.Also)
	t.tell(h, hit.Score, t.words(q, h, hit.Why.Terms), w)
}

// find runs a search.
func find[H any](ctx context.Context, f *Finder, q core.SearchQuery, s search.Scope, t texts[H]) (core.Results[H], error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultHits
	}
	today := q.Today
	if today.IsZero() {
		today = f.cfg.Clock().UTC()
	}
	s.Zone = today.Location()
	query := search.Analyse(q.Text, search.DayOf(today)).Check(f.cfg.Known).Weigh(f.cfg.Common).Relate(f.cfg.Related)
	if query.Empty() {
		hits, err := literally(q, limit, t)
		return core.Results[H]{Hits: hits}, err
	}
	const spare, most = 20, 200 // some may be gone by now
	found, err := f.match(ctx, q, query, s, limit+spare+min(len(q.Skip), most))
	if err != nil {
		return core.Results[H]{}, err
	}
	hits, err := gather(q, limit, found, t)
	if err == nil && found.gap != noGap {
		hits, err = bridge(ctx, q, query, s, limit, found.gap, hits, t)
	}
	out := core.Results[H]{Hits: hits, Partial: found.partial, Building: found.gap == mostOfIt}
	if (found.partial || found.noModel) && f.cfg.Stalled != nil {
		out.Stalled = f.cfg.Stalled(found.models...)
	}
	return out, err
}

// gather loads the best hits until there are enough that still exist.
func gather[H any](q core.SearchQuery, limit int, found ranking, t texts[H]) ([]H, error) {
	out := []H{}
	for ranked := found.hits; len(out) < limit && len(ranked) > 0; {
		n := min(len(ranked), max(limit-len(out), defaultHits))
		ids := make([]string, n)
		for i := range n {
			ids[i] = ranked[i].ID
		}
		list, err := t.among(ids)
		if err != nil {
			return nil, err
		}
		byID := make(map[string]*H, len(list))
		for i := range list {
			id, _ := t.said(&list[i])
			byID[id] = &list[i]
		}
		for _, hit := range ranked[:n] {
			h := byID[hit.ID]
			if h == nil || len(out) == limit {
				continue
			}
			t.found(q, h, hit, found.noModel)
			out = append(out, *h)
		}
		ranked = ranked[n:]
	}
	return out, nil
}

// why converts the reasons of a hit.
func why(h search.Hit, noModel bool) core.Why {
	w := core.Why{
		NoModel: noModel, Speaker: h.Why.Speaker, Date: h.Why.Date, Vector: h.Why.Vector, Share: h.Why.Share, Own: h.Why.Own,
	}
	for _, i := range h.Why.Inherited {
		w.Inherited = append(w.Inherited, core.NeighbourWords(i))
	}
	return w
}
