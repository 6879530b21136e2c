package packages

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"loci/core"
)

// keepUnused is how long an environment stays that no tool names: a source that is tried is run again, and a call may go on in it.
const keepUnused = 24 * time.Hour

// Sweep removes environments that none of these tools names and nobody has used for a day, and returns how many it removed. Where an
// interpreter can't be asked which version it is, nothing is known of what is named, and nothing goes.
func (s *Store) Sweep(ctx context.Context, tools []core.CustomTool) (removed int, err error) {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil || len(entries) == 0 {
		return 0, nil //nolint:nilerr // nothing was installed yet
	}
	named := map[string]bool{}
	for i := range tools {
		requirements, err := wanted(&tools[i])
		if err != nil || len(requirements) == 0 {
			continue // one that is refused names nothing
		}
		w, err := s.resolve(ctx, tools[i].Language, requirements)
		if err != nil {
			return 0, err
		}
		named[w.key()] = true
	}
	for _, e := range entries {
		if named[e.Name()] || strings.HasPrefix(e.Name(), unfinished) || !s.retire(e.Name()) {
			continue
		}
		removed++
		if err := remove(filepath.Join(s.cfg.Dir, unfinished+e.Name())); err != nil {
			return removed, core.E(core.Unavailable, "remove old packages: %w", err)
		}
	}
	return removed, nil
}

// retire takes the name from an environment that nobody has used for a while.
func (s *Store) retire(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	folder := filepath.Join(s.cfg.Dir, key)
	info, err := os.Lstat(folder)
	if err != nil || s.cfg.Clock().Sub(info.ModTime()) < keepUnused || s.running[key] != nil {
		return false
	}
	return os.Rename(folder, filepath.Join(s.cfg.Dir, unfinished+key)) == nil
}

// Size is how many environments there are, and how many bytes they take.
func (s *Store) Size() (environments int, bytes int64) {
	entries, _ := os.ReadDir(s.cfg.Dir) // nothing may be there yet
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(s.cfg.Dir, e.Name(), partAbout))
		var of about
		if err != nil || json.Unmarshal(text, &of) != nil {
			continue
		}
		environments, bytes = environments+1, bytes+of.Bytes
	}
	return environments, bytes
}
