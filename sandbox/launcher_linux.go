package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"loci/core"
	"loci/sandbox/frame"
	"loci/sandbox/stage"
)

// backend is the launcher, started with the first job. One that died is replaced with the next.
type backend struct {
	sentry sentry

	mu       sync.Mutex // guards what follows
	launcher *launcher
}

// launcher is the process that starts sandboxes: the daemon is far too large to be copied for each.
type launcher struct {
	cmd  *exec.Cmd
	conn *net.UnixConn
	gone chan struct{} // closed once nothing comes from it any more

	mu      sync.Mutex // guards what follows
	calls   uint64
	waiting map[uint64]chan started
}

// started is what the launcher answers.
type started struct {
	pid    int
	pidfd  *os.File
	failed *frame.Fault
}

// current returns the launcher, and starts it where there is none.
func (b *backend) current() (*launcher, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.launcher != nil {
		select {
		case <-b.launcher.gone:
			b.launcher.end()
		default:
			return b.launcher, nil
		}
	}
	var err error
	b.launcher, err = startLauncher()
	return b.launcher, err
}

func (b *backend) close() {
	b.sentry.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.launcher != nil {
		b.launcher.end()
		b.launcher = nil
	}
}

func startLauncher() (*launcher, error) {
	if !stage.Able() {
		return nil, errors.New("this program can't start itself as one")
	}
	ours, theirs, err := frame.Pair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	defer frame.Close(theirs)
	conn, err := frame.Conn(ours)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", frame.LaunchCommand) //nolint:noctx // it lives as long as its socket
	cmd.Args[0], cmd.Env, cmd.Dir, cmd.ExtraFiles = "loci", []string{}, "/", []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's interrupt is for the daemon
	if err := cmd.Start(); err != nil {
		_ = conn.Close() // nobody listens
		return nil, err
	}
	l := &launcher{cmd: cmd, conn: conn, gone: make(chan struct{}), waiting: map[uint64]chan started{}}
	go l.read() // end waits for it
	return l, nil
}

// end closes the launcher's socket, at which it ends, and waits for it.
func (l *launcher) end() {
	_ = l.conn.Close() // it may have been closed by its own end
	_ = l.cmd.Wait()   // how it ended changes nothing
	<-l.gone
}

// read hands the launcher's answers to those who wait for them. What nobody waits for any more is ended.
func (l *launcher) read() {
	defer close(l.gone)
	for {
		var m frame.Started
		files, err := frame.Receive(l.conn, &m)
		if err != nil {
			return
		}
		s := started{pid: m.PID, failed: m.Failed}
		if len(files) > 0 {
			s.pidfd = files[0]
			frame.Close(files[1:]...)
		}
		l.mu.Lock()
		waits, ok := l.waiting[m.Call]
		delete(l.waiting, m.Call)
		l.mu.Unlock()
		if ok {
			waits <- s
		} else if s.pidfd != nil {
			kill(int(s.pidfd.Fd()))
			frame.Close(s.pidfd)
		}
	}
}

// begin asks for a sandbox.
func (l *launcher) begin(ctx context.Context, who identity, files ...*os.File) (started, error) {
	waits := make(chan started, 1)
	l.mu.Lock()
	l.calls++
	number := l.calls
	l.waiting[number] = waits
	err := frame.Send(l.conn, frame.Start{Call: number, UID: who.uid, GID: who.gid}, files...)
	l.mu.Unlock()
	if err == nil {
		select {
		case s := <-waits:
			return s, nil
		case <-l.gone:
			err = core.E(core.Unavailable, "the launcher of sandboxes has ended").WithHint("try again")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	l.mu.Lock()
	_, still := l.waiting[number]
	delete(l.waiting, number)
	l.mu.Unlock()
	if !still { // it is answered at this very moment
		s := <-waits
		return s, nil
	}
	return started{}, err
}

// kill ends a sandbox with all its processes.
func kill(pidfd int) {
	_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0) // it may have ended already
}

// awaitEnd waits until a process has ended.
func awaitEnd(pidfd int) {
	for {
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, -1); err != unix.EINTR && (n > 0 || err != nil) {
			return
		}
	}
}
