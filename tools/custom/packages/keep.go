package packages

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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
		if named[e.Name()] || strings.HasPrefix(e.Name(), unfinished) || !s.retire(e.Name(), keepUnused) {
			continue
		}
		removed++
		if err := remove(filepath.Join(s.cfg.Dir, unfinished+e.Name())); err != nil {
			return removed, core.E(core.Unavailable, "remove old packages: %w", err)
		}
	}
	return removed, nil
}

// keepUsed is how long an environment stays that was just used, whatever it takes: a call may go on in it.
const keepUsed = time.Hour

// makeRoom lets the environments go that were used longest ago, where there are too many for one more. They are made again if need be.
func (s *Store) makeRoom() error {
	all := s.all()
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	var bytes int64
	for _, k := range all {
		bytes += k.bytes
	}
	left := len(all)
	for _, k := range all {
		if left < s.cfg.Kept && bytes <= (mostTimes-1)*s.cfg.Bytes {
			return nil
		}
		if !s.retire(k.key, keepUsed) {
			break // the others were used later
		}
		left, bytes = left-1, bytes-k.bytes
		if err := remove(filepath.Join(s.cfg.Dir, unfinished+k.key)); err != nil {
			return core.E(core.Unavailable, "remove old packages: %w", err)
		}
	}
	if left < s.cfg.Kept && bytes <= (mostTimes-1)*s.cfg.Bytes {
		return nil
	}
	return core.E(core.TooLarge, "%d sets of packages are installed, which take %d MB: there is no room for another", left, bytes>>20).
		WithHint("those that nobody uses for an hour make room")
}

// kept is an environment that is there.
type kept struct {
	key   string
	bytes int64
	used  time.Time
}

func (s *Store) all() (all []kept) {
	entries, _ := os.ReadDir(s.cfg.Dir) // nothing may be there yet
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(s.cfg.Dir, e.Name(), partAbout))
		var of about
		info, gone := e.Info()
		if err != nil || gone != nil || strings.HasPrefix(e.Name(), unfinished) || json.Unmarshal(text, &of) != nil {
			continue
		}
		all = append(all, kept{e.Name(), of.Bytes, info.ModTime()})
	}
	return all
}

// retire takes the name from an environment that nobody has used for so long.
func (s *Store) retire(key string, unused time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	folder := filepath.Join(s.cfg.Dir, key)
	info, err := os.Lstat(folder)
	if err != nil || s.cfg.Clock().Sub(info.ModTime()) < unused || s.running[key] != nil {
		return false
	}
	return os.Rename(folder, filepath.Join(s.cfg.Dir, unfinished+key)) == nil
}

// Size is how many environments there are, and how many bytes they take.
func (s *Store) Size() (environments int, bytes int64) {
	for _, k := range s.all() {
		environments, bytes = environments+1, bytes+k.bytes
	}
	return environments, bytes
}
