// Package runlog keeps the run log, a file of its own beside the facts.
package runlog

import (
	"cmp"
	"context"
	"embed"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/sqlite"
	"loci/storage/traces"
)

// File is the name of the run log in the folder of a home's data.
const File = "log.db"

//go:embed migrations
var migrations embed.FS

func schema() sqlite.Schema {
	return sqlite.Schema{Name: File, Root: migrations, Folder: "migrations"}
}

// Config says where the run log is.
type Config struct {
	Dir    string // the home's data folder, which is there
	Clock  func() time.Time
	Logger *slog.Logger

	look time.Duration // 0: lookWithin; for tests
}

// Log is the run log, written with group commit like the facts, but without waiting for the
// disk: what a power cut takes is replayed from the facts.
type Log struct{ f *sqlite.File }

var _ core.EventLog = (*Log)(nil)

// Open opens the run log. One that cannot be used is put aside and made anew: nothing in it is a fact.
func Open(ctx context.Context, cfg Config) (*Log, error) {
	path := filepath.Join(cfg.Dir, File)
	log, err := tryOpen(ctx, path, cfg.look)
	if err == nil || ctx.Err() != nil || sqlite.IsFull(err) {
		return log, err
	}
	aside, moveErr := setAside(path, "broken", cfg.Clock())
	if moveErr != nil {
		return nil, moveErr
	}
	cfg.Logger.WarnContext(ctx, "the run log was unusable and is made anew", slog.Any("error", err), slog.String("kept", aside))
	return tryOpen(ctx, path, cfg.look)
}

func tryOpen(ctx context.Context, path string, look time.Duration) (*Log, error) {
	db, err := sqlite.OpenPool(ctx, path, sqlite.Normal, false)
	if err != nil {
		return nil, err
	}
	if _, err = schema().Migrate(ctx, db, nil); err == nil {
		err = lookThrough(ctx, db, cmp.Or(look, lookWithin))
	}
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		_ = db.Close()
		return nil, sqlite.Classify("open "+File, err)
	}
	f, err := sqlite.Start(ctx, db, path, sqlite.Normal, nil, nil)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &Log{f: f}, nil
}

// lookWithin is how long a start looks through the run log: that of a busy day can have gigabytes.
const lookWithin = 100 * time.Millisecond

// lookThrough finds a damage before a page in the middle of the log is read to take up a run again: that must not keep the
// daemon from its start. It passes what it has not seen when its time is over.
func lookThrough(ctx context.Context, db *sqlx.DB, within time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var found string
	err := db.GetContext(bounded, &found, `PRAGMA quick_check(1)`)
	switch {
	case bounded.Err() != nil && ctx.Err() == nil:
		return nil
	case err == nil && found != "ok":
		return core.E(core.Internal, "%s is damaged: %s", File, found)
	}
	return err
}

// setAside renames a database with its companions and returns the new name; a missing one is fine.
func setAside(path, why string, now time.Time) (string, error) {
	to := path + "." + why + "-" + now.UTC().Format("20060102T150405.000000")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, to+suffix); err != nil && !os.IsNotExist(err) {
			return "", core.E(core.Internal, "put %s aside: %w", filepath.Base(path), err)
		}
	}
	return to, nil
}

// Traces returns what was sent to models, which lies in the same file.
func (l *Log) Traces() core.TraceStore { return traces.Store{File: l.f} }

// Close finishes what is being written and closes the file.
func (l *Log) Close() error { return l.f.Close() }

// Append writes the events in one transaction, shared with whoever else is appending. The end of a run is noted, for Expire.
func (l *Log) Append(ctx context.Context, events ...core.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([][]byte, len(events))
	for i, e := range events {
		var err error
		if rows[i], err = core.EncodeEvent(e); err != nil {
			return err
		}
	}
	return l.f.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
		for i, e := range events {
			_, err := q.Exec(
				ctx,
				`INSERT INTO events (run_id, seq, at, data) VALUES ($1, $2, $3, $4)`,
				e.Run,
				e.Seq,
				sqlite.ToMicros(e.At),
				rows[i],
			)
			if err != nil {
				return sqlite.Classify("append events", err)
			}
			if _, ok := e.Body.(core.Stop); ok {
				_, err := q.Exec(
					ctx,
					`INSERT INTO run_ends (run_id, at) VALUES ($1, $2) ON CONFLICT (run_id) DO UPDATE SET at = excluded.at`,
					e.Run,
					sqlite.ToMicros(e.At),
				)
				if err != nil {
					return sqlite.Classify("append events", err)
				}
			}
		}
		return nil
	})
}

// Read returns at most limit events of a run behind a seq, 1000 where no limit is given.
func (l *Log) Read(ctx context.Context, run core.RunID, after int64, limit int) ([]core.Event, error) {
	return l.read(ctx, run, `seq > $2 ORDER BY seq`, after, limit)
}

// ReadBack returns at most limit events of a run up to a seq, the latest first.
func (l *Log) ReadBack(ctx context.Context, run core.RunID, upTo int64, limit int) ([]core.Event, error) {
	return l.read(ctx, run, `seq <= $2 ORDER BY seq DESC`, upTo, limit)
}

func (l *Log) read(ctx context.Context, run core.RunID, where string, seq int64, limit int) ([]core.Event, error) {
	if limit <= 0 {
		limit = 1000
	}
	var rows []struct {
		Seq  int64         `db:"seq"`
		At   sqlite.Micros `db:"at"`
		Data []byte        `db:"data"`
	}
	err := l.f.Read.All(ctx, &rows, `SELECT seq, at, data FROM events WHERE run_id = $1 AND `+where+` LIMIT $3`, run, seq, limit)
	if err != nil {
		return nil, sqlite.Classify("read events", err)
	}
	events := make([]core.Event, len(rows))
	for i, r := range rows {
		if events[i], err = core.DecodeEvent(r.Data); err != nil {
			return nil, err
		}
		events[i].Run, events[i].Seq, events[i].At = run, r.Seq, r.At.Time()
	}
	return events, nil
}

func (l *Log) Last(ctx context.Context, run core.RunID) (seq int64, stopped bool, err error) {
	var row struct {
		Seq     int64 `db:"seq"`
		Stopped bool  `db:"stopped"`
	}
	err = l.f.Read.Get(ctx, &row, `SELECT COALESCE((SELECT MAX(seq) FROM events WHERE run_id = $1), 0) AS seq,
		EXISTS (SELECT 1 FROM run_ends WHERE run_id = $1) AS stopped`, run)
	return row.Seq, row.Stopped, sqlite.Classify("read end of log", err)
}

// Wipe empties the log and its file: who follows a run that is over reads it from the facts.
func (l *Log) Wipe(ctx context.Context) error {
	err := l.f.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
		for _, table := range []string{"events", "run_ends", "traces"} {
			if _, err := q.Exec(ctx, `DELETE FROM `+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return sqlite.Classify("empty the run log", err)
	}
	return l.f.Vacuum(ctx)
}

// expireBatch bounds how many rows one transaction deletes, so that appending never waits long.
const expireBatch = 1000

// Expire removes the events of runs that ended before t, and gives the file's space back where that is much.
func (l *Log) Expire(ctx context.Context, t time.Time) error {
	if err := l.expire(ctx, t); err != nil {
		return err
	}
	return l.shrink(ctx)
}

// Bounds on writing the log anew: for less it is not worth it, and for more who appends would wait for too long.
const (
	shrinkFrom = 4 << 20  // bytes that are unused
	shrinkUpTo = 64 << 20 // bytes that are used
)

func (l *Log) shrink(ctx context.Context) error {
	var size struct {
		Page int64 `db:"page"`
		All  int64 `db:"pages"`
		Free int64 `db:"free"`
	}
	err := l.f.Read.Get(
		ctx,
		&size,
		`SELECT (SELECT page_size FROM pragma_page_size()) AS page, (SELECT page_count FROM pragma_page_count()) AS pages,
		(SELECT freelist_count FROM pragma_freelist_count()) AS free`,
	)
	if err != nil {
		return sqlite.Classify("measure the run log", err)
	}
	unused, used := size.Free*size.Page, (size.All-size.Free)*size.Page
	if unused < shrinkFrom || unused < used || used > shrinkUpTo {
		return nil
	}
	return l.f.Vacuum(ctx)
}

func (l *Log) expire(ctx context.Context, t time.Time) error {
	for {
		var ids []core.RunID
		if err := l.f.Read.All(
			ctx,
			&ids,
			`SELECT run_id FROM run_ends WHERE at < $1 ORDER BY at LIMIT 100`,
			sqlite.ToMicros(t),
		); err != nil {
			return sqlite.Classify("expire events", err)
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if err := l.deleteEvents(ctx, id); err != nil {
				return err
			}
		}
	}
}

// DeleteRun removes the events of a run, and what it sent to models.
func (l *Log) DeleteRun(ctx context.Context, run core.RunID) error {
	err := l.f.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `DELETE FROM traces WHERE run_id = $1`, run)
		return err
	})
	if err != nil {
		return sqlite.Classify("delete traces", err)
	}
	return l.deleteEvents(ctx, run)
}

func (l *Log) deleteEvents(ctx context.Context, run core.RunID) error {
	for {
		var n int64
		err := l.f.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
			var err error
			n, err = q.Exec(
				ctx,
				`DELETE FROM events WHERE run_id = $1 AND seq IN (SELECT seq FROM events WHERE run_id = $1 ORDER BY seq LIMIT $2)`,
				run,
				expireBatch,
			)
			if err == nil && n < expireBatch {
				_, err = q.Exec(ctx, `DELETE FROM run_ends WHERE run_id = $1`, run)
			}
			return sqlite.Classify("delete events", err)
		})
		if err != nil || n < expireBatch {
			return err
		}
	}
}
