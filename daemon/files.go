package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/config"
	"loci/daemon/ipc"
	"loci/storage"
	backups "loci/storage/backup"
	"loci/storage/sqlite"
)

// FindSocket returns the socket that the home's daemon answers on, or "" if there is none.
func FindSocket(ctx context.Context, p config.Paths) (string, error) {
	noted, err := ipc.ReadNote(p.Lock)
	if err != nil {
		return "", core.E(core.Internal, "%w", err)
	}
	for _, path := range []string{p.Socket, noted} {
		if path == "" {
			continue
		}
		conn, err := ipc.Dial(ctx, path)
		if err == nil {
			return path, conn.Close()
		}
		if !ipc.Refused(err) {
			return "", core.E(core.Unavailable, "the socket cannot be used: %w", err).
				WithHint("it belongs to the account that made it: ls -l %s", path)
		}
	}
	return "", nil
}

// Holder returns the process that holds the home, as the system reports it for the other end of the socket; 0 if
// nobody holds the home or the system can't tell. It doesn't ask the process itself, which may be hanging.
func Holder(ctx context.Context, p config.Paths) (int, error) {
	lock, err := ipc.TryLock(p.Lock)
	if err == nil {
		return 0, lock.Unlock()
	}
	if !errors.Is(err, ipc.ErrLocked) {
		return 0, lockError(err)
	}
	socket, err := FindSocket(ctx, p)
	if err != nil || socket == "" {
		return 0, err
	}
	conn, err := ipc.Dial(ctx, socket)
	if err != nil {
		return 0, core.E(core.Unavailable, "%w", err)
	}
	pid, err := ipc.PeerPID(conn)
	if err = errors.Join(err, conn.Close()); err != nil {
		return 0, core.E(core.Unavailable, "%w", err)
	}
	return pid, nil
}

// EndHolder ends the process that holds the home when it doesn't stop on request: first with the system's polite
// signal and, after the grace period, by force, calling force just before. It never touches a process that isn't the
// holder.
func EndHolder(ctx context.Context, p config.Paths, grace time.Duration, force func(pid int)) error {
	pid, err := Holder(ctx, p)
	if err != nil {
		return err
	}
	if pid > 0 {
		if err := ipc.Terminate(pid); err != nil {
			return core.E(core.Unavailable, "end pid %d: %w", pid, err)
		}
	}
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := WaitStopped(polite, p); err == nil || ctx.Err() != nil || pid == 0 {
		return err
	}
	again, err := Holder(ctx, p)
	if err != nil {
		return err
	}
	if again != pid {
		return WaitStopped(ctx, p) // it has released the lock, or is about to
	}
	force(pid)
	if err := ipc.Kill(pid); err != nil {
		return core.E(core.Unavailable, "kill pid %d: %w", pid, err)
	}
	return WaitStopped(ctx, p)
}

// MarkStopped records that the daemon was stopped on purpose, so that an open chat doesn't take it for a crash. The
// next start removes the mark.
func MarkStopped(p config.Paths) error {
	if err := os.WriteFile(p.Stopped, nil, 0o600); err != nil {
		return core.E(core.Internal, "note that the daemon was stopped: %w", err).
			WithHint("check that the home can be written: loci doctor")
	}
	return nil
}

// WaitStopped waits until no daemon holds the home.
func WaitStopped(ctx context.Context, p config.Paths) error {
	lock, err := ipc.WaitLock(ctx, p.Lock)
	if err != nil {
		return core.E(core.Timeout, "the daemon still holds its home: %w", err)
	}
	return lock.Unlock()
}

// Backup copies the facts of a home whose daemon is stopped to a new file and verifies the copy.
func Backup(ctx context.Context, p config.Paths, path string) (r api.BackupResult, err error) {
	err = whileStopped(ctx, p, func(store *storage.Store) error {
		r, err = backup(ctx, store, path)
		return err
	})
	return r, err
}

// whileStopped opens the store of a home whose daemon is stopped, and keeps it stopped meanwhile.
func whileStopped(ctx context.Context, p config.Paths, do func(*storage.Store) error) (err error) {
	lock, err := holdStopped(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	store, err := storage.Open(ctx, storage.Config{Dir: p.Data})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(store)
}

// within reports whether a path lies in a folder, also by way of links.
func within(folder, path string) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return p
	}
	rel, err := filepath.Rel(real(folder), real(filepath.Dir(path)))
	return err == nil && filepath.IsLocal(rel)
}

// backup writes the copy, which the store reads back before giving it its final name, and counts its contents.
func backup(ctx context.Context, store *storage.Store, path string) (api.BackupResult, error) {
	if !filepath.IsAbs(path) {
		return api.BackupResult{Path: path}, core.E(core.Invalid, "a backup is named by its absolute path, not %q", path)
	}
	if within(store.Config().Dir, path) {
		return api.BackupResult{Path: path}, core.E(core.Invalid, "%s lies in the home, and would be lost with it", path).
			WithHint("choose a file elsewhere, on another disk if there is one")
	}
	r, _, err := countContents(ctx, store, func() error { return backups.Write(ctx, store, path) })
	r.Path = path
	if err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, core.E(core.Internal, "look at the backup: %w", err)
	}
	r.Bytes = info.Size()
	return r, nil
}

// countContents counts what the store holds, lets write copy it, and finds the rows that cannot be read.
func countContents(ctx context.Context, store *storage.Store, write func() error) (r api.BackupResult, d sqlite.Damage, err error) {
	page := core.Page{Limit: 1000}
	for {
		agents, err := store.Agents().List(ctx, core.AgentFilter{Hidden: true}, page)
		if err != nil {
			return r, d, err
		}
		for _, a := range agents {
			r.Agents, r.Messages, page.After = r.Agents+1, r.Messages+a.MessageCount, string(a.ID)
		}
		if len(agents) < page.Limit {
			break
		}
	}
	if err := write(); err != nil {
		return r, d, err
	}
	d, err = store.Damaged(ctx)
	r.Damaged, r.DamagedRows = d.Named, d.Rows
	return r, d, err
}

// holdStopped takes the home's lock in order to work on its files.
func holdStopped(p config.Paths) (*ipc.Lock, error) {
	if err := ipc.PrivateDir(p.Data); err != nil {
		return nil, core.E(core.Forbidden, "prepare the home: %w", err)
	}
	lock, err := ipc.TryLock(p.Lock)
	if errors.Is(err, ipc.ErrLocked) {
		return nil, core.E(core.Busy, "a daemon holds this home").WithHint("loci daemon stop")
	}
	return lock, lockError(err)
}

// Explain returns an error's kind and hint, for programs that don't import core.
func Explain(err error) (kind, hint string) { return string(core.KindOf(err)), core.HintOf(err) }
