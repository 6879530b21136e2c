package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"loci/core/search"
)

// unsettled are facts that always have one more change.
type unsettled struct{ *facts }

func (f unsettled) Changes(ctx context.Context, after int64, _ int) ([]Change, error) {
	return []Change{{Seq: after + 1, Kind: "passage", ID: "none", Op: "delete"}}, ctx.Err()
}

func TestADamageIsRepairedWhileChangesComeWithoutAnEnd(t *testing.T) {
	t.Parallel()
	f, dir := oneText(), t.TempDir()
	x := openedIn(t, dir, unsettled{f})
	if !x.Wait(t.Context(), 1, time.Minute) {
		t.Fatal("the index is not built")
	}
	damage(t, dir)
	repaired(t, x)
}

func TestTheIndexIsBuiltAnewAtOnceWhereItDidNotFailBefore(t *testing.T) {
	t.Parallel()
	f, dir := oneText(), t.TempDir()
	x := openedIn(t, dir, f)
	caughtUp(t, x, f)
	x.rest = time.Hour
	damage(t, dir)
	repaired(t, x)
}

func TestAWriteAheadLogThatIsEmptiedUnderAnOpenIndexIsADamage(t *testing.T) {
	t.Parallel()
	f, dir := oneText(), t.TempDir()
	x := openedIn(t, dir, f)
	caughtUp(t, x, f)
	if err := os.Truncate(filepath.Join(dir, "index.db-wal"), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := match(t.Context(), x, search.Analyse("lake", 19_500), Filter{}, 3); !errors.Is(err, search.ErrUnavailable) {
		t.Errorf("the search that finds it: %v", err)
	}
	repaired(t, x)
}

// TestADamageDuringABuildIsRepaired: a search that finds damage doesn't wait for the build to end.
func TestADamageDuringABuildIsRepaired(t *testing.T) {
	t.Parallel()
	f := &halted{facts: oneText(), at: make(chan struct{}), goOn: make(chan struct{})}
	f.docs["p2"] = Doc{Seq: 2, ID: "p2", Owner: "a", Text: "the boat on the lake"}
	x := opened(t, f)
	<-f.at
	x.broken <- struct{}{}
	close(f.goOn)
	repaired(t, x)
}

// halted are facts whose documents arrive one by one: the first build gets the second one when allowed, and never
// reaches the end.
type halted struct {
	*facts
	at, goOn chan struct{}
	first    atomic.Pointer[context.Context] // of that build
}

func (f *halted) All(ctx context.Context, kind search.Kind, after int64, _ int) ([]Doc, int64, bool, error) {
	if kind == search.Passage && after == 1 && f.first.CompareAndSwap(nil, &ctx) {
		close(f.at)
		<-f.goOn
	}
	if kind == search.Passage && after == 2 && *f.first.Load() == ctx {
		<-ctx.Done()
	}
	return f.facts.All(ctx, kind, after, 1)
}

func oneText() *facts {
	f := &facts{docs: map[string]Doc{}}
	f.write(search.Passage, Doc{ID: "p1", Owner: "a", Text: "the boat on the lake"})
	return f
}

// damage makes a table of an open index start at another table's root page.
func damage(t *testing.T, dir string) {
	t.Helper()
	db, err := open(t.Context(), filepath.Join(dir, "index.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`PRAGMA writable_schema = ON`,
		`UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'docs_passage_seq') ` +
			`WHERE name = 'docs_passage'`,
		`PRAGMA schema_version = 99999`,
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// repaired searches until there is an index again that has the text.
func repaired(t *testing.T, x *Index) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	query := search.Analyse("lake", 19_500)
	for {
		hits, applied, err := match(ctx, x, query, Filter{}, 3)
		if ctx.Err() != nil || err != nil && !errors.Is(err, search.ErrUnavailable) {
			t.Fatalf("it is not repaired: %v", err)
		}
		if err == nil && applied >= 1 {
			if len(hits) == 0 || hits[0].ID != "p1" {
				t.Errorf("the new index finds %v", hits)
			}
			return
		}
		x.Wait(ctx, 1, time.Minute)
	}
}
