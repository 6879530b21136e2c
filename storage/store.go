package storage

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/index"
)

// The files of a home.
const (
	factsFile  = "loci.db"
	eventsFile = "log.db"
	indexFile  = "index.db"
)

// The keys of meta that the store itself keeps.
const (
	MetaUUID  = "uuid"  // of the home, made once
	MetaEpoch = "epoch" // raised at each Open and Restore
)

// Config says where the store is. Only Dir is needed.
type Config struct {
	Dir       string           // the home's data folder; made with mode 0700 if it is missing
	BackupDir string           // where copies made before a migration go; default: Dir
	Beside    []string         // further folders of the home: forgetting names their files that hold what is forgotten
	Clock     func() time.Time // default: time.Now
	Logger    *slog.Logger     // default: none
	// OnStatement sees the text of every statement that callers cause on the facts; for tests.
	OnStatement func(sql string)
	// Embed makes the vector of a query; nil: searches go by words alone. It is bounded by who gives it.
	Embed func(ctx context.Context, model core.Handle, text string) ([]float32, error)
	// History writes all that git keeps of a folder, for forgetting to look through; nil: git cannot be asked.
	History func(ctx context.Context, dir string, out io.Writer) error

	look time.Duration // 0: lookWithin
}

// Store is the home's storage. It is safe for use from many goroutines.
type Store struct {
	*view
	cfg    Config
	facts  *file
	events *EventLog
	search *searcher
	near   *nearby

	maintenance sync.Mutex // held by Backup and Sweep, so that the counts of a backup can be compared
	closed      sync.Once
}

// file is one SQLite file with its writer and its readers.
type file struct {
	w        *writer
	r        *querier
	writerDB *sqlx.DB
	readerDB *sqlx.DB
}

// start opens the readers and starts the writer of a file whose writer pool is open.
func start(ctx context.Context, writerDB *sqlx.DB, path, synchronous string, hook func(string), after func()) (*file, error) {
	readerDB, err := openPool(ctx, path, synchronous, true)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, writerDB, hook, after)
	if err != nil {
		_ = readerDB.Close()
		return nil, err
	}
	return &file{w: w, r: newQuerier(readerDB, hook), writerDB: writerDB, readerDB: readerDB}, nil
}

// close waits for what is being written. The readers go first, so that the writer's connection is the last one and
// folds the write-ahead log into the file.
func (f *file) close() error {
	f.w.close()
	f.r.close()
	err := f.readerDB.Close()
	if werr := f.writerDB.Close(); err == nil {
		err = werr
	}
	return err
}

// vacuum writes the file anew, without unused pages, and empties the write-ahead log. Others write before or after it.
func (f *file) vacuum(ctx context.Context) error {
	err := f.w.bare(ctx, func(ctx context.Context, q *querier) error {
		_, err := q.exec(ctx, "VACUUM")
		return err
	})
	if err != nil {
		return classify("write the file anew", err)
	}
	return index.Truncate(ctx, func(ctx context.Context) (busy bool, err error) {
		err = f.w.bare(ctx, func(ctx context.Context, q *querier) error {
			var row index.Checkpointed
			err := q.get(ctx, &row, index.Checkpoint)
			busy = row.Busy != 0
			return err
		})
		return busy, classify("empty the write-ahead log", err)
	})
}

// Open opens a home's storage, brings its schema up to date and starts its goroutines. A damaged or missing run log or
// index is made anew; a damaged facts file is an error with a hint.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.BackupDir == "" {
		cfg.BackupDir = cfg.Dir
	}
	for _, dir := range []string{cfg.Dir, cfg.BackupDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, core.E(core.Internal, "make the data folder: %w", err).WithHint("check that %s can be written", filepath.Dir(dir))
		}
	}
	s := &Store{cfg: cfg}
	s.view = &view{s: s}
	if err := s.openFacts(ctx); err != nil {
		return nil, err
	}
	uuid, before, after, err := s.begin(ctx)
	if err != nil {
		_ = s.facts.close()
		return nil, err
	}
	if err := s.finishForgetting(ctx); err != nil {
		_ = s.facts.close()
		return nil, err
	}
	if s.events, err = openEvents(ctx, cfg); err != nil {
		_ = s.facts.close()
		return nil, err
	}
	gen := generation{uuid: uuid, before: before, now: after}
	near, err := openNearby(ctx, s, gen)
	if err == nil {
		s.near = near
		s.search, err = openSearcher(ctx, s, gen)
	}
	if err != nil {
		if near != nil {
			near.close()
		}
		_ = s.events.close()
		_ = s.facts.close()
		return nil, err
	}
	return s, nil
}

func (s *Store) openFacts(ctx context.Context) error {
	path := filepath.Join(s.cfg.Dir, factsFile)
	if err := checkEmptied(s.cfg.Dir); err != nil {
		return err
	}
	db, err := openPool(ctx, path, syncFull, false)
	if err != nil {
		return err
	}
	kept, err := factsSchema().migrate(ctx, db, func(version int64) string { return copyName(s.cfg.BackupDir, version, s.cfg.Clock()) })
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		_ = db.Close()
		return classify("open "+factsFile, err)
	}
	if kept != "" {
		s.cfg.Logger.InfoContext(ctx, "copied the database before its migration", slog.String("copy", kept))
	}
	s.facts, err = start(ctx, db, path, syncFull, s.cfg.OnStatement, s.nudge)
	if err != nil {
		_ = db.Close()
	}
	return err
}

// checkEmptied refuses a facts file without a byte beside files that only come after it: somebody's memory is gone, and a
// fresh home in its place would hide that. A first opening that was killed leaves none of them.
func checkEmptied(dir string) error {
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return -1
		}
		return info.Size()
	}
	if size(factsFile) != 0 || size(factsFile+"-wal") > 0 || size(eventsFile) <= 0 && size(indexFile) <= 0 {
		return nil
	}
	return core.E(core.Internal, "%s is empty, but the files beside it are not: what it held is lost", filepath.Join(dir, factsFile)).
		WithHint("restore a backup with `loci restore FILE`, or delete the folder %s to begin anew", dir)
}

// generation tells which opening of which home an index belongs to.
type generation struct {
	uuid        string
	before, now int64 // the epoch before this opening and from it on
}

// begin makes the home's uuid if it has none and raises the epoch.
func (s *Store) begin(ctx context.Context) (id string, before, now int64, err error) {
	err = s.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var ok bool
		if id, ok, err = tx.Meta().Get(ctx, MetaUUID); err != nil {
			return err
		}
		if !ok {
			id = uuid.NewString()
			if err := tx.Meta().Put(ctx, MetaUUID, id); err != nil {
				return err
			}
		}
		text, ok, err := tx.Meta().Get(ctx, MetaEpoch)
		if err != nil {
			return err
		}
		if before = 0; ok {
			if before, err = strconv.ParseInt(text, 10, 64); err != nil {
				return core.E(core.Internal, "the epoch of the home is %q", text)
			}
		}
		now = before + 1
		return tx.Meta().Put(ctx, MetaEpoch, strconv.FormatInt(now, 10))
	})
	return id, before, now, err
}

// Events returns the run log.
func (s *Store) Events() core.EventLog { return s.events }

// Close finishes what is being written and closes the files. Later calls fail as unavailable.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.search.close()
		s.near.close()
		err = s.events.close()
		if ferr := s.facts.close(); err == nil {
			err = ferr
		}
	})
	return classify("close store", err)
}

func (s *Store) now() micros { return toMicros(s.cfg.Clock()) }

// nudge wakes the indexer after a commit.
func (s *Store) nudge() {
	if s.search != nil {
		s.near.nudge()
		s.search.nudge()
	}
}
