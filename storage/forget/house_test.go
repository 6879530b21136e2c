package forget

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/finder"
	"loci/storage"
	"loci/storage/storagetest"
)

// home is a store with its Forgetter.
type home struct {
	*storage.Store
	*Forgetter
}

func open(tb testing.TB, cfg storage.Config) *home {
	tb.Helper()
	if cfg.Dir == "" {
		cfg.Dir = tb.TempDir()
	}
	s, err := storage.Open(context.Background(), cfg)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return &home{s, New(s, nil, nil, nil)}
}

const testDim = 24

// meaningOf returns a fixed random direction for each text.
func meaningOf(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, testDim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// library is a store with an archive whose texts the test embeds itself.
type library struct {
	*testing.T
	dir     string
	s       *home
	archive core.ArchiveID
	faults  storagetest.Faults
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{T: t, dir: t.TempDir()}
	l.open()
	t.Cleanup(func() { l.check(l.s.Close()) })
	l.archive = l.newArchive()
	return l
}

func (l *library) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *library) open() {
	l.Helper()
	s, err := storage.Open(context.Background(), storage.Config{Dir: l.dir, OnStatement: l.faults.See})
	l.check(err)
	l.s = &home{s, New(s, nil, nil, nil)}
}

func (l *library) newArchive() core.ArchiveID {
	l.Helper()
	a := core.Archive{ID: core.NewArchiveID(), Name: "a", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	l.check(l.s.Archives().Create(l.Context(), &a))
	return a.ID
}

func (l *library) insert(archive core.ArchiveID, tags []string, texts ...string) []core.Passage {
	l.Helper()
	ps := make([]*core.Passage, len(texts))
	out := make([]core.Passage, len(texts))
	for i, text := range texts {
		ps[i] = &core.Passage{
			ID:        core.NewPassageID(),
			Archive:   archive,
			Text:      text,
			Tags:      tags,
			CreatedAt: time.UnixMicro(int64(1_000_000 * (i + 1))),
			UpdatedAt: time.Now(),
		}
	}
	l.check(l.s.Passages().Insert(l.Context(), ps...))
	for i := range ps {
		out[i] = *ps[i]
	}
	return out
}

// embed embeds everything that is waiting for a vector.
func (l *library) embed() {
	l.Helper()
	store := l.s.Vectors()
	for {
		page, err := store.Waiting(l.Context(), 0, 300)
		l.check(err)
		if len(page) == 0 {
			return
		}
		var done []core.EmbeddingResult
		for _, u := range page {
			e := core.EmbeddingResult{EmbeddingTask: u}
			if u.Text != "" {
				e.Vector = meaningOf(u.Text)
			}
			done = append(done, e)
		}
		l.check(store.Put(l.Context(), done...))
	}
}

// indexed waits until the index has everything committed.
func (l *library) indexed() {
	l.Helper()
	coretest.Until(l.T, "the index has what was committed", func() bool {
		found, err := finder.New(finder.Config{Store: l.s}).Messages(l.Context(), core.SearchQuery{Text: "xylophone"}, core.MessageFilter{})
		l.check(err)
		return !found.Partial
	})
}

// byMeaning returns the passages found for a text that shares no word with any of them.
func (l *library) byMeaning(like string, f core.PassageFilter) []core.PassageHit {
	l.Helper()
	l.indexed()
	hits, err := matchPassages(l.Context(), l.s, core.SearchQuery{
		Text: "xylophone", Limit: 50, Vectors: map[core.Handle][]float32{core.WordsHandle: meaningOf(like)},
	}, f)
	l.check(err)
	return hits
}

func matchPassages(ctx context.Context, s *home, q core.SearchQuery, f core.PassageFilter) ([]core.PassageHit, error) {
	found, err := finder.New(finder.Config{Store: s}).Passages(ctx, q, f)
	return found.Hits, err
}
