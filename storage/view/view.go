// Package view is what a search reads of a store: the texts found by their words and those found by their vectors, as one
// view of what was committed before. It joins storage/index with storage/vectors, and opens, follows and cleans their files.
//
// It reads the facts and never writes them; the store that owns it hands it what reads the texts, and sweeps what it has saved.
package view

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/search"
	"loci/storage/index"
	"loci/storage/sqlite"
	"loci/storage/vectors"
)

// patience is how long a search waits for the index to have what was committed before it began.
const patience = 2 * time.Second

// Config says what the views are of.
type Config struct {
	Dir    string          // the home's data folder
	Facts  *sqlite.Querier // reads what is committed
	Source index.Source    // reads the texts
	Home   string          // its uuid
	Before int64           // the epoch before the facts were opened this time
	Now    int64           // the epoch since then
	Logger *slog.Logger
}

// Index opens views of what search may find. It is safe for use from many goroutines.
type Index struct {
	Words *index.Index

	cfg   Config
	facts *sqlite.Querier
	sets  *vectorSets
}

// File is the name of the index of words in the folder of a home's data.
const File = "index.db"

// indexCache is how much a connection to the index keeps of it: a search touches a thousand pages, and those above the
// leaves are always the same.
const indexCache = "cache_size(-8192)"

// Open opens the indexes of words and of vectors, or starts building them.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	sets, err := openSets(ctx, cfg)
	if err != nil {
		return nil, err
	}
	words, err := index.Open(ctx, index.Config{
		Path: filepath.Join(cfg.Dir, File), Home: cfg.Home, Before: cfg.Before, Now: cfg.Now, Source: cfg.Source, Logger: cfg.Logger,
		Classify: func(err error) error { return sqlite.Classify("search", err) },
		Open: func(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error) {
			return sqlite.OpenPool(ctx, path, sqlite.Normal, readOnly, indexCache)
		},
	})
	if err != nil {
		sets.close()
		return nil, sqlite.Classify("open "+File, err)
	}
	return &Index{Words: words, cfg: cfg, facts: cfg.Facts, sets: sets}, nil
}

// Close closes the indexes and leaves the facts open.
func (x *Index) Close() {
	x.Words.Close()
	x.sets.close()
}

// Nudge tells the indexes that something was committed.
func (x *Index) Nudge() {
	x.sets.nudge()
	x.Words.Nudge()
}

// Applied returns the last change that the index of words has.
func (x *Index) Applied() int64 { return x.Words.Applied() }

// Saved returns the last deletion of vectors that the index of each set has saved.
func (x *Index) Saved() map[int64]int64 { return x.sets.saved() }

// ready waits for the index to have what was committed, up to the change last. A search that finds it late goes on with
// what is there.
func (x *Index) ready(ctx context.Context) (last int64, late bool, err error) {
	if _, last, err = x.cfg.Source.Bounds(ctx); err != nil {
		return 0, false, err
	}
	if x.Words.Wait(ctx, last, patience) {
		return last, false, nil
	}
	if ctx.Err() != nil {
		return 0, false, sqlite.Classify("search", context.Cause(ctx))
	}
	x.cfg.Logger.WarnContext(ctx, "a search did not wait for the index", slog.Int64("behind", last-x.Words.Applied()))
	return last, true, nil
}

func errIndexing() error {
	return core.E(core.Unavailable, "the search index is being built").WithHint("try again in a moment")
}

// Vectors returns the index of a model's vectors, nil where it has made none.
func (x *Index) Vectors(ctx context.Context, kind core.VectorKind, model core.Handle, dim int) (*vectors.Index, error) {
	return x.sets.of(ctx, kind, model, dim)
}

// Models returns the models whose vectors the texts of a scope have.
func (x *Index) Models(ctx context.Context, scope search.Scope) ([]core.Handle, error) {
	f, some, err := x.filter(ctx, scope)
	if err != nil || !some {
		return nil, err
	}
	models, err := x.sets.models(ctx, scope.Kind, f.Owners)
	return models, sqlite.Classify("search", err)
}

// View opens a view of what search may find. It waits for the index to have what was committed, for a bounded time.
func (x *Index) View(ctx context.Context, scope search.Scope, vectors []search.Vector) (search.View, error) {
	v, err := x.open(ctx, scope, vectors)
	if err != nil {
		return nil, sqlite.Classify("search", err)
	}
	return v, nil
}

func (x *Index) open(ctx context.Context, scope search.Scope, vectors []search.Vector) (search.View, error) {
	f, some, err := x.filter(ctx, scope)
	if err != nil {
		return nil, err
	}
	if !some {
		return noView{}, nil
	}
	ask := index.Ask{Filter: f, Zone: scope.Zone}
	if ask.Without, err = x.ofRun(ctx, scope.Without); err != nil {
		return nil, err
	}
	m, err := x.sets.begin(ctx, scope.Kind, f, vectors)
	if err != nil {
		return nil, err
	}
	for round := 0; ; round++ { // once more if the index was replaced meanwhile
		last, late, err := x.ready(ctx)
		if err != nil {
			return nil, err
		}
		words, err := x.Words.View(ctx, scope.Kind, ask)
		if err != nil {
			return nil, err
		}
		if behind := words.Applied() < last; !behind || late || round > 0 {
			return &joinedView{View: words, vectorView: m, behind: behind}, nil
		}
		words.Close()
	}
}

// joinedView joins the view of the words with the vectors.
type joinedView struct {
	*index.View
	*vectorView
	behind bool // the index does not have everything
}

var (
	_ search.Index   = (*Index)(nil)
	_ search.Counter = (*joinedView)(nil)
	_ search.Meaning = (*joinedView)(nil)
)

func (v *joinedView) Reach() search.Reach {
	r := v.View.Reach()
	r.Behind, r.Building = v.behind, v.Applied() < 0
	return r
}

func (v *joinedView) Partial() bool { return v.behind || v.late.Load() }

// noView is the view of a scope without archives.
type noView struct{}

func (noView) Reach() search.Reach                                              { return search.Reach{} }
func (noView) All(context.Context) ([]search.Doc, error)                        { return nil, nil }
func (noView) Candidates(context.Context, search.Clues) (map[int64]bool, error) { return nil, nil }
func (noView) Near(context.Context, map[int64]bool) ([]search.Doc, error)       { return nil, nil }
func (noView) Partial() bool                                                    { return false }
func (noView) Close()                                                           {}

// filter turns a scope into what the index knows; some is false where no archive is in it.
func (x *Index) filter(ctx context.Context, s search.Scope) (f index.Filter, some bool, err error) {
	f = index.Filter{
		Owners: s.Owners, Thread: s.Thread, Roles: s.Roles, From: int64(sqlite.ToMicros(s.From)), Until: int64(sqlite.ToMicros(s.Until)),
		Tags: s.Tags, AllTags: s.AllTags, Files: s.Files,
	}
	if s.Kind != search.Passage || len(s.Owners)+len(s.Files) > 0 {
		return f, true, nil
	}
	f.Owners, some, err = x.memories(ctx)
	return f, some, err
}

// ofRun returns the ids of a run's messages.
func (x *Index) ofRun(ctx context.Context, run core.RunID) (map[string]bool, error) {
	if run == "" {
		return nil, nil
	}
	ids := map[string]bool{}
	var id string
	err := x.facts.Each(
		ctx,
		`SELECT id FROM messages WHERE run_id = $1 AND run_id <> ''`,
		[]any{run},
		[]any{&id},
		func() error { ids[id] = true; return nil },
	)
	return ids, err
}

// memories returns the archives that are archival memory; none when all are. some is false where only folders have archives.
func (x *Index) memories(ctx context.Context) (owners []string, some bool, err error) {
	var folders bool
	if err := x.facts.Get(ctx, &folders, `SELECT EXISTS (SELECT 1 FROM archives WHERE folder_id <> '')`); err != nil || !folders {
		return nil, true, sqlite.Classify("look for folders", err)
	}
	err = x.facts.All(ctx, &owners, `SELECT id FROM archives WHERE folder_id = '' AND deleted_at IS NULL ORDER BY id`)
	return owners, len(owners) > 0, sqlite.Classify("list archives", err)
}

// Compact leaves nothing of removed texts and vectors in the indexes.
func (x *Index) Compact(ctx context.Context) error {
	if err := x.compactWords(ctx); err != nil {
		return err
	}
	return sqlite.Classify("write the vector index anew", x.sets.purge(ctx))
}

func (x *Index) compactWords(ctx context.Context) error {
	_, last, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	for range 2 { // once more if it turned out damaged
		if !x.Words.Wait(ctx, last, cleanPatience) {
			return core.E(core.Unavailable, "the search index is behind")
		}
		if err = x.Words.Compact(ctx); !errors.Is(err, search.ErrUnavailable) {
			return sqlite.Classify("write the search index anew", err)
		}
	}
	return errIndexing()
}

// cleanPatience is how long forgetting waits for the index, which may be in the middle of being built.
const cleanPatience = 10 * time.Minute
