// Package ipc connects processes of one person on one machine: a Unix socket that nobody else can open, and locks
// that don't outlive their process.
//
// Promises: a listener's socket has mode 0600 in a folder of ours with mode 0700; every accepted connection comes
// from our own account; a socket that somebody listens on is never removed; lock files are never removed (otherwise
// two processes could hold two locks of the same name). The package doesn't know what is said on the socket and
// imports nothing of ours.
package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// MaxPath is the maximum length of a socket's path in bytes. The system's limit is 104 to 108.
const MaxPath = 100

// What can go wrong.
var (
	ErrInUse    = errors.New("somebody listens on the socket already")
	ErrNotOurs  = errors.New("the folder is not private to this account")
	ErrLocked   = errors.New("the lock is held by another process")
	ErrStranger = errors.New("the other side runs under another account")
)

// probeTimeout limits the check whether somebody listens on an existing socket.
const probeTimeout = time.Second

// Listen opens the socket. It creates the folder if necessary and replaces only a socket that refused a connection.
// The caller must hold a lock, so that no other process does this at the same time.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > MaxPath {
		return nil, fmt.Errorf("the socket's path is longer than %d bytes: %s", MaxPath, path)
	}
	if err := checkPeerSupport(); err != nil {
		return nil, err
	}
	if err := PrivateDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	inner, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("make %s private: %w", path, err), inner.Close())
	}
	return &listener{Listener: inner, uid: os.Getuid()}, nil
}

// Dial connects to the socket.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// Refused reports whether an error from Dial means that nobody listens.
func Refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// PrivateDir creates a folder that only this account can enter, or makes an existing one private.
func PrivateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if !info.IsDir() || !ownedByUs(info) {
		return fmt.Errorf("%s: %w", path, ErrNotOurs)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // G302: a folder can't be entered without x
		return fmt.Errorf("make %s private: %w", path, err)
	}
	return nil
}

// removeStale removes a socket that its owner left behind. Only a refused connection proves that it is stale.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket; it was left alone", path)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := Dial(ctx, path)
	if err == nil {
		return errors.Join(fmt.Errorf("%s: %w", path, ErrInUse), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s is there and did not refuse: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the stale socket: %w", err)
	}
	return nil
}

// listener accepts connections from one account only.
type listener struct {
	net.Listener
	uid int
}

// Accept returns the next connection from our own account; others are closed silently.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if checkPeer(conn, l.uid) == nil {
			return conn, nil
		}
		_ = conn.Close() // a stranger's connection: nobody to report to
	}
}

// allowed reports whether the peer is our own account or the superuser, who may do anything anyway.
func allowed(peer, uid int) bool { return peer == uid || peer == 0 }

// checkPeer makes sure that the other side runs under an allowed account.
func checkPeer(conn net.Conn, uid int) error {
	peer, err := PeerUID(conn)
	if err != nil {
		return err
	}
	if !allowed(peer, uid) {
		return fmt.Errorf("uid %d: %w", peer, ErrStranger)
	}
	return nil
}

// PeerUID returns the account of the process at the other end of a Unix socket.
func PeerUID(conn net.Conn) (int, error) { return askPeer(conn, peerUID) }

// PeerPID returns the process at the other end of a Unix socket. For a connection that we dialled it is the listening
// process, even if it has not accepted the connection yet.
func PeerPID(conn net.Conn) (int, error) { return askPeer(conn, peerPID) }

func askPeer(conn net.Conn, ask func(fd uintptr) (int, error)) (int, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%T is no Unix socket", conn)
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var said int
	var peerErr error
	if err := raw.Control(func(fd uintptr) { said, peerErr = ask(fd) }); err != nil {
		return 0, err
	}
	return said, peerErr
}
