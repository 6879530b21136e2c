package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockRetry is how often a wait retries the lock; the system has no wait that a context could cancel.
const lockRetry = 10 * time.Millisecond

// maxNote limits what is read from a lock file.
const maxNote = 4096

// Lock is held by one process until Unlock or until the process dies, however it dies. The lock's file stays.
type Lock struct{ file *flock.Flock }

// TryLock takes the lock or returns ErrLocked.
func TryLock(path string) (*Lock, error) {
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	return &Lock{file}, nil
}

// WaitLock waits until the lock is free and takes it.
func WaitLock(ctx context.Context, path string) (*Lock, error) {
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if _, err := file.TryLockContext(ctx, lockRetry); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{file}, nil
}

// Unlock releases the lock.
func (l *Lock) Unlock() error { return l.file.Unlock() }

// Note writes a line into the lock's file for processes that find it locked, such as the socket its holder listens
// on.
func (l *Lock) Note(text string) error {
	if err := os.WriteFile(l.file.Path(), []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("note in the lock: %w", err)
	}
	return nil
}

// ReadNote returns the line that the last holder of a lock wrote; the holder may be gone by now. Without a file or a
// line it returns "".
func ReadNote(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxNote {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the lock's note: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the lock's note: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line, nil
}
