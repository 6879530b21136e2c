//go:build linux || darwin

package ipc

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// socketIn is a short path, whatever the system's temporary folder is.
func socketIn(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "loci") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "run", "loci.sock")
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestASocketIsPrivate(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	listen(t, path)
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", p, got, want)
		}
	}
}

func TestAnOpenFolderIsMadePrivate(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	listen(t, path)
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFolderBehindALinkIsNotOurs(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	if err := os.Symlink(t.TempDir(), filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), path); !errors.Is(err, ErrNotOurs) {
		t.Errorf("got %v", err)
	}
}

func TestALiveSocketIsRespected(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	listen(t, path)
	if _, err := Listen(t.Context(), path); !errors.Is(err, ErrInUse) {
		t.Fatalf("got %v", err)
	}
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatalf("the first listener lost its socket: %v", err)
	}
	_ = conn.Close()
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	l := listen(t, path)
	l.(*listener).Listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), path); !Refused(err) {
		t.Fatalf("the stale socket did not refuse: %v", err)
	}
	listen(t, path)
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestAFileThatIsNoSocketIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	if err := PrivateDir(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), path); err == nil {
		t.Error("it listened")
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
		t.Errorf("the file changed: %q, %v", data, err)
	}
}

func TestALongPathIsRefusedWithItsLength(t *testing.T) {
	t.Parallel()
	_, err := Listen(t.Context(), "/tmp/"+strings.Repeat("x", MaxPath))
	if err == nil || !strings.Contains(err.Error(), "100 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestThePeerIsKnownByItsAccount(t *testing.T) {
	t.Parallel()
	path := socketIn(t)
	l := listen(t, path)
	conn, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	got, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Close() }()
	uid, err := PeerUID(got)
	if err != nil || uid != os.Getuid() {
		t.Errorf("uid %d, %v", uid, err)
	}
}

func TestOnlyOurAccountAndTheSuperuserAreAllowed(t *testing.T) {
	t.Parallel()
	for peer, want := range map[int]bool{1000: true, 0: true, 1001: false, -1: false} {
		if got := allowed(peer, 1000); got != want {
			t.Errorf("uid %d: %v", peer, got)
		}
	}
}

func TestNobodyListeningIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Dial(t.Context(), socketIn(t)); !Refused(err) {
		t.Errorf("got %v", err)
	}
}

func TestALockIsHeldByOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loci.lock")
	first, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Note("/run/loci.sock"); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one got it: %v", err)
	}
	if note, err := ReadNote(path); err != nil || note != "/run/loci.sock" {
		t.Errorf("note %q, %v", note, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := WaitLock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting gave %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock's file is gone: %v", err)
	}
	second, err := WaitLock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestALockWithoutANoteHasNone(t *testing.T) {
	t.Parallel()
	if note, err := ReadNote(filepath.Join(t.TempDir(), "none")); err != nil || note != "" {
		t.Errorf("%q %v", note, err)
	}
}
