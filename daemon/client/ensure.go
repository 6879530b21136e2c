package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"loci/daemon/api"
	"loci/daemon/ipc"
)

const (
	startTimeout = 5 * time.Second
	stopTimeout  = 15 * time.Second // the daemon gives its runs some time to finish
	probeTimeout = 2 * time.Second
	probeEvery   = 4 * time.Millisecond
	maxLogTail   = 2000
	mostWords    = 4 // lines of an error to show
)

// EnsureOptions say how to start the daemon. All paths are absolute.
type EnsureOptions struct {
	Exe       string   // this program
	Args      []string // nil: daemon run
	Environ   []string // the daemon's environment, without provider variables
	Socket    string
	Lock      string // the daemon's lock; its note is the socket the daemon actually uses
	StartLock string
	Stopped   string       // a file that exists after the daemon was stopped on purpose; "": there is no such file
	Log       string       // receives the daemon's standard output and error
	Version   string       // a daemon of another version is replaced if idle; "": any will do
	Notify    func(string) // gets one line to show to the user; nil: dropped
}

// RunningDaemon is a running daemon.
type RunningDaemon struct {
	Socket  string // where it answers
	Status  api.Status
	Started bool // it has just been started
}

// Ensure makes sure that a daemon is running: it uses the one that is there, or starts one; only one process at a
// time may start one. A daemon of another version is replaced if it is idle; a busy one is left running and Notify
// says so.
func Ensure(ctx context.Context, o EnsureOptions) (RunningDaemon, error) {
	found, err := o.find(ctx)
	if err == nil && o.fits(found.Status) {
		return found, nil
	}
	if err != nil && !ipc.Refused(err) {
		err = transportError(ctx, err)
		if KindOf(err) == api.KindTimeout && ctx.Err() == nil {
			err = silentError(probeTimeout)
		}
		return RunningDaemon{}, err
	}
	if err := ipc.PrivateDir(filepath.Dir(o.StartLock)); err != nil {
		return RunningDaemon{}, startError(err)
	}
	lock, err := ipc.WaitLock(ctx, o.StartLock)
	if err != nil {
		return RunningDaemon{}, startError(err)
	}
	ensured, err := o.ensureLocked(ctx)
	return ensured, errors.Join(err, lock.Unlock())
}

// Restart stops the daemon with stop and starts another. It holds the start lock throughout, so no other process can
// start a daemon without these arguments in between.
func Restart(ctx context.Context, o EnsureOptions, stop func(context.Context) error) (RunningDaemon, error) {
	if err := ipc.PrivateDir(filepath.Dir(o.StartLock)); err != nil {
		return RunningDaemon{}, startError(err)
	}
	lock, err := ipc.WaitLock(ctx, o.StartLock)
	if err != nil {
		return RunningDaemon{}, startError(err)
	}
	var ensured RunningDaemon
	if err = stop(ctx); err == nil {
		ensured, err = o.ensureLocked(ctx)
	}
	return ensured, errors.Join(err, lock.Unlock())
}

// ensureLocked looks again, because another process may have started a daemon in the meantime, and then starts one.
func (o *EnsureOptions) ensureLocked(ctx context.Context) (RunningDaemon, error) {
	found, err := o.find(ctx)
	if err == nil && !o.fits(found.Status) {
		left, err := o.replace(ctx, found)
		if err != nil || left {
			return found, err
		}
	} else if err == nil {
		return found, nil
	}
	if err := o.stopped(ctx); err != nil {
		return RunningDaemon{}, err
	}
	started, err := o.start(ctx)
	if port := found.Status.Listen; err == nil && port != "" && started.Status.Listen == "" {
		// We cannot open the port here either: only the shell that opened it knows whether it needs a token.
		o.notify("it listened on %s, which the new one does not: `loci daemon restart --listen %s`", port, port)
	}
	return started, err
}

func (o *EnsureOptions) fits(s api.Status) bool { return o.Version == "" || s.Version == o.Version }

func (o *EnsureOptions) notify(format string, args ...any) {
	if o.Notify != nil {
		o.Notify(fmt.Sprintf(format, args...))
	}
}

// find tries the socket and then the one that the daemon noted in its lock: the socket's place depends on variables
// that may differ between, say, a terminal and cron.
func (o *EnsureOptions) find(ctx context.Context) (RunningDaemon, error) {
	status, err := probe(ctx, o.Socket)
	if err == nil {
		return RunningDaemon{Socket: o.Socket, Status: status}, nil
	}
	if !ipc.Refused(err) || o.Lock == "" {
		return RunningDaemon{}, err
	}
	noted, noteErr := ipc.ReadNote(o.Lock)
	if noteErr != nil || noted == "" || noted == o.Socket {
		return RunningDaemon{}, err
	}
	if status, noteErr := probe(ctx, noted); noteErr == nil {
		return RunningDaemon{Socket: noted, Status: status}, nil
	}
	return RunningDaemon{}, err
}

// probe asks for the daemon's status over a socket.
func probe(ctx context.Context, socket string) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c := New(Options{Socket: socket})
	defer c.Close()
	return c.Status(ctx)
}

// replace asks a daemon of another version to make room. It reports whether the old one was left running.
func (o *EnsureOptions) replace(ctx context.Context, old RunningDaemon) (left bool, err error) {
	c := New(Options{Socket: old.Socket})
	defer c.Close()
	err = c.Shutdown(ctx, true)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusConflict {
		o.notify("the daemon is version %s and busy, this is %s: `loci daemon restart` replaces it", old.Status.Version, o.Version)
		return true, nil
	}
	if err != nil && KindOf(err) != api.KindUnavailable { // it may have gone before it answered
		return false, err
	}
	o.notify("the daemon was version %s and idle; version %s replaces it", old.Status.Version, o.Version)
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return false, o.waitGone(ctx, old.Socket)
}

// waitGone waits until nobody listens and the daemon's lock is free.
func (o *EnsureOptions) waitGone(ctx context.Context, socket string) error {
	err := poll(ctx, func() (bool, error) {
		conn, err := ipc.Dial(ctx, socket)
		if err == nil {
			return false, conn.Close()
		}
		return ipc.Refused(err), nil
	})
	if err == nil && o.Lock != "" {
		var lock *ipc.Lock
		if lock, err = ipc.WaitLock(ctx, o.Lock); err == nil {
			err = lock.Unlock()
		}
	}
	if err != nil {
		return &Error{
			Kind: api.KindTimeout, Message: "the old daemon does not stop: " + err.Error(), Err: err,
			Hint: "stop it with `loci daemon stop`",
		}
	}
	return nil
}

// start starts the daemon and waits until it is ready.
func (o *EnsureOptions) start(ctx context.Context) (RunningDaemon, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	exited, logFrom, err := o.spawn()
	if err != nil {
		return RunningDaemon{}, startError(err)
	}
	var last RunningDaemon
	err = poll(ctx, func() (bool, error) {
		select {
		case err := <-exited:
			if !o.heldByAnother() {
				return false, o.lastWords(logFrom, err)
			}
			exited = nil // another process was faster: wait for its daemon
		default:
		}
		found, err := o.find(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // not there yet: try again
		}
		last = found
		if found.Status.Error != "" {
			if exited != nil {
				return false, nil // it is about to exit, and its last words come with a hint
			}
			return false, errors.New(found.Status.Error)
		}
		return found.Status.Ready, nil
	})
	last.Started = true
	switch {
	case err == nil:
		return last, nil
	case last.Socket != "" && last.Status.Error == "" && errors.Is(err, context.DeadlineExceeded):
		o.notify("the daemon is still preparing its store; requests wait for it")
		return last, nil
	case last.Status.Error != "" && errors.Is(err, context.DeadlineExceeded):
		return RunningDaemon{}, startError(errors.New(last.Status.Error))
	case errors.Is(err, context.DeadlineExceeded):
		return RunningDaemon{}, startError(fmt.Errorf("nobody answers at %s after %v; see %s: %w", o.Socket, startTimeout, o.Log, err))
	default:
		return RunningDaemon{}, startError(err)
	}
}

// heldByAnother reports whether some daemon holds the home.
func (o *EnsureOptions) heldByAnother() bool {
	if o.Lock == "" {
		return false
	}
	lock, err := ipc.TryLock(o.Lock)
	if err == nil {
		err = lock.Unlock()
	}
	return errors.Is(err, ipc.ErrLocked)
}

// spawn starts the process in its own session. The channel reports when it exits; the goroutine behind it lives as
// long as the daemon or this process, so a long chat never leaves the daemon as a zombie.
func (o *EnsureOptions) spawn() (exited <-chan error, logFrom int64, err error) {
	if err := os.MkdirAll(filepath.Dir(o.Log), 0o700); err != nil {
		return nil, 0, err
	}
	file, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // the child has its own copy
	if info, err := file.Stat(); err == nil {
		logFrom = info.Size()
	}
	args := o.Args
	if args == nil {
		args = []string{"daemon", "run"}
	}
	cmd := exec.Command(o.Exe, args...) //nolint:noctx // the daemon outlives the process that started it
	cmd.Env = o.Environ
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would pass on our whole environment
	}
	cmd.Dir = string(filepath.Separator) // don't keep the user's folder busy
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- endOf(cmd.Wait()) }()
	return done, logFrom, nil
}

func endOf(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// lastWords returns the error that the daemon exited with: what it wrote for people, without its log lines.
func (o *EnsureOptions) lastWords(from int64, exit error) error {
	unsaid := fmt.Errorf("it ended at once (%w); see %s", exit, o.Log)
	f, err := os.Open(o.Log)
	if err != nil {
		return unsaid
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-maxLogTail) // what ended it comes last
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, maxLogTail))
	if err != nil {
		return unsaid
	}
	var said []string
	hint := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || json.Valid([]byte(line)) || strings.HasPrefix(line, `{"`) {
			continue
		}
		if advice, ok := strings.CutPrefix(line, "try: "); ok {
			hint = advice
			continue
		}
		said = append(said, strings.TrimPrefix(line, "loci: "))
	}
	if len(said) == 0 || len(said) > mostWords {
		return unsaid // nothing, or a crash trace
	}
	return &Error{Kind: api.KindUnavailable, Message: strings.Join(said, "; "), Hint: hint, Err: exit}
}

// errNotStarted means that no daemon could be started and retrying at once wouldn't help.
var errNotStarted = errors.New("the daemon did not start")

func startError(err error) error {
	hint := "run `loci daemon run` to see why"
	var said *Error
	if errors.As(err, &said) && said.Hint != "" {
		hint = said.Hint
	}
	return &Error{
		Kind: api.KindUnavailable, Message: errNotStarted.Error() + ": " + err.Error(), Err: errors.Join(errNotStarted, err),
		Hint: hint,
	}
}

// poll repeats ask until it returns true or an error, or ctx ends.
func poll(ctx context.Context, ask func() (bool, error)) error {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
