package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
)

// MinNumber and MaxNumber bound the numbers of a column: half of what SQLite can count.
const MinNumber, MaxNumber = "-4611686018427387904", "4611686018427387904"

// Misfit is a row with a value that its column can't hold: SQLite keeps anything anywhere.
type Misfit struct {
	Table string `db:"t"`
	Row   string `db:"key"` // its id and its table
	Why   string `db:"why"`
}

// column is a column as the schema declares it.
type column struct {
	Table   string `db:"t"`
	Name    string `db:"name"`
	Type    string `db:"type"`
	NotNull bool   `db:"notnull"`
	Key     int    `db:"pk"` // its place in the primary key, from 1
}

// Misfits names rows with a word for a number, nothing where there must be something, or a number that leaves no room to
// count on; at most so many. The schema must be one that we made.
func Misfits(ctx context.Context, db sqlx.QueryerContext, most int) ([]Misfit, error) {
	var columns []column
	err := sqlx.SelectContext(ctx, db, &columns, `SELECT m.name AS t, c.name, c.type, c."notnull", c.pk
		FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`)
	if err != nil {
		return nil, Classify("list the columns", err)
	}
	var out []Misfit
	for len(columns) > 0 && len(out) < most {
		n := 1
		for n < len(columns) && columns[n].Table == columns[0].Table {
			n++
		}
		var found []Misfit
		if err := sqlx.SelectContext(ctx, db, &found, selectMisfits(columns[:n]), most-len(out)); err != nil {
			return nil, Classify("look at "+columns[0].Table, err)
		}
		out, columns = append(out, found...), columns[n:]
	}
	return out, nil
}

// selectMisfits is the statement that finds those of one table.
func selectMisfits(table []column) string {
	var whens []string
	for _, c := range table {
		name := strconv.Quote(c.Name)
		when := func(cond, why string) { whens = append(whens, ` WHEN `+cond+` THEN '`+c.Name+` `+why+`'`) }
		if c.NotNull {
			when(name+` IS NULL`, "is missing")
		}
		switch c.Type {
		case "TEXT", "BLOB": // they keep no number as one
			continue
		case "BIGINT", "INTEGER", "BOOLEAN":
			when(`typeof(`+name+`) NOT IN ('integer', 'null')`, "is no number")
		}
		when(`typeof(`+name+`) = 'integer' AND `+name+` NOT BETWEEN `+MinNumber+` AND `+MaxNumber, "leaves no room to count on")
	}
	if len(whens) == 0 {
		return `SELECT '' AS t, '' AS key, '' AS why WHERE $1 < 0`
	}
	name := table[0].Table
	return `SELECT '` + name + `' AS t, key || ' of ` + name + `' AS key, why FROM (SELECT COALESCE(substr(` +
		strconv.Quote(nameOf(table)) + `, 1, 100), 'row ' || rowid) AS key, CASE` + strings.Join(whens, "") + ` END AS why FROM ` +
		strconv.Quote(name) + `) WHERE why IS NOT NULL LIMIT $1`
}

// nameOf is the column that says which row one is.
func nameOf(table []column) string {
	for _, fits := range []func(column) bool{
		func(c column) bool { return c.Name == "id" },
		func(c column) bool { return strings.HasSuffix(c.Name, "_id") },
		func(c column) bool { return c.Key == 1 },
	} {
		if i := slices.IndexFunc(table, fits); i >= 0 {
			return table[i].Name
		}
	}
	return table[0].Name
}
