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
	stopTimeout  = 15 * time.Second // the daemon gives its runs some time
	probeTimeout = 2 * time.Second
	probeEvery   = 4 * time.Millisecond
	maxLogTail   = 2000
	mostWords    = 4 // lines of an error for a person
)

// EnsureOptions say how to start the daemon. All paths are absolute.
type EnsureOptions struct {
	Exe       string   // this program
	Args      []string // nil: daemon run
	Environ   []string // of the daemon, without variables of providers
	Socket    string
	Lock      string // the lock the daemon holds; its note is the socket it really has
	StartLock string
	Stopped   string       // a file that is there after a daemon was stopped on purpose; "": nobody leaves one
	Log       string       // gets the daemon's standard streams
	Version   string       // a daemon of another version is replaced if idle; "": any will do
	Notify    func(string) // told one line that a person should know; nil: nobody
}

// Ensured is a daemon that answers.
type Ensured struct {
	Socket  string // where it answers
	Status  api.Status
	Started bool // it was started now
}

// Ensure makes sure that a daemon answers: it asks the one that is there, and otherwise starts one, alone among all
// processes that try. A daemon of another version is replaced if it is idle and left, with a line that says so, if it
// is busy.
func Ensure(ctx context.Context, o EnsureOptions) (Ensured, error) {
	found, err := o.find(ctx)
	if err == nil && o.fits(found.Status) {
		return found, nil
	}
	if err != nil && !ipc.Refused(err) {
		return Ensured{}, transportError(ctx, err)
	}
	if err := ipc.PrivateDir(filepath.Dir(o.StartLock)); err != nil {
		return Ensured{}, startError(err)
	}
	lock, err := ipc.WaitLock(ctx, o.StartLock)
	if err != nil {
		return Ensured{}, startError(err)
	}
	ensured, err := o.ensureLocked(ctx)
	return ensured, errors.Join(err, lock.Unlock())
}

// Restart ends the daemon with stop and starts another. It is alone among all processes that start one, so that nobody's
// own start, without these arguments, comes between the two.
func Restart(ctx context.Context, o EnsureOptions, stop func(context.Context) error) (Ensured, error) {
	if err := ipc.PrivateDir(filepath.Dir(o.StartLock)); err != nil {
		return Ensured{}, startError(err)
	}
	lock, err := ipc.WaitLock(ctx, o.StartLock)
	if err != nil {
		return Ensured{}, startError(err)
	}
	var ensured Ensured
	if err = stop(ctx); err == nil {
		ensured, err = o.ensureLocked(ctx)
	}
	return ensured, errors.Join(err, lock.Unlock())
}

// ensureLocked looks again, for another process may have started one in the meantime, and then starts one.
func (o *EnsureOptions) ensureLocked(ctx context.Context) (Ensured, error) {
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
		return Ensured{}, err
	}
	started, err := o.start(ctx)
	if port := found.Status.Listen; err == nil && port != "" && started.Status.Listen == "" {
		// Nor could it be opened here: whether it asks for a token is known to the shell that it was opened from.
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

// find asks at the socket and then at the one that the daemon noted in its lock: where variables differ between a
// terminal and, say, cron, so may the socket's place.
func (o *EnsureOptions) find(ctx context.Context) (Ensured, error) {
	status, err := probe(ctx, o.Socket)
	if err == nil {
		return Ensured{Socket: o.Socket, Status: status}, nil
	}
	if !ipc.Refused(err) || o.Lock == "" {
		return Ensured{}, err
	}
	noted, noteErr := ipc.ReadNote(o.Lock)
	if noteErr != nil || noted == "" || noted == o.Socket {
		return Ensured{}, err
	}
	if status, noteErr := probe(ctx, noted); noteErr == nil {
		return Ensured{Socket: noted, Status: status}, nil
	}
	return Ensured{}, err
}

// probe asks a socket for the daemon's status.
func probe(ctx context.Context, socket string) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c := New(Options{Socket: socket})
	defer c.Close()
	return c.Status(ctx)
}

// replace asks a daemon of another version to make room. It says whether it was left.
func (o *EnsureOptions) replace(ctx context.Context, old Ensured) (left bool, err error) {
	c := New(Options{Socket: old.Socket})
	defer c.Close()
	err = c.Shutdown(ctx, true)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusConflict {
		o.notify("the daemon is version %s and busy, this is %s: `loci daemon restart` replaces it", old.Status.Version, o.Version)
		return true, nil
	}
	if err != nil && KindOf(err) != api.KindUnavailable { // it may be gone before it answered
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
func (o *EnsureOptions) start(ctx context.Context) (Ensured, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	exited, logFrom, err := o.spawn()
	if err != nil {
		return Ensured{}, startError(err)
	}
	var last Ensured
	err = poll(ctx, func() (bool, error) {
		select {
		case err := <-exited:
			if !o.heldByAnother() {
				return false, o.lastWords(logFrom, err)
			}
			exited = nil // another one was faster: wait for that one
		default:
		}
		found, err := o.find(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // not yet there: ask again
		}
		last = found
		if found.Status.Error != "" {
			if exited != nil {
				return false, nil // it is about to end, and its last words come with a hint
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
		return Ensured{}, startError(errors.New(last.Status.Error))
	case errors.Is(err, context.DeadlineExceeded):
		return Ensured{}, startError(fmt.Errorf("nobody answers at %s after %v; see %s: %w", o.Socket, startTimeout, o.Log, err))
	default:
		return Ensured{}, startError(err)
	}
}

// heldByAnother says whether some daemon has the home.
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

// spawn starts the process in a session of its own. The channel tells when it ends; the goroutine behind it lives as
// long as the daemon or this process, so that the daemon never stays behind as a zombie of a long chat.
func (o *EnsureOptions) spawn() (exited <-chan error, logFrom int64, err error) {
	if err := os.MkdirAll(filepath.Dir(o.Log), 0o700); err != nil {
		return nil, 0, err
	}
	file, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // the child has its own
	if info, err := file.Stat(); err == nil {
		logFrom = info.Size()
	}
	args := o.Args
	if args == nil {
		args = []string{"daemon", "run"}
	}
	cmd := exec.Command(o.Exe, args...) //nolint:noctx // the daemon outlives who started it
	cmd.Env = o.Environ
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean: all of ours
	}
	cmd.Dir = string(filepath.Separator) // hold no folder of the person's
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

// lastWords is the error that the daemon ended with: what it wrote for a person, without the lines of its log.
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
		return unsaid // nothing, or the trace of a crash
	}
	return &Error{Kind: api.KindUnavailable, Message: strings.Join(said, "; "), Hint: hint, Err: exit}
}

// errNotStarted marks that no daemon could be started: trying again at once would not help.
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

// poll asks until the answer is yes, an error, or the context's end.
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
