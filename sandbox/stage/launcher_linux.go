package stage

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

const (
	// refill is how long the next init waits for the call before it to end, so that its start does not slow that call.
	refill = 50 * time.Millisecond
	// idle is how long an init waits for a call.
	idle = time.Minute
	// hostSocket is the descriptor that both stages are started with.
	hostSocket = 3
)

// identity is who a sandbox is, outside.
type identity struct{ uid, gid int }

// request is a Start with its descriptors.
type request struct {
	start frame.Start
	files []*os.File
}

// standby is an init that waits for its call.
type standby struct {
	who   identity
	proc  *os.Process
	pidfd *os.File
	conn  *net.UnixConn
}

// launcher starts inits. It is kept small, because starting one copies its page tables. All are started by one goroutine
// that never leaves its thread: the kernel ends them with that thread.
type launcher struct {
	daemon *net.UnixConn
	next   *standby
	last   identity // of the newest call
	wanted bool     // whether a call has taken an init that nothing replaces yet
	ended  chan struct{}
	null   *os.File
}

// launch serves the daemon until it is gone. Then this process ends, and every sandbox with it.
func launch() int {
	runtime.LockOSThread()
	if err := unix.CloseRange(hostSocket+1, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) {
		return 1
	}
	if os.Geteuid() == 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return 1
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	daemon, err := frame.Conn(os.NewFile(hostSocket, "daemon"))
	if err != nil {
		return 1
	}
	l := &launcher{daemon: daemon, ended: make(chan struct{}, 64), null: null}
	return l.serve(requests(daemon))
}

// requests reads what the daemon asks for, until it is gone.
func requests(daemon *net.UnixConn) <-chan request {
	out := make(chan request)
	go func() { // it ends with the daemon, and the process with it
		defer close(out)
		for {
			var r request
			var err error
			if r.files, err = frame.Receive(daemon, &r.start); err != nil {
				return
			}
			out <- r
		}
	}()
	return out
}

func (l *launcher) serve(asked <-chan request) int {
	timer := time.NewTimer(idle)
	for {
		select {
		case r, ok := <-asked:
			if !ok {
				return 0
			}
			l.answer(r)
			timer.Reset(refill)
		case <-l.ended:
			if l.wanted {
				timer.Reset(0)
			}
		case <-timer.C:
			if l.next != nil {
				l.drop() // the next call starts its own
			} else if next, fault := l.start(l.last); fault == nil {
				l.next = next
				timer.Reset(idle)
			}
			l.wanted = false
		}
	}
}

// drop ends an init that nobody needs.
func (l *launcher) drop() {
	_ = l.next.proc.Kill() // it may be gone already
	l.next.close()
	l.next = nil
}

func (s *standby) close() {
	_ = s.conn.Close() // nothing is read from it
	frame.Close(s.pidfd)
}

// answer hands a call to an init that waits, or to a new one.
func (l *launcher) answer(r request) {
	defer frame.Close(r.files...)
	l.last = identity{r.start.UID, r.start.GID}
	if l.next != nil && l.next.who != l.last {
		l.drop()
	}
	taken := l.next
	l.next, l.wanted = nil, true
	if taken != nil && frame.Send(taken.conn, r.start, r.files...) != nil { // it was ended from outside
		taken.close()
		taken = nil
	}
	var fault *frame.Fault
	if taken == nil {
		if taken, fault = l.start(l.last); fault == nil {
			if err := frame.Send(taken.conn, r.start, r.files...); err != nil {
				fault = faultOf("namespaces", err)
			}
		}
	}
	if fault != nil {
		if taken != nil {
			taken.close()
		}
		_ = frame.Send(l.daemon, frame.Started{Call: r.start.Call, Failed: fault}) // a daemon that is gone ends us
		return
	}
	defer taken.close()
	_ = frame.Send(l.daemon, frame.Started{Call: r.start.Call, PID: taken.proc.Pid}, taken.pidfd) // likewise
}

// start starts an init in namespaces of its own.
func (l *launcher) start(who identity) (*standby, *frame.Fault) {
	ours, theirs, err := frame.Pair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, faultOf("namespaces", err)
	}
	defer frame.Close(theirs)
	pidfd := -1
	proc, err := os.StartProcess("/proc/self/exe", []string{"loci", frame.InitCommand}, &os.ProcAttr{
		Env:   []string{},
		Dir:   "/",
		Files: []*os.File{l.null, l.null, l.null, theirs},
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
				unix.CLONE_NEWUTS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: who.uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: who.gid, Size: 1}},
			AmbientCaps: initCapabilities(),
			Pdeathsig:   syscall.SIGKILL,
			Setsid:      true,
			PidFD:       &pidfd,
		},
	})
	if err != nil {
		frame.Close(ours)
		return nil, faultOf("namespaces", err)
	}
	go l.reap(proc) // it ends with the process
	conn, err := frame.Conn(ours)
	if err != nil {
		_ = proc.Kill() // nobody will talk to it
		frame.Close(os.NewFile(uintptr(pidfd), "pidfd"))
		return nil, faultOf("namespaces", err)
	}
	return &standby{who: who, proc: proc, pidfd: os.NewFile(uintptr(pidfd), "pidfd"), conn: conn}, nil
}

// reap waits for an init, so that nothing of it is left.
func (l *launcher) reap(proc *os.Process) {
	_, _ = proc.Wait() // the daemon hears of its end from itself
	select {
	case l.ended <- struct{}{}:
	default:
	}
}

// faultOf names a step and what the kernel said.
func faultOf(step string, err error) *frame.Fault {
	f := &frame.Fault{Step: step, Text: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	return f
}
