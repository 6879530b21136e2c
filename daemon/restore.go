package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/config"
	"loci/daemon/ipc"
	"loci/storage"
	backups "loci/storage/backup"
)

// trialPrefix starts the names of the folders in which backups are read before use. Whoever reads one holds its lock.
const (
	trialPrefix = ".loci-restore-"
	trialLock   = "lock"
)

// Restoration is a verified backup that may replace a home. Close it, whether or not it was used.
type Restoration struct {
	paths config.Paths
	dir   string
	lock  *ipc.Lock
	facts *backups.Restoration
}

// PrepareRestore reads a whole backup into a folder in the home, without touching the facts there. A daemon may be
// running.
func PrepareRestore(ctx context.Context, p config.Paths, path string) (r *Restoration, err error) {
	if err := ipc.PrivateDir(p.Data); err != nil {
		return nil, core.E(core.Forbidden, "prepare the home: %w", err)
	}
	r = &Restoration{paths: p}
	if r.dir, err = os.MkdirTemp(p.Data, trialPrefix); err != nil {
		return nil, core.E(core.Internal, "prepare the restore: %w", err).WithHint("check that the home can be written: loci doctor")
	}
	if r.lock, err = ipc.TryLock(filepath.Join(r.dir, trialLock)); err == nil {
		r.facts, err = backups.Prepare(ctx, r.dir, path)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Put replaces the facts of the home, whose daemon must be stopped, and returns where the old ones were kept.
func (r *Restoration) Put(ctx context.Context) (kept string, err error) {
	lock, err := holdStopped(r.paths)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return r.facts.Put(ctx, r.paths.Data, nil)
}

// Waiting returns the paths outside the home that the backup names.
func (r *Restoration) Waiting() []api.HeldPlace { return waiting(r.facts.Waiting) }

// Ended returns how many runs were under way when the backup was made; they end as failed.
func (r *Restoration) Ended() int { return r.facts.Ended }

// Close removes the working files.
func (r *Restoration) Close() error {
	var err error
	if r.lock != nil {
		err = r.lock.Unlock()
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// sweepTrials removes what killed restores left behind, here and where earlier versions worked.
func sweepTrials(p config.Paths) error {
	for _, dir := range []string{p.Data, filepath.Dir(p.Data)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return core.E(core.Internal, "look for what restores left: %w", err)
		}
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), trialPrefix) {
				continue
			}
			trial := filepath.Join(dir, e.Name())
			lock, err := ipc.TryLock(filepath.Join(trial, trialLock))
			if err != nil {
				continue // somebody is working in it, or it isn't ours
			}
			if err := errors.Join(lock.Unlock(), os.RemoveAll(trial)); err != nil {
				return core.E(core.Internal, "remove what a restore left: %w", err)
			}
		}
	}
	return nil
}

// Waiting lists the paths outside a restored home that wait for a person's decision.
func Waiting(ctx context.Context, p config.Paths) ([]api.HeldPlace, error) {
	all, err := backups.Waiting(ctx, p.Data)
	return waiting(all), err
}

// SettleWaiting decides on waiting paths, in a home whose daemon is stopped: it allows or drops them. Without paths
// it decides on all of them.
func SettleWaiting(ctx context.Context, p config.Paths, allow bool, paths []string) (done []api.HeldPlace, err error) {
	var chosen []backups.Held
	err = whileStopped(ctx, p, func(store *storage.Store) error {
		chosen, err = backups.Settle(ctx, store, allow, func(h backups.Held) bool {
			return len(paths) == 0 || slices.Contains(paths, h.Path)
		})
		return err
	})
	if err == nil && len(chosen) == 0 {
		err = core.E(core.NotFound, "no such path or server waits").WithHint("loci restore --waiting lists those that do")
	}
	return waiting(chosen), err
}

func waiting(all []backups.Held) []api.HeldPlace {
	out := make([]api.HeldPlace, len(all))
	for i, h := range all {
		out[i] = api.HeldPlace{Kind: string(h.Kind), ID: h.ID, Name: h.Name, Path: h.Path}
	}
	return out
}

// checkWaiting lists the paths that a restored home leaves alone until a person decides.
func (d *Daemon) checkWaiting(ctx context.Context) []api.Check {
	const name = "restore"
	all, err := Waiting(ctx, d.cfg.Paths)
	switch {
	case err != nil:
		return []api.Check{api.Broken(name, err.Error(), "loci daemon logs")}
	case len(all) == 0:
		return nil
	}
	return []api.Check{
		api.Warning(
			name,
			core.Count(len(all), "place")+" named by the restored backup wait to be allowed, the first is "+all[0].Path,
			"loci restore --waiting",
		),
	}
}
