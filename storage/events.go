package storage

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
)

// EventLog is the run log in a file of its own, written with group commit like the facts, but without waiting for the
// disk: what a power cut takes is replayed from the facts.
type EventLog struct{ f *file }

var _ core.EventLog = (*EventLog)(nil)

// openEvents opens the run log. One that cannot be used is put aside and made anew: nothing in it is a fact.
func openEvents(ctx context.Context, cfg Config) (*EventLog, error) {
	path := filepath.Join(cfg.Dir, eventsFile)
	log, err := tryEvents(ctx, path, cfg.look)
	if err == nil || ctx.Err() != nil {
		return log, err
	}
	aside, moveErr := setAside(path, "broken", cfg.Clock())
	if moveErr != nil {
		return nil, moveErr
	}
	cfg.Logger.WarnContext(ctx, "the run log was unusable and is made anew", slog.Any("error", err), slog.String("kept", aside))
	return tryEvents(ctx, path, cfg.look)
}

func tryEvents(ctx context.Context, path string, look time.Duration) (*EventLog, error) {
	db, err := openPool(ctx, path, syncNormal, false)
	if err != nil {
		return nil, err
	}
	if _, err = eventsSchema().migrate(ctx, db, nil); err == nil {
		err = lookThrough(ctx, db, cmp.Or(look, lookWithin))
	}
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		_ = db.Close()
		return nil, classify("open "+eventsFile, err)
	}
	f, err := start(ctx, db, path, syncNormal, nil, nil)
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &EventLog{f: f}, nil
}

// lookWithin is how long a start looks through the run log: that of a busy day can have gigabytes.
const lookWithin = 100 * time.Millisecond

// lookThrough finds a damage before a page in the midst of the log is read to take up a run again: that must not keep the
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
		return core.E(core.Internal, "%s is damaged: %s", eventsFile, found)
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

func (l *EventLog) close() error { return l.f.close() }

// Append writes the events in one transaction, shared with whoever else is appending. The end of a run is noted, for Expire.
func (l *EventLog) Append(ctx context.Context, events ...core.Event) error {
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
	return l.f.w.do(ctx, func(ctx context.Context, q *querier) error {
		for i, e := range events {
			_, err := q.exec(ctx, `INSERT INTO events (run_id, seq, at, data) VALUES ($1, $2, $3, $4)`, e.Run, e.Seq, toMicros(e.At), rows[i])
			if err != nil {
				return classify("append events", err)
			}
			if _, ok := e.Body.(core.Stop); ok {
				_, err := q.exec(ctx, `INSERT INTO run_ends (run_id, at) VALUES ($1, $2) ON CONFLICT (run_id) DO UPDATE SET at = excluded.at`, e.Run, toMicros(e.At))
				if err != nil {
					return classify("append events", err)
				}
			}
		}
		return nil
	})
}

// Read returns at most limit events of a run behind a seq, 1000 where no limit is given.
func (l *EventLog) Read(ctx context.Context, run core.RunID, after int64, limit int) ([]core.Event, error) {
	if limit <= 0 {
		limit = 1000
	}
	var rows []struct {
		Seq  int64  `db:"seq"`
		At   micros `db:"at"`
		Data []byte `db:"data"`
	}
	err := l.f.r.all(ctx, &rows, `SELECT seq, at, data FROM events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, run, after, limit)
	if err != nil {
		return nil, classify("read events", err)
	}
	events := make([]core.Event, len(rows))
	for i, r := range rows {
		if events[i], err = core.DecodeEvent(r.Data); err != nil {
			return nil, err
		}
		events[i].Run, events[i].Seq, events[i].At = run, r.Seq, r.At.time()
	}
	return events, nil
}

func (l *EventLog) Last(ctx context.Context, run core.RunID) (seq int64, stopped bool, err error) {
	var row struct {
		Seq     int64 `db:"seq"`
		Stopped bool  `db:"stopped"`
	}
	err = l.f.r.get(ctx, &row, `SELECT COALESCE((SELECT MAX(seq) FROM events WHERE run_id = $1), 0) AS seq,
		EXISTS (SELECT 1 FROM run_ends WHERE run_id = $1) AS stopped`, run)
	return row.Seq, row.Stopped, classify("read end of log", err)
}

// wipe empties the log and its file: who follows a run that is over reads it from the facts.
func (l *EventLog) wipe(ctx context.Context) error {
	err := l.f.w.do(ctx, func(ctx context.Context, q *querier) error {
		for _, table := range []string{"events", "run_ends"} {
			if _, err := q.exec(ctx, `DELETE FROM `+table); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return classify("empty the run log", err)
	}
	return l.f.vacuum(ctx)
}

// expireBatch bounds how many rows one transaction deletes, so that appending never waits long.
const expireBatch = 1000

func (l *EventLog) Expire(ctx context.Context, t time.Time) error {
	for {
		var ids []core.RunID
		if err := l.f.r.all(ctx, &ids, `SELECT run_id FROM run_ends WHERE at < $1 ORDER BY at LIMIT 100`, toMicros(t)); err != nil {
			return classify("expire events", err)
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if err := l.DeleteRun(ctx, id); err != nil {
				return err
			}
		}
	}
}

func (l *EventLog) DeleteRun(ctx context.Context, run core.RunID) error {
	for {
		var n int64
		err := l.f.w.do(ctx, func(ctx context.Context, q *querier) error {
			var err error
			n, err = q.exec(ctx, `DELETE FROM events WHERE run_id = $1 AND seq IN (SELECT seq FROM events WHERE run_id = $1 ORDER BY seq LIMIT $2)`, run, expireBatch)
			if err == nil && n < expireBatch {
				_, err = q.exec(ctx, `DELETE FROM run_ends WHERE run_id = $1`, run)
			}
			return classify("delete events", err)
		})
		if err != nil || n < expireBatch {
			return err
		}
	}
}
