package index

import (
	"context"
	"net/url"

	"github.com/jmoiron/sqlx"
)

func open(ctx context.Context, path string, readOnly bool) (*sqlx.DB, error) {
	v := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"}}
	if readOnly {
		v.Add("_pragma", "query_only(1)")
	} else {
		v.Set("_txlock", "immediate")
	}
	db, err := sqlx.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: v.Encode()}).String())
	if err == nil && !readOnly {
		db.SetMaxOpenConns(1)
	}
	return db, err
}
