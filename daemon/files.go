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
)

// FindSocket returns the socket that the home's daemon answers on, or "" if none does.
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
			return "", core.E(core.Unavailable, "the socket cannot be used: %w", err).WithHint("it belongs to the account that made it: ls -l %s", path)
		}
	}
	return "", nil
}

// Holder is the process that holds the home, by what the system says of the socket's other end; 0 where nobody holds it
// or nobody can tell. It asks the process nothing, which may hang.
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

// EndHolder ends the process that holds the home and does not end when it is asked to: first as the system asks, and
// once the grace is over by force, which force is told of. Nothing is done to a process that is not the holder.
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
		return WaitStopped(ctx, p) // it let go, or is letting go of the lock
	}
	force(pid)
	if err := ipc.Kill(pid); err != nil {
		return core.E(core.Unavailable, "kill pid %d: %w", pid, err)
	}
	return WaitStopped(ctx, p)
}

// MarkStopped leaves word that the daemon ends because somebody wants it to, so that an open chat does not take that for
// a crash. The next start takes it away.
func MarkStopped(p config.Paths) error {
	if err := os.WriteFile(p.Stopped, nil, 0o600); err != nil {
		return core.E(core.Internal, "note that the daemon was stopped: %w", err).WithHint("check that the home can be written: loci doctor")
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

// Backup copies the facts of a home whose daemon is stopped to a new file and checks the copy.
func Backup(ctx context.Context, p config.Paths, path string) (r api.BackupResult, err error) {
	lock, err := holdStopped(p)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	store, err := storage.Open(ctx, storage.Config{Dir: p.Data})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return backup(ctx, store, path)
}

// backup writes the copy, which the store reads back before it gets its name, and counts what is in it.
func backup(ctx context.Context, store *storage.Store, path string) (api.BackupResult, error) {
	r := api.BackupResult{Path: path}
	if !filepath.IsAbs(path) {
		return r, core.E(core.Invalid, "a backup is named by its absolute path, not %q", path)
	}
	page := core.Page{Limit: 1000}
	for {
		agents, err := store.Agents().List(ctx, core.AgentFilter{Hidden: true}, page)
		if err != nil {
			return r, err
		}
		for _, a := range agents {
			r.Agents, r.Messages, page.After = r.Agents+1, r.Messages+a.MessageCount, string(a.ID)
		}
		if len(agents) < page.Limit {
			break
		}
	}
	if err := store.Backup(ctx, path); err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, core.E(core.Internal, "look at the backup: %w", err)
	}
	r.Bytes = info.Size()
	return r, nil
}

// Restore replaces the facts of a home whose daemon is stopped by a backup, and returns where it keeps what was there.
func Restore(ctx context.Context, p config.Paths, path string) (kept string, err error) {
	lock, err := holdStopped(p)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return storage.Restore(ctx, p.Data, path, nil)
}

// holdStopped takes the home's lock for work on its files.
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

// Explain returns the kind of an error and what to do about it, for programs that do not know the core.
func Explain(err error) (kind, hint string) { return string(core.KindOf(err)), core.HintOf(err) }
