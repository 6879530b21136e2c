package migrations

import (
	"database/sql"
	"errors"
	"testing"
)

func TestARowThatCannotBeReadEndsTheMigration(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	boom := errors.New("boom")
	if err := eachRow(t.Context(), tx, func(*sql.Rows) error { return boom }, `SELECT 1`); !errors.Is(err, boom) {
		t.Errorf("a row that is refused: %v", err)
	}
	if err := eachRow(t.Context(), tx, func(*sql.Rows) error { return nil }, `SELECT x FROM nowhere`); err == nil {
		t.Error("a query that cannot be run is not told")
	}
	const breaksOff = `SELECT json(x) FROM (SELECT '1' AS x UNION ALL SELECT '{')`
	if err := eachRow(t.Context(), tx, func(*sql.Rows) error { return nil }, breaksOff); err == nil {
		t.Error("rows that end before all of them were read are not told")
	}
}
