package index

import (
	"context"
	"slices"
	"sync"

	"loci/core/search"
)

// facts are documents and their changes, as a store has them.
type facts struct {
	mu      sync.Mutex
	docs    map[string]Doc
	changes []Change
	last    int64
}

func (f *facts) write(kind search.Kind, d Doc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.Seq == 0 {
		f.last++
		d.Seq = f.last
	}
	f.docs[d.ID] = d
	f.changes = append(f.changes, Change{Seq: int64(len(f.changes) + 1), Kind: string(kind), ID: d.ID, Op: "write"})
}

func (f *facts) remove(kind string, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, d := range f.docs {
		if key == id || kind == "archive" && d.Owner == id {
			delete(f.docs, key)
		}
	}
	f.changes = append(f.changes, Change{Seq: int64(len(f.changes) + 1), Kind: kind, ID: id, Op: "delete"})
}

func (f *facts) sorted() []Doc {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Doc
	for _, d := range f.docs {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Doc) int { return int(a.Seq - b.Seq) })
	return out
}

func (f *facts) Bounds(context.Context) (first, last int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return min(1, int64(len(f.changes))), int64(len(f.changes)), nil
}

func (f *facts) Changes(_ context.Context, after int64, limit int) ([]Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := f.changes[min(int(after), len(f.changes)):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

func (f *facts) Docs(_ context.Context, kind search.Kind, ids []string) ([]Doc, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Doc
	for _, id := range ids {
		if d, ok := f.docs[id]; ok && kind == search.Passage {
			out = append(out, d)
		}
	}
	return out, nil
}

func (f *facts) All(_ context.Context, kind search.Kind, after int64, limit int) (docs []Doc, next int64, done bool, err error) {
	if kind != search.Passage {
		return nil, 0, true, nil
	}
	for _, d := range f.sorted() {
		if d.Seq > after && len(docs) < limit {
			docs = append(docs, d)
			after = d.Seq
		}
	}
	return docs, after, len(docs) < limit, nil
}
