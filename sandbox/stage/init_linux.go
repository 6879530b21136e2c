package stage

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// insideID is who a job is inside, account and group: never 0, so that no capability comes back.
const insideID = 1000

// cell is a sandbox from within, built step by step by its first process.
type cell struct {
	spec    frame.Spec
	layers  []string
	program string
	in      []*os.File // the job's input and outputs, and its channel if it has one
	root    int        // where the new root is, while it is built
	old     int        // the machine's root, until it is gone
	placed  []string   // targets of the job's mounts so far
	system  []string   // what the job may read and execute, of the machine
	sockets []*os.File // of the job's network, for the daemon
	door    *net.UnixConn
}

// step is one thing to do, and what it is called where it fails.
type step struct {
	name string
	do   func(*cell) error
}

// initialize is the first process of a sandbox. It builds what is the same for all before it knows its job, so that this is
// not in the job's time, and keeps a fault until there is someone to tell. It ends with the job, and the job's processes with it.
func initialize() int {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)                 // it lives for one job and allocates little
	signal.Notify(make(chan os.Signal, 1)) // a job can signal its own first process: nothing happens, and children get defaults
	c := &cell{root: -1, old: -1}
	fault := c.run(ahead())
	launcher, err := frame.Conn(os.NewFile(hostSocket, "launcher"))
	if err != nil {
		return 1
	}
	var start frame.Start
	files, err := frame.Receive(launcher, &start)
	if err != nil || len(files) < 4 || len(files) > 5 {
		return 1
	}
	_ = launcher.Close() // nothing more comes
	control := files[0]
	c.in = files[1:]
	if err := frame.Read(control, &c.spec); err != nil {
		return 1
	}
	if fault == nil {
		fault = c.run(forJob())
	}
	var pid int
	if fault == nil {
		err := frame.WriteWith(control, frame.Status{Layers: c.layers}, c.sockets...)
		frame.Close(c.sockets...)
		if err != nil {
			return 1
		}
		if c.door != nil {
			go answerKnocks(c.door) // it ends with this process
		}
		fault = c.run([]step{{"start", func(c *cell) error { pid, err = c.start(); return err }}})
	}
	if fault != nil {
		_ = frame.Write(control, frame.Status{Failed: fault}) // the daemon sees that it says nothing
		return 1
	}
	ended := reapUntil(pid)
	_ = frame.Write(control, frame.Status{Ended: &ended}) // likewise
	return 0
}

// ahead is what needs no job.
func ahead() []step {
	return []step{
		{"descriptors", func(*cell) error { return closeOthers() }},
		{"account", func(*cell) error { return becomeInside() }},
		{"root", (*cell).openRoot},
		{"system", (*cell).mountSystem},
		{"devices", (*cell).mountDevices},
		{"proc", (*cell).mountProc},
		{"memory", (*cell).mountMemory},
		{"files", (*cell).writeFiles},
		{"loopback", func(*cell) error { return raiseLoopback() }},
		{"name", func(*cell) error { return unix.Sethostname([]byte("loci")) }},
		{"bounds", func(*cell) error { return dropBounds() }},
	}
}

// forJob is what depends on the job. The order matters: mounts need capabilities, and what comes after seccomp may not mount.
func forJob() []step {
	return []step{
		{"network", (*cell).openNetwork},
		{"mounts", (*cell).mountJob},
		{"pivot", (*cell).leaveRoot},
		{"folder", func(c *cell) error { return unix.Chdir(c.spec.Dir) }},
		{"program", (*cell).findProgram},
		{"limits", (*cell).limit},
		{"capabilities", func(c *cell) error { return c.layer(dropCapabilities()) }},
		{"no new privileges", func(*cell) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{frame.LayerLandlock, (*cell).lockFiles},
		{frame.LayerSeccomp, (*cell).filterCalls},
	}
}

// run does steps until one fails. A panic is a failure too: nobody reads what this process prints.
func (c *cell) run(steps []step) (fault *frame.Fault) {
	name := ""
	defer func() {
		if p := recover(); p != nil {
			fault = faultOf(name, fmt.Errorf("panic: %v", p))
		}
	}()
	for _, s := range steps {
		name = s.name
		if slices.Contains(c.spec.Without, s.name) {
			continue
		}
		if err := s.do(c); err != nil {
			return faultOf(s.name, err)
		}
	}
	return nil
}

// layer notes a layer that is now in force.
func (c *cell) layer(name string, err error) error {
	if err == nil && name != "" {
		c.layers = append(c.layers, name)
	}
	return err
}

// closeOthers makes sure that nothing this process has open reaches a program.
func closeOthers() error {
	return unix.CloseRange(hostSocket, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
}

// becomeInside is the job's account from here on, which no process of the job can look into.
func becomeInside() error {
	// Where the machine runs out of memory, a job goes first. Where /proc can't be written, the watch still limits it.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	if err := syscall.Setresgid(insideID, insideID, insideID); err != nil {
		return err
	}
	if err := syscall.Setresuid(insideID, insideID, insideID); err != nil {
		return err
	}
	// A new account clears the signal at the launcher's death, and sets whether others may look.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// raiseLoopback lets processes of the job talk to each other. There is no other network, but for sockets that the daemon serves.
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }() // nothing was sent
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// limit sets what one process may use. What all of them use together is watched from outside.
func (c *cell) limit() error {
	type bound struct {
		of int
		to uint64
	}
	bounds := []bound{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_NOFILE, uint64(c.spec.Files)},
		{unix.RLIMIT_CPU, uint64(c.spec.CPU.Seconds()) + 1},
	}
	if !c.spec.Reduced { // outside of a namespace, all processes of the account count
		bounds = append(bounds, bound{unix.RLIMIT_NPROC, uint64(c.spec.Processes)})
	}
	if c.spec.FileSize > 0 {
		bounds = append(bounds, bound{unix.RLIMIT_FSIZE, uint64(c.spec.FileSize)})
	}
	if c.spec.Data > 0 {
		bounds = append(bounds, bound{unix.RLIMIT_DATA, uint64(c.spec.Data)})
	}
	for _, b := range bounds {
		if err := lower(b.of, b.to); err != nil {
			return err
		}
	}
	return c.layer("limits", nil)
}

// lower sets a limit, or keeps a lower one of this machine.
func lower(of int, to uint64) error {
	var has syscall.Rlimit
	if err := syscall.Getrlimit(of, &has); err != nil {
		return err
	}
	to = min(to, has.Max)
	return syscall.Setrlimit(of, &syscall.Rlimit{Cur: to, Max: to})
}

// findProgram resolves the program's name as a shell inside would.
func (c *cell) findProgram() error {
	c.program = frame.FindProgram(c.spec.Argv[0], c.spec.Env)
	if c.program == "" {
		return unix.ENOENT
	}
	return nil
}

// start starts the program on this thread, which is the one that is locked in.
func (c *cell) start() (int, error) {
	files := make([]uintptr, len(c.in))
	for i, f := range c.in {
		files[i] = f.Fd()
	}
	how := &syscall.SysProcAttr{Setsid: true}
	if c.spec.Free { // it could end its watcher
		how.Pdeathsig = syscall.SIGKILL
	}
	pid, err := syscall.ForkExec(c.program, c.spec.Argv, &syscall.ProcAttr{
		Dir: c.spec.Dir, Env: c.spec.Env, Files: files, Sys: how,
	})
	frame.Close(c.in...)
	return pid, err
}

// reapUntil waits for every process that ends, until the program itself has.
func reapUntil(program int) frame.Ended {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return frame.Ended{Code: 255}
		case pid == program && status.Signaled():
			return frame.Ended{Signal: int(status.Signal())}
		case pid == program && status.Exited():
			return frame.Ended{Code: status.ExitStatus()}
		}
	}
}
