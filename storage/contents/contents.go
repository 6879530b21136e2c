// Package contents keeps what files held before agents changed them, and what agents read of them, beside the facts: one
// file for each content, named by its hash.
//
// Promises: what is kept lasting is on disk when Keep returns, and all else when Sync does; a damaged content is never returned;
// all contents together stay under a bound, and what was used longest ago goes first.
package contents

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
)

// Folder is the name of the folder in a home's data.
const Folder = "contents"

// MaxTotal is how many bytes are kept.
const MaxTotal = 1 << 30

// Config is what a store of contents needs.
type Config struct {
	Dir    string // made at the first content
	Max    int64  // of all together; 0: MaxTotal
	Clock  func() time.Time
	Logger *slog.Logger
}

// Store is a folder of contents. It is safe for concurrent use.
type Store struct {
	cfg   Config
	mu    sync.Mutex // guards what follows
	total int64      // of what is kept; -1: not counted yet
	loose []string   // files that may not be on disk yet, one more than mostLoose at most

	syncing sync.Mutex // held while loose files are brought to disk
}

var _ core.ContentStore = (*Store)(nil)

// New returns the contents in a folder.
func New(cfg Config) *Store {
	if cfg.Max == 0 {
		cfg.Max = MaxTotal
	}
	return &Store{cfg: cfg, total: -1}
}

func (s *Store) path(hash string) string { return filepath.Join(s.cfg.Dir, hash[:2], hash) }

// Keep implements core.ContentStore.
func (s *Store) Keep(ctx context.Context, content []byte, lasting bool) error {
	if len(content) > core.MaxKeptContent {
		return core.E(core.TooLarge, "%d bytes are more than the %d that are kept of a file", len(content), core.MaxKeptContent)
	}
	if err := s.keep(core.ContentHash(content), content, lasting); err != nil {
		return core.E(core.Internal, "keep what a file holds: %w", err)
	}
	return s.shrink(ctx)
}

func (s *Store) keep(hash string, content []byte, lasting bool) error {
	path := s.path(hash)
	now := s.cfg.Clock()
	if old, err := os.ReadFile(path); err == nil && core.ContentHash(old) == hash {
		if err := os.Chtimes(path, now, now); err != nil || !lasting {
			return err
		}
		return syncFile(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".part-")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	if err == nil && lasting {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Chtimes(temp.Name(), now, now)
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= 0 {
		s.total += int64(len(content))
	}
	if !lasting && len(s.loose) <= mostLoose {
		s.loose = append(s.loose, path)
	}
	if lasting {
		return errors.Join(syncFile(filepath.Dir(path)), syncFile(s.cfg.Dir))
	}
	return nil
}

// mostLoose is how many files are brought to disk one by one; of more, the whole file system is at once.
const mostLoose = 64

// Sync implements core.ContentStore.
func (s *Store) Sync(context.Context) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	s.mu.Lock()
	loose := s.loose
	s.loose = nil
	s.mu.Unlock()
	err := s.sync(loose)
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loose = append(loose, s.loose...)
	s.loose = s.loose[:min(len(s.loose), mostLoose+1)]
	return core.E(core.Internal, "bring what files held to disk: %w", err)
}

func (s *Store) sync(loose []string) error {
	if len(loose) > mostLoose {
		return syncAll(s.cfg.Dir)
	}
	if len(loose) == 0 {
		return nil
	}
	paths := append(slices.Clone(loose), s.cfg.Dir)
	for _, path := range loose {
		paths = append(paths, filepath.Dir(path))
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	var work sync.WaitGroup // a disk takes for all as long as for one
	errs := make([]error, len(paths))
	for i, path := range paths {
		work.Go(func() { errs[i] = syncFile(path) })
	}
	work.Wait()
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { // a file may have made room
		return errors.Is(err, fs.ErrNotExist)
	})...)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

// Content implements core.ContentStore.
func (s *Store) Content(_ context.Context, hash string) ([]byte, error) {
	gone := core.E(core.NotFound, "what the file held is not kept any more")
	if len(hash) != 64 || strings.ContainsAny(hash, `/\.`) {
		return nil, gone
	}
	content, err := os.ReadFile(s.path(hash))
	if errors.Is(err, fs.ErrNotExist) || err == nil && core.ContentHash(content) != hash {
		return nil, gone
	}
	if err != nil {
		return nil, core.E(core.Internal, "read what a file held: %w", err)
	}
	return content, nil
}

// kept is one content on disk.
type kept struct {
	path string
	size int64
	used time.Time
}

// shrink removes what was used longest ago, down to nine tenths of the bound, and says so.
func (s *Store) shrink(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= 0 && s.total <= s.cfg.Max {
		return nil
	}
	all, err := s.all()
	if err != nil {
		return core.E(core.Internal, "count what is kept of files: %w", err)
	}
	s.total = 0
	for _, k := range all {
		s.total += k.size
	}
	if s.total <= s.cfg.Max {
		return nil
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	removed := 0
	for _, k := range all[:len(all)-1] {
		if s.total <= s.cfg.Max/10*9 {
			break
		}
		if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return core.E(core.Internal, "remove what is kept of a file: %w", err)
		}
		s.total -= k.size
		removed++
	}
	s.cfg.Logger.WarnContext(ctx, "the oldest contents of files are not kept any more", slog.Int("removed", removed))
	return nil
}

func (s *Store) all() (all []kept, err error) {
	err = filepath.WalkDir(s.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // renamed meanwhile
		}
		if err == nil {
			all = append(all, kept{path, info.Size(), info.ModTime()})
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// Forget removes every content for which holds says so, and returns how many those were.
func (s *Store) Forget(ctx context.Context, holds func(content []byte) bool, apply bool) (found int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.all()
	if err != nil {
		return 0, core.E(core.Internal, "look through what is kept of files: %w", err)
	}
	for _, k := range all {
		if ctx.Err() != nil {
			return found, context.Cause(ctx)
		}
		content, err := os.ReadFile(k.path)
		if err != nil || !holds(content) {
			continue
		}
		found++
		if !apply {
			continue
		}
		if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, core.E(core.Internal, "remove what is kept of a file: %w", err)
		}
		s.total -= k.size
	}
	return found, nil
}
