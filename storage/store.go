package storage

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"loci/core"
	"loci/core/search"
	"loci/storage/datadir"
	"loci/storage/migrations"
	"loci/storage/runlog"
	"loci/storage/sqlite"
	"loci/storage/sweep"
	"loci/storage/view"
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
	Clock     func() time.Time // default: time.Now
	Logger    *slog.Logger     // default: none
	// OnStatement sees the text of every statement that callers cause on the facts; one that it refuses isn't run. For tests.
	OnStatement func(sql string) error
}

// Store is the home's storage. It is safe for use from many goroutines.
type Store struct {
	*scope
	cfg    Config
	facts  *sqlite.File
	events *runlog.Log
	quiet  *sqlite.Querier // reads what is committed, without callers that cause it
	search *view.Index

	changed chan struct{} // buffered, one: something was committed

	maintenance sync.Mutex // held by Maintain and Sweep, so that the counts of a backup can be compared
	closed      sync.Once
	damaged     sync.Map // the queries whose damaged rows were logged
}

// Open opens a home's storage, brings its schema up to date and starts its goroutines. A damaged or missing run log or
// index is made anew; a damaged facts file is an error with a hint.
//
// A disk without any room takes no write-ahead log, and so no reading either. A reserve that was laid up on a better day is
// given back then, so that what is stored can be read, and every write says that the disk is full.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := openOnce(ctx, cfg)
	reserve := filepath.Join(cfg.Dir, datadir.ReserveFile)
	if sqlite.IsFull(err) && os.Remove(reserve) == nil {
		if s, err = openOnce(ctx, cfg); err == nil {
			s.cfg.Logger.WarnContext(ctx, "the disk is full; the reserve was given back, so that the home can be read")
		}
		return s, err
	}
	if err == nil {
		if rerr := datadir.LayUp(reserve); rerr != nil {
			s.cfg.Logger.WarnContext(ctx, "no reserve was laid up for a full disk", slog.Any("error", rerr))
		}
	}
	return s, err
}

func openOnce(ctx context.Context, cfg Config) (*Store, error) {
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
	s := &Store{cfg: cfg, changed: make(chan struct{}, 1)}
	if err := s.openFacts(ctx); err != nil {
		return nil, err
	}
	s.scope = &scope{s: s, on: s.facts.Scope()}
	uuid, before, after, err := s.begin(ctx)
	if err != nil {
		_ = s.facts.Close()
		return nil, err
	}
	if err := s.finishForgetting(ctx); err != nil {
		_ = s.facts.Close()
		return nil, err
	}
	if s.events, err = runlog.Open(ctx, runlog.Config{Dir: cfg.Dir, Clock: cfg.Clock, Logger: cfg.Logger}); err != nil {
		_ = s.facts.Close()
		return nil, err
	}
	s.quiet = sqlite.NewQuerier(s.facts.Readers, nil)
	s.search, err = view.Open(ctx, view.Config{
		Dir: cfg.Dir, Facts: s.quiet, Source: source{s.quiet}, Home: uuid, Before: before, Now: after, Logger: cfg.Logger,
	})
	if err != nil {
		s.quiet.Close()
		_ = s.events.Close()
		_ = s.facts.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) openFacts(ctx context.Context) error {
	path := filepath.Join(s.cfg.Dir, datadir.FactsFile)
	if err := datadir.CheckEmptied(s.cfg.Dir); err != nil {
		return err
	}
	if err := datadir.SweepCopies(s.cfg.BackupDir); err != nil {
		return err
	}
	db, err := sqlite.OpenPool(ctx, path, sqlite.Full, false)
	if err != nil {
		return err
	}
	kept, err := migrations.Facts().Migrate(ctx, db, func(version int64) string {
		return datadir.CopyName(s.cfg.BackupDir, version, s.cfg.Clock())
	})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		_ = db.Close()
		return sqlite.Classify("open "+datadir.FactsFile, err)
	}
	if kept != "" {
		s.cfg.Logger.InfoContext(ctx, "copied the database before its migration", slog.String("copy", kept))
	}
	s.facts, err = sqlite.Start(ctx, db, path, sqlite.Full, s.cfg.OnStatement, s.nudge)
	if err != nil {
		_ = db.Close()
	}
	return err
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

// Config says where the store is, with what was left open filled in.
func (s *Store) Config() Config { return s.cfg }

// Events returns the run log.
func (s *Store) Events() core.EventLog { return s.events }

// Traces returns what was sent to models, as far as it is kept.
func (s *Store) Traces() core.TraceStore { return s.events.Traces() }

// Close finishes what is being written and closes the files. Later calls fail as unavailable.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() {
		s.search.Close()
		s.quiet.Close()
		err = s.events.Close()
		if ferr := s.facts.Close(); err == nil {
			err = ferr
		}
		// The logs that were just folded in leave room where the reserve was given back.
		if rerr := datadir.LayUp(filepath.Join(s.cfg.Dir, datadir.ReserveFile)); rerr != nil {
			s.cfg.Logger.Warn("no reserve was laid up for a full disk", slog.Any("error", rerr))
		}
	})
	return sqlite.Classify("close store", err)
}

func (s *Store) now() sqlite.Micros { return sqlite.ToMicros(s.cfg.Clock()) }

// nudge wakes who embeds and the indexers after a commit.
func (s *Store) nudge() {
	if s.search == nil {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	s.search.Nudge()
}

// Models returns the models whose vectors the texts of a scope have.
func (s *Store) Models(ctx context.Context, scope search.Scope) ([]core.Handle, error) {
	return s.search.Models(ctx, scope)
}

// View opens a view of what search may find. It waits for the index to have what was committed, for a bounded time.
func (s *Store) View(ctx context.Context, scope search.Scope, vectors []search.Vector) (search.View, error) {
	return s.search.View(ctx, scope, vectors)
}

// Sweep removes what is marked as deleted and nothing names any more, and returns how many rows went.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	s.maintenance.Lock()
	defer s.maintenance.Unlock()
	return sweep.Run(ctx, s.on, s.search, s.cfg.Clock())
}
