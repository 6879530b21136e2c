package finder

import (
	"cmp"
	"context"
	"slices"
	"time"

	"loci/core"
	"loci/core/search"
)

// gap says what a search by the index alone may miss.
type gap int

const (
	noGap    gap = iota
	recent       // the latest texts
	mostOfIt     // nearly everything: the index is being built, or can't be read
)

// bridge adds matches among the newest texts, read one by one, to what the index returned. While the index is being
// built the newest come first, since there is no telling how its own results compare.
func bridge[H any](
	ctx context.Context,
	q core.SearchQuery,
	query search.Query,
	s search.Scope,
	limit int,
	g gap,
	hits []H,
	t texts[H],
) ([]H, error) {
	scanned, err := scan(ctx, q, query, s, limit, t)
	if err != nil {
		return nil, err
	}
	if g == mostOfIt {
		hits, scanned = scanned, hits
	}
	known := map[string]bool{}
	for i := range hits {
		id, _ := t.said(&hits[i])
		known[id] = true
	}
	for i := range scanned {
		if id, _ := t.said(&scanned[i]); !known[id] && len(hits) < limit {
			hits = append(hits, scanned[i])
		}
	}
	return hits, nil
}

// fair is the share of the best match that a text must reach: scores say little if most texts match.
const fair = 0.5

// scan reads the newest texts and returns those that match well, newest first.
func scan[H any](ctx context.Context, q core.SearchQuery, query search.Query, s search.Scope, limit int, t texts[H]) ([]H, error) {
	read := map[string]*H{}
	var docs []search.Doc
	err := newestFirst(t, func(h *H) bool {
		id, _ := t.said(h)
		d := t.doc(h, s.Zone)
		d.Allowed = !q.Skip[id]
		docs, read[id] = append(docs, d), h
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b search.Doc) int { return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Seq, b.Seq)) })
	ranked, err := counted(ctx, docs, query, nil, len(docs))
	if err != nil {
		return nil, err
	}
	most := 0.0
	for _, hit := range ranked {
		most = max(most, hit.Why.Share)
	}
	ranked = slices.DeleteFunc(ranked, func(h search.Hit) bool { return h.Why.Share < fair*most })
	seqs := map[string]int64{}
	for i := range docs {
		seqs[docs[i].ID] = docs[i].Seq
	}
	slices.SortFunc(ranked, func(a, b search.Hit) int { return cmp.Compare(seqs[b.ID], seqs[a.ID]) })
	ranked = ranked[:min(limit, len(ranked))]
	hits := make([]H, len(ranked))
	for i, hit := range ranked {
		h := read[hit.ID]
		t.found(q, h, hit, false)
		hits[i] = *h
	}
	return hits, nil
}

// lanes numbers the sequences that texts belong to.
type lanes map[string]int64

func (l lanes) of(name string) int64 {
	if l[name] == 0 {
		l[name] = int64(len(l) + 1)
	}
	return l[name]
}

// readDoc reads a text as the index does.
func readDoc(d search.Doc, source search.Source, role core.Role, zone *time.Location) search.Doc {
	r := search.Read(source)
	d.Who, d.Minute, d.Flags, d.Len, d.Words, d.Spans = search.Voice(
		r.Speaker,
		string(role),
	), r.Minute, r.Flags, len(
		r.Words,
	), r.Store(), r.Spans
	if d.Day = search.DayOf(source.At.In(zone)); d.Flags&search.Dated != 0 {
		d.Day = search.DayOfMinute(d.Minute)
	}
	return d
}
