package sqlite

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
)

func TestDamageSaysHowMuchMoreThereIs(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Damage{
		"a":                      {Named: []string{"a"}, Rows: 1},
		"a; b; and 3 more":       {Named: []string{"a", "b"}, Rows: 5},
		"a; and at least 7 more": {Named: []string{"a"}, Rows: 8, More: true},
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAMigrationWithoutANumberIsAnError(t *testing.T) {
	t.Parallel()
	s := Schema{Root: fstest.MapFS{"m/00001_a.sql": {}, "m/readme.txt": {}}, Folder: "m"}
	if n, err := s.newest(); core.KindOf(err) != core.Internal || !strings.Contains(err.Error(), "readme.txt") {
		t.Errorf("%d, %v", n, err)
	}
	s = Schema{Root: fstest.MapFS{"m/00001_a.sql": {}, "m/00007_b.sql": {}}, Folder: "m", Steps: map[int64]Step{9: nil}}
	if n, err := s.newest(); n != 9 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestFewAndShortStatementsAreKept(t *testing.T) {
	t.Parallel()
	q := &Querier{stmts: map[string]*sqlx.Stmt{}}
	if !q.keep("a", new(sqlx.Stmt)) || q.keep("a", new(sqlx.Stmt)) {
		t.Error("one statement is kept, once")
	}
	if q.keep(strings.Repeat("x", maxStatementText+1), new(sqlx.Stmt)) {
		t.Error("a long one is kept")
	}
	for len(q.stmts) < maxStatements {
		q.stmts[time.Duration(len(q.stmts)).String()] = nil
	}
	if q.keep("b", new(sqlx.Stmt)) {
		t.Error("more are kept than may be")
	}
	clear(q.stmts)
	q.closed = true
	if q.keep("c", new(sqlx.Stmt)) {
		t.Error("a closed querier keeps one")
	}
}
